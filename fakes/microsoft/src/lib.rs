//! The services that the server under test talks to: a fake Microsoft Graph, a fake Microsoft Entra and a
//! fake Bot Framework channel, each rule with its source. They must never share code with that server.

pub mod bot;
pub mod entra;
pub mod graph;
mod http;
mod shared;
mod wire;

pub use http::HttpFake;
