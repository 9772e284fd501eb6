//! Clients for model servers: what a model can do, and one streamed answer at a time.
//!
//! From the ground up: `question` and `answer` are what goes in and what comes out, `model` is the seam that the engine
//! drives, `transport` the one below. `stream`, `thinking` and `tools` read what comes, `answering` joins them, `client` has
//! the three forms, `config` and `discover` choose, and `late` does so when it is asked. `embedded`, behind a feature, is a
//! model in this process.
//!
//! It must never guess what a server can do, and never keep a stream open whose reader is gone.

mod answer;
mod answering;
mod api;
mod client;
mod config;
mod discover;
#[cfg(feature = "embedded-model")]
mod embedded;
mod late;
mod limits;
mod model;
mod question;
mod stream;
mod thinking;
mod tools;
mod transport;

pub use answer::{Answer, Piece, Stop, ToolRequest, Usage};
pub use api::Api;
pub use config::{Config, Connected, connect};
pub use discover::{Found, Place, discover};
#[cfg(feature = "embedded-model")]
pub use embedded::EmbeddedModel;
pub use late::{Choice, Late};
pub use model::{Facts, Held, Model, ModelError};
pub use question::{Question, Role, ToolChoice, ToolSchema, Turn};
pub use transport::{Chunks, Method, Reply, Request, ReqwestTransport, Transport, TransportError};
