//! The Agent Client Protocol as `copilot --acp` speaks it: a line of JSON-RPC in, acts out. It has no clock: who drives it
//! tells the time, asks when it wants to go on, and feeds it lines.

mod answers;
mod message;
mod session;
mod turn;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::act::Act;
use crate::copilot::{Permissions, Version, refusal};
use crate::invocation::{Invocation, Outside};
use crate::pen::Pen;
use crate::script::Script;

use message::Incoming;
use session::AcpSession;

/// How long a turn that still runs holds the process up after stdin has ended.
const DRAIN_MS: u64 = 2_000;

/// A server of the Agent Client Protocol.
///
/// [`on_line`](Self::on_line) takes what the client sends; [`due_ms`](Self::due_ms) says when
/// [`on_time`](Self::on_time) is wanted next. No act of either is a [`Act::Wait`].
pub struct Acp {
    script: Script,
    invocation: Invocation,
    permissions: Permissions,
    pen: Pen,
    sessions: BTreeMap<String, AcpSession>,
    requests: u64,
    ends_at_ms: Option<u64>,
}

impl Acp {
    /// A server that has heard nothing yet.
    pub fn new(script: &Script, invocation: &Invocation) -> Self {
        Self {
            permissions: Permissions::of_command_line(script, invocation),
            script: script.clone(),
            invocation: invocation.clone(),
            pen: Pen::after(invocation, &[]),
            sessions: BTreeMap::new(),
            requests: 0,
            ends_at_ms: None,
        }
    }

    /// What a line of the client does, so many milliseconds after the start of the program.
    pub fn on_line(&mut self, now_ms: u64, line: &str, outside: &dyn Outside) -> Vec<Act> {
        self.pen.set_elapsed(now_ms);
        match Incoming::read(line) {
            Incoming::Request { id, method, params } => {
                if let Err(error) = self.request(&id, &method, &params, outside) {
                    self.pen.out(message::line(&json!({"jsonrpc": "2.0", "id": id, "error": error})));
                }
            }
            Incoming::Notification { method, params } if method == "session/cancel" => {
                self.cancel(params["sessionId"].as_str().unwrap_or_default());
            }
            Incoming::Answer { id, result } => self.permission(&id, &result),
            Incoming::Notification { .. } | Incoming::Noise => {}
            Incoming::Wrong(error) => self.pen.out(message::line(&error)),
        }
        self.advance(now_ms)
    }

    /// What the passing of time does.
    pub fn on_time(&mut self, now_ms: u64) -> Vec<Act> {
        self.pen.set_elapsed(now_ms);
        if self.ends_at_ms.is_some_and(|at| at <= now_ms) {
            self.pen.exit(0);
            return self.pen.take();
        }
        self.advance(now_ms)
    }

    /// What the end of stdin does: a turn that runs gets a little more time.
    pub fn on_end(&mut self, now_ms: u64) -> Vec<Act> {
        self.pen.set_elapsed(now_ms);
        if self.sessions.values().any(|session| session.turn.is_some()) {
            self.ends_at_ms = Some(now_ms + DRAIN_MS);
        } else {
            self.pen.exit(0);
        }
        self.pen.take()
    }

    /// When something will happen by itself.
    pub fn due_ms(&self) -> Option<u64> {
        let turns = self.sessions.values().filter_map(|session| session.turn.as_ref()?.due_ms);
        turns.chain(self.ends_at_ms).min()
    }

    /// Whether SIGTERM ends it. A turn whose answer ignores it goes on.
    pub fn ends_on_sigterm(&self) -> bool {
        let turns = self.sessions.values().filter_map(|session| session.turn.as_ref());
        !turns.into_iter().any(turn::AcpTurn::ignores_term)
    }

