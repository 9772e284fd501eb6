//! What the loop that wakes a host is made of, and what every step of it may say about the host. It must never wait.

use std::sync::Arc;

use super::round::Round;
use super::{ActivityWatch, HostWakeUp, InboxSocket, Trust, WakeUpSettings, WakeUpState, WakeUps};
use crate::journal::Journal;
use crate::presence::Presence;
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::Storage;

/// The parts that the loop is made of.
pub struct WakeUpCarrier {
    /// Uses the wake-ups.
    pub wake_ups: Arc<dyn WakeUps>,
    /// Which wake-ups are enabled, and how often they may be used.
    pub settings: WakeUpSettings,
    /// The inbox socket of the host's session, as this server's environment names it.
    pub inbox: Option<InboxSocket>,
    /// The id of the host's process, where it is known.
    pub process: Option<String>,
    /// The storage with the meeting places of the host's hooks.
    pub storage: Arc<dyn Storage>,
    /// Decides whose text may go whole.
    pub trust: Trust,
    /// The journal with the messages.
    pub journal: Journal,
    /// Gives the time at which the connection began.
    pub clock: Arc<dyn Clock>,
    /// The activity of the host.
    pub activity: ActivityWatch,
    /// Receives the state of the wake-up.
    pub presence: Presence,
    /// This session's id.
    pub id: String,
}

impl WakeUpCarrier {
    /// Replaces the wake-up by another one.
    pub(super) fn use_instead(&self, round: &mut Round, wake_up: HostWakeUp) {
        self.presence.wake_up(None, wake_up.name(WakeUpState::Ready));
        (round.wake_up, round.state) = (wake_up, WakeUpState::Ready);
    }

    pub(super) fn tell(&self, round: &mut Round, state: WakeUpState) {
        if round.state != state {
            self.presence.wake_up(Some(round.wake_up.name(round.state)), round.wake_up.name(state));
            round.state = state;
        }
    }

    /// The most messages that an hour may have.
    pub(super) fn hour_max(&self) -> usize {
        usize::try_from(self.settings.messages_per_hour).unwrap_or(usize::MAX)
    }

    /// How many more messages may be told in this hour.
    pub(super) fn room(&self, round: &Round) -> usize {
        self.hour_max().saturating_sub(round.hour.len())
    }
}
