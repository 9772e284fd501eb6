//! Host profiles: the behaviour of a host of one version, as data with evidence. A profile is read strictly;
//! it never has a default that no file states.

mod consent;
mod embedded;
mod fact;
mod file;
mod kinds;
mod load;
mod sections;
mod wake;

pub use consent::{Consent, Environment, Unallowed};
pub use embedded::{profile, profiles};
pub use fact::{Evidence, Fact, Mark, PerMode};
pub use file::{ProfileError, ProfileFile};
pub use kinds::{
    Fate, GiveUp, IdRule, ListChanged, ListKind, OnAsk, OnProbeExit, OnRoots, OnSilence, OnStdoutClosed,
    Overlong, Parallel, ProgressTokens, Refusal, Restart, SizeUnit, StartClock, Stop, StopStep, Structured,
    ToolsShown, UnknownMessage,
};
pub use load::{load, load_chain};
pub use sections::{
    Calls, Channel, Fidelity, Identity, Life, Lists, Modern, Names, Notifications, Opening, Requests,
    Schemas, Texts, Wire,
};
pub use wake::{
    Hook, HookAnswer, HookInput, Hooks, Shell, ShellShown, Tasks, WakeUp, WakeUpKind, Waking, WhileBusy,
};

use serde_json::Value;

/// Every fact by which a fake host of one version behaves.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// `family@version`, as given on a command line.
    pub id: String,
    /// The host's family, the same for all versions and names.
    pub family: String,
    /// The title for reports.
    pub title: String,
    /// The source of the evidence as a whole, and its limits.
    pub about: String,
    /// The profile from which this one differs.
    pub extends: Option<String>,
    /// The name and capabilities of the host.
    pub identity: Identity,
    /// Member order and ids.
    pub wire: Wire,
    /// The handshake.
    pub opening: Opening,
    /// Lists.
    pub lists: Lists,
    /// The era of 2026-07-28.
    pub modern: Modern,
    /// Tool calls.
    pub calls: Calls,
    /// Notifications of the server.
    pub notifications: Notifications,
    /// The channel.
    pub channel: Channel,
    /// Requests of the server.
    pub requests: Requests,
    /// The texts for the model.
    pub texts: Texts,
    /// Names and descriptions.
    pub names: Names,
    /// Tools that may be refused.
    pub schemas: Schemas,
    /// Life of the process.
    pub life: Life,
    /// Background shells of the model.
    pub shell: Shell,
    /// Commands that the host runs at certain moments.
    pub hooks: Hooks,
    /// Hooks that run beside an idle session and wake it.
    pub waking: Waking,
    /// The wake-up.
    pub wake_up: WakeUp,
    /// Calls that become tasks.
    pub tasks: Tasks,
    /// Questions to the user.
    pub consent: Consent,
    /// The environment of servers.
    pub environment: Environment,
    /// The tolerances against the recordings.
    pub fidelity: Fidelity,
}

impl Profile {
    /// Every fact with its mark and source, in the order of the sections.
    pub fn evidence(&self) -> Vec<Evidence> {
        let mut lines = Vec::new();
        self.identity.evidence("identity", &mut lines);
        self.wire.evidence("wire", &mut lines);
        self.opening.evidence("opening", &mut lines);
        self.lists.evidence("lists", &mut lines);
        self.modern.evidence("modern", &mut lines);
        self.calls.evidence("calls", &mut lines);
        self.notifications.evidence("notifications", &mut lines);
        self.channel.evidence("channel", &mut lines);
        self.requests.evidence("requests", &mut lines);
        self.texts.evidence("texts", &mut lines);
        self.names.evidence("names", &mut lines);
        self.schemas.evidence("schemas", &mut lines);
        self.life.evidence("life", &mut lines);
        self.shell.evidence("shell", &mut lines);
        self.hooks.evidence("hooks", &mut lines);
        self.waking.evidence("waking", &mut lines);
        self.wake_up.evidence("wake_up", &mut lines);
        self.tasks.evidence("tasks", &mut lines);
        self.consent.evidence("consent", &mut lines);
        self.environment.evidence("environment", &mut lines);
        self.fidelity.evidence("fidelity", &mut lines);
        lines
    }

    /// `clientInfo.name`.
    pub fn client_name(&self) -> &str {
        self.identity.client_info.get("name").and_then(Value::as_str).unwrap_or_default()
    }
}
