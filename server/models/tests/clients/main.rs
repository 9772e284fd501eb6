//! The clients against fake servers.

mod answers;
mod facts;
mod loopback;
mod support;
