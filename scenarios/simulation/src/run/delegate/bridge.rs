//! The bridge that a host starts, in this thread: its relay, joined to the engine that runs or else to its stand-in.
//! It must never keep a host from an engine that has come.

use entraclaw_bridge::{End, Engines, relay};
use entraclaw_delegate::provider::{DelegateProvider, StandIn};
use entraclaw_mcp::{Options, Provider};
use fake_hosts::{AnyServer, Serve};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use tokio::io::{duplex, split};
use tokio::task::AbortHandle;

use super::engine::{SimDelegation, locked};

/// Bytes that wait in a pipe.
const PIPE_BYTES: usize = 64 * 1024;
/// What every call says without an engine.
const NO_ENGINE: &str =
    "no engine of /home/alice/project listens; start it there in a terminal: `entraclaw delegate`";

/// A server that is the bridge to this engine.
pub(crate) fn bridge(near: &SimDelegation) -> AnyServer {
    let near = near.clone();
    let serve: Serve = Box::new(move |input, output| {
        let (input, output) = match near.mutant() {
            Some(mutant) => mutant.pipes(input, output),
            None => (input, output),
        };
        let engines = Near(near.clone());
        Ok(Box::pin(async move { relay(input, output, engines).await.map(|()| 0).ok() }))
    });
    serve.into()
}

/// Where the bridge finds engines.
struct Near(SimDelegation);

/// One end of a connection whose other end is served.
fn serve(provider: Box<dyn Provider>) -> (End, AbortHandle) {
    let (near, far) = duplex(PIPE_BYTES);
    let (reader, writer) = split(far);
    let serving = tokio::task::spawn_local(async move {
        entraclaw_mcp::serve(Options::default(), vec![provider], reader, writer).await
    });
    let (reader, writer) = split(near);
    (End { reader: Box::new(reader), writer: Box::new(writer) }, serving.abort_handle())
}

impl Engines for Near {
    fn connect(&mut self, _is_wanted: bool) -> BoxFuture<'_, Option<End>> {
        let end = self.0.reached().map(|(engine, connections)| {
            let (end, serving) = serve(Box::new(DelegateProvider::new(engine)));
            locked(&connections).push(serving);
            end
        });
        async move { end }.boxed()
    }

    fn stand_in(&mut self) -> End {
        serve(Box::new(StandIn::new(NO_ENGINE))).0
    }
}
