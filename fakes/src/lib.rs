//! The other side of every test: fake MCP hosts and a fake Microsoft Graph, each rule with its source.
//! Nothing here is shared with the server that is judged.

pub mod host;
//! Fakes to judge an MCP server by: hosts that speak raw JSON-RPC, and a Microsoft Graph with a memory.
//! Nothing here shares code with the server.

pub mod graph;
