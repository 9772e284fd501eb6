//! The seam for everything that a host is offered: tools, resources, templates and prompts, and messages that a provider
//! sends by itself.
//!
//! The connection knows the protocol and no provider; a provider knows its work and no wire format. Most providers are
//! [`Provider::offers`] and [`Provider::call`]; the other methods have a default and serve those that send unasked.

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, pending};
use rmcp::model::{Prompt, Resource, ResourceTemplate, Tool};
use serde_json::Value;
use tokio::sync::{mpsc, watch};
use tokio::time::{Duration, Instant};

use crate::answer::Answer;
use crate::arguments::Refusal;
use crate::beyond::Beyond;
use crate::connection::{Caller, Connection};
use crate::era::Era;
use crate::message::{Id, Object, RpcError};
use crate::receipt::Receipt;
use crate::user::User;

/// A tool, as `tools/list` shows it.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The set that it belongs to. The operator can leave a set out, because every tool takes a part of the host's context.
    pub set: &'static str,
    /// Its name, description and schema.
    pub tool: Tool,
    /// Whether a call may go on as a task of the modern era's extension.
    pub may_be_task: bool,
    /// Whether a call may go on as a task of a session too.
    pub may_be_session_task: bool,
}

impl Offer {
    /// A tool whose calls end with their answer.
    pub fn new(set: &'static str, tool: Tool) -> Self {
        Self { set, tool, may_be_task: false, may_be_session_task: false }
    }
}

/// The offers of a provider, which are asked for once, when a connection begins.
#[derive(Debug, Clone, Default)]
pub struct Offers {
    /// The tools; their names are unique over all providers.
    pub tools: Vec<Offer>,
    /// The resources with a fixed address.
    pub resources: Vec<Resource>,
    /// The resources with a pattern as their address.
    pub templates: Vec<ResourceTemplate>,
    /// The prompts; their names are unique over all providers.
    pub prompts: Vec<Prompt>,
}

/// A call of one of a provider's tools.
pub struct Call<'a> {
    /// The name of the tool.
    pub tool: &'a str,
    /// The arguments, unchecked.
    pub arguments: Object,
    /// The other parameters: `_meta`.
    pub params: &'a Object,
    /// The client that calls, and its era.
    pub caller: &'a Caller,
    /// When this host gives the call up, as far as known. A provider answers before that, with a ticket if need be.
    pub until: Instant,
    /// The form of the task as which the call may go on. In a session the client has asked for it, so that it must.
    pub task: Option<Era>,
    /// What becomes of a call that is open beyond `until`.
    pub beyond: Beyond,
    /// Reports the progress of the work, if the host asked for it.
    pub progress: Progress,
    /// Becomes true when the host cancels. Work that must not be interrupted may ignore it.
    pub cancellation: Cancellation,
    /// The user at the client, if they can be asked.
    pub user: User,
}

