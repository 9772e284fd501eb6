//! Answers to the server's requests, and the host's own requests for resources and prompts. It never answers
//! for a user: where the user is asked, an action brings the answer.

use std::sync::Arc;

use host_profiles::{Fact, OnAsk, OnRoots, UnknownMessage};
use serde_json::{Map, Value, json};

use super::send::Shape;
use super::{ASKED_MAX, Asked, Era, HostMachine, Pending, Phase};
use crate::effect::{Carrier, HostEventKind, Outcome};

/// JSON-RPC: method not found.
const METHOD_NOT_FOUND: i64 = -32601;
/// Most prompts of a list that the host requests for itself.
const PROMPTS_FETCHED_MAX: usize = 100;

impl HostMachine {
    pub(super) fn on_request(&mut self, id: Value, method: &str, params: &Value) {
        let profile = Arc::clone(&self.profile);
        let facts = &profile.requests;
        match method {
            "ping" if self.link.era == Era::Modern && !*self.profile.modern.answers_ping => {
                self.note("did not answer a ping of the modern era");
            }
            "ping" => self.answer(id, json!({})),
            "roots/list" => {
                self.tell_undeclared("roots", &facts.roots, "requests.roots");
                self.answer_roots(id, method, *facts.roots);
            }
            "sampling/createMessage" => {
                self.tell_undeclared("sampling", &facts.sampling, "requests.sampling");
                let rule = self.mode(&facts.sampling);
                self.on_asked(id, method, params, &rule, Asked::Sampling);
            }
            "elicitation/create" => {
                self.tell_undeclared("elicitation", &facts.elicitation, "requests.elicitation");
                let rule = self.mode(&facts.elicitation);
                let by_url = params.get("mode").and_then(Value::as_str) == Some("url");
                if let (true, Some(refusal)) = (by_url, &*facts.url_elicitation) {
                    return self.answer_error(id, refusal.code, &refusal.message);
                }
                self.on_asked(id, method, params, &rule, Asked::Elicitation);
            }
            _ => self.unknown_method(id, method),
        }
    }

    /// Tells the watcher of a request for which the host has not declared the capability: it answers that too.
    fn tell_undeclared<T>(&mut self, capability: &str, fact: &Fact<T>, name: &'static str) {
        if self.link.era == Era::Legacy && self.capabilities().get(capability).is_none() {
            self.tell_fault(fact, name, true);
        }
    }

    fn answer_roots(&mut self, id: Value, method: &str, rule: OnRoots) {
        match rule {
            OnRoots::WorkingDirectory => {
                let uri = format!("file://{}", self.options.working_directory);
                self.answer(id, json!({"roots": [{"uri": uri}]}));
            }
            OnRoots::NamedWorkingDirectory => {
                let folder = &self.options.working_directory;
                let name = folder.rsplit('/').next().unwrap_or_default();
                let uri = format!("file://{folder}");
                self.answer(id, json!({"roots": [{"uri": uri, "name": name}]}));
            }
            OnRoots::Empty => self.answer(id, json!({"roots": []})),
            OnRoots::NoSuchMethod => self.unknown_method(id, method),
        }
    }

    fn unknown_method(&mut self, id: Value, method: &str) {
        let message = match &*self.profile.requests.unknown_message {
            UnknownMessage::Text(text) => text.clone(),
            UnknownMessage::Method => method.to_owned(),
        };
        self.answer_error(id, METHOD_NOT_FOUND, &message);
    }

    fn on_asked(&mut self, id: Value, method: &str, params: &Value, rule: &OnAsk, asked: Asked) {
        match rule {
            OnAsk::NoSuchMethod => self.unknown_method(id, method),
            OnAsk::Silent => self.note(format!("{method} gets no answer")),
            OnAsk::Answer(action) => self.answer(id, json!({"action": action})),
            OnAsk::Ask if self.asked.len() < ASKED_MAX => {
                let message = params.get("message").and_then(Value::as_str).unwrap_or("no message");
                self.note(format!("{method} waits for the user: {message}"));
                self.asked.push_back((id, asked, message.to_owned()));
                self.tell_forms();
            }
            OnAsk::Ask => self.note(format!("{method} gets no answer: {ASKED_MAX} wait already")),
        }
    }

    fn take_asked(&mut self, kind: Asked) -> Option<Value> {
        let place = self.asked.iter().position(|(_, asked, _)| *asked == kind);
        let taken = place.and_then(|place| self.asked.remove(place));
        if taken.is_none() {
            self.note("nothing was asked that could be answered");
        }
        self.tell_forms();
        taken.map(|(id, ..)| id)
    }

    pub(super) fn tell_forms(&mut self) {
        let forms = self.asked.iter().filter(|(_, asked, _)| *asked != Asked::Sampling);
        let messages = forms.map(|(.., message)| message.clone()).collect();
        self.tell(HostEventKind::Forms(messages));
    }

