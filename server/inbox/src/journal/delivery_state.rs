//! The states of a delivery, as one session of a consumer sees them, and the moves between them.
//!
//! Every decision of a mailbox about a record matches [`DeliveryState`]; the table is [`DeliveryState::after`]. It must never
//! read a file or a lock.

/// Where one record stands with its consumer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DeliveryState {
    /// The consumer was shown it by no way.
    New,
    /// A carrier claimed and pushed it. Whether the model saw it is not known.
    Pushed,
    /// A hook, `entraclaw wait` or a look has shown it, or an answer with it was given back. No session holds it.
    Shown,
    /// An answer of this session holds it and has not left yet.
    HandedOut,
    /// An answer of this session with it has left, and the consumer has not come back.
    Pending,
    /// An answer of another living session holds it.
    PendingElsewhere,
    /// A session was handed it and died before the consumer came back.
    Orphaned,
    /// The same, and a living session has pushed it again, marked.
    OrphanPushed,
    /// The consumer has it.
    Acknowledged,
}

/// What can happen to a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// This session puts it into an answer.
    HandOut,
    /// The answer leaves.
    Finish,
    /// The consumer says that it has it, by coming back or by naming its id.
    Acknowledge,
    /// The answer was cancelled or lost.
    GiveBack,
    /// A look shows it and changes nothing.
    Peek,
    /// A hook or `entraclaw wait` tells the model.
    Tell,
    /// A carrier claims it, and pushes it.
    Push,
    /// A carrier takes over what another session left, and pushes that.
    PushAgain,
    /// The push surely showed nothing.
    Withdraw,
    /// The session that holds it dies.
    HolderDies,
}

impl DeliveryState {
    /// All of them, in the order of a message's way.
    pub const ALL: [Self; 9] = [
        Self::New,
        Self::Pushed,
        Self::Shown,
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
            (S::New | S::Pushed | S::Shown | S::Pending | S::Orphaned | S::OrphanPushed, Move::HandOut) => {
                Some(S::HandedOut)
            }
            (S::HandedOut, Move::Finish) => Some(S::Pending),
            // An id counts only where the consumer was shown it, for ids are unique within a conversation at best.
            (S::New | S::Acknowledged, Move::Acknowledge) => None,
            (_, Move::Acknowledge) => Some(S::Acknowledged),
            (S::HandedOut | S::Pending, Move::GiveBack) => Some(S::Shown),
            (S::New | S::Pushed | S::Shown, Move::Peek | Move::Tell) => Some(S::Shown),
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

    /// Whether it may be made.
    pub const fn may(self, by: Move) -> bool {
        self.after(by).is_some()
    }

    /// Whether it was shown by a way that is sure to have left this server, and a repetition is marked `redelivered`.
    pub const fn was_shown(self) -> bool {
        !matches!(self, Self::New | Self::Pushed)
    }

    /// Whether the consumer has it, or an open answer brings it.
    pub const fn is_spoken_for(self) -> bool {
        matches!(self, Self::HandedOut | Self::PendingElsewhere | Self::Acknowledged)
    }
}
