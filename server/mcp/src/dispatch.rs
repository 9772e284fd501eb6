//! Takes each line to the method that answers it, in the era that the request belongs to.
//!
//! Every request gets exactly one answer unless it was cancelled; nothing else must ever be answered.

use rmcp::model::ErrorCode;
use serde_json::{Value, json};

use crate::connection::{Batch, Caller, Route};
use crate::era::{self, BATCH_VERSION, Era};
use crate::framing::Frame;
use crate::id_scan::IdScan;
use crate::level::Level;
use crate::message::{Id, Incoming, Object, RpcError, take_arguments, text};
use crate::page::page;
use crate::session::Session;
use crate::tasks;

/// Most messages in a batch of 2025-03-26.
pub(crate) const BATCH_ITEMS_MAX: usize = 100;

impl Session {
    /// Handles the content of one line.
    pub(crate) fn on_frame(&mut self, frame: Frame) {
        match frame {
            Frame::Line(line) => match serde_json::from_slice::<Value>(&line) {
                Ok(Value::Array(items)) => self.on_batch(items),
                Ok(message) => self.on_message(message, None),
                Err(error) => {
                    let error =
                        RpcError::new(ErrorCode::PARSE_ERROR, format!("this line is no json: {error}"));
                    self.refuse_line(IdScan::request_id_in(&line), error);
                }
            },
            Frame::Oversize { id } => {
                let bytes_max = self.connection.options.limits.line_bytes_max;
                let error = RpcError::invalid_request(format!(
                    "a line may have {bytes_max} bytes; this one has more"
                ));
                self.refuse_line(id, error);
            }
        }
    }

    /// Answers a broken line with an error. Every version of the schema requires an id, so a line without one is only
    /// logged. So is one whose id is in use, as the answer would end the open request.
    fn refuse_line(&mut self, id: Option<Id>, error: RpcError) {
        if let Some(id) = id.filter(|id| !self.connection.open.contains_key(id)) {
            self.connection.answer(&Route { id, era: Era::Legacy, batch: None }, Err(error), Vec::new());
        } else {
            tracing::warn!(reason = error.message, "ignored a line");
        }
    }

    fn on_batch(&mut self, items: Vec<Value>) {
        let allowed = self.connection.opened.as_ref().is_some_and(|session| session.version == BATCH_VERSION);
        let refusal = if !allowed {
            Some(format!("batches belong to protocol version {BATCH_VERSION} only; send one message a line"))
        } else if items.len() > BATCH_ITEMS_MAX {
            Some(format!("a batch may have {BATCH_ITEMS_MAX} messages; this one has {}", items.len()))
        } else {
            None
        };
        if let Some(refusal) = refusal {
            for item in items {
                if let Incoming::Request { id, .. } | Incoming::Refused { id, .. } = Incoming::classify(item)
                {
                    self.refuse_line(Some(id), RpcError::invalid_request(refusal.clone()));
                }
            }
            return;
        }
        let number = self.connection.next_number();
        // One more than its length, so that it is not sent before its last message was read.
        self.connection.batches.insert(number, Batch::of(items.len() + 1));
        for item in items {
            self.on_message(item, Some(number));
        }
        self.connection.leave_batch(Some(number));
    }

    fn on_message(&mut self, message: Value, batch: Option<u64>) {
        let route = |id: Id| Route { id, era: Era::Legacy, batch };
        match Incoming::classify(message) {
            Incoming::Request { id, method, params } => {
                let route = route(id);
                if self.connection.open.contains_key(&route.id) {
                    let error = RpcError::invalid_request("id: belongs to a request that is still open");
                    return self.connection.answer(&route, Err(error), Vec::new());
                }
                match params {
                    Ok(params) => self.on_request(route, &method, params),
                    Err(error) => self.connection.answer(&route, Err(error), Vec::new()),
                }
            }
            Incoming::Refused { id, error } => self.connection.answer(&route(id), Err(error), Vec::new()),
            other => {
                match other {
                    Incoming::Notification { method, params } => self.on_notification(&method, &params),
                    Incoming::Response { id, result } => {
                        self.connection.asking.answered(id.as_ref(), result.as_ref());
                    }
                    Incoming::Unanswerable(reason) => tracing::warn!(reason, "ignored a message"),
                    _ => {}
                }
                // A message without an answer leaves the batch at once.
                self.connection.leave_batch(batch);
            }
        }
    }

