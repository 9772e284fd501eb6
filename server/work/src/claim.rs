//! Who gets a job's result: the caller or the inbox.
//!
//! The state is the name of one file in the job's folder, and a move renames that file. A rename succeeds for one of those
//! who try it, so a result never goes both ways, whatever happens in the same instant and wherever a process dies.

/// Where a result is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// The caller waits, and the result may not be there yet.
    Open,
    /// The caller has taken the result and may not have handed it on.
    Claimed,
    /// The caller has handed the result on. It never reaches the inbox.
    Seen,
    /// The caller does not wait any more: the result belongs to the inbox.
    Released,
    /// As [`Claim::Released`], and the caller had taken the result before it died: it may have been shown.
    ReleasedLate,
    /// The inbox has the result.
    Told,
}

/// A step from one state to the next, and who may take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// The caller takes the result, which is there.
    Take,
    /// The caller has handed the result on.
    HandOn,
    /// The caller's time is over, it was cancelled, or it has died while it waited.
    LetGo,
    /// The caller has died with the result in its hands.
    TakeBack,
    /// The inbox has the result, durably.
    Tell,
}

impl Claim {
    /// All states.
    pub const ALL: [Self; 6] =
        [Self::Open, Self::Claimed, Self::Seen, Self::Released, Self::ReleasedLate, Self::Told];

    /// The name of its file.
    pub const fn file(self) -> &'static str {
        match self {
            Self::Open => "claim.open",
            Self::Claimed => "claim.claimed",
            Self::Seen => "claim.seen",
            Self::Released => "claim.released",
            Self::ReleasedLate => "claim.released-late",
            Self::Told => "claim.told",
        }
    }

    /// The state after a move, where that move is allowed.
    pub const fn after(self, step: Move) -> Option<Self> {
        match (self, step) {
            (Self::Open, Move::Take) => Some(Self::Claimed),
            (Self::Open, Move::LetGo) => Some(Self::Released),
            (Self::Claimed, Move::HandOn) => Some(Self::Seen),
            (Self::Claimed, Move::TakeBack) => Some(Self::ReleasedLate),
            (Self::Released | Self::ReleasedLate, Move::Tell) => Some(Self::Told),
            _ => None,
        }
    }

    /// Whether nothing more becomes of the result.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Seen | Self::Told)
    }
}

impl Move {
    /// All moves.
    pub const ALL: [Self; 5] = [Self::Take, Self::HandOn, Self::LetGo, Self::TakeBack, Self::Tell];
}
