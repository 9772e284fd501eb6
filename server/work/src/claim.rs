//! Decides who gets a job's result: the caller or the inbox.
//!
//! The state is the name of one file in the job's folder, and a move renames that file. Of several processes that try,
//! only one succeeds. So a result never goes both ways, even if two act in the same instant or a process ends.

/// The state of a result on its way to the caller or the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Claim {
    /// The caller waits; the result may not exist yet.
    Open,
    /// The caller has taken the result and may not have handed it on.
    Claimed,
    /// The caller has handed the result on. It never reaches the inbox.
    Seen,
    /// The caller has stopped waiting: the result belongs to the inbox.
    Released,
    /// As [`Claim::Released`], but the caller had taken the result before it ended, so it may have shown the result.
    ReleasedLate,
    /// The inbox has the result.
    Told,
}

/// A step from one state to the next, and which side takes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// The caller takes a result that exists.
    Take,
    /// The caller notes that it has handed the result on.
    HandOn,
    /// The caller's time is over, it was cancelled, or it ended while it waited.
    LetGo,
    /// The caller ended after it took the result and before it handed it on.
    TakeBack,
    /// The inbox has the result, durably.
    Tell,
}

impl Claim {
    /// All states, in their order.
    pub const ALL: [Self; 6] =
        [Self::Open, Self::Claimed, Self::Seen, Self::Released, Self::ReleasedLate, Self::Told];

    /// The name of the file that stands for this state.
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

    /// The name of the state, as a store writes it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Claimed => "claimed",
            Self::Seen => "seen",
            Self::Released => "released",
            Self::ReleasedLate => "released-late",
            Self::Told => "told",
        }
    }

    /// The state of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|claim| claim.as_str() == name)
    }

    /// The state after a move, or `None` if the move is not allowed.
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

    /// Whether no move leads out of this state.
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Seen | Self::Told)
    }
}

impl Move {
    /// All moves.
    pub const ALL: [Self; 5] = [Self::Take, Self::HandOn, Self::LetGo, Self::TakeBack, Self::Tell];
}
