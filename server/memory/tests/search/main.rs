//! The search over sessions: what it finds, what it never shows, and what becomes of it beside other processes.

mod finds;
mod forgets;
mod hides;
mod machine;
mod means;
mod ranks;
mod shares;
