//! The two eras of the protocol: sessions that `initialize` opens, and requests that carry everything with them.
//!
//! It must never apply one request's era, identity or version to the next: a pipe may carry both eras.

use rmcp::model::ErrorCode;
use serde_json::{Value, json};

use super::level::Level;
use super::message::{Object, RpcError};

/// Versions that `initialize` can agree on, oldest first.
pub const LEGACY_VERSIONS: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];

/// The version that `initialize` answers if it does not know the requested one, or if that one has no `initialize`.
pub const LEGACY_NEWEST: &str = "2025-11-25";

/// The only version in which a client may send batches.
pub const BATCH_VERSION: &str = "2025-03-26";

/// Versions in which each request carries everything with it.
pub const MODERN_VERSIONS: [&str; 1] = ["2026-07-28"];

/// The key of `_meta` with the version of a modern request.
pub const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
/// The key of `_meta` with the name and version of the client.
pub const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
/// The key of `_meta` with the capabilities of the client.
pub const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
/// The key of `_meta` with the name and version of the server.
pub const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";
const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The key of `_meta` with the subscription that a notification belongs to.
pub const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// The rules that an answer follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Era {
    /// A session that `initialize` opened, in versions up to 2025-11-25.
    Legacy,
    /// A request that carries everything with it, in versions from 2026-07-28.
    Modern,
}

/// The version that answers an `initialize`.
pub fn negotiate(requested: &str) -> &'static str {
    LEGACY_VERSIONS.into_iter().find(|known| *known == requested).unwrap_or(LEGACY_NEWEST)
}

/// Whether a request claims the modern era. One reserved key in its `_meta` is enough.
pub fn claims_modern(params: &Object) -> bool {
    params.get("_meta").and_then(Value::as_object).is_some_and(|meta| {
        [META_VERSION, META_CLIENT, META_CAPABILITIES].iter().any(|key| meta.contains_key(*key))
    })
}

/// Checks the `_meta` of a modern request and returns the client's name, if it gives one.
pub fn modern_client(params: &Object) -> Result<Option<String>, RpcError> {
    let meta = match params.get("_meta") {
        Some(Value::Object(meta)) => meta,
        Some(other) => return Err(RpcError::wrong_kind("_meta", "an object", other)),
        None => {
            return Err(RpcError::invalid_params(format!(
                "params._meta: missing; it must hold {META_VERSION} and {META_CAPABILITIES}"
            )));
        }
    };
    let field =
        |key: &str, problem: &str| RpcError::invalid_params(format!("params._meta[\"{key}\"]: {problem}"));
    let version = match meta.get(META_VERSION) {
        Some(Value::String(version)) => version,
        Some(_) => return Err(field(META_VERSION, "must be a string")),
        None => {
            return Err(field(META_VERSION, "missing; it must name the protocol version of this request"));
        }
    };
    if !MODERN_VERSIONS.contains(&version.as_str()) {
        return Err(RpcError {
            code: ErrorCode::UNSUPPORTED_PROTOCOL_VERSION,
            message: format!(
                "unsupported protocol version; requests with this _meta use {}, older versions start with initialize",
                MODERN_VERSIONS.join(", ")
            ),
            data: Some(json!({"supported": MODERN_VERSIONS, "requested": version})),
        });
    }
    match meta.get(META_CAPABILITIES) {
        Some(Value::Object(_)) => {}
        Some(_) => return Err(field(META_CAPABILITIES, "must be an object")),
        None => return Err(field(META_CAPABILITIES, "missing; an empty object will do")),
    }
    match meta.get(META_CLIENT) {
        None => Ok(None),
        Some(Value::Object(client)) => match client.get("name") {
            Some(Value::String(name)) => Ok(Some(name.clone())),
            _ => Err(field(META_CLIENT, "name must be a string")),
        },
        Some(_) => Err(field(META_CLIENT, "must be an object")),
    }
}

/// The version of the client of a modern request, or empty.
pub fn modern_client_version(params: &Object) -> &str {
    meta(params, META_CLIENT).and_then(|client| client.get("version")).and_then(Value::as_str).unwrap_or("")
}

/// Whether the capabilities of a modern request name this extension.
pub fn declares_extension(params: &Object, name: &str) -> bool {
    let extensions = meta(params, META_CAPABILITIES).and_then(|capabilities| capabilities.get("extensions"));
    extensions.and_then(|extensions| extensions.get(name)).is_some_and(Value::is_object)
}

/// Whether the capabilities of a client say that it shows its user forms. Before the modes had names, the capability was
/// empty.
pub(crate) fn shows_forms(capabilities: &Value) -> bool {
    let modes = capabilities.get("elicitation").and_then(Value::as_object);
    modes.is_some_and(|modes| modes.is_empty() || modes.contains_key("form"))
}

/// Whether the client of a modern request shows its user forms.
pub(crate) fn modern_forms(params: &Object) -> bool {
    meta(params, META_CAPABILITIES).is_some_and(shows_forms)
}

/// The lowest level of log messages that a modern request wants while it is open; `None` if it wants none.
pub fn modern_log_level(params: &Object) -> Result<Option<Level>, RpcError> {
    let Some(asked) = meta(params, META_LOG_LEVEL) else { return Ok(None) };
    let level = asked.as_str().and_then(Level::parse).ok_or_else(|| {
        RpcError::invalid_params(format!(
            "params._meta[\"{META_LOG_LEVEL}\"]: expected one of {}",
            Level::names()
        ))
    })?;
    Ok(Some(level))
}

fn meta<'a>(params: &'a Object, key: &str) -> Option<&'a Value> {
    params.get("_meta")?.get(key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_versions_are_echoed_and_others_get_the_newest_with_initialize() {
        for version in LEGACY_VERSIONS {
            assert_eq!(negotiate(version), version);
        }
        for version in ["2026-07-28", "1999-01-01", "2099-01-01", ""] {
            assert_eq!(negotiate(version), LEGACY_NEWEST);
        }
    }
}
