//! The forms in which Graph writes an error.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The form of an error body.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorStyle {
    /// The body has `error.innerError`.
    #[default]
    Plain,
    /// `error.code` is empty. `error.innererror`, in lower case, holds another one with the real code.
    LowerCaseNested,
}
