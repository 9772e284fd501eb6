//! `simulation play` as a newcomer meets it: the command runs, a person writes on its page, a real server reads and answers.

#![cfg(unix)]

mod host;
mod sandbox;
mod support;
