//! The terminal of a person who works with the engine: the conversation, what goes on, and a line to write in.
//!
//! From the ground up: `glyph` says what of a text is shown, `wrap` breaks it into lines, `news` is what the screen is told
//! and `told` makes it from what the engine tells, `keys`, `input` and `command` are what a person does, `talk` and `speed`
//! are parts of the state, `screen` is all of it, `theme` and `draw` show it, `terminal` sets the terminal up and restores
//! it, `drive` is the loop, `link` joins it to an engine, `run` does all of that.
//!
//! It must never let a text control the terminal, never leave the terminal in another state than it found it in, and never
//! let a tool run without a key that was meant for it.

mod command;
mod draw;
mod drive;
mod glyph;
mod input;
mod keys;
mod link;
pub mod news;
mod run;
mod screen;
mod speed;
mod talk;
pub mod terminal;
mod theme;
pub mod told;
mod wrap;

pub use command::{Command, parse};
pub use draw::draw;
pub use drive::{Drawn, Feeds, drive};
pub use glyph::{line, text};
pub use input::{BYTES_MAX, Input};
pub use keys::Key;
pub use run::{Options, run, show};
pub use screen::{Effect, Happens, Screen};
pub use theme::{Part, Theme};
