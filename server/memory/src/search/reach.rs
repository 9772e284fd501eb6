//! How far a query looks: how many sessions, pages and bytes.
//!
//! It must never grow with what there is.

/// How far a query looks.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reach {
    /// Sessions that are looked at closely at most.
    pub(super) sessions: usize,
    /// Bytes of messages that are read.
    pub(super) bytes: usize,
    /// Whether all pages of a session are looked at, and not only the best.
    pub(super) is_of_all_pages: bool,
    /// A session must have this part of what the words of the best covered one tell.
    pub(super) least_part: f32,
}

impl Reach {
    pub(super) const WORDS: Self =
        Self { sessions: 200, bytes: 256 * 1024, is_of_all_pages: false, least_part: 0.5 };
    /// A phrase is looked for in bytes before they are read as messages, so more of them can be.
    pub(super) const PHRASE: Self =
        Self { sessions: 1000, bytes: 384 * 1024, is_of_all_pages: true, least_part: 0.5 };
    /// Any page may have the other words, and a session needs only one of those that were asked.
    pub(super) const MEANING: Self =
        Self { sessions: 1000, bytes: 1024 * 1024, is_of_all_pages: true, least_part: 0.0 };
}
