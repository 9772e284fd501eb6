//! Readers of what agents keep of their sessions, one file for each agent's form, and one model for all.
//!
//! From the ground up: `session` is the model, `tally` counts what was not understood, `gather` collects a file's
//! messages, `mark` says how far a file was read, `lines` reads a log from there, `json` a record of it, `homes` finds
//! the stores, `find` their files, `read` chooses the reader; `library` holds them together, `pick` says which session is
//! meant, `survey` what there is.
//!
//! It must never write, nor trust a file: each line and each file has a bound, and what can't be read is counted.

mod claude;
mod codex;
mod copilot;
mod find;
mod gather;
mod gemini;
mod homes;
mod json;
mod library;
mod lines;
mod mark;
mod opencode;
mod parts;
mod pick;
mod qwen;
mod read;
mod replay;
mod session;
mod survey;
mod tally;
mod vscode;

pub use find::{Found, find};
pub use homes::{Homes, System};
pub use library::{Counted, Library, Newest, Whole, is_said};
pub use mark::Mark;
pub use pick::{SessionError, Wanted, full_name};
pub(crate) use read::unread_bytes;
pub use read::{Batch, read, read_again, read_piece};
pub use session::{Agent, Message, Place, Role, Session};
pub use survey::{Depth, Surveyed, survey};
pub use tally::Tally;