    fn request(
        &mut self,
        id: &Value,
        method: &str,
        params: &Value,
        outside: &dyn Outside,
    ) -> Result<(), Value> {
        match method {
            "initialize" => self.answer(id, answers::initialize(&self.script)),
            "authenticate" => self.answer(id, json!({})),
            "session/new" => {
                let cwd = self.cwd(params)?;
                let session = self.pen.uuid();
                self.opens(id, session, cwd, None);
            }
            "session/load" => {
                let session = params["sessionId"].as_str().unwrap_or_default().to_owned();
                let cwd = self.cwd(params)?;
                if self.sessions.contains_key(&session) {
                    return Err(message::error(-32602, format!("Session {session} is already loaded")));
                }
                let history = outside.stored(&crate::copilot::events_file(&session));
                let history = history.ok_or_else(|| message::not_found(&session))?;
                self.opens(id, session, cwd, Some(&history));
            }
            "session/list" => self.list(id, params, outside),
            "session/prompt" => self.prompt(id, params)?,
            "session/close" => {
                let session = params["sessionId"].as_str().unwrap_or_default();
                self.cancel(session);
                self.sessions.remove(session).ok_or_else(|| message::not_found(session))?;
                self.answer(id, json!({}));
            }
            "session/set_mode" | "session/set_model" => {
                self.session(params)?;
                self.answer(id, json!({}));
            }
            "session/set_config_option" => {
                let on = params["configId"] == "allow_all" && params["value"] == "on";
                let session = self.session(params)?;
                session.allows_all |= on;
                let options = answers::options(session.allows_all);
                self.answer(id, json!({"configOptions": options}));
            }
            other => {
                let mut error = message::error(-32601, format!("\"Method not found\": {other}"));
                error["data"] = json!({"method": other});
                return Err(error);
            }
        }
        Ok(())
    }

    fn cwd<'params>(&self, params: &'params Value) -> Result<&'params str, Value> {
        if refusal::before_a_session(&self.script, &self.invocation).is_some() {
            return Err(message::error(-32000, "Authentication required".to_owned()));
        }
        params["cwd"]
            .as_str()
            .ok_or_else(|| message::error(-32602, "Invalid params: cwd is required".to_owned()))
    }

    fn session(&mut self, params: &Value) -> Result<&mut AcpSession, Value> {
        let id = params["sessionId"].as_str().unwrap_or_default();
        self.sessions.get_mut(id).ok_or_else(|| {
            let mut error = message::error(-32602, format!("Session {id} not found"));
            error["data"] = json!({"sessionId": id});
            error
        })
    }

    fn answer(&mut self, id: &Value, result: Value) {
        self.pen.out(message::line(&message::result(id, result)));
    }

    fn opens(&mut self, id: &Value, session: String, cwd: &str, history: Option<&str>) {
        let mut opened = AcpSession::new(&session, cwd, Version::of(&self.script));
        opened.stores(&mut self.pen, &self.script, history.is_some());
        for update in history.map(session::replay).unwrap_or_default() {
            self.pen.out(message::update(&session, update));
        }
        let commands = json!({"sessionUpdate": "available_commands_update", "availableCommands": []});
        self.pen.out(message::update(&session, commands.clone()));
        let mut result = answers::session(opened.allows_all);
        if history.is_none() {
            result["sessionId"] = session.clone().into();
        }
        self.answer(id, result);
        self.pen.out(message::update(&session, commands));
        self.sessions.insert(session, opened);
    }

    fn list(&mut self, id: &Value, params: &Value, outside: &dyn Outside) {
        let wanted = params["cwd"].as_str();
        let mut ids = outside.list("session-state");
        ids.reverse();
        let found = ids.into_iter().filter_map(|id| session::summary(&id, outside));
        let found: Vec<_> = found.filter(|one| wanted.is_none_or(|cwd| one["cwd"] == cwd)).collect();
        self.answer(id, json!({"sessions": found}));
    }

    /// A prompt in a session that still works on one cancels that one.
    fn prompt(&mut self, id: &Value, params: &Value) -> Result<(), Value> {
        self.session(params)?;
        let name = params["sessionId"].as_str().unwrap_or_default().to_owned();
        self.cancel(&name);
        let text = message::text(&params["prompt"]);
        let (script, invocation, permissions) = (&self.script, &self.invocation, &self.permissions);
        if let Some(session) = self.sessions.get_mut(&name) {
            session.begins(&mut self.pen, script, invocation, permissions, id.clone(), &text);
        }
        Ok(())
    }

    fn cancel(&mut self, session: &str) {
        if let Some(session) = self.sessions.get_mut(session) {
            session.cancelled(&mut self.pen);
        }
    }

    fn permission(&mut self, id: &Value, result: &Value) {
        for session in self.sessions.values_mut() {
            session.permitted(&mut self.pen, id, result);
        }
    }

    fn advance(&mut self, now_ms: u64) -> Vec<Act> {
        for session in self.sessions.values_mut() {
            session.advance(&mut self.pen, now_ms, &mut self.requests);
        }
        self.pen.take()
    }
}
