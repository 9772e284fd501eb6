//! Fakes to judge an MCP server by: hosts that speak raw JSON-RPC, and a Microsoft Graph with a memory.
//! Nothing here shares code with the server.

pub mod graph;
