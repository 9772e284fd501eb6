//! A connection over the Agent Client Protocol to a program that stands by.
//! It must never take a line without a bound, nor lose an update that came before the answer to a prompt.

use std::path::Path;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    CancelNotification, CloseSessionRequest, ContentBlock, Implementation, InitializeRequest,
    LoadSessionRequest, NewSessionRequest, PromptRequest, RequestPermissionRequest, TextContent,
};
use agent_client_protocol::{
    Agent, Client, Error, Lines, UntypedMessage, on_receive_notification, on_receive_request,
};
use entraclaw_seams::programs::{Input, Output};
use futures_util::future::pending;
use futures_util::{SinkExt, TryStreamExt as _};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::codec::{FramedRead, FramedWrite, LinesCodec};

use super::wish::{self, Wish};

/// Longest line of the program. Long answers come in small pieces.
const LINE_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most updates that wait to be read; then the program waits.
const UPDATES_MAX: usize = 256;

/// What the program says while it works.
#[derive(Debug)]
pub(super) enum Update {
    /// The update of a session, in the protocol's own form.
    Session(Value),
    /// It asks to be permitted this.
    Asks(Wish),
}

/// An open connection. It is closed when it is dropped.
pub(super) struct Connection {
    agent: ConnectionTo<Agent>,
    updates: mpsc::Receiver<Update>,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    /// Opens it, up to the answer to `initialize`.
    pub(super) async fn open(input: Input, output: Output) -> Result<Self, String> {
        let codec = || LinesCodec::new_with_max_length(LINE_BYTES_MAX);
        let lines = Lines::new(
            SinkExt::<String>::sink_map_err(FramedWrite::new(input, codec()), std::io::Error::other),
            FramedRead::new(output, codec()).map_err(std::io::Error::other),
        );
        let (to, updates) = mpsc::channel(UPDATES_MAX);
        let to_too = to.clone();
        let (opens, opened) = oneshot::channel();
        let client = Client
            .v1()
            .name("entraclaw")
            .on_receive_request(
                async move |request: RequestPermissionRequest, responder, _| {
                    let (wish, decided) = Wish::of(&request);
                    let _ = to_too.send(Update::Asks(wish)).await;
                    // A person may take long, and what the program says meanwhile must not wait.
                    tokio::spawn(async move {
                        let is_permitted = decided.await.unwrap_or(false);
                        let _ = responder.respond(wish::answer(&request, is_permitted));
                    });
                    Ok(())
                },
                on_receive_request!(),
            )
            .on_receive_notification(
                async move |message: UntypedMessage, _| {
                    // Programs know kinds of updates that the protocol's types do not.
                    if message.method == "session/update" {
                        let mut params = message.params;
                        let _ = to.send(Update::Session(params["update"].take())).await;
                    }
                    Ok(())
                },
                on_receive_notification!(),
            );
        let driver = tokio::spawn(async move {
            let ended = client.connect_with(lines, async move |agent: ConnectionTo<Agent>| {
                let _ = opens.send(agent);
                pending::<()>().await;
                Ok(())
            });
            if let Err(error) = ended.await {
                tracing::debug!(%error, "the connection to an agent that stands by has ended");
            }
        });
        let agent = opened.await.map_err(|_| "the connection did not open".to_owned())?;
        let mut connection = Self { agent, updates, driver };
        let this = Implementation::new("entraclaw", env!("CARGO_PKG_VERSION"));
        let hello = InitializeRequest::new(ProtocolVersion::V1).client_info(this);
        let answer = connection.agent.send_request(hello).block_task();
        let answer = connection.meanwhile(answer).await.map_err(|error| said(&error))?;
        if answer.protocol_version != ProtocolVersion::V1 {
            return Err(format!("it speaks version {} of the protocol, and not 1", answer.protocol_version));
        }
        Ok(connection)
    }

    /// Begins a session in a folder.
    pub(super) async fn begin_session(&mut self, folder: &Path) -> Result<String, String> {
        let answer = self.agent.send_request(NewSessionRequest::new(folder)).block_task();
        let answer = self.meanwhile(answer).await.map_err(|error| said(&error))?;
        Ok(answer.session_id.to_string())
    }

