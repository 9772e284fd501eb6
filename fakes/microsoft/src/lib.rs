//! The services behind the server that is judged: a fake Microsoft Graph, a fake Microsoft Entra and a fake Bot Framework
//! channel, each rule with its source. Nothing here shares code with that server.

pub mod bot;
pub mod entra;
pub mod graph;
mod http;
mod shared;
mod wire;

pub use http::HttpFake;
