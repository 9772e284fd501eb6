//! A tool call of a task: what was asked for, where it stands, and its result.
//!
//! It is plain data and must never change by itself.

use entraclaw_models::ToolRequest;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Where a tool call stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallState {
    /// It was asked for and has not run, or was stopped whole and runs again.
    Asked,
    /// A person must approve it first.
    AwaitsApproval,
    /// A person has approved it.
    Approved,
    /// It runs.
    Running,
    /// It has its result.
    Done,
}

impl CallState {
    pub(crate) const ALL: [Self; 5] =
        [Self::Asked, Self::AwaitsApproval, Self::Approved, Self::Running, Self::Done];

    /// Its name in the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Asked => "asked",
            Self::AwaitsApproval => "awaits_approval",
            Self::Approved => "approved",
            Self::Running => "running",
            Self::Done => "done",
        }
    }

    /// The state with this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == name)
    }
}

/// The result of a tool call.
#[derive(Debug, Clone, PartialEq)]
pub struct CallResult {
    /// What the model is shown.
    pub text: String,
    /// What the caller is shown as its status: `success`, `error`, `refused` or `unknown`.
    pub status: String,
    /// What the caller is shown beside it: `path`, `command`, `lines`, `exit_code`.
    pub shown: Map<String, Value>,
}

/// A tool call of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Its place among all calls, which grows.
    pub number: i64,
    /// The step that asked for it.
    pub step: u32,
    /// What was asked for.
    pub request: ToolRequest,
    /// Where it stands.
    pub state: CallState,
    /// Why a person must approve it.
    pub asks: Option<String>,
    /// Its result, when it is done.
    pub result: Option<CallResult>,
    /// How often it was begun.
    pub runs: u32,
    /// When it was first begun, in milliseconds since 1970.
    pub started_ms: Option<i64>,
    /// When it was done.
    pub ended_ms: Option<i64>,
}
