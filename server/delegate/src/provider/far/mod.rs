//! The same tools in a session of another process: each call goes to the engine of the project, and its answer comes back
//! as it is.
//!
//! It must never change an answer of the engine, answer in its place, nor tell a client of another client's task.

mod link;

use std::collections::VecDeque;

use entraclaw_inbox::journal::ConsumerName;
use entraclaw_mcp::message::{Object, RpcError};
use entraclaw_mcp::{
    Answer, Begun, Beyond, Call, Caller, Connection, Era, LEGACY_NEWEST, Offers, Provider, Refusal, Route,
};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, pending};
use futures_util::stream::{FuturesUnordered, StreamExt as _};
use rmcp::model::ErrorCode;
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout_at;

use self::link::{Link, Outcome, Said};
use super::failure::Failure;
use super::notices;
use super::tools::{META_CONSUMER, offers};
use crate::engine::Capabilities;

/// Most notices that wait for a host that does not read; then the oldest goes. What it missed it reads by `poll_task`.
const HEARD_MAX: usize = 256;

/// Most requests about tasks that wait for the engine.
const ASKED_MAX: usize = 64;
/// The methods of tasks, in both forms.
const METHODS: [&str; 5] = ["tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"];
/// What is said when the engine does not answer.
const GONE: &str = "the engine of this project did not answer; what it had taken is kept, so look with `status` or `get_history` \
                    before you ask again";

/// Makes the connection to the engine, or to what stands in for it. It is called once, inside a runtime.
pub type Connects = Box<dyn FnOnce() -> DuplexStream + Send>;

/// The provider `delegate` of a session whose engine is another process.
pub struct FarProvider {
    /// The consumer as which this session reads the inbox, where the operator has named one.
    consumer: Option<ConsumerName>,
    connects: Option<Connects>,
    link: Option<Link>,
    /// What the engine tells unasked.
    said: Option<Receiver<Said>>,
    heard: VecDeque<Said>,
    /// Requests about tasks that the engine has not answered, and answers that are to be sent.
    asked: FuturesUnordered<BoxFuture<'static, (Route, Outcome)>>,
    answered: Vec<(Route, Outcome)>,
}

impl FarProvider {
    /// The provider over a connection that is made with the first call.
    pub fn new(connects: Connects) -> Self {
        Self {
            consumer: None,
            connects: Some(connects),
            link: None,
            said: None,
            heard: VecDeque::new(),
            asked: FuturesUnordered::new(),
            answered: Vec::new(),
        }
    }

    /// The same for a session that reads the inbox as this consumer, so that the engine knows where its results belong.
    #[must_use]
    pub fn reading_as(self, consumer: Option<ConsumerName>) -> Self {
        Self { consumer, ..self }
    }

    /// The link to the engine, which is opened in the name of the client that calls first.
    fn link(&mut self, caller: &Caller) -> Option<Link> {
        if let Some(connects) = self.connects.take() {
            let opening = json!({
                "protocolVersion": LEGACY_NEWEST,
                "capabilities": {},
                "clientInfo": {"name": caller.client.as_deref().unwrap_or_default(), "version": caller.version}
            });
            let (link, said) = Link::open(connects(), opening);
            (self.link, self.said) = (Some(link), Some(said));
        }
        self.link.clone()
    }
}

impl FarProvider {
    /// Says as whom this session reads the inbox, and lets no client say it.
    fn name_reader(&self, params: &mut Object) {
        let meta = params.entry("_meta").or_insert_with(|| json!({}));
        if let Value::Object(meta) = meta {
            meta.remove(META_CONSUMER);
            if let Some(consumer) = &self.consumer {
                meta.insert(META_CONSUMER.to_owned(), consumer.as_str().into());
            }
        }
    }
}

impl Provider for FarProvider {
    fn offers(&self) -> Offers {
        // What the engine's model has proven is not known before the first call.
        offers(&Capabilities::default())
    }

    fn declare(&self, era: Era, capabilities: &mut Value) {
        notices::declare(era, capabilities);
    }

