//! Fake MCP hosts: raw JSON-RPC, one profile for each version, no protocol library. A host keeps the texts
//! that its model would have been shown; it shares no code with the server that it judges.
//!
//! [`settings`] reads a user's files as the hosts do. [`HostMachine`] is a synchronous state machine.
//! [`drive`](drive::drive) runs it over any pipes on tokio's clock, [`process`] over those of a real process.

mod any;
mod channel;
pub mod drive;
mod effect;
mod fault;
mod flatten;
pub mod log;
mod machine;
mod names;
mod options;
pub mod pipe;
pub mod process;
mod schema;
pub mod script;
pub mod settings;
pub mod split;
pub mod task;
mod wire;

pub use any::{AnyServer, Serve};
pub use effect::{
    Action, Carrier, Effect, ModelEntry, ModelView, Outcome, PermissionAsk, ShellEnd, Signal, ToolCall,
};
pub use flatten::{Origin, Shown, result as flatten_result, whole as flatten_whole};
pub use host_profiles::{
    Calls, Channel, Consent, Environment, Evidence, Fact, Fate, Faults, Fidelity, GiveUp, Hook, HookAnswer,
    HookInput, Hooks, IdRule, Identity, Life, ListChanged, ListKind, Lists, Mark, Mode, Modern, Names,
    Notifications, OnAsk, OnFault, OnProbeExit, OnRepeat, OnRoots, OnSilence, OnStdoutClosed, Opening,
    Overlong, Parallel, PerMode, PerStage, Profile, ProfileError, ProfileFile, ProgressTokens, Refusal,
    Requests, Restart, Schemas, Shell, ShellShown, SizeUnit, StartClock, Stop, StopStep, Structured, Tasks,
    Texts, ToolsShown, Unallowed, UnknownMessage, WakeUp, WakeUpKind, Waking, WhileBusy, Wire, load,
    load_chain, profile, profiles,
};
pub use machine::HostMachine;
pub use names::{cut as cut_description, shown_name};
pub use options::{HostOptions, thread_id};
pub use schema::{SchemaFeature, is_task_only, names_its_server, schema_features};
