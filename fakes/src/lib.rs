//! The other side of every test: fake MCP hosts and a fake Microsoft Graph, each rule with its source.
//! Nothing here shares code with the server that is judged.

pub mod bot;
pub mod graph;
pub mod host;