/// The state of a call that has begun.
pub enum Begun {
    /// The provider has answered, or holds the request open by [`Connection::hold`] and will answer.
    Taken,
    /// Work that is done beside the connection, and dropped when the host goes away.
    Work {
        /// The ids of messages that the call answers, which shows that they have reached the model.
        answers: Vec<String>,
        /// The work.
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

/// A sink for the progress of one call. Clones are cheap.
#[derive(Debug, Clone)]
pub struct Progress {
    pub(crate) to: Option<(mpsc::Sender<Step>, Id, Value)>,
}

impl Progress {
    /// Whether the host asked for progress.
    pub fn is_wanted(&self) -> bool {
        self.to.is_some()
    }

    /// Reports progress to the host: `done` must grow with every report, and `of` is the whole if it is known. Reports that
    /// a slow host does not read are left out.
    pub fn tell(&self, done: u64, of: Option<u64>, message: impl Into<String>) {
        if let Some((steps, id, token)) = &self.to {
            let step = Step { id: id.clone(), token: token.clone(), done, of, message: message.into() };
            let _ = steps.try_send(step);
        }
    }
}

/// Whether a call was cancelled. Clones are cheap.
#[derive(Debug, Clone)]
pub struct Cancellation(pub(crate) watch::Receiver<bool>);

impl Cancellation {
    /// Waits until the host cancels the call; without a cancel it waits for ever.
    pub async fn cancelled(&mut self) {
        if self.0.wait_for(|cancelled| *cancelled).await.is_err() {
            // The sender is gone: the call has its answer.
            pending::<()>().await;
        }
    }
}

/// A source of tools, resources and prompts for a host.
pub trait Provider: Send {
    /// Everything that it offers.
    fn offers(&self) -> Offers;

    /// Begins a call of one of its tools.
    ///
    /// # Errors
    /// A sentence that names the wrong argument; then nothing has begun.
    fn call(&mut self, call: Call<'_>, connection: &mut Connection) -> Result<Begun, Refusal>;

    /// Whether its calls are work beside the connection, of which a bounded number may be open at a time.
    fn works(&self) -> bool {
        true
    }

    /// Answers `resources/read` for one of its resources; returns `false` if `uri` is not one of them.
    fn read(&mut self, _uri: &str, _caller: &Caller, _connection: &mut Connection) -> bool {
        false
    }

    /// The result of `prompts/get` for one of its prompts.
    ///
    /// # Errors
    /// Fails if an argument is wrong or there is no such prompt.
    fn prompt(&mut self, name: &str, _arguments: &Object, _caller: &Caller) -> Result<Value, RpcError> {
        Err(RpcError::invalid_params(format!("params.name: no prompt is named `{name}`")))
    }

    /// Answers `prompts/get` for one of its prompts by itself, at once or later; returns `false` if [`Provider::prompt`] has
    /// the result.
    fn answer_prompt(
        &mut self,
        _name: &str,
        _arguments: &Object,
        _caller: &Caller,
        _connection: &mut Connection,
    ) -> bool {
        false
    }

    /// Answers a method of an extension; returns `false` if the method is not its own.
    fn request(
        &mut self,
        _caller: &Caller,
        _method: &str,
        _params: &Object,
        _connection: &mut Connection,
    ) -> bool {
        false
    }

    /// Handles a notification of the host.
    fn notification(&mut self, _method: &str, _params: &Object, _connection: &mut Connection) {}

    /// Adds its capabilities, beside tools, resources and prompts, to those of the server.
    fn declare(&self, _era: Era, _capabilities: &mut Value) {}

    /// Whether it wants to know the folders of the client, see [`Connection::roots`].
    fn wants_roots(&self) -> bool {
        false
    }

    /// Its instructions for the model at the start, by the family of the host.
    fn instructions(&self, _family: Option<&'static str>) -> Option<String> {
        None
    }

    /// Learns that `initialize` has opened a session, or that the host is ready.
    fn opened(&mut self, _connection: &Connection) {}

    /// Learns that a client made a request of any kind.
    fn seen(&mut self, _caller: &Caller, _connection: &Connection) {}

    /// Learns that a client calls a tool of any provider, before the arguments are read.
    fn called(&mut self, _caller: &Caller, _params: &Object, _connection: &Connection) {}

    /// Learns that work of any provider has begun that answers the messages with these ids.
    fn began(&mut self, _caller: &Caller, _answers: &[String], _connection: &Connection) {}

    /// Learns that the host cancelled a request that this provider holds open. The request gets no answer.
    fn cancelled(&mut self, _id: &Id) {}

    /// Learns that the answer with this receipt was sent.
    fn written(&mut self, _receipt: &Receipt) {}

    /// Learns that the answer with this receipt was removed before it was sent.
    fn taken_back(&mut self, _receipt: &Receipt) {}

    /// Learns, late, that the answer to this request did not reach the host.
    fn lost(&mut self, _id: &Id) {}

    /// Sends what is due. Called in every round while the host reads the output.
    fn pump(&mut self, _connection: &mut Connection) {}

    /// Learns that a round is over, in which so many lines were read.
    fn round(&mut self, _lines: u64, _connection: &Connection) {}

    /// When it must be pumped even if nothing else happens.
    fn deadline(&self, _connection: &Connection) -> Option<Instant> {
        None
    }

    /// Waits until it must be pumped again. It is dropped and made anew in every round, and must lose nothing by that.
    fn changed(&mut self, _has_room: bool) -> BoxFuture<'_, ()> {
        pending().boxed()
    }
}

/// The time limit of a call on a host without a known limit.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(crate::hosts::WAIT_CAP_S);
