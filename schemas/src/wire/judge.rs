//! Judges requests, responses and notifications by the messages before them. It never stops at the first
//! fault: the connection goes on, and so does the judging.

use serde_json::Value;

use super::requests::{Id, Open};
use super::session::{self, Session};
use super::{WireValidator, events, opened, stateless};
use crate::catalog::catalog;
use crate::down::down;
use crate::rules;
use crate::verdict::Findings;
use crate::version::{Direction, Version};

impl WireValidator {
    pub(super) fn request(
        &mut self,
        direction: Direction,
        version: Version,
        message: &Value,
        method: &str,
        at: &str,
        found: &mut Findings,
    ) {
        match direction {
            Direction::HostToServer if version.is_modern() => {
                self.modern = true;
                if let Some(server) = &self.discovered
                    && let Some(missing) =
                        session::undeclared(version, direction, method, &Value::Null, server)
                    && catalog(version).method(method).is_some_and(|known| known.extension.is_none())
                {
                    let said =
                        format!("`{method}` needs the capability `{missing}`, which the server did not name");
                    found.breaks(&rules::UNDECLARED_CAPABILITY, (at, "/method"), said);
                }
            }
            Direction::HostToServer => self.host_in_session(version, message, method, at, found),
            Direction::ServerToHost => self.server_request(message, method, at, found),
        }
        let Some(id) = message.get("id").and_then(Id::of) else {
            self.unreadable(direction);
            return;
        };
        let in_session = self.session.is_some() && !version.is_modern();
        let asker = self.asker(direction);
        if asker.get(&id).is_some() {
            found.breaks(&rules::ID_IN_USE, (at, "/id"), "a request with this id is still open");
        } else if in_session && asker.has_ended(&id) {
            found.breaks(&rules::ID_IN_USE, (at, "/id"), "the id was used before in this session");
        }
        let open = opened(version, message, method);
        if let Some(progress) = &open.progress
            && asker.with_token(&progress.token).is_some_and(|other| !other.cancelled)
        {
            found.breaks(
                &rules::TOKEN_IN_USE,
                (at, "/params/_meta/progressToken"),
                "an open request has this token",
            );
        }
        asker.open(id, open);
    }

    pub(super) fn remember_declared(&mut self, version: Version, message: &Value, meta: Option<&Value>) {
        let declared = if version.is_modern() {
            meta.and_then(|meta| meta.get(super::MODERN_CAPABILITIES))
        } else {
            down(message, &["params", "capabilities"])
        };
        if let Some(declared) = declared {
            self.declare(declared);
        }
    }

    /// A method outside the version's core must belong to a declared capability.
    pub(super) fn undefined(
        &self,
        version: Version,
        message: &Value,
        method: &str,
        at: &str,
        found: &mut Findings,
    ) {
        if !self.stands_behind(method) && message.get("method").is_some_and(Value::is_string) {
            found.breaks(
                &rules::UNKNOWN_METHOD,
                (at, "/method"),
                format!("{version} has no `{method}`, and no declared capability stands behind it"),
            );
        }
    }

    fn host_in_session(
        &mut self,
        version: Version,
        message: &Value,
        method: &str,
        at: &str,
        found: &mut Findings,
    ) {
        let path = (at, "/method");
        match (&mut self.session, method) {
            (None, "initialize") => {
                // Ids that were used while probing don't belong to the session.
                self.host.forget_ended();
                let host = down(message, &["params", "capabilities"]).cloned().unwrap_or_default();
                self.session = Some(Session::new(version, host));
            }
            (Some(_), "initialize") => {
                found.breaks(&rules::INITIALIZE_ONCE, path, "the session is open already");
            }
            (_, "ping") => {}
            (None, _) => {
                found.breaks(&rules::INITIALIZE_FIRST, path, format!("`{method}` before `initialize`"));
            }
            (Some(session), _) if !session.answered => {
                let said = format!("`{method}` before `initialize` is answered");
                found.breaks(&rules::INITIALIZE_FIRST, path, said);
            }
            (Some(session), _) => {
                session.gate(Direction::HostToServer, message, method, at, found);
                if method == "resources/subscribe"
                    && let Some(uri) = down(message, &["params", "uri"]).and_then(Value::as_str)
                {
                    session.subscribe(uri);
                }
            }
        }
    }

    fn server_request(&mut self, message: &Value, method: &str, at: &str, found: &mut Findings) {
        let path = (at, "/method");
        match &self.session {
            None if self.modern => {
                found.breaks(&rules::SERVER_REQUEST, path, "the server can't ask without a session");
            }
            Some(session) if session.ready => {
                session.gate(Direction::ServerToHost, message, method, at, found);
            }
            _ if method == "ping" && self.session.is_some() => {}
            _ => {
                let said = format!("`{method}` before `notifications/initialized`");
                found.breaks(&rules::SERVER_TOO_EARLY, path, said);
            }
        }
    }

