//! What the model does for each task: it writes a file, adds a line to another one, runs a command, and answers.

use fake_models::{Answer, Kind, ModelSpec, Script, Server, Slots, Tool, ToolForm, When};
use serde_json::{Value, json};

/// The hosts, by their names.
pub(crate) const HOSTS: [&str; 2] = ["claude-code", "codex"];
/// The file to which each task adds its line before the last one.
pub(crate) const LOG: &str = "log.txt";
/// Its first and its last line.
pub(crate) const LOG_ENDS: [&str; 2] = ["BEGIN", "END"];
/// The file to which each task's command adds its line.
pub(crate) const COMMANDS: &str = "commands.txt";
/// The lines of a file that a task writes.
const LINES: usize = 150;

/// The name of a task, which is in its message.
pub(crate) fn key(host: &str, task: usize) -> String {
    format!("{host}-{task:05}")
}

/// What a host says.
pub(crate) fn message(key: &str, with_command: bool) -> String {
    format!("do {key}{}", if with_command { " and run" } else { "" })
}

/// The file of a task.
pub(crate) fn file(key: &str) -> String {
    format!("{key}.txt")
}

/// Its content.
pub(crate) fn content(key: &str) -> String {
    let lines = (0..LINES).map(|line| format!("{key} line {line} of {LINES}"));
    lines.chain([format!("{key} ends\n")]).collect::<Vec<_>>().join("\n")
}

/// The model's answer.
pub(crate) fn answer(key: &str) -> String {
    let counted: Vec<String> = (1..=20).map(|number: u32| number.to_string()).collect();
    format!("{key} is done after {} steps of thought, each of them its own.", counted.join(" "))
}

fn step(
    key: &str,
    with_command: bool,
    results: Option<u32>,
    says: &str,
    tool: Option<(&str, Value)>,
) -> Answer {
    let last = Some(message(key, with_command));
    let tools = tool.into_iter().map(|(name, arguments)| Tool {
        name: name.to_owned(),
        arguments,
        form: ToolForm::Whole,
    });
    Answer {
        when: Some(When { results, last, ..When::default() }),
        says: says.to_owned(),
        tools: tools.collect(),
        first_token_ms: 8,
        token_ms: 8,
        ..Answer::default()
    }
}

fn answers(key: &str, with_command: bool) -> Vec<Answer> {
    let write = json!({"path": file(key), "content": content(key)});
    let edit = json!({"path": LOG, "old_string": format!("{}\n", LOG_ENDS[1]),
        "new_string": format!("{key}\n{}\n", LOG_ENDS[1])});
    let run = json!({"command": format!("echo {key} >> {COMMANDS}")});
    let mut all = vec![
        step(key, with_command, Some(0), "I write the file first.", Some(("write_file", write))),
        step(key, with_command, Some(1), "", Some(("edit_file", edit))),
    ];
    if with_command {
        all.push(step(key, true, Some(2), "Now it runs.", Some(("bash", run))));
    }
    all.push(step(key, with_command, None, &answer(key), None));
    all
}

/// The servers that are played in turn.
pub(crate) const KINDS: [(&str, Kind, &str); 4] = [
    ("llama.cpp", Kind::LlamaCpp, "llama.cpp"),
    ("ollama", Kind::Ollama, "ollama"),
    ("openai", Kind::OpenAi, "openai"),
    ("lm-studio", Kind::LmStudio, "openai"),
];

/// The model server's process.
pub(crate) fn serve(kind: &str, port: &str, tasks: &str) {
    let (_, server, _) = KINDS.into_iter().find(|(name, ..)| *name == kind).expect("a kind of server");
    let (port, tasks): (u16, usize) = (port.parse().expect("a port"), tasks.parse().expect("a number"));
    let keys = HOSTS.iter().flat_map(|host| (0..tasks).map(|task| key(host, task)));
    let answers = keys.flat_map(|key| [answers(&key, true), answers(&key, false)].concat()).collect();
    let script = Script {
        models: vec![ModelSpec { context_tokens: 32_768, ..ModelSpec::default() }],
        slots: Slots { can_save: true, ..Slots::default() },
        ..Script::new(server, answers)
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let server = Server::new(script);
        let _listening = fake_models::listen_at(&server, port).await.expect("the port is free again");
        std::future::pending::<()>().await;
    });
}
