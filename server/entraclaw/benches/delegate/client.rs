//! A client of the engine: it says a line and waits for its answer.

use std::io::{BufRead, BufReader, Read, Write};

use serde_json::{Value, json};

pub(crate) struct Client {
    reader: Box<dyn BufRead>,
    writer: Box<dyn Write>,
    next: u64,
}

impl Client {
    /// Opens a session.
    pub(crate) fn new(reader: impl Read + 'static, writer: impl Write + 'static, name: &str) -> Self {
        let mut client = Self { reader: Box::new(BufReader::new(reader)), writer: Box::new(writer), next: 1 };
        let about = json!({"name": name, "version": "1"});
        client.ask(
            "initialize",
            &json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": about}),
        );
        let line = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        writeln!(client.writer, "{line}").and_then(|()| client.writer.flush()).unwrap();
        client
    }

    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.next;
        self.next += 1;
        let line = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.writer.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.writer.flush()).unwrap();
        loop {
            let mut line = String::new();
            assert!(self.reader.read_line(&mut line).unwrap() > 0, "the connection ended");
            let found: Value = serde_json::from_str(&line).unwrap();
            if found["id"] == id && found.get("method").is_none() {
                return found;
            }
        }
    }

    /// Calls a tool.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        let text = answer["result"]["content"][0]["text"].as_str().unwrap_or_default();
        serde_json::from_str(text).unwrap_or(answer)
    }
}
