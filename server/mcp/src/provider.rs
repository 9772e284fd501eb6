//! The seam of everything that is offered to a host: tools, resources, templates and prompts, and whatever a provider
//! says by itself.
//!
//! The connection knows the protocol and no provider; a provider knows its work and no wire. Most providers are
//! [`Provider::offers`] and [`Provider::call`]; the rest has a default and is for those that speak unasked.

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, pending};
use rmcp::model::{Prompt, Resource, ResourceTemplate, Tool};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::{Duration, Instant};

use crate::answer::Answer;
use crate::arguments::Refusal;
use crate::connection::{Caller, Connection};
use crate::era::Era;
use crate::message::{Id, Object, RpcError};
use crate::receipt::Receipt;

/// A tool, as `tools/list` shows it.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The set that it belongs to; the operator can leave a set out, for every tool costs every host a part of its context.
    pub set: &'static str,
    /// Name, description, schema.
    pub tool: Tool,
    /// Whether a call may go on as a task.
    pub may_be_task: bool,
}

impl Offer {
    /// A tool whose calls end with their answer.
    pub fn new(set: &'static str, tool: Tool) -> Self {
        Self { set, tool, may_be_task: false }
    }
}

/// What a provider offers. It is asked once, when a connection begins.
#[derive(Debug, Clone, Default)]
pub struct Offers {
    /// Tools; their names are unique over all providers.
    pub tools: Vec<Offer>,
    /// Resources with an address of their own.
    pub resources: Vec<Resource>,
    /// Resources by a pattern.
    pub templates: Vec<ResourceTemplate>,
    /// Prompts; their names are unique over all providers.
    pub prompts: Vec<Prompt>,
}

/// A call of one of a provider's tools.
pub struct Call<'a> {
    /// Which tool.
    pub tool: &'a str,
    /// Its arguments, not checked.
    pub arguments: Object,
    /// What stands beside them: `_meta`.
    pub params: &'a Object,
    /// Who calls, and in which era.
    pub caller: &'a Caller,
    /// When this host gives the call up, as far as it is known. A provider answers before it, with a ticket if need be.
    pub until: Instant,
    /// Tells how far the work is; a host that did not ask hears nothing.
    pub progress: Progress,
    /// Comes true when the host cancels. Work that must not be cut in half need not look.
    pub cancellation: Cancellation,
}

/// What became of a call.
pub enum Begun {
    /// The provider has answered, or holds the request open by [`Connection::hold`] and will.
    Taken,
    /// Work that is driven beside the connection, and dropped when the host goes away.
    Work {
        /// Ids of messages that the call answers, which shows that they have reached the model.
        answers: Vec<String>,
        /// Does the work.
        work: BoxFuture<'static, Answer>,
    },
}

impl Begun {
    /// Work that answers no message.
    pub fn work(work: impl Future<Output = Answer> + Send + 'static) -> Self {
        Self::Work { answers: Vec::new(), work: work.boxed() }
    }
}

/// A step of a call's work.
#[derive(Debug, Clone)]
pub(crate) struct Step {
    pub(crate) id: Id,
    pub(crate) token: Value,
    pub(crate) done: u64,
    pub(crate) of: Option<u64>,
    pub(crate) message: String,
}

/// A sink for the progress of one call; a cheap clone.
#[derive(Debug, Clone)]
pub struct Progress {
    pub(crate) to: Option<(mpsc::Sender<Step>, Id, Value)>,
}

impl Progress {
    /// Whether the host asked to be told.
    pub fn is_wanted(&self) -> bool {
        self.to.is_some()
    }

    /// Tells the host how far the work is: `done` must grow from word to word, `of` is the whole where it is known. What a
    /// slow host does not take is left out.
    pub fn tell(&self, done: u64, of: Option<u64>, message: impl Into<String>) {
        if let Some((steps, id, token)) = &self.to {
            let step = Step { id: id.clone(), token: token.clone(), done, of, message: message.into() };
            let _ = steps.try_send(step);
        }
    }
}

