//! The states of a delivery, as one session of a consumer sees them, and the moves between them.
//!
//! Every decision of a mailbox about a record matches [`DeliveryState`]; the table is [`DeliveryState::after`]. It must never
//! read a file or a lock.

/// The state of a record for its consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeliveryState {
    /// No carrier has shown it to the consumer.
    New,
    /// A carrier claimed and pushed it. Whether the model saw it is not known.
    Pushed,
    /// A hook, `entraclaw wait` or a peek has shown it. No session holds it.
    Shown,
    /// An answer with it was given back, or went to a session that ended long ago. Whether the model saw it is not known, and
    /// no session holds it.
    Doubtful,
    /// An answer of this session holds it and has not left yet.
    HandedOut,
    /// An answer of this session with it has left, and the consumer has made no call since.
    Pending,
    /// An answer of another running session holds it.
    PendingElsewhere,
    /// It was handed to a session that ended before it acknowledged.
    Orphaned,
    /// The same, and a running session has pushed it again, marked.
    OrphanPushed,
    /// The consumer has acknowledged it.
    Acknowledged,
}

/// An event that changes the state of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// This session puts it into an answer.
    HandOut,
    /// The answer leaves.
    Finish,
    /// The consumer acknowledges it, by its next call or by its id.
    Acknowledge,
    /// The answer was cancelled or lost.
    GiveBack,
    /// A peek shows it; it stays unread.
    Peek,
    /// A hook or `entraclaw wait` shows it to the model.
    Tell,
    /// A carrier claims it, and pushes it.
    Push,
    /// A carrier takes it over from a session that ended, and pushes it.
    PushAgain,
    /// The push surely showed nothing.
    Withdraw,
    /// The session that holds it ends.
    HolderDies,
}

impl DeliveryState {
    /// All states, from new to acknowledged.
    pub const ALL: [Self; 10] = [
        Self::New,
        Self::Pushed,
        Self::Shown,
        Self::Doubtful,
        Self::HandedOut,
        Self::Pending,
        Self::PendingElsewhere,
        Self::Orphaned,
        Self::OrphanPushed,
        Self::Acknowledged,
    ];

    /// The state after a move; `None` where this session may not make it.
    #[expect(clippy::match_same_arms, reason = "a row for each move, so that it reads as a table")]
    pub const fn after(self, by: Move) -> Option<Self> {
        use DeliveryState as S;
        match (self, by) {
            (
                S::New | S::Pushed | S::Shown | S::Doubtful | S::Pending | S::Orphaned | S::OrphanPushed,
                Move::HandOut,
            ) => Some(S::HandedOut),
            (S::HandedOut, Move::Finish) => Some(S::Pending),
            // An id counts only where the consumer was shown it, for ids are unique within a conversation at best.
            (S::New | S::Acknowledged, Move::Acknowledge) => None,
            (_, Move::Acknowledge) => Some(S::Acknowledged),
            (S::HandedOut | S::Pending, Move::GiveBack) => Some(S::Doubtful),
            (S::New | S::Pushed | S::Shown | S::Doubtful, Move::Peek | Move::Tell) => Some(S::Shown),
            (S::Pending, Move::Peek | Move::Tell) => Some(S::Pending),
            (S::Orphaned | S::OrphanPushed, Move::Tell) => Some(S::Shown),
            (S::Orphaned | S::OrphanPushed, Move::Peek) => Some(self),
            (S::New, Move::Push) => Some(S::Pushed),
            (S::Orphaned, Move::PushAgain) => Some(S::OrphanPushed),
            (S::Pushed, Move::Withdraw) => Some(S::New),
            (S::OrphanPushed, Move::Withdraw) => Some(S::Orphaned),
            (S::PendingElsewhere, Move::HolderDies) => Some(S::Orphaned),
            _ => None,
        }
    }

    /// Whether this session may make the move in this state.
    pub const fn may(self, by: Move) -> bool {
        self.after(by).is_some()
    }

    /// Whether it was shown other than by a push, so that a repetition is marked `redelivered`.
    pub const fn was_shown(self) -> bool {
        !matches!(self, Self::New | Self::Pushed)
    }

    /// Whether the model knows it as far as a carrier can tell. Of the others it is not known, or surely not.
    pub const fn is_known_to_the_model(self) -> bool {
        matches!(self, Self::Pushed | Self::Shown | Self::Pending | Self::OrphanPushed)
    }

    /// Whether the consumer has acknowledged it, or an open answer of this session or any answer of another one holds it.
    pub const fn is_spoken_for(self) -> bool {
        matches!(self, Self::HandedOut | Self::PendingElsewhere | Self::Acknowledged)
    }
}
