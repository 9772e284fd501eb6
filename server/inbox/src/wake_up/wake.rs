//! What one wake-up tells: the records, how they are told, and the text. It must never read or mark a message.

use crate::record::Record;

/// What there is to tell.
pub(super) enum Plan {
    Nothing,
    /// There are orphaned deliveries.
    Left,
    /// These go whole.
    Whole(Vec<Record>),
    /// These are announced; the flag says whether more wait after them.
    Notice(Vec<Record>, bool),
}

/// The content of one wake-up.
#[derive(Debug)]
pub(super) struct Wake {
    pub text: String,
    pub(super) records: Vec<Record>,
    pub(super) form: Form,
    /// Whether it holds the text of its messages.
    pub(super) is_whole: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Orphaned deliveries.
    Left,
    Whole,
    Notice,
}

impl Plan {
    /// The wake-up that would have been used, for a host whose place could not be found.
    pub(super) fn into_wake(self) -> Wake {
        let (records, form) = match self {
            Self::Nothing | Self::Left => (Vec::new(), Form::Left),
            Self::Whole(records) => (records, Form::Whole),
            Self::Notice(records, _) => (records, Form::Notice),
        };
        Wake { text: String::new(), records, form, is_whole: false }
    }

    /// Keeps only the first whole message, for a host where each message has an id of its own.
    pub(super) fn of_one(mut self) -> Self {
        if let Self::Whole(records) = &mut self {
            records.truncate(1);
        }
        self
    }
}
