//! What the tests of the clients share: a transport that mounts a fake server without sockets, and questions.

use std::collections::BTreeMap;
use std::sync::Arc;

use entraclaw_models::{
    Answer, Api, Config, Connected, Method, ModelError, Piece, Question, Reply, Request, Role, ToolSchema,
    Transport, TransportError, Turn, connect,
};
use fake_models::{Script, Server};
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use serde_json::json;
use tokio::sync::mpsc;

/// Fake servers by their roots.
#[derive(Default, Clone)]
pub(crate) struct Mounted(pub(crate) BTreeMap<String, Server>);

impl Transport for Mounted {
    fn send(&self, request: Request) -> BoxFuture<'_, Result<Reply, TransportError>> {
        Box::pin(async move {
            let found = self.0.iter().find_map(|(root, server)| {
                Some((server, request.url.strip_prefix(root.as_str())?.to_owned()))
            });
            let Some((server, path)) = found else {
                return Err(TransportError::Connect("Connection refused (os error 111)".to_owned()));
            };
            let method = if request.method == Method::Get { "GET" } else { "POST" }.to_owned();
            let body = request.body.unwrap_or_default();
            let response = server.ask(fake_models::Request { method, path, body }).await;
            let body =
                response.body.map(|chunk| chunk.map_err(|error| TransportError::Broken(error.to_string())));
            Ok(Reply { status: response.status, body: body.boxed() })
        })
    }
}

/// Where fakes without sockets are.
pub(crate) const ROOT: &str = "http://127.0.0.1:9";

/// A server of this script.
pub(crate) fn server(script: &str) -> Server {
    Server::new(Script::parse("test.yaml", script).unwrap())
}

/// A transport to this server.
pub(crate) fn mounted(server: &Server) -> Arc<dyn Transport> {
    Arc::new(Mounted([(ROOT.to_owned(), server.clone())].into()))
}

/// The settings for it.
pub(crate) fn config(api: Option<Api>) -> Config {
    Config { base_url: ROOT.to_owned(), model: None, api }
}

/// The model of this server.
pub(crate) async fn connected(server: &Server) -> Connected {
    connect(&config(None), mounted(server)).await.unwrap()
}

/// A question in these words.
pub(crate) fn question(words: &str) -> Question {
    Question { turns: vec![turn(Role::User, words)], ..Question::default() }
}

/// A turn.
pub(crate) fn turn(role: Role, text: &str) -> Turn {
    Turn { role, text: text.to_owned(), tool_requests: Vec::new(), answers: None }
}

/// A question with the tools `bash` and `write_file`.
pub(crate) fn with_tools(words: &str) -> Question {
    let tool = |name: &str| ToolSchema {
        name: name.to_owned(),
        description: "Does it.".to_owned(),
        parameters: json!({"type": "object"}),
    };
    Question { tools: vec![tool("bash"), tool("write_file")], ..question(words) }
}

/// Asks, and returns the pieces too.
pub(crate) async fn ask(
    connected: &Connected,
    question: &Question,
) -> (Result<Answer, ModelError>, Vec<Piece>) {
    let (sender, mut receiver) = mpsc::channel(1);
    let read = async {
        let mut pieces = Vec::new();
        while let Some(piece) = receiver.recv().await {
            pieces.push(piece);
        }
        pieces
    };
    tokio::join!(connected.model.ask(question, sender), read)
}

/// The text of pieces.
pub(crate) fn text(pieces: &[Piece]) -> String {
    pieces
        .iter()
        .filter_map(|piece| if let Piece::Text(text) = piece { Some(text.as_str()) } else { None })
        .collect()
}

/// The thinking of pieces.
pub(crate) fn thinking(pieces: &[Piece]) -> String {
    let thinking = |piece: &Piece| if let Piece::Thinking(text) = piece { Some(text.clone()) } else { None };
    pieces.iter().filter_map(thinking).collect()
}
