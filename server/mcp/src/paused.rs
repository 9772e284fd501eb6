//! The calls that wait for a word of the user in protocol 2026-07-28.
//!
//! It must never hold more than the calls that may be open at a time.

use std::collections::BTreeMap;

use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

use crate::answer::Answer;
use crate::message::Id;
use crate::user::Word;

/// A call whose client asks its user.
pub(crate) struct PausedCall {
    pub(crate) number: u64,
    pub(crate) cancel: watch::Sender<bool>,
    pub(crate) word: oneshot::Sender<Word>,
    /// The id of the request that began it, by which its work reports progress.
    pub(crate) first: Id,
    /// When it is forgotten.
    pub(crate) until: Instant,
    /// The answer, if the work did not wait any more.
    pub(crate) done: Option<Answer>,
}

/// The calls that wait so, by the state that their clients send back.
pub(crate) type Paused = BTreeMap<String, PausedCall>;

/// When the next of them is forgotten.
pub(crate) fn forgotten_at(paused: &Paused) -> Option<Instant> {
    paused.values().map(|paused| paused.until).min()
}
