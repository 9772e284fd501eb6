//! `tools/call`: finds the provider, begins the call, and answers when its work is done.
//!
//! A call with a wrong argument must never change anything, and finding a tool must never build its schema.

use futures_util::FutureExt as _;
use rmcp::model::ErrorCode;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::again::token_of;
use crate::answer::Answer;
use crate::arguments::Refusal;
use crate::beyond::Beyond;
use crate::connection::{Caller, Open};
use crate::era::Era;
use crate::hosts::HostRow;
use crate::message::{Object, RpcError, take_arguments, text};
use crate::nearest::nearest;
use crate::provider::{Begun, Call, Cancellation, Progress, Step, TIME_LIMIT};
use crate::session::Session;
use crate::user::User;

/// Most calls whose work is done beside the connection at a time.
pub(crate) const WORKS_OPEN_MAX: usize = 8;

/// The first version of the protocol that has a message in its progress.
const PROGRESS_WORDS_SINCE: &str = "2025-03-26";

impl Session {
    pub(crate) fn call_tool(&mut self, caller: &Caller, mut params: Object) {
        for provider in &mut self.providers {
            provider.called(caller, &params, &self.connection);
        }
        if caller.route.era == Era::Modern && self.resume(caller, &params) {
            return;
        }
        let arguments = take_arguments(&mut params);
        let begun = match text(&params, "name").and_then(|name| Ok((name, arguments?))) {
            Ok((name, _)) if self.refuses_task(caller, name, &params) => {
                let says = format!("params.task: a call of {name} can't go on as a task; call it without");
                let error = RpcError::new(ErrorCode::METHOD_NOT_FOUND, says);
                return self.connection.answer(&caller.route, Err(error), Vec::new());
            }
            Ok((name, arguments)) if self.tools.contains_key(name) => {
                match self.connection.options.trouble.clone() {
                    Some(trouble) => Err(self.connection.with_cause(caller.client.as_deref(), trouble)),
                    None => self.begin(caller, name, arguments, &params),
                }
            }
            Ok((name, _)) => {
                let error = RpcError::invalid_params(self.unknown_tool(name));
                return self.connection.answer(&caller.route, Err(error), Vec::new());
            }
            Err(error) => return self.connection.answer(&caller.route, Err(error), Vec::new()),
        };
        if let Err(refusal) = begun {
            self.connection.answer_tool(&caller.route, Answer::error(&refusal), Vec::new());
        }
    }

    /// Whether the client of a session with tasks asks for one of a tool that has none.
    fn refuses_task(&self, caller: &Caller, name: &str, params: &Object) -> bool {
        let offered = self.tools.get(name);
        caller.route.era == Era::Legacy
            && params.contains_key("task")
            && self.offers_tasks(Era::Legacy)
            && offered.is_some_and(|offered| !offered.offer.may_be_session_task)
    }

    fn unknown_tool(&self, name: &str) -> String {
        let names: Vec<&str> = self.tools.keys().map(String::as_str).collect();
        let hint = nearest(name, &names).map(|known| format!("; did you mean {known}?"));
        let hint = hint.unwrap_or_else(|| match names.as_slice() {
            [] => format!("; there is none{}", self.connection.options.why_no_tools),
            _ => format!("; there are {}", names.join(", ")),
        });
        format!("params.name: no tool is named `{name}`{hint}")
    }

    fn begin(
        &mut self,
        caller: &Caller,
        tool: &str,
        arguments: Object,
        params: &Object,
    ) -> Result<(), Refusal> {
        let Some(offered) = self.tools.get(tool) else { return Ok(()) };
        let at = offered.provider;
        let task = match caller.route.era {
            Era::Modern => caller.declares_tasks && offered.offer.may_be_task,
            Era::Legacy => params.contains_key("task") && self.offers_tasks(Era::Legacy),
        };
        let Some(provider) = self.providers.get_mut(at) else { return Ok(()) };
        if provider.works() && self.connection.works.len() >= WORKS_OPEN_MAX {
            return Err(format!(
                "{WORKS_OPEN_MAX} calls are on their way already; wait for an answer, then call {tool} again"
            ));
        }
        let token = params.get("_meta").and_then(|meta| meta.get("progressToken"));
        let token = token.filter(|token| token.is_string() || token.is_i64());
        let progress = token.map(|token| (self.steps.clone(), caller.route.id.clone(), token.clone()));
        let (cancel, cancelled) = watch::channel(false);
        let number = self.connection.next_number();
        let row = self.connection.host(caller.client.as_deref());
        let limit = row.map_or(TIME_LIMIT, HostRow::wait_cap);
        let asks_by_answer = caller.route.era == Era::Modern;
        let user = if caller.shows_forms {
            User::with_forms(self.forms.clone(), asks_by_answer.then_some(number))
        } else {
            User::without_forms()
        };
        let call = Call {
            tool,
            arguments,
            params,
            caller,
            task: task.then_some(caller.route.era),
            until: Instant::now() + limit,
            beyond: row.map_or(Beyond::GivenUp, |row| row.beyond(&caller.version, progress.is_some())),
            progress: Progress { to: progress },
            cancellation: Cancellation(cancelled),
            user,
        };
        let Begun::Work { answers, work } = provider.call(call, &mut self.connection)? else { return Ok(()) };
        for provider in &mut self.providers {
            provider.began(caller, &answers, &self.connection);
        }
        self.connection.works.push(work.map(move |answer| (number, answer)).boxed());
        let route = caller.route.clone();
        self.connection
            .open
            .insert(route.id.clone(), Open::Work { route, number, cancel, first: None, token: None });
        Ok(())
    }

    /// Answers a call whose work is done. A call that was cancelled meanwhile gets no answer.
    pub(crate) fn on_worked(&mut self, (number, answer): (u64, Answer)) {
        let Some(mut answer) = self.keep_done(number, answer) else { return };
        let receipt = answer.receipt.take();
        let id = self.connection.open.iter().find_map(|(id, call)| match call {
            Open::Work { number: this, .. } if *this == number => Some(id.clone()),
            _ => None,
        });
        if let Some(Open::Work { route, .. }) = id.and_then(|id| self.connection.open.remove(&id)) {
            self.connection.answer_tool(&route, answer, receipt.into_iter().collect());
        } else if let Some(receipt) = receipt {
            for provider in &mut self.providers {
                provider.taken_back(&receipt);
            }
        }
    }

    /// Sends the progress of a call, unless it has its answer already.
    pub(crate) fn on_step(&mut self, step: &Step) {
        let is_open = self.connection.open.contains_key(&step.id);
        let again = |(id, open)| Some((id, token_of(open, &step.id)?));
        let (id, token) = match self.connection.open.iter().find_map(again) {
            Some((id, token)) => (id.clone(), token),
            None if is_open => (step.id.clone(), &step.token),
            None => return,
        };
        let mut params = json!({"progressToken": token, "progress": step.done});
        if let Some(of) = step.of {
            params["total"] = of.into();
        }
        if self.connection.opened.as_ref().is_none_or(|opened| opened.version >= PROGRESS_WORDS_SINCE) {
            params["message"] = step.message.as_str().into();
        }
        self.connection.notify_about(&id, "notifications/progress", &params);
    }
}
