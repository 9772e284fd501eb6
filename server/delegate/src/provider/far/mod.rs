//! The same tools in a session of another process: each call goes to the engine of the project, and its answer comes back
//! as it is.
//!
//! It must never change an answer of the engine, answer in its place, nor tell a client of another client's task.

mod link;

use std::collections::VecDeque;

use entraclaw_mcp::message::Object;
use entraclaw_mcp::{
    Answer, Begun, Beyond, Call, Caller, Connection, LEGACY_NEWEST, Offer, Offers, Provider, Refusal,
};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, pending};
use serde_json::{Value, json};
use tokio::io::DuplexStream;
use tokio::sync::mpsc::Receiver;
use tokio::time::timeout_at;

use self::link::{Link, Said};
use super::failure::Failure;
use super::tools::{SET, tools};
use crate::engine::Capabilities;

/// Most notices that wait for a host that does not read; then the oldest goes. What it missed it reads by `poll_task`.
const HEARD_MAX: usize = 256;

/// Makes the connection to the engine, or to what stands in for it. It is called once, inside a runtime.
pub type Connects = Box<dyn FnOnce() -> DuplexStream + Send>;

/// The provider `delegate` of a session whose engine is another process.
pub struct FarProvider {
    connects: Option<Connects>,
    link: Option<Link>,
    /// What the engine tells unasked.
    said: Option<Receiver<Said>>,
    heard: VecDeque<Said>,
}

impl FarProvider {
    /// The provider over a connection that is made with the first call.
    pub fn new(connects: Connects) -> Self {
        Self { connects: Some(connects), link: None, said: None, heard: VecDeque::new() }
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

impl Provider for FarProvider {
    fn offers(&self) -> Offers {
        // What the engine's model has proven is not known before the first call.
        let tools = tools(&Capabilities::default());
        Offers { tools: tools.into_iter().map(|tool| Offer::new(SET, tool)).collect(), ..Offers::default() }
    }

    fn call(&mut self, call: Call<'_>, _connection: &mut Connection) -> Result<Begun, Refusal> {
        let Call { tool, arguments, params, caller, until, beyond, progress, mut cancellation, .. } = call;
        let mut params: Object = params.clone();
        params.insert("name".to_owned(), tool.into());
        params.insert("arguments".to_owned(), Value::Object(arguments));
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

    fn pump(&mut self, connection: &mut Connection) {
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
                if has_room && !self.heard.is_empty() {
                    return;
                }
                let Some(said) = &mut self.said else { return pending().await };
                match said.recv().await {
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

/// What is said when the engine does not answer.
fn gone() -> Refusal {
    let says = "the engine of this project did not answer; what it had taken is kept, so look with `status` or `get_history` \
                before you ask again";
    Failure::new("execution_error", says).text()
}