    /// Goes on with a session. What was said in it is not told again.
    pub(super) async fn load_session(&mut self, session: &str, folder: &Path) -> Result<(), String> {
        let request = LoadSessionRequest::new(session.to_owned(), folder);
        let answer = self.agent.send_request(request).block_task();
        self.meanwhile(answer).await.map(|_| ()).map_err(|error| said(&error))
    }

    /// Ends a session. The program may not know the request.
    pub(super) async fn close_session(&mut self, session: &str) {
        let answer = self.agent.send_request(CloseSessionRequest::new(session.to_owned())).block_task();
        let _ = self.meanwhile(answer).await;
    }

    /// Sends a prompt. The program has it once this returns; the returned future is its end.
    pub(super) fn prompt(
        &self,
        session: &str,
        text: &str,
    ) -> impl Future<Output = Result<String, String>> + Send + use<> {
        let text = TextContent::new(text.to_owned());
        let request = PromptRequest::new(session.to_owned(), vec![ContentBlock::Text(text)]);
        let answer = self.agent.send_request(request);
        async move {
            let answer = answer.block_task().await.map_err(|error| said(&error))?;
            let reason = serde_json::to_value(answer.stop_reason).unwrap_or_default();
            Ok(reason.as_str().unwrap_or_default().to_owned())
        }
    }

    /// Asks to stop the prompt of a session.
    pub(super) fn cancel(&self, session: &str) {
        let _ = self.agent.send_notification(CancelNotification::new(session.to_owned()));
    }

    /// The next update.
    pub(super) async fn update(&mut self) -> Option<Update> {
        self.updates.recv().await
    }

    /// An update that has come already.
    pub(super) fn update_now(&mut self) -> Option<Update> {
        self.updates.try_recv().ok()
    }

    /// Waits for an answer, and drops the updates that come meanwhile.
    async fn meanwhile<T>(&mut self, answer: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
        let mut answer = std::pin::pin!(answer);
        let mut has_updates = true;
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => {
                    while self.updates.try_recv().is_ok() {}
                    return answer;
                }
                update = self.updates.recv(), if has_updates => has_updates = update.is_some(),
            }
        }
    }
}

fn said(error: &Error) -> String {
    format!("{} ({})", error.message, i32::from(error.code))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex, split};

    use super::*;

    /// A program that knows no session.
    fn forgetful() -> (Input, Output) {
        let (ours, theirs) = duplex(64 * 1024);
        let (from, mut to) = split(theirs);
        tokio::spawn(async move {
            let mut lines = BufReader::new(from).lines();
            while let Ok(Some(line)) = lines.next_line().await {
                let request: Value = serde_json::from_str(&line).unwrap();
                let (member, says) = match request["method"].as_str() {
                    Some("initialize") => ("result", json!({"protocolVersion": 1})),
                    _ => ("error", json!({"code": -32002, "message": "no such session"})),
                };
                let answer = json!({"jsonrpc": "2.0", "id": request["id"], member: says});
                to.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
            }
        });
        let (from, to) = split(ours);
        (Box::new(to), Box::new(from))
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_that_is_dropped_is_closed() {
        let (ours, theirs) = duplex(64 * 1024);
        let (from, to) = split(ours);
        let opening = tokio::spawn(Connection::open(Box::new(to), Box::new(from)));
        let (from, mut to) = split(theirs);
        let mut lines = BufReader::new(from).lines();
        let request: Value = serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap();
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": {"protocolVersion": 1}});
        to.write_all(format!("{answer}\n").as_bytes()).await.unwrap();
        drop(opening.await.unwrap().unwrap());
        let end = tokio::time::timeout(std::time::Duration::from_secs(1), lines.next_line()).await;
        assert_eq!(end.expect("the program waits for more").unwrap(), None);
    }

    #[tokio::test]
    async fn a_session_that_the_program_does_not_know_is_not_gone_on_with() {
        let (input, output) = forgetful();
        let mut connection = Connection::open(input, output).await.unwrap();
        let loaded = connection.load_session("one", Path::new("/home/alice/project")).await;
        assert_eq!(loaded, Err("no such session (-32002)".to_owned()));
    }
}
