//! opencode: its configuration as a variable, and its HTTP port behind a password, for it has no other way to be woken.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};

use entraclaw::setup::{Carrier, Content, Edit, Found, with};
use serde_json::Value;

use super::super::guard::token;
use super::base::{Overlay, Wanted, files, rules};

/// A configuration in the environment, above all files.
const CONFIG: &str = "OPENCODE_CONFIG_CONTENT";
const PASSWORD: &str = "OPENCODE_SERVER_PASSWORD";

pub(super) fn fill(overlay: &mut Overlay, wanted: &Wanted<'_>) -> anyhow::Result<()> {
    // It stays free for the moment until the host takes it.
    let port = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?.local_addr()?.port();
    let theirs = wanted.variables.get(PASSWORD).filter(|theirs| !theirs.is_empty());
    let password = theirs.cloned().map_or_else(token, Ok)?;
    let files = files(wanted, vec![Carrier::Port(port)])?;
    let path = overlay.write("rules.md", &format!("{}\n", rules(&files)))?;
    let mut edits = files.iter().find_map(|file| match &file.content {
        Content::Json(edits) => Some(edits.clone()),
        _ => None,
    });
    for edit in edits.iter_mut().flatten() {
        if let Edit::Member { value, .. } = edit {
            value["environment"]["ENTRACLAW_WAKE_OPENCODE_PASSWORD"] = Value::from(password.as_str());
        }
    }
    let mut edits = edits.unwrap_or_default();
    edits.push(Edit::Element { path: vec!["instructions".to_owned()], value: Value::from(path) });
    let found = Found {
        text: wanted.variables.get(CONFIG).map(String::as_str).filter(|text| !text.is_empty()),
        ..Found::default()
    };
    let outcome = with(CONFIG, found, "play", &Content::Json(edits))
        .map_err(|problem| anyhow::anyhow!("{CONFIG}: {problem}"))?;
    overlay.environment.insert(CONFIG, outcome.text.unwrap_or_default());
    overlay.environment.insert(PASSWORD, password);
    overlay.argue(["--port", &port.to_string()]);
    overlay.ask(Some("--prompt"), wanted.prompt);
    Ok(())
}
