//! The kind of work `agent`: what a job's process can do with an agent, which is to ask it, or to stand by for a question.
//! It must never decide how a question is asked.

use entraclaw_work::{Kind, Outcome, Prepared, Running};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::Value;

use crate::kind::AgentKind;
use crate::task::{KIND, WarmLine};
use crate::warm::WarmAgent;

impl Kind for AgentKind {
    fn name(&self) -> &'static str {
        KIND
    }

    fn run(&self, running: Running) -> BoxFuture<'static, Outcome> {
        self.clone().ask(running).boxed()
    }

    fn prepare(&self, what: Value) -> BoxFuture<'static, Result<Box<dyn Prepared>, String>> {
        let kind = self.clone();
        async move {
            let line = serde_json::from_value::<WarmLine>(what).map_err(|error| error.to_string())?;
            let agent = WarmAgent::start(kind, line).await?;
            Ok(Box::new(agent) as Box<dyn Prepared>)
        }
        .boxed()
    }
}
