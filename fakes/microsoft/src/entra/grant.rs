//! The kinds of requests that the endpoints know.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kind of request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grant {
    /// The blueprint asks for T1, with an assertion by its certificate.
    Hop1,
    /// The agent identity asks for T2, with T1.
    Hop2,
    /// The agent user asks for an access token, with T1 and T2.
    Hop3,
    /// A client asks for a device code.
    DeviceCode,
    /// A client asks whether the person has entered the code.
    DevicePoll,
    /// A browser opens the authorization endpoint.
    Authorize,
    /// A client exchanges a browser's code for tokens.
    BrowserCode,
    /// A client exchanges a refresh token for new tokens.
    Refresh,
    /// Any other request.
    Other,
}
