//! A session as a text to read: whole or in short, as Markdown or as the design document's JSON, and lists of sessions.
//!
//! From the ground up: `deeds` are the tools that were used and the files that they name, `quote` keeps a text that
//! a person or an agent wrote within its place, `markdown` joins them, `conversation` and `listing` are the document's JSON.
//!
//! It must never let the text of a session become structure of what is exported, nor choose what matters by a model.

mod conversation;
mod deeds;
mod listing;
mod markdown;
mod quote;

pub use conversation::{Conversation, Page, Request, conversation};
pub use deeds::Deeds;
pub use listing::{Listed, Listing, list};
pub use markdown::{Exported, Extent, export};

pub(crate) use markdown::{heading, title, whole};
pub(crate) use quote::quote;
