//! A fake Microsoft Graph for Teams and mail: one deterministic state machine with several skins.
//! It must follow no rule that is not in [`rules`], and share no code with the server under test.

mod asked;
mod auth;
mod chat;
mod draw;
mod error_style;
mod fault;
mod file;
mod log;
mod mail;
mod memo;
mod message;
mod moment;
mod payload;
mod people;
mod query;
mod raw;
mod read;
mod reject;
mod route;
mod rules;
mod script;
mod script_error;
mod sent;
mod shared;
mod spec;
mod sponsors;
mod state;
mod throttle;
mod trace;
mod write;

pub use auth::{ALL_SCOPES, TokenSpec};
pub(crate) use draw::guid as guid_of;
pub use error_style::ErrorStyle;
pub use fault::{ErrorBody, FaultAction, FaultSpec};
pub use log::{CALLS_KEPT_MAX, CallRecord, VIOLATIONS_KEPT_MAX, Violation, ViolationKind};
pub use mail::{DeltaLoss, MailAuth, MailEncryption, MailHistorySpec, MailSpec, MailboxSpec, SentMail};
pub(crate) use moment::{http_date as http_date_of, iso as iso_instant};
pub use people::{Application, Person, application_id, object_id, tenant_id};
pub use raw::RawOverride;
pub use route::Operation;
pub use rules::{Mark, Rule, RuleId, rules};
pub use script_error::ScriptError;
pub use sent::SentMessage;
pub use shared::{GraphServer, SharedGraph, serve, wiremock_skin};
pub use spec::{
    AGENT, ApplicationSpec, AttachmentSpec, CardKind, ChatKind, ChatSpec, ForwardSpec, HOME_TENANT,
    HistorySpec, IdentityType, Importance, MentionSpec, MessageSpec, PersonSpec, SystemEventSpec, WorldSpec,
};
pub use sponsors::agent_identity_id;
pub use state::FakeGraph;
pub use throttle::{Bucket, RetryAfterForm, ThrottleSpec};

pub use crate::http::{DELAY_MAX_MS, HttpFake, WiremockSkin};
pub use crate::wire::{Answer, Fate, Request};
