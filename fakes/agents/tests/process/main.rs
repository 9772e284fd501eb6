//! The fake as a process: forms, signals, children, floods, sessions.
#![cfg(unix)]

mod acp;
mod children;
mod floods;
mod forms;
mod sessions;
mod signals;
mod stage;