    fn call(&mut self, call: Call<'_>, _connection: &mut Connection) -> Result<Begun, Refusal> {
        let Call { tool, arguments, params, caller, until, beyond, progress, mut cancellation, .. } = call;
        let mut params: Object = params.clone();
        params.insert("name".to_owned(), tool.into());
        params.insert("arguments".to_owned(), Value::Object(arguments));
        self.name_reader(&mut params);
        let link = self.link(caller).ok_or_else(gone)?;
        let mut asked = link.ask("tools/call", params, Some(progress)).ok_or_else(gone)?;
        Ok(Begun::work(async move {
            let answer = async {
                tokio::select! {
                    biased;
                    answer = &mut asked.answered => answer.ok(),
                    () = cancellation.cancelled() => {
                        link.cancel(asked.number);
                        (&mut asked.answered).await.ok()
                    }
                }
            };
            // The engine knows how long this host waits; one that hangs must not keep the call.
            let answer = match beyond {
                Beyond::GivenUp => timeout_at(until, answer).await.ok().flatten(),
                Beyond::KeptOpen(_) | Beyond::InBackground(_) => answer.await,
            };
            match answer {
                Some(Ok(result)) => Answer::relayed(result),
                Some(Err(error)) => Answer::error(&error.message),
                None => Answer::error(&gone()),
            }
        }))
    }

    fn request(
        &mut self,
        caller: &Caller,
        method: &str,
        params: &Object,
        connection: &mut Connection,
    ) -> bool {
        let Some(method) = METHODS.into_iter().find(|known| *known == method) else { return false };
        let is_ours = |id: &Value| id.as_str().is_some_and(|id| id.starts_with("task_"));
        if method != "tasks/list" && !params.get("taskId").is_some_and(is_ours) {
            return false;
        }
        let asked = self.link(caller).and_then(|link| link.ask(method, params.clone(), None));
        let Some(asked) = asked.filter(|_| self.asked.len() < ASKED_MAX) else {
            let error = RpcError::new(ErrorCode::INTERNAL_ERROR, GONE);
            connection.answer(&caller.route, Err(error), Vec::new());
            return true;
        };
        connection.hold(&caller.route);
        let route = caller.route.clone();
        self.asked.push(
            async move {
                let gone = || Err(RpcError::new(ErrorCode::INTERNAL_ERROR, GONE));
                (route, asked.answered.await.unwrap_or_else(|_| gone()))
            }
            .boxed(),
        );
        true
    }

    fn pump(&mut self, connection: &mut Connection) {
        for (route, outcome) in std::mem::take(&mut self.answered) {
            if connection.release(&route.id) {
                connection.answer(&route, outcome, Vec::new());
            }
        }
        if connection.ready().is_none() {
            // A client that is not to be told anything unasked polls.
            self.heard.clear();
            return;
        }
        while connection.has_room()
            && let Some(Said { method, params }) = self.heard.pop_front()
        {
            connection.notify(&method, &params);
        }
    }

    fn changed(&mut self, has_room: bool) -> BoxFuture<'_, ()> {
        async move {
            loop {
                if has_room && !(self.heard.is_empty() && self.answered.is_empty()) {
                    return;
                }
                let said = tokio::select! {
                    biased;
                    Some(answered) = self.asked.next(), if !self.asked.is_empty() => {
                        self.answered.push(answered);
                        continue;
                    }
                    said = next_of(&mut self.said) => said,
                };
                match said {
                    Some(one) => {
                        if self.heard.len() >= HEARD_MAX {
                            self.heard.pop_front();
                        }
                        self.heard.push_back(one);
                    }
                    None => self.said = None,
                }
            }
        }
        .boxed()
    }
}

async fn next_of(said: &mut Option<Receiver<Said>>) -> Option<Said> {
    match said {
        Some(said) => said.recv().await,
        None => pending().await,
    }
}

/// The same as the text of a call.
fn gone() -> Refusal {
    Failure::new("execution_error", GONE).text()
}