    pub(super) fn response(
        &mut self,
        direction: Direction,
        version: Version,
        message: &Value,
        ended: Option<(Id, Open)>,
        at: &str,
        found: &mut Findings,
    ) {
        let Some((id, open)) = ended else {
            self.stray_response(direction, message, at, found);
            return;
        };
        if open.version.is_modern() {
            if open.cancelled && !self.races {
                found.breaks(&rules::AFTER_CANCEL, (at, ""), "the request was cancelled");
            }
            stateless::answer(&open, &id, message, at, found);
            let task = down(message, &["result", "resultType"]).and_then(Value::as_str) == Some("task");
            if task && !open.answers.tasks {
                let said = "the request did not declare the tasks extension";
                found.breaks(&rules::RESULT_TYPE, (at, "/result/resultType"), said);
            }
            if task && open.asked.method != "tools/call" {
                let said = format!("`{}` can't go on as a task", open.asked.method);
                found.breaks(&rules::RESULT_TYPE, (at, "/result/resultType"), said);
            }
        }
        let result = message.get("result");
        match open.asked.method.as_str() {
            "initialize" => self.initialize_answered(version, result, at, found),
            "server/discover" => {
                if let Some(capabilities) = result.and_then(|result| result.get("capabilities")) {
                    self.declare(capabilities);
                    self.discovered = Some(capabilities.clone());
                }
                // The host falls back to a session, or asks in another version of this era and so comes back to it.
                self.modern &= result.is_some();
            }
            "resources/subscribe" | "resources/unsubscribe" => {
                let refused = open.asked.method == "resources/subscribe" && result.is_none();
                let left = open.asked.method == "resources/unsubscribe" && result.is_some();
                if let (Some(session), Some(uri)) = (&mut self.session, &open.uri)
                    && (refused || left)
                {
                    session.unsubscribe(uri);
                }
            }
            _ => {}
        }
        if result.is_some_and(|result| result.get("task").is_some())
            && let (true, Some(progress)) = (open.asked.task, open.progress)
        {
            self.asker(direction.reverse()).keep_token(progress);
        }
    }

    fn stray_response(&mut self, direction: Direction, message: &Value, at: &str, found: &mut Findings) {
        let path = (at, "/id");
        let modern = self.modern && self.session.is_none();
        let asker = self.asker(direction.reverse());
        match message.get("id").and_then(Id::of) {
            Some(id) if asker.was_answered(&id) => {
                found.breaks(&rules::SECOND_RESPONSE, path, "the request is answered already");
            }
            _ if direction == Direction::HostToServer && modern => {
                found.breaks(&rules::HOST_RESPONSE, (at, ""), "the host can't answer without a session");
            }
            None if asker.unreadable > 0 && message.get("error").is_some() => asker.unreadable -= 1,
            _ => found.breaks(&rules::NO_SUCH_REQUEST, path, "no request with this id is open"),
        }
    }

    fn initialize_answered(
        &mut self,
        version: Version,
        result: Option<&Value>,
        at: &str,
        found: &mut Findings,
    ) {
        let Some(result) = result else {
            // Refused: the host may try again, unless a session is open.
            self.session.take_if(|session| !session.answered);
            return;
        };
        if let Some(named) = result.get("protocolVersion").and_then(Value::as_str)
            && super::legacy(Some(named)).is_none()
        {
            found.breaks(
                &rules::NEGOTIATED_VERSION,
                (at, "/result/protocolVersion"),
                "is no version that opens with `initialize`",
            );
        }
        self.ours = down(result, &["serverInfo", "name"]).and_then(Value::as_str) == Some(super::OUR_SERVER);
        let capabilities = result.get("capabilities").cloned().unwrap_or_default();
        self.declare(&capabilities);
        if let Some(session) = self.session.as_mut().filter(|session| !session.answered) {
            session.answered = true;
            session.version = version;
            session.server = capabilities;
        }
    }

    pub(super) fn notification(
        &mut self,
        direction: Direction,
        version: Version,
        message: &Value,
        method: &str,
        at: &str,
        found: &mut Findings,
    ) {
        if self.ours && direction == Direction::ServerToHost && method == crate::own::CHANNEL {
            crate::own::push(message, at, found);
        }
        match method {
            "notifications/cancelled" => self.cancelled(direction, message, at, found),
            "notifications/progress" => self.progressed(direction, message, at, found),
            _ if direction == Direction::ServerToHost => self.told(message, method, at, found),
            "notifications/initialized" => match &mut self.session {
                Some(session) if session.answered && !session.ready => session.ready = true,
                _ => {
                    let said = "`initialize` is not answered, or this was said before";
                    found.breaks(&rules::INITIALIZED_AFTER_REPLY, (at, "/method"), said);
                }
            },
            _ => match &self.session {
                Some(session) if session.answered => session.gate(direction, message, method, at, found),
                _ if version.is_modern() => {}
                _ => {
                    let said = format!("`{method}` before `initialize` is answered");
                    found.breaks(&rules::INITIALIZE_FIRST, (at, "/method"), said);
                }
            },
        }
    }

