//! The other side of every test: fake MCP hosts and a fake Microsoft Graph, each rule with its source.
//! Nothing here is shared with the server that is judged.

pub mod host;
