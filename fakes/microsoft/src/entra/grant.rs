//! What kinds of requests the endpoints know.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What kind of request it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// The blueprint by its certificate.
    Hop1,
    /// The agent identity by T1.
    Hop2,
    /// The agent user by T1 and T2.
    Hop3,
    /// A request for a device code.
    DeviceCode,
    /// A question whether the person is done.
    DevicePoll,
    /// A browser at the authorization endpoint.
    Authorize,
    /// A browser's code.
    BrowserCode,
    /// A refresh token.
    Refresh,
    /// Anything else.
    Other,
}