    fn on_notification(&mut self, method: &str, params: &Object) {
        match method {
            "notifications/initialized" => self.on_initialized(),
            "notifications/cancelled" => self.on_cancelled(params),
            "notifications/roots/list_changed" => self.ask_roots(),
            _ => {
                for provider in &mut self.providers {
                    provider.notification(method, params, &mut self.connection);
                }
            }
        }
    }

    fn on_request(&mut self, route: Route, method: &str, params: Object) {
        if method == "initialize" {
            let outcome = if route.batch.is_some() {
                Err(RpcError::invalid_request("initialize must not stand in a batch"))
            } else {
                self.initialize(&params)
            };
            return self.connection.answer(&route, outcome, Vec::new());
        }
        // These two methods exist in the modern era only, so their requests must have its `_meta`.
        let is_modern =
            era::claims_modern(&params) || matches!(method, "server/discover" | "subscriptions/listen");
        let mut caller = Caller {
            route,
            client: None,
            version: String::new(),
            log_level: None,
            declares_tasks: false,
            shows_forms: false,
        };
        if is_modern {
            match era::modern_client(&params) {
                Ok(client) => caller.client = client,
                Err(error) => return self.connection.answer(&caller.route, Err(error), Vec::new()),
            }
            era::modern_client_version(&params).clone_into(&mut caller.version);
            caller.route.era = Era::Modern;
            caller.declares_tasks = era::declares_extension(&params, tasks::EXTENSION);
            caller.shows_forms = era::modern_forms(&params);
            match era::modern_log_level(&params) {
                Ok(asked) => caller.log_level = asked,
                Err(error) => return self.connection.answer(&caller.route, Err(error), Vec::new()),
            }
        } else if let Some(opened) = &self.connection.opened {
            caller.client = Some(opened.client.clone());
            caller.version.clone_from(&opened.client_version);
            caller.shows_forms = opened.ready && era::shows_forms(&opened.capabilities);
        } else if method == "ping" {
            return self.connection.answer(&caller.route, Ok(json!({})), Vec::new());
        } else {
            let error = RpcError::invalid_request(
                "send initialize first, or give params._meta the keys of protocol version 2026-07-28",
            );
            return self.connection.answer(&caller.route, Err(error), Vec::new());
        }
        for provider in &mut self.providers {
            provider.seen(&caller, &self.connection);
        }
        self.on_method(&caller, method, params);
    }

