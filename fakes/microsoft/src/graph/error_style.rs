//! How Graph writes an error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The form of an error body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorStyle {
    /// `error.innerError`.
    #[default]
    Plain,
    /// An empty `error.code`, `error.innererror` in lower case and another one inside with the real code.
    LowerCaseNested,
}
