//! The other side of every test: fake MCP hosts, a fake Microsoft Graph, a fake Microsoft Entra, each rule with its source.
//! Nothing here shares code with the server that is judged.

pub mod bot;
pub mod entra;
pub mod graph;
pub mod host;
