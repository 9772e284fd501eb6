//! Handles lines of a recording that were shortened: their beginning may still change the state of the
//! connection. It says nothing about such a line itself, and later rather misses a fault than reports a false
//! one.

use serde_json::Value;

use super::{Id, Session, WireValidator, legacy};
use crate::rules::{self, Scope};
use crate::verdict::Findings;
use crate::version::Direction;

impl WireValidator {
    /// Takes a line of which only the beginning is known. An answer ends its request. Where more would have
    /// to be known, the rules about the order of messages are not applied from here on.
    pub fn missed(&mut self, direction: Direction, head: &[u8]) {
        let head = String::from_utf8_lossy(head);
        let ended = answered_id(&head).and_then(|id| self.asker(direction.reverse()).end(&id));
        let Some(open) = ended else {
            self.gaps = true;
            return;
        };
        match open.asked.method.as_str() {
            "initialize" => {
                // The declared capabilities may be in the missing part.
                self.gaps = true;
                let named = member(&head, "protocolVersion");
                let version = legacy(named.as_ref().and_then(Value::as_str)).unwrap_or(open.version);
                let session = self.session.get_or_insert_with(|| Session::new(version, Value::Null));
                (session.answered, session.version) = (true, version);
            }
            "server/discover" => self.gaps = true,
            _ => {}
        }
    }

    /// Removes findings that can't be certain after a gap.
    pub(super) fn forgive(&self, found: &mut Findings) {
        if self.gaps {
            let of_session =
                |id: &str| rules::rules().iter().any(|rule| rule.id == id && rule.scope == Scope::Session);
            found.errors.retain(|error| !of_session(error.rule));
        }
    }
}

/// The id of a response, if it comes before the result.
fn answered_id(head: &str) -> Option<Id> {
    let answer = [head.find("\"result\""), head.find("\"error\"")].into_iter().flatten().min()?;
    let before = &head[..answer];
    if before.contains("\"method\"") {
        return None;
    }
    Id::of(&member(before, "id")?)
}

/// The first value after a member's name, if it is complete.
fn member(text: &str, name: &str) -> Option<Value> {
    let (_, rest) = text.split_once(&format!("\"{name}\""))?;
    let value = rest.trim_start().strip_prefix(':')?;
    serde_json::Deserializer::from_str(value).into_iter::<Value>().next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::version::Version;

    const HOST: Direction = Direction::HostToServer;
    const SERVER: Direction = Direction::ServerToHost;
    const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}"#;
    const INITIALIZED: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

    #[test]
    fn a_shortened_answer_opens_the_session_without_known_capabilities() {
        let mut wire = WireValidator::new();
        assert!(wire.feed(HOST, INITIALIZE).valid);
        wire.missed(
            SERVER,
            br#"{"jsonrpc": "2.0", "id": 0, "result": {"protocolVersion": "2025-06-18", "instr"#,
        );
        assert_eq!(wire.version(), Version::V2025_06_18);
        for line in [INITIALIZED, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#] {
            let verdict = wire.feed(HOST, line);
            assert!(verdict.valid, "{verdict:?}");
        }
        // What one message tells by itself is told.
        assert!(!wire.feed(SERVER, r#"{"jsonrpc":"2.0","id":1,"result":{"tools":5}}"#).valid);
    }

    #[test]
    fn a_shortened_result_ends_its_request_and_nothing_else_is_lost() {
        let mut wire = WireValidator::new();
        assert!(wire.feed(HOST, INITIALIZE).valid);
        let answer = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"b","version":"1"}}}"#;
        assert!(wire.feed(SERVER, answer).valid && wire.feed(HOST, INITIALIZED).valid);
        assert!(wire.feed(HOST, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).valid);
        wire.missed(SERVER, br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"ech"#);
        let again = wire.feed(SERVER, r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#);
        assert_eq!(again.errors.iter().map(|error| error.rule).collect::<Vec<_>>(), ["second-response"]);
        assert!(!wire.feed(HOST, r#"{"jsonrpc":"2.0","id":2,"method":"prompts/list"}"#).valid);
    }

    #[test]
    fn hostile_beginnings_never_panic() {
        for head in
            ["", "\"result\"", "\"id\":\"result\"", "{\"id\":", "\"id\" \"result\" : 1", "é\"result\"é"]
        {
            WireValidator::new().missed(SERVER, head.as_bytes());
        }
        WireValidator::new().missed(HOST, b"\xff\xfe\"id\":1,\"result\"");
    }
}
