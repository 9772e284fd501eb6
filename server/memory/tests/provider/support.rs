//! A simulated machine with a server that offers the set `context`, and clients of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use entraclaw_memory::files::SimulatedFiles;
use entraclaw_memory::provider::{Beside, ContextParts, ContextProvider, Scope};
use entraclaw_memory::search::IndexPlace;
use entraclaw_memory::stores::{Homes, System};
use entraclaw_seams::clock::{Clock, TokioClock};
use entraclaw_seams::processes::SimulatedProcesses;
use entraclaw_seams::storage::{MemoryStorage, Storage as _};
use jiff::tz::TimeZone;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, Lines, duplex};
use tokio::time::timeout;

/// The workspace, which is a repository.
pub(crate) const WORKSPACE: &str = "/home/alice/project";

pub(crate) struct Machine {
    pub(crate) storage: MemoryStorage,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) scope: Scope,
}

pub(crate) struct Client {
    lines: Lines<BufReader<DuplexStream>>,
    to: DuplexStream,
    next_id: u64,
    is_modern: bool,
}

impl Machine {
    pub(crate) fn new() -> Self {
        let storage = MemoryStorage::new();
        storage.set_bytes("home/alice/project/.git/HEAD", b"ref: refs/heads/main");
        storage.set_bytes("home/alice/project/src/main.rs", b"");
        Self {
            storage,
            clock: Arc::new(TokioClock::starting_at("2026-02-04T20:00:00Z".parse().unwrap())),
            scope: Scope { cwd: PathBuf::from("/home/alice/project/src"), ..Scope::default() },
        }
    }

    /// What a session of Claude Code says.
    pub(crate) fn say(&self, session: &str, role: &str, text: &str) {
        let line = json!({
            "type": role, "message": {"content": text}, "timestamp": self.clock.now().to_string(), "cwd": WORKSPACE,
            "sessionId": session, "version": "2.1.330",
        });
        self.storage.create_dir("home/alice/.claude/projects/-p").unwrap();
        let path = format!("home/alice/.claude/projects/-p/{session}.jsonl");
        let mut file = self.storage.append(&path, true).unwrap();
        file.append(format!("{line}\n").as_bytes()).unwrap();
    }

    pub(crate) fn context(&self) -> String {
        String::from_utf8(self.storage.bytes("home/alice/project/context.md").unwrap_or_default()).unwrap()
    }

    fn start(&self) -> (Lines<BufReader<DuplexStream>>, DuplexStream) {
        let storage = self.storage.new_process();
        let provider = ContextProvider::new(ContextParts {
            files: Arc::new(SimulatedFiles::new(storage.clone(), self.clock.clone())),
            storage: Arc::new(storage),
            homes: Homes {
                home: PathBuf::from("/home/alice"),
                variables: BTreeMap::new(),
                system: System::Linux,
            },
            processes: Arc::new(SimulatedProcesses::default()),
            clock: self.clock.clone(),
            zone: TimeZone::UTC,
            index: IndexPlace::Memory,
            meanings: None,
            file_name: "context.md".to_owned(),
            scope: self.scope.clone(),
            beside: Beside::Here,
        });
        let ((to, input), (output, from)) = (duplex(64 * 1024), duplex(1024 * 1024));
        tokio::spawn(async move {
            entraclaw_mcp::serve(entraclaw_mcp::Options::default(), vec![Box::new(provider)], input, output)
                .await
        });
        (BufReader::new(from).lines(), to)
    }

    /// A client of the modern era.
    pub(crate) fn modern(&self) -> Client {
        let (lines, to) = self.start();
        Client { lines, to, next_id: 0, is_modern: true }
    }

    /// A client with a session, which tells these folders.
    pub(crate) async fn legacy(&self, roots: &[&str]) -> Client {
        let (lines, to) = self.start();
        let mut client = Client { lines, to, next_id: 0, is_modern: false };
        let capabilities = if roots.is_empty() { json!({}) } else { json!({"roots": {}}) };
        let params = json!({
            "protocolVersion": "2025-11-25", "capabilities": capabilities,
            "clientInfo": {"name": "claude-code", "version": "2.1.330"}
        });
        client.request("initialize", params).await;
        client.line(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        if !roots.is_empty() {
            let asked = client.next().await;
            assert_eq!(asked["method"], "roots/list", "{asked}");
            let roots: Vec<Value> =
                roots.iter().map(|root| json!({"uri": format!("file://{root}")})).collect();
            client.line(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": roots}})).await;
        }
        client
    }
}

impl Client {
    async fn line(&mut self, message: Value) {
        self.to.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// The next message of the server.
    pub(crate) async fn next(&mut self) -> Value {
        serde_json::from_str(&self.lines.next_line().await.unwrap().unwrap()).unwrap()
    }

    pub(crate) async fn silent(&mut self, time: Duration) {
        let read = timeout(time, self.lines.next_line()).await;
        assert!(read.is_err(), "{read:?}");
    }

    pub(crate) async fn send(&mut self, method: &str, mut params: Value) -> u64 {
        self.next_id += 1;
        if self.is_modern {
            params["_meta"] = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "vscode", "version": "1.109.0"},
                "io.modelcontextprotocol/clientCapabilities": {}
            });
        }
        let id = self.next_id;
        self.line(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        id
    }

    pub(crate) async fn cancel(&mut self, id: u64) {
        let params = json!({"requestId": id});
        self.line(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})).await;
    }

    /// The answer to a request, error or not.
    pub(crate) async fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.send(method, params).await;
        let answer = self.next().await;
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Whether a call failed, and its one text.
    pub(crate) async fn call(&mut self, tool: &str, arguments: Value) -> (bool, String) {
        let answer = self.request("tools/call", json!({"name": tool, "arguments": arguments})).await;
        let result = &answer["result"];
        let content = result["content"].as_array().unwrap_or_else(|| panic!("{answer}"));
        assert_eq!((content.len(), &content[0]["type"]), (1, &json!("text")), "{answer}");
        (result["isError"] == true, content[0]["text"].as_str().unwrap().trim_end().to_owned())
    }

    /// The JSON of a call that works.
    pub(crate) async fn done(&mut self, tool: &str, arguments: Value) -> Value {
        let (is_error, text) = self.call(tool, arguments).await;
        assert!(!is_error, "{text}");
        serde_json::from_str(&text).unwrap_or_else(|_| panic!("{text}"))
    }

    /// The text of a call that fails.
    pub(crate) async fn refused(&mut self, tool: &str, arguments: Value) -> String {
        let (is_error, text) = self.call(tool, arguments).await;
        assert!(is_error, "{text}");
        text
    }

    /// The text of a resource.
    pub(crate) async fn resource(&mut self, uri: &str) -> String {
        let answer = self.request("resources/read", json!({"uri": uri})).await;
        let content = &answer["result"]["contents"][0];
        assert_eq!(content["uri"], uri, "{answer}");
        content["text"].as_str().unwrap().to_owned()
    }
}

/// The names of the members of an object.
pub(crate) fn members(value: &Value) -> Vec<&str> {
    value.as_object().unwrap_or_else(|| panic!("{value}")).keys().map(String::as_str).collect()
}
