//! The Agent Client Protocol over real pipes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::Stdio;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::signals::send;
use crate::stage::Stage;

fn ask(stdin: &mut impl std::io::Write, id: u64, method: &str, params: &Value) {
    writeln!(stdin, "{}", json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).unwrap();
}

fn until_answer(lines: &mut impl Iterator<Item = std::io::Result<String>>, id: u64) -> Value {
    let messages = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    messages.into_iter().find(|message| message["id"] == id && message["result"].is_object()).unwrap()
}

#[test]
fn a_conversation_and_its_end() {
    let stage =
        Stage::copilot("answers: [{ when: { contains: hang }, hangs: true }, { stream_every_ms: 5 }]");
    for ends_by_signal in [false, true] {
        let mut command = stage.command(&["--acp"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        ask(&mut stdin, 1, "initialize", &json!({"protocolVersion": 1}));
        ask(&mut stdin, 2, "session/new", &json!({"cwd": "/", "mcpServers": []}));
        let session = until_answer(&mut lines, 2)["result"]["sessionId"].clone();
        let prompt = |text: &str| json!({"sessionId": session, "prompt": [{"type": "text", "text": text}]});
        ask(&mut stdin, 3, "session/prompt", &prompt("hi"));
        assert_eq!(until_answer(&mut lines, 3)["result"]["stopReason"], "end_turn");
        ask(&mut stdin, 4, "session/prompt", &prompt("hang"));
        let cancel = json!({"jsonrpc": "2.0", "method": "session/cancel", "params": {"sessionId": session}});
        writeln!(stdin, "{cancel}").unwrap();
        assert_eq!(until_answer(&mut lines, 4)["result"]["stopReason"], "cancelled");
        if ends_by_signal {
            send(&child, Signal::SIGTERM);
            assert_eq!(child.wait().unwrap().code(), Some(0));
        } else {
            drop(stdin);
            assert_eq!(child.wait().unwrap().code(), Some(0));
        }
    }
    assert_eq!(stage.events("signal").len(), 1);
}
