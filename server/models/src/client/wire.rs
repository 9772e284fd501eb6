//! Requests to one server, and its answers that are no stream.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use serde_json::Value;

use super::refusal::{self, Refuser, one_line};
use crate::api::Api;
use crate::limits::{BODY_BYTES_MAX, FACTS_TIMEOUT, FIRST_PIECE_TIMEOUT};
use crate::model::ModelError;
use crate::stream::StreamError;
use crate::transport::{Chunks, Method, Reply, Request, Transport, TransportError};

/// One server.
#[derive(Clone)]
pub(crate) struct Wire {
    transport: Arc<dyn Transport>,
    /// Its root, without `/v1` and without a slash at the end.
    pub(crate) base_url: String,
    /// Its form, for messages.
    pub(crate) api: Api,
}

impl Wire {
    pub(crate) fn new(transport: Arc<dyn Transport>, base_url: &str, api: Api) -> Self {
        let root = base_url.trim().trim_end_matches('/');
        let root = root.strip_suffix("/v1").unwrap_or(root).trim_end_matches('/');
        Self { transport, base_url: root.to_owned(), api }
    }

    /// The same server, asked in this form.
    pub(crate) fn of(self, api: Api) -> Self {
        Self { api, ..self }
    }

    /// Reads JSON. A status of refusal gives nothing.
    pub(crate) async fn get(&self, path: &str) -> Result<Option<Value>, ModelError> {
        let (status, body) = self.whole(Method::Get, path, None, FACTS_TIMEOUT).await?;
        Ok(if (200..300).contains(&status) { serde_json::from_str(&body).ok() } else { None })
    }

    /// Sends JSON and reads all that comes back.
    pub(crate) async fn whole(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        limit: Duration,
    ) -> Result<(u16, String), ModelError> {
        let all = async {
            let mut reply = self.send(method, path, body).await?;
            let body = read(&mut reply.body).await.map_err(|error| self.broken(&error))?;
            Ok((reply.status, body))
        };
        let late = || {
            let (what, seconds) = (self.name(), limit.as_secs());
            ModelError::Stalled(format!(
                "{what} did not answer {path} within {seconds} s; look at its log, or restart it"
            ))
        };
        tokio::time::timeout(limit, all).await.unwrap_or_else(|_| Err(late()))
    }

    /// Asks for a stream; a refusal becomes its error.
    pub(crate) async fn stream(&self, path: &str, body: &Value, model: &str) -> Result<Chunks, ModelError> {
        let asked =
            tokio::time::timeout(FIRST_PIECE_TIMEOUT, self.send(Method::Post, path, Some(body))).await;
        let mut reply = asked
            .unwrap_or_else(|_| Err(self.ended(&StreamError::Stalled(FIRST_PIECE_TIMEOUT.as_secs()))))?;
        if (200..300).contains(&reply.status) {
            return Ok(reply.body);
        }
        let words = tokio::time::timeout(FACTS_TIMEOUT, read(&mut reply.body)).await;
        let words = words.unwrap_or_else(|_| Ok(String::new())).unwrap_or_default();
        Err(refusal::refused(&self.refuser(), model, reply.status, &words))
    }

    async fn send(&self, method: Method, path: &str, body: Option<&Value>) -> Result<Reply, ModelError> {
        let mut headers = vec![("accept".to_owned(), "application/json, text/event-stream".to_owned())];
        if body.is_some() {
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
        }
        let url = format!("{}{path}", self.base_url);
        let request = Request { method, url, headers, body: body.map(|body| body.to_string().into_bytes()) };
        self.transport.send(request).await.map_err(|error| self.broken(&error))
    }

    /// The server in a sentence.
    pub(crate) fn name(&self) -> String {
        format!("{} at {}", self.api.title(), self.base_url)
    }

    /// The server, for what it refuses.
    pub(crate) fn refuser(&self) -> Refuser {
        Refuser { name: self.name(), api: self.api }
    }

    pub(crate) fn broken(&self, error: &TransportError) -> ModelError {
        let name = self.name();
        ModelError::Unreachable(match error {
            TransportError::Connect(reason) => {
                format!("{name} can't be reached: {}; {}", one_line(reason), self.api.how_to_start())
            }
            TransportError::Broken(reason) => format!(
                "{name} closed the connection in the middle: {}; look at its log, it may have run out of memory",
                one_line(reason)
            ),
        })
    }

    /// A stream that ended early.
    pub(crate) fn ended(&self, error: &StreamError) -> ModelError {
        let name = self.name();
        match error {
            StreamError::Broken(error) => self.broken(error),
            StreamError::Stalled(seconds) => ModelError::Stalled(format!(
                "nothing came from {name} for {seconds} s; look at its log, or restart it"
            )),
            StreamError::Form(reason) => {
                ModelError::Malformed(format!("{name} sent what is not of its form: {}", one_line(reason)))
            }
        }
    }

    /// A message of a stream that can't be read.
    pub(crate) fn unread(&self, message: &str) -> ModelError {
        self.ended(&StreamError::Form(format!("'{message}'")))
    }

    /// A stream that ended without its last message.
    pub(crate) fn cut(&self) -> ModelError {
        self.broken(&TransportError::Broken("the last message is missing".to_owned()))
    }
}

async fn read(body: &mut Chunks) -> Result<String, TransportError> {
    let mut bytes = Vec::new();
    while let Some(chunk) = body.next().await {
        bytes.extend_from_slice(&chunk?);
        if bytes.len() > BODY_BYTES_MAX {
            return Err(TransportError::Broken(format!("more than {BODY_BYTES_MAX} bytes came")));
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
