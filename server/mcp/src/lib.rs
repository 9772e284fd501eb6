//! The connection to one host: framing, both eras of the protocol, dispatch, tools, resources, prompts, progress and
//! cancellation, over [providers](provider::Provider).
//!
//! One loop reads lines, keeps open requests as data, and writes answers in one order. It must never wait for one event
//! while another could happen, write anything but JSON-RPC lines, ask the host for what it did not declare, or know a
//! provider; the crates above it explain their providers to the host.

mod again;
pub mod answer;
pub mod arguments;
mod asking;
mod beyond;
mod call;
mod cancel;
pub mod connection;
mod dispatch;
pub mod era;
mod framing;
pub mod hosts;
mod id_scan;
pub mod json_bytes;
pub mod level;
mod lifecycle;
pub mod message;
pub mod nearest;
mod outgoing;
pub mod page;
mod paused;
pub mod provider;
mod receipt;
pub mod resources;
mod roots;
mod session;
mod task_now;
pub mod tasks;
mod user;

pub use answer::{ANSWER_BYTES_MAX, Answer, FRAME_BYTES};
pub use arguments::{Arguments, Refusal};
pub use beyond::Beyond;
pub use connection::{Caller, Connection, Limits, Opened, Options, Route};
pub use era::{Era, LEGACY_NEWEST, LEGACY_VERSIONS, MODERN_VERSIONS};
pub use framing::LINE_BYTES_MAX;
pub use outgoing::OUT_BYTES_MAX;
pub use provider::{Begun, Call, Cancellation, Offer, Offers, Progress, Provider};
pub use receipt::Receipt;
pub use roots::Roots;
pub use session::{Exit, serve};
pub use user::{User, Word};