    /// Judges a notification of the server that is neither progress nor a cancellation.
    fn told(&mut self, message: &Value, method: &str, at: &str, found: &mut Findings) {
        let path = (at, "/method");
        if events::is_told(method) {
            if self.session.as_ref().is_some_and(|session| !session.ready) && !self.modern {
                let said = format!("`{method}` before `notifications/initialized`");
                found.breaks(&rules::SERVER_TOO_EARLY, path, said);
            }
            events::on_stream(&mut self.host, message, method, self.races, at, found);
            return;
        }
        let log = method == "notifications/message";
        let tagged = stateless::tag(message).is_some();
        let acknowledges = method == "notifications/subscriptions/acknowledged";
        if acknowledges || tagged && (!log || self.session.is_none()) {
            if log {
                found.breaks(&rules::LOG_NOT_ASKED_FOR, path, "a listen stream carries no log messages");
                return;
            }
            stateless::on_stream(&mut self.host, message, method, self.races, at, found);
            return;
        }
        match &self.session {
            Some(session) if session.answered && (session.ready || log) => {
                session.gate(Direction::ServerToHost, message, method, at, found);
                let uri = down(message, &["params", "uri"]).and_then(Value::as_str).unwrap_or_default();
                if method == "notifications/resources/updated" && !session.wants(uri) {
                    let said = "the host has not subscribed to this resource";
                    found.breaks(&rules::NOT_SUBSCRIBED, (at, "/params/uri"), said);
                }
            }
            None if self.modern => self.told_without_session(message, method, at, found),
            // Log messages may come first; it is not known so far whether they were declared.
            Some(_) if log => {}
            _ => {
                let said = format!("`{method}` before `notifications/initialized`");
                found.breaks(&rules::SERVER_TOO_EARLY, path, said);
            }
        }
    }

    fn told_without_session(&mut self, message: &Value, method: &str, at: &str, found: &mut Findings) {
        if method == "notifications/message" {
            if !self.host.all().any(|open| open.log && (!open.cancelled || self.races)) {
                let said = "no open request has set a log level";
                found.breaks(&rules::LOG_NOT_ASKED_FOR, (at, "/method"), said);
            }
            return;
        }
        let core = catalog(Version::NEWEST).method(method).is_some();
        if core {
            stateless::on_stream(&mut self.host, message, method, self.races, at, found);
        } else {
            let said = format!("`{method}` belongs to no request and no listen stream");
            found.breaks(&rules::UNSOLICITED, (at, "/method"), said);
        }
    }

    fn cancelled(&mut self, direction: Direction, message: &Value, at: &str, found: &mut Findings) {
        // Without an id there is no request to find; the schema says whether it may be missing.
        let Some(id) = down(message, &["params", "requestId"]).and_then(Id::of) else { return };
        let path = (at, "/params/requestId");
        let session = self.session.is_some();
        if direction == Direction::ServerToHost {
            if let Some(open) = self.host.get_mut(&id).filter(|open| open.stream.is_some()) {
                // By the specification the server ends a stream with this, with an answer, or with both.
                open.stream = None;
                return;
            }
            if !session {
                found.breaks(&rules::CANCEL_BY_SERVER, path, "names no open listen request");
                return;
            }
        }
        let asker = self.asker(direction);
        // The cancellation may have crossed the answer.
        let late = asker.has_ended(&id);
        match asker.get_mut(&id) {
            Some(open) => {
                open.cancelled = true;
                if open.asked.method == "initialize" {
                    found.breaks(&rules::INITIALIZE_CANCELLED, path, "`initialize` can't be cancelled");
                }
            }
            None if late => {}
            None => found.breaks(&rules::CANCEL_UNKNOWN, path, "this side has sent no such request"),
        }
    }

    fn progressed(&mut self, direction: Direction, message: &Value, at: &str, found: &mut Findings) {
        let params = &message["params"];
        let (Some(token), Some(value)) =
            (params.get("progressToken").and_then(Id::of), params.get("progress").and_then(Value::as_f64))
        else {
            return;
        };
        let races = self.races;
        let asker = self.asker(direction.reverse());
        let progress = match asker.with_token(&token) {
            Some(open) => {
                if open.cancelled && open.version.is_modern() && !races {
                    found.breaks(&rules::AFTER_CANCEL, (at, ""), "the request was cancelled");
                }
                open.progress.as_mut()
            }
            None => asker.task_token(&token),
        };
        match progress {
            None => {
                let said = "no open request has this token";
                found.breaks(&rules::PROGRESS_TOKEN, (at, "/params/progressToken"), said);
            }
            Some(progress) => {
                if !progress.grows(value) {
                    let said = "is not above the value before";
                    found.breaks(&rules::PROGRESS_INCREASES, (at, "/params/progress"), said);
                }
            }
        }
    }
}
