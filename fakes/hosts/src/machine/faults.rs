//! What the host does with a faulty line or answer, by its profile. It tells the watcher of every fault, with the
//! fact about it.

use host_profiles::{Fact, Mark, OnFault, Stage};
use serde_json::{Value, json};

use super::{HostMachine, Link, Pending, Phase};
use crate::effect::HostEventKind;
use crate::fault::{Line, Requests};
use crate::schema::schema_features;
use crate::wire::Incoming;
use crate::{Fate, flatten};

impl Requests for Link {
    fn is_open(&self, key: &str) -> bool {
        self.pending.contains_key(key)
    }

    fn was_sent(&self, id: &Value) -> bool {
        // A string is an id of the probe or of a stream that is no longer open.
        id.as_u64().map_or_else(|| id.is_string() && self.special_ids.contains(id), |id| id < self.next_id)
    }
}

impl HostMachine {
    /// Takes a line that has faults.
    pub(super) fn take_faulty(&mut self, line: Line) {
        let profile = self.profile.clone();
        let key = line.messages.iter().find_map(|message| match message {
            Incoming::Answer { key, .. } if self.link.pending.contains_key(key) => Some(key.clone()),
            _ => None,
        });
        let stage = self.stage(key.as_deref());
        let mut fate = OnFault::Read;
        let mut named = "";
        for fault in &line.faults {
            let (fact, name) = fault.fact(&profile.faults);
            let own = fact.at(stage);
            let harmless = own == OnFault::Read || own == OnFault::Dropped && fault.is_beside();
            self.tell_fault(fact, name, harmless);
            if own > fate {
                (fate, named) = (own, name);
            }
        }
        match fate {
            OnFault::Read => line.messages.into_iter().for_each(|message| self.take_message(message)),
            OnFault::Dropped => self.note(format!("dropped a line of the server: {named}")),
            OnFault::Fails => self.fail_open(stage, key.as_deref(), named),
        }
    }

    pub(super) fn take_message(&mut self, message: Incoming) {
        match message {
            Incoming::Empty => {}
            Incoming::Noise(reason) => self.note(format!("ignored a line of the server: {reason}")),
            Incoming::Answer { key, body } => self.on_answer(&key, body),
            Incoming::Request { id, method, params } => self.on_request(id, &method, &params),
            Incoming::Notification { method, params } => self.on_notification(&method, &params),
        }
    }

    /// What the host waits for, or what the request with this key is about.
    fn stage(&self, key: Option<&str>) -> Stage {
        match key.and_then(|key| self.link.pending.get(key)) {
            Some(Pending::Probe | Pending::Initialize | Pending::SecondDiscover) => Stage::Opening,
            Some(Pending::List { .. }) => Stage::List,
            None if matches!(self.link.phase, Phase::Probing | Phase::Initializing) => Stage::Opening,
            None if !self.open_lists().is_empty() => Stage::List,
            _ => Stage::Call,
        }
    }

    /// Lets an answer, or what is open, fail.
    fn fail_open(&mut self, stage: Stage, key: Option<&str>, named: &str) {
        let reason = format!("a line of the server breaks the protocol: {named}");
        let open = |wanted: fn(&Pending) -> bool| -> Vec<String> {
            let all = self.link.pending.iter().filter(|(_, pending)| wanted(pending));
            key.map_or_else(|| all.map(|(key, _)| key.clone()).collect(), |key| vec![key.to_owned()])
        };
        match stage {
            // A probe that fails leads to the older handshake.
            Stage::Opening if self.link.phase == Phase::Probing => self.on_probe_fault(),
            Stage::Opening => {
                let how = *self.profile.opening.on_refused_version;
                self.give_up(reason, how);
            }
            Stage::List => {
                for key in open(|pending| matches!(pending, Pending::List { .. })) {
                    self.on_answer(&key, Err(json!({ "message": reason })));
                }
            }
            Stage::Call => {
                for key in open(|pending| matches!(pending, Pending::Call(_))) {
                    self.on_answer(&key, Ok(Value::Null));
                }
            }
        }
    }

