//! The inbox socket that Claude Code gives to the programs that it starts: its place, and the lines for it.
//! It must never open the socket: the production adapter does that.
//!
//! The vendor documents it for a session's own scripts; the frame after the first line was observed on
//! 2.1.330. The frame names no session: the id changes with `/clear` and `/resume`, and the host drops a
//! frame with any other id than the present one.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

use super::WakeUpRequest;
use entraclaw_seams::secret::Secret;

const SOCKET_VARIABLE: &str = "CLAUDE_CODE_MESSAGING_SOCKET";
const TOKEN_VARIABLE: &str = "CLAUDE_CODE_MESSAGING_TOKEN";

/// The variables with the socket's path and its token.
pub const INBOX_VARIABLES: [&str; 2] = [SOCKET_VARIABLE, TOKEN_VARIABLE];

/// The longest value of a variable, in bytes.
const VALUE_BYTES_MAX: usize = 4_096;

/// The inbox of the session that started this server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InboxSocket {
    /// The socket's absolute path.
    pub path: String,
    /// The token that the first line must hold.
    pub token: Secret,
}

impl InboxSocket {
    /// The inbox from a host's environment; `None` where a variable is missing or has a value that no host
    /// would write.
    pub fn from_variables(variables: &BTreeMap<String, String>) -> Option<Self> {
        let value = |name: &str| {
            let value = variables.get(name)?;
            let is_usable =
                !value.is_empty() && value.len() <= VALUE_BYTES_MAX && !value.contains(char::is_control);
            is_usable.then(|| value.clone())
        };
        let path = value(SOCKET_VARIABLE).filter(|path| Path::new(path).is_absolute())?;
        Some(Self { path, token: Secret::new(value(TOKEN_VARIABLE)?) })
    }

    /// The request that brings `text` to the session.
    pub(super) fn frame(&self, text: &str) -> WakeUpRequest {
        let credential = json!({"type": "auth", "token": self.token.expose()}).to_string();
        let message = json!({"role": "user", "content": text});
        let line = json!({"type": "user", "message": message}).to_string();
        WakeUpRequest::Socket { path: self.path.clone(), credential: Secret::new(credential), line }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn an_inbox_is_there_when_both_variables_are() {
        let all = [(SOCKET_VARIABLE, "/tmp/s.sock"), (TOKEN_VARIABLE, "hush")];
        let inbox = InboxSocket::from_variables(&variables(&all)).unwrap();
        assert_eq!((inbox.path.as_str(), inbox.token.expose()), ("/tmp/s.sock", "hush"));
        for one in all {
            assert_eq!(InboxSocket::from_variables(&variables(&[one])), None);
        }
        for bad in [("", "hush"), ("s.sock", "hush"), ("/s", "hu\nsh"), ("/s", "")] {
            let pairs = [(SOCKET_VARIABLE, bad.0), (TOKEN_VARIABLE, bad.1)];
            assert_eq!(InboxSocket::from_variables(&variables(&pairs)), None, "{bad:?}");
        }
    }

    #[test]
    fn the_token_is_in_the_first_line_alone_and_in_no_log() {
        let inbox = InboxSocket { path: "/tmp/s.sock".to_owned(), token: Secret::new("hush") };
        let frame = inbox.frame("line one\nline \"two\"");
        assert!(!format!("{inbox:?} {frame:?}").contains("hush"));
        let WakeUpRequest::Socket { credential, line, .. } = frame else { panic!("no socket") };
        assert_eq!(credential.expose(), r#"{"type":"auth","token":"hush"}"#);
        assert_eq!(line, r#"{"type":"user","message":{"role":"user","content":"line one\nline \"two\""}}"#);
    }
}
