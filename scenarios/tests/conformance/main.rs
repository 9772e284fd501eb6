//! The suite for anybody's server: mutants that it must catch, a server without a fault, and our own.

mod fault;
mod hosts;
mod message;
mod mutants;
mod own;
mod tiny;
mod web;
