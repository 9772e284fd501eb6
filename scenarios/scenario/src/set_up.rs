//! The carriers that the person has set up in a host. It knows no host's names for them.

use fake_hosts::{HostOptions, Mode};
use serde::{Deserialize, Serialize};

/// How long our hook that wakes may take, as `entraclaw setup` writes it, in milliseconds.
const WAKING_TIMEOUT_MS: u64 = 36_000_000;

/// One thing that is set.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SetUp {
    /// The session names the server as a channel.
    Channel,
    /// The host runs our hooks.
    Hooks,
    /// The host runs our hook that wakes it.
    WakingHook,
    /// The model may leave our command running in its shell, with the settings that its end needs.
    Shell,
    /// The host's wake-up is on, and the server uses it.
    WakeUp,
    /// The host's experimental setting is on.
    Experimental,
    /// The host runs without its terminal interface, for one prompt.
    Headless,
}

impl SetUp {
    /// What is set in a host with these options.
    pub fn of(options: &HostOptions) -> Vec<Self> {
        let all = [
            (Self::Channel, options.channels),
            (Self::Hooks, options.hooks),
            (Self::WakingHook, options.waking_hook),
            (Self::Shell, options.shell),
            (Self::WakeUp, options.wake_up),
            (Self::Experimental, options.experimental),
            (Self::Headless, options.mode == Mode::Print),
        ];
        all.into_iter().filter(|(_, is_set)| *is_set).map(|(set, _)| set).collect()
    }

    /// A host in which all of these are set and nothing else.
    pub fn options(all: &[Self]) -> HostOptions {
        HostOptions {
            channels: all.contains(&Self::Channel),
            hooks: all.contains(&Self::Hooks),
            waking_hook: all.contains(&Self::WakingHook),
            waking_timeout_ms: all.contains(&Self::WakingHook).then_some(WAKING_TIMEOUT_MS),
            shell: all.contains(&Self::Shell),
            wake_up: all.contains(&Self::WakeUp),
            experimental: all.contains(&Self::Experimental),
            mode: if all.contains(&Self::Headless) { Mode::Print } else { Mode::Tui },
            ..HostOptions::default()
        }
    }
}
