//! Host profiles: the behaviour of a host of one version, as data with evidence. A profile is read strictly;
//! it never has a default that no file states.

mod consent;
mod embedded;
mod fact;
mod faults;
mod file;
mod kinds;
mod load;
mod mode;
mod sections;
mod wake;

pub use consent::{Consent, Environment, Unallowed};
pub use embedded::{profile, profiles};
pub use fact::{Evidence, Fact, Mark, PerMode};
pub use faults::{Faults, OnFault, OnRepeat, PerStage, Stage};
pub use file::{Profile, ProfileError, ProfileFile};
pub use kinds::{
    Fate, GiveUp, IdRule, ListChanged, ListKind, OnAsk, OnProbeExit, OnRoots, OnSilence, OnStdoutClosed,
    Overlong, Parallel, ProgressTokens, Refusal, Restart, SizeUnit, StartClock, Stop, StopStep, Structured,
    ToolsShown, UnknownMessage,
};
pub use load::{load, load_chain};
pub use mode::Mode;
pub use sections::{
    Calls, Channel, Fidelity, Identity, Life, Lists, Modern, Names, Notifications, Opening, Requests,
    Schemas, Texts, Wire,
};
pub use wake::{
    Hook, HookAnswer, HookInput, Hooks, Shell, ShellShown, Tasks, WakeUp, WakeUpKind, Waking, WhileBusy,
};

use serde_json::Value;

impl Profile {
    /// `clientInfo.name`.
    pub fn client_name(&self) -> &str {
        self.identity.client_info.get("name").and_then(Value::as_str).unwrap_or_default()
    }
}