    pub(super) fn answer_sampling(&mut self, model: &str, text: &str) {
        if let Some(id) = self.take_asked(Asked::Sampling) {
            let result = json!({
                "model": model,
                "stopReason": "endTurn",
                "role": "assistant",
                "content": {"type": "text", "text": text},
            });
            self.answer(id, result);
        }
    }

    pub(super) fn answer_elicitation(&mut self, action: &str, content: Option<Value>) {
        let again = self.asked.iter().any(|(_, asked, _)| *asked == Asked::Again);
        let kind = if again { Asked::Again } else { Asked::Elicitation };
        let Some(asked) = self.take_asked(kind) else { return };
        let mut result = Map::new();
        result.insert("action".to_owned(), json!(action));
        if let Some(content) = content {
            result.insert("content".to_owned(), content);
        }
        let result = Value::Object(result);
        if again { self.send_again(&asked, &result) } else { self.answer(asked, result) }
    }

    /// Whether a request for a resource or a prompt can be sent; otherwise reports an error outcome.
    fn may_ask(&mut self, able: bool, label: &str, what: &str) -> bool {
        let reason = if !able {
            "the host can't"
        } else if self.link.phase != Phase::Open {
            "the server is not open"
        } else {
            return true;
        };
        self.note(format!("{what} was not asked: {reason}"));
        self.tell(HostEventKind::CallDone { label: label.to_owned(), outcome: Outcome::Error, raw: None });
        false
    }

    pub(super) fn read_resource(&mut self, uri: String, label: String) {
        if self.may_ask(*self.profile.names.resources, &label, "the resource") {
            let own = vec![("uri", json!(uri))];
            let pending = Pending::Resource { uri, label };
            self.request("resources/read", own, None, Shape::Plain, pending);
        }
    }

    pub(super) fn get_prompt(&mut self, name: &str, arguments: Value, label: String) {
        if self.may_ask(*self.profile.names.prompts, &label, "the prompt") {
            let own = vec![("name", json!(name)), ("arguments", arguments)];
            let pending = Pending::Prompt { label };
            self.request("prompts/get", own, None, Shape::Plain, pending);
        }
    }

    /// Requests every prompt of a list, with `$1` and so on as its arguments.
    pub(super) fn fetch_prompts(&mut self, prompts: &[Value]) {
        for prompt in prompts.iter().take(PROMPTS_FETCHED_MAX) {
            let mut arguments = Map::new();
            let named = prompt.get("arguments").and_then(Value::as_array);
            for (place, argument) in named.into_iter().flatten().enumerate() {
                if let Some(name) = argument.get("name").and_then(Value::as_str) {
                    arguments.insert(name.to_owned(), json!(format!("${}", place + 1)));
                }
            }
            let name = prompt.get("name").cloned().unwrap_or_default();
            let own = vec![("name", name), ("arguments", Value::Object(arguments))];
            self.request("prompts/get", own, None, Shape::Plain, Pending::PromptKept);
        }
    }

    pub(super) fn on_resource_answer(&mut self, uri: &str, label: String, body: Result<Value, Value>) {
        self.note(format!("read {uri}"));
        self.show_answer(Carrier::Resource, label, body);
    }

    pub(super) fn on_prompt_answer(&mut self, label: String, body: Result<Value, Value>) {
        self.show_answer(Carrier::ServerPrompt, label, body);
    }

    fn show_answer(&mut self, carrier: Carrier, label: String, body: Result<Value, Value>) {
        let (raw, bad) = match body {
            Ok(result) => (result, false),
            Err(error) => (error, true),
        };
        let text = if bad {
            let message = raw.get("message").and_then(Value::as_str);
            message.unwrap_or_default().to_owned()
        } else {
            texts_of(&raw).unwrap_or_else(|| raw.to_string())
        };
        self.show(carrier, None, Some(label.clone()), text, bad, false);
        self.tell(HostEventKind::CallDone {
            label,
            outcome: if bad { Outcome::Error } else { Outcome::Result },
            raw: Some(raw),
        });
    }
}

/// The texts of a resource or of a prompt's messages, joined.
fn texts_of(result: &Value) -> Option<String> {
    let contents = result.get("contents").and_then(Value::as_array);
    let messages = result.get("messages").and_then(Value::as_array);
    let texts: Option<Vec<&str>> = match (contents, messages) {
        (Some(contents), _) => contents.iter().map(|one| one.get("text")?.as_str()).collect(),
        (None, Some(messages)) => messages.iter().map(|one| one.pointer("/content/text")?.as_str()).collect(),
        (None, None) => None,
    };
    texts.map(|texts| texts.join("\n"))
}
