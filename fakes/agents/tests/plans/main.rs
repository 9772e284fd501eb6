//! What the fakes do, without a process: command lines, forms, permissions, sessions, refusals, rules and recordings.

mod agents;
mod recordings;
mod rules;
mod support;
