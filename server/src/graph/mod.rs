//! Microsoft Graph: requests, retries, links. Knows HTTP meaning, never what a message is.

mod transport;

pub use transport::{GraphRequest, GraphResponse, GraphTransport, Method, TransportError};