    /// Tells of a message beside the answers that may let what is open fail. Returns whether it does.
    pub(super) fn fails_at_once(&mut self, fact: &Fact<OnFault>, name: &'static str) -> bool {
        let fails = **fact == OnFault::Fails;
        self.tell_fault(fact, name, !fails);
        if fails {
            self.fail_open(self.stage(None), None, name);
        }
        fails
    }

    /// Tells the watcher of a fault and of what is known about it.
    pub(super) fn tell_fault<T>(&mut self, fact: &Fact<T>, name: &'static str, harmless: bool) {
        self.tell(HostEventKind::Fault { fact: name, known: fact.mark != Mark::Unknown, harmless });
    }

    /// Tells of a fault that either changes nothing or lets its answer fail. Returns whether it fails.
    pub(super) fn fails_by(&mut self, fact: &Fact<OnFault>, name: &'static str) -> bool {
        let fails = **fact != OnFault::Read;
        self.tell_fault(fact, name, !fails);
        if fails {
            self.note(format!("refused an answer of the server: {name}"));
        }
        fails
    }

    /// Tells of the features of declared tools because of which hosts may refuse them.
    pub(super) fn tell_features(&mut self, tools: &[Value]) {
        let profile = self.profile.clone();
        for feature in tools.iter().flat_map(schema_features) {
            let (fact, name) = feature.fact(&profile.schemas);
            self.tell_fault(fact, name, **fact == Fate::Taken);
        }
    }

    /// Whether the answer to `initialize` can be used, besides its version.
    pub(super) fn opening_fails(&mut self, result: &Value) -> bool {
        let profile = self.profile.clone();
        let faults = &profile.faults;
        match result.get("capabilities").and_then(Value::as_object) {
            None => self.fails_by(&faults.no_capabilities, "faults.no_capabilities"),
            Some(all) => {
                all.values().any(Value::is_null)
                    && self.fails_by(&faults.null_capability, "faults.null_capability")
            }
        }
    }

    /// Whether a result of a tool is refused.
    pub(super) fn result_fails(&mut self, result: &Value, promises_output: bool) -> bool {
        let profile = self.profile.clone();
        let (faults, texts) = (&profile.faults, &profile.texts);
        let Some(members) = result.as_object() else { return false };
        let structured = members.get("structuredContent");
        let is_error = members.get("isError");
        let mut fails = false;
        let mut look = |host: &mut Self, there: bool, fact: &Fact<OnFault>, name| {
            fails |= there && host.fails_by(fact, name);
        };
        if members.get("content").is_none() {
            self.tell_fault(&texts.content_required, "texts.content_required", !*texts.content_required);
        }
        let malformed = flatten::is_malformed(texts, result);
        look(self, malformed, &faults.malformed_content, "faults.malformed_content");
        let wrong = is_error.is_some_and(|flag| !flag.is_boolean() && !flag.is_null());
        look(self, wrong, &faults.wrong_is_error, "faults.wrong_is_error");
        let null = is_error.is_some_and(Value::is_null) || structured.is_some_and(Value::is_null);
        look(self, null, &faults.null_in_result, "faults.null_in_result");
        let blocks = members.get("content").and_then(Value::as_array).into_iter().flatten();
        let null = blocks.clone().any(|block| block.get("annotations").is_some_and(Value::is_null));
        look(self, null, &faults.null_in_block, "faults.null_in_block");
        let bare = structured.is_some_and(|data| !data.is_object() && !data.is_null());
        look(self, bare, &faults.structured_not_object, "faults.structured_not_object");
        let unfilled = promises_output && structured.is_none() && is_error != Some(&Value::Bool(true));
        look(self, unfilled, &faults.unfilled_output, "faults.unfilled_output");
        fails
    }
}