    fn on_method(&mut self, caller: &Caller, method: &str, params: Object) {
        let era = caller.route.era;
        let outcome = match (era, method) {
            (_, "tools/call") => return self.call_tool(caller, params),
            (_, "resources/read") => return self.read_resource(caller, &params),
            (Era::Modern, "subscriptions/listen") => return self.listen(caller, &params),
            (_, "tools/list") => page(era, &params, "tools", self.list_tools(caller)),
            (_, "resources/list") => page(era, &params, "resources", list(self.resources.iter())),
            (_, "resources/templates/list") => {
                page(era, &params, "resourceTemplates", list(self.templates.iter()))
            }
            (Era::Modern, "server/discover") => self.discover(caller),
            (Era::Legacy, "ping") => Ok(json!({})),
            (Era::Legacy, "logging/setLevel") => self.set_level(&params),
            (Era::Legacy, "resources/subscribe") => self.subscribe(&params, true),
            (Era::Legacy, "resources/unsubscribe") => self.subscribe(&params, false),
            (_, "prompts/get") if !self.prompts.is_empty() => match self.get_prompt(caller, params) {
                Ok(None) => return,
                Ok(Some(prompt)) => Ok(prompt),
                Err(error) => Err(error),
            },
            // Without prompts this is not declared, but some hosts ask anyway and show an error as a broken server.
            (era, "prompts/list") if era == Era::Legacy || !self.prompts.is_empty() => {
                // Then the list is empty, without the members of a page.
                if self.prompts.is_empty() {
                    Ok(json!({"prompts": []}))
                } else {
                    page(era, &params, "prompts", list(self.prompts.iter().map(|(_, prompt)| prompt)))
                }
            }
            _ => {
                let is_task = tasks::is_method(era, method) && self.offers_tasks(era);
                if is_task
                    && method != "tasks/list"
                    && let Err(error) = tasks::named(caller, &params)
                {
                    return self.connection.answer(&caller.route, Err(error), Vec::new());
                }
                let taken = |provider: &mut Box<dyn crate::Provider>| {
                    provider.request(caller, method, &params, &mut self.connection)
                };
                if self.providers.iter_mut().any(taken) {
                    return;
                }
                Err(if is_task { tasks::unknown() } else { RpcError::unknown_method(method) })
            }
        };
        self.connection.answer(&caller.route, outcome, Vec::new());
    }

    /// Whether a call of any tool may go on as a task of this form.
    pub(crate) fn offers_tasks(&self, era: Era) -> bool {
        let mut offers = self.tools.values().map(|offered| &offered.offer);
        match era {
            Era::Modern => offers.any(|offer| offer.may_be_task),
            Era::Legacy => {
                tasks::has_tasks(self.connection.opened.as_ref())
                    && offers.any(|offer| offer.may_be_session_task)
            }
        }
    }

    fn list_tools(&self, caller: &Caller) -> Vec<Value> {
        let tools = self.tools.values().map(|offered| {
            let mut tool = serde_json::to_value(&offered.offer.tool).unwrap_or_default();
            let in_session = caller.route.era == Era::Legacy
                && offered.offer.may_be_session_task
                && tasks::has_tasks(self.connection.opened.as_ref());
            if in_session || caller.declares_tasks && offered.offer.may_be_task {
                tasks::mark(&mut tool);
            }
            tool
        });
        tools.collect()
    }

    /// The prompt; `None` if its provider answers by itself.
    fn get_prompt(&mut self, caller: &Caller, mut params: Object) -> Result<Option<Value>, RpcError> {
        let arguments = take_arguments(&mut params);
        let name = text(&params, "name")?;
        let arguments = &arguments?;
        let offered = self.prompts.iter().find(|(_, prompt)| prompt.name == name).map(|(at, _)| *at);
        if let Some(provider) = offered.and_then(|at| self.providers.get_mut(at)) {
            if provider.answer_prompt(name, arguments, caller, &mut self.connection) {
                return Ok(None);
            }
            return provider.prompt(name, arguments, caller).map(Some);
        }
        let names: Vec<&str> = self.prompts.iter().map(|(_, prompt)| prompt.name.as_str()).collect();
        let error = format!("params.name: no prompt is named `{name}`; there are {}", names.join(", "));
        Err(RpcError::invalid_params(error))
    }

    fn set_level(&mut self, params: &Object) -> Result<Value, RpcError> {
        let name = text(params, "level")?;
        let level = Level::parse(name).ok_or_else(|| {
            RpcError::invalid_params(format!("params.level: expected one of {}", Level::names()))
        })?;
        if let Some(session) = &mut self.connection.opened {
            session.level = level;
        }
        Ok(json!({}))
    }
}

fn list<'a, T: serde::Serialize + 'a>(items: impl Iterator<Item = &'a T>) -> Vec<Value> {
    items.map(|item| serde_json::to_value(item).unwrap_or_default()).collect()
}