/// Whether a call was cancelled; a cheap clone.
#[derive(Debug, Clone)]
pub struct Cancellation(pub(crate) watch::Receiver<bool>);

impl Cancellation {
    /// Ends when the host cancels the call, and else never.
    pub async fn cancelled(&mut self) {
        if self.0.wait_for(|cancelled| *cancelled).await.is_err() {
            // The call has its answer.
            pending::<()>().await;
        }
    }
}

/// Something that is offered to a host.
pub trait Provider: Send {
    /// What it offers.
    fn offers(&self) -> Offers;

    /// Begins a call of one of its tools.
    ///
    /// # Errors
    /// A sentence that names the argument that is wrong; then nothing has begun.
    fn call(&mut self, call: Call<'_>, connection: &mut Connection) -> Result<Begun, Refusal>;

    /// Whether its calls are work beside the connection, of which only so many may be open at a time.
    fn works(&self) -> bool {
        true
    }

    /// Answers `resources/read` of one of its resources; `false` when `uri` is none of them.
    fn read(&mut self, _uri: &str, _caller: &Caller, _connection: &mut Connection) -> bool {
        false
    }

    /// The result of `prompts/get` for one of its prompts.
    ///
    /// # Errors
    /// Which argument is wrong, or that there is no such prompt.
    fn prompt(&mut self, name: &str, _arguments: &Object, _caller: &Caller) -> Result<Value, RpcError> {
        Err(RpcError::invalid_params(format!("params.name: no prompt is named `{name}`")))
    }

    /// Answers a method of an extension; `false` when it is none of its own.
    fn request(
        &mut self,
        _caller: &Caller,
        _method: &str,
        _params: &Object,
        _connection: &mut Connection,
    ) -> bool {
        false
    }

    /// A notification of the host.
    fn notification(&mut self, _method: &str, _params: &Object, _connection: &mut Connection) {}

    /// Adds what it can do beside tools, resources and prompts to the capabilities of the server.
    fn declare(&self, _era: Era, _capabilities: &mut Value) {}

    /// What the model is told of it at the start, by the family of its host.
    fn instructions(&self, _family: Option<&'static str>) -> Option<String> {
        None
    }

    /// A session has begun by `initialize`, or the host says that it is ready.
    fn opened(&mut self, _connection: &Connection) {}

    /// A client made a request of any kind.
    fn seen(&mut self, _caller: &Caller, _connection: &Connection) {}

    /// A client calls a tool of any provider; nothing of it was read yet.
    fn called(&mut self, _caller: &Caller, _params: &Object, _connection: &Connection) {}

    /// Work of any provider has begun, which answers the messages with these ids.
    fn began(&mut self, _caller: &Caller, _answers: &[String], _connection: &Connection) {}

    /// The host cancelled a request that this provider held open. It gets no answer any more.
    fn cancelled(&mut self, _id: &Id) {}

    /// The pipe has taken what this receipt stands for.
    fn written(&mut self, _receipt: &Receipt) {}

    /// What this receipt stands for was taken back before it left.
    fn taken_back(&mut self, _receipt: &Receipt) {}

    /// The host says, late, that the answer to this request did not reach it.
    fn lost(&mut self, _id: &Id) {}

    /// Says what has to be said by now. Called in every round while the host takes what is written.
    fn pump(&mut self, _connection: &mut Connection) {}

    /// A round is over, in which so many lines were read.
    fn round(&mut self, _lines: u64, _connection: &Connection) {}

    /// When it must be pumped even if nothing happens.
    fn deadline(&self, _connection: &Connection) -> Option<Instant> {
        None
    }

    /// Ends when it must be pumped again. Dropped and made anew in every round, it must lose nothing by that.
    fn changed(&mut self, _has_room: bool) -> BoxFuture<'_, ()> {
        pending().boxed()
    }
}

/// A call's default time, for a host of which no limit is known.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(crate::hosts::WAIT_CAP_S);
