//! The suite for any server: mutants that it must catch, and a server without a fault.

mod fault;
mod flaky;
mod hosts;
mod message;
mod mutants;
mod refusals;
mod scripted;
mod sdks;
mod slow;
mod stopped;
mod tiny;
mod web;
mod zoo;
