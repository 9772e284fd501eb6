//! The bounds of everything that a server may send or let wait.

use std::time::Duration;

/// The longest line of a stream. A whole file as the argument of a tool comes in one line.
pub(crate) const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The most text and thinking of one answer.
pub(crate) const TEXT_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The longest arguments of one tool.
pub(crate) const ARGUMENTS_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The most tools that one answer may ask for.
pub(crate) const TOOLS_MAX: usize = 32;
/// The longest answer that is no stream: a list of models, an error.
pub(crate) const BODY_BYTES_MAX: usize = 4 * 1024 * 1024;
/// The most characters of a server's own words in an error message.
pub(crate) const WORDS_CHARS_MAX: usize = 300;
/// How long the first piece may take: the server may load the model and read a long question first.
pub(crate) const FIRST_PIECE_TIMEOUT: Duration = Duration::from_secs(600);
/// How long the next piece may take.
pub(crate) const NEXT_PIECE_TIMEOUT: Duration = Duration::from_secs(60);
/// How long a question about the server itself may take.
pub(crate) const FACTS_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the state of a conversation may take to be saved or restored.
pub(crate) const HOLD_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a port of this machine may take to answer when servers are looked for.
pub(crate) const LOOK_TIMEOUT: Duration = Duration::from_secs(1);
