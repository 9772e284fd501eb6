//! Holds the fakes to recordings of the real programs: the exit code, the kinds of events and their order, the words on
//! stdout, the files. The recordings stand in `recordings/AGENT-VERSION/NAME.json`, or where `AGENT_RECORDINGS` says;
//! what is not there is not compared.
#![expect(clippy::disallowed_methods, reason = "a test reads the recordings")]

use std::path::{Path, PathBuf};

use fake_agents::Signal;
use serde_json::Value;

use crate::support::{End, Machine, Ran, Start};

/// What each recording's agent is called in scripts: the folder's name, the agent, the tool that runs a command, the tool
/// that writes a file.
const AGENTS: [(&str, &str, &str, &str); 13] = [
    ("copilot-0.0.354", "copilot", "bash", "create"),
    ("copilot-0.0.384", "copilot", "bash", "create"),
    ("copilot-0.0.401", "copilot", "bash", "create"),
    ("copilot-0.0.420", "copilot", "bash", "create"),
    ("copilot-1.0.0", "copilot", "bash", "create"),
    ("copilot-1.0.24", "copilot", "bash", "create"),
    ("copilot-1.0.60", "copilot", "bash", "create"),
    ("copilot-1.0.102", "copilot", "bash", "create"),
    ("claude-2.1.330", "claude-code", "Bash", "Write"),
    ("codex-0.169.0", "codex", "shell", "apply_patch"),
    ("gemini-0.61.0", "gemini-cli", "run_shell_command", "write_file"),
    ("opencode-1.18.33", "opencode", "bash", "write"),
    ("qwen-0.24.4", "qwen-code", "run_shell_command", "write_file"),
];

/// Events that are there as often as the machine likes, and those of a setup that the fake does not have.
const NOISE: [&str; 2] = ["session.background_tasks_changed", "session.skills_loaded"];

/// Recordings that the fake differs from, by the begin of their name, with the reason.
const DEVIATIONS: &[(&str, &str, &str)] = &[
    (
        "claude-code",
        "accept-edits-shell",
        "a shell command is judged by its paths, which a script's tool does not have",
    ),
    (
        "claude-code",
        "add-dir-shell",
        "a shell command is judged by its paths, which a script's tool does not have",
    ),
    ("copilot", "session-resume-name", "1.0.60 ended with 1 and not a word, the other versions say why"),
    ("copilot", "version-beside", "a newer package in its cache ran instead; the fake has no cache"),
    (
        "opencode",
        "ask-shell",
        "a tool that is refused to nobody ends the run; the fake goes on to its answer",
    ),
    ("opencode", "session-list", "the list has the titles and times of that machine"),
    ("codex", "not-signed-in", "the machine of the recording had no network, and the program went on trying"),
];

/// Where the recordings are.
pub(crate) fn folder() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("recordings");
    std::env::var_os("AGENT_RECORDINGS").map_or(here, PathBuf::from)
}

struct Recording {
    name: String,
    json: Value,
}

impl Recording {
    fn argv(&self) -> Vec<&str> {
        self.json["argv"].as_array().unwrap().iter().skip(1).map(|one| one.as_str().unwrap()).collect()
    }

    /// The lines of JSON by their kind, each run of one kind once; nothing if the output is text.
    fn kinds(&self) -> Vec<String> {
        let lines = self.json["stdout"].as_array().unwrap();
        let kinds = lines.iter().filter_map(|line| line["type"].as_str());
        collapsed(kinds.map(str::to_owned))
    }

    fn text(&self) -> String {
        let lines = self.json["stdout"].as_array().unwrap();
        lines.iter().map(|line| line.as_str().unwrap_or_default()).collect::<Vec<_>>().join("\n")
    }

    /// Whether anything in it was cut.
    fn is_cut(&self) -> bool {
        self.text().contains("…[")
    }
}

fn collapsed(kinds: impl Iterator<Item = String>) -> Vec<String> {
    let mut kinds: Vec<String> = kinds.filter(|kind| !NOISE.contains(&kind.as_str())).collect();
    kinds.dedup();
    kinds
}

fn recordings(folder: &Path) -> Vec<Recording> {
    let mut found: Vec<Recording> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?.strip_suffix(".json")?.to_owned();
            let json = serde_json::from_str(&std::fs::read_to_string(entry.path()).ok()?).ok()?;
            Some(Recording { name, json })
        })
        .collect();
    found.sort_by(|one, other| one.name.cmp(&other.name));
    found
}

/// What the model of the recordings did, by the situation's name; nothing for what the fakes have no part of.
fn answer(name: &str, shell: &str, write: &str) -> Option<String> {
    let base = name.strip_suffix("-json").unwrap_or(name);
    let message = match base {
        "status-401" => "bad credentials",
        "status-402" => "You have no quota",
        "status-403" => "forbidden",
        "status-429" => "rate limited",
        "status-500" => "server broke",
        "model-unknown-404" => "The model `scripted-model` does not exist",
        _ => "",
    };
    if !message.is_empty() {
        let status = &base[base.len() - 3..];
        return Some(format!("error: {{ status: {status}, message: '{message}' }}"));
    }
    if base == "provider-down" {
        return Some("error: { status: 0 }".to_owned());
    }
    if base.contains("-SIG") || base.starts_with("slow") || base.starts_with("status") {
        return None;
    }
    if base.ends_with("-write-inside") {
        return Some(format!(
            "says: ANSWER-2, tools: [{{ name: {write} }}], writes: {{ path: write-inside, text: x }}"
        ));
    }
    if base.ends_with("-shell") || base.ends_with("-shell-text") {
        return Some(format!("says: ANSWER-2, tools: [{{ name: {shell}, prints: ran }}]"));
    }
    if base.ends_with("-write-outside") {
        return Some(format!(
            "tools: [{{ name: {write} }}], writes: {{ path: /beside/write-outside, text: x }}"
        ));
    }
    // What a shell does with a path is not in a script.
    if base.contains("-shell-") || base.contains("-write-") {
        return None;
    }
    let alone =
        ["ask", "session", "not-signed-in", "add-dir-missing", "cwd-missing", "flag-unknown", "version"];
    let is_whole = !base.contains("mb") && !base.contains("mib") && !base.contains("120k");
    (alone.iter().any(|begin| base.starts_with(begin)) && is_whole).then(|| "says: ANSWER-1".to_owned())
}

fn play(agent: &str, version: &str, answer: &str, recording: &Recording) -> Ran {
    let missing = ["/no/such/folder", "/project/.git", "/beside/.git", "/.git"];
    let machine = Machine { missing: missing.map(Into::into).to_vec(), ..Machine::default() };
    let argv = recording.argv();
    if recording.name.starts_with("session-") && !recording.name.contains("unknown") {
        seed(&machine, agent, &argv, &recording.name);
    }
    let signed_in = !recording.name.starts_with("not-signed-in");
    let version = version.rsplit('-').next().unwrap_or_default();
    let script =
        format!("agent: {agent}\nversion: {version}\nsigned_in: {signed_in}\nanswers: [{{ {answer} }}]");
    let mut start = Start::new(&script, &argv, &machine);
    for (name, value) in recording.json["set"].as_object().into_iter().flatten() {
        start = start.with(name, value.as_str().unwrap_or_default());
    }
    if recording.name.contains("elsewhere") {
        start.invocation.folder = "/beside".into();
    }
    if let Some(stdin) = recording.json["stdin"].as_str() {
        start = start.reading(stdin);
    }
    start.run()
}

/// Puts the session into the store that the command line goes on with.
fn seed(machine: &Machine, agent: &str, argv: &[&str], name: &str) {
    if name.contains("new") || name.contains("not-uuid") || name.contains("chosen") {
        return;
    }
    let id = argv.iter().map(|one| one.rsplit('=').next().unwrap_or(one));
    let id = id.chain(name.contains("latest").then_some("0cb916db-26aa-40f2-86b5-1ba81b225fd2"));
    for id in id.filter(|one| one.len() > 24 && !one.contains(' ') && one.contains(['-', '_'])) {
        let file = match agent {
            "copilot" => format!("session-state/{id}/events.jsonl"),
            "claude-code" | "gemini-cli" | "qwen-code" => format!("projects/-project/{id}.jsonl"),
            _ => format!("sessions/{id}.jsonl"),
        };
        machine.store.borrow_mut().insert(file, "{}\n".to_owned());
    }
}

/// How a run of the fake differs from a recording.
fn differences(ran: &Ran, recording: &Recording) -> Vec<String> {
    let mut found = Vec::new();
    if recording.name.contains("-write-") {
        let wrote = recording.json["files"].as_array().is_some_and(|files| !files.is_empty());
        if wrote == ran.wrote.is_empty() {
            found.push(format!("files {:?} instead of {}", ran.wrote, recording.json["files"]));
        }
    }
    // A tool's own words about a place differ by tool and place.
    if recording.name.ends_with("-write-outside") {
        return found;
    }
    let exit = recording.json["exit"].as_i64().unwrap();
    if exit >= 0 && ran.end != End::Exit(u8::try_from(exit).unwrap()) {
        found.push(format!("exit {:?} instead of {exit}: {}", ran.end, ran.stderr));
    }
    let kinds = recording.kinds();
    let mine = collapsed(ran.kinds().into_iter());
    // What was ended from outside has only a begin.
    let agrees = if exit < 0 { mine.starts_with(&kinds) } else { mine == kinds };
    if !kinds.is_empty() && !agrees {
        found.push(format!("events {mine:?} instead of {kinds:?}"));
    }
    let is_object = recording.name.contains("one-json");
    // Older versions tell the commit of their build too.
    let text = |text: &str| {
        let text = text.trim_end();
        let lines = if recording.name == "version" { 1 } else { usize::MAX };
        text.lines().take(lines).collect::<Vec<_>>().join("\n")
    };
    if kinds.is_empty()
        && !is_object
        && exit >= 0
        && !recording.is_cut()
        && text(&ran.stdout) != text(&recording.text())
    {
        found.push(format!("stdout {:?} instead of {:?}", ran.stdout, recording.text()));
    }
    let stderr = recording.json["stderr"].as_array().unwrap();
    let told = stderr
        .iter()
        .filter_map(Value::as_str)
        .find(|line| !line.is_empty() && !line.starts_with("Ripgrep not available"));
    if exit > 0 && told.is_some() == ran.stderr.is_empty() {
        found.push(format!("stderr {:?} instead of {told:?}", ran.stderr));
    }
    found
}

#[test]
fn the_fakes_do_what_was_recorded() {
    let mut problems = Vec::new();
    let mut compared = 0;
    for (version, agent, shell, write) in AGENTS {
        for recording in recordings(&folder().join(version)) {
            let Some(answer) = answer(&recording.name, shell, write) else { continue };
            let known =
                DEVIATIONS.iter().any(|(of, begin, _)| *of == agent && recording.name.starts_with(begin));
            let found = differences(&play(agent, version, &answer, &recording), &recording);
            compared += 1;
            if !known && !found.is_empty() {
                problems.push(format!("{version}/{}: {}", recording.name, found.join("; ")));
            }
        }
    }
    assert!(problems.is_empty(), "of {compared} recordings, these differ:\n{}", problems.join("\n"));
    println!("{compared} recordings compared");
}

#[test]
fn every_deviation_has_a_reason_and_is_one() {
    for (agent, begin, reason) in DEVIATIONS {
        assert!(reason.len() > 20, "{agent} {begin}");
        let Some((version, _, shell, write)) = AGENTS.iter().find(|one| one.1 == *agent) else {
            panic!("no agent {agent}")
        };
        let all = recordings(&folder().join(version));
        let mut named = all.iter().filter(|recording| recording.name.starts_with(begin)).peekable();
        let is_there = named.peek().is_some();
        let differs = named.any(|recording| {
            answer(&recording.name, shell, write).is_some_and(|answer| {
                !differences(&play(agent, version, &answer, recording), recording).is_empty()
            })
        });
        assert!(!is_there || differs, "{agent}: {begin} differs no more; remove it from the list");
    }
}

/// What SIGTERM and SIGINT made of the programs themselves, not of their launchers.
#[test]
fn signals_end_the_fakes_as_was_recorded() {
    for (version, agent, name) in [
        ("copilot-1.0.102", "copilot", "direct-mid-answer-json"),
        ("claude-2.1.330", "claude-code", "mid-answer-json"),
        ("codex-0.169.0", "codex", "mid-answer-json"),
        ("gemini-0.61.0", "gemini-cli", "mid-answer-group"),
    ] {
        for (signal, sent) in [("SIGTERM", Signal::Terminate), ("SIGINT", Signal::Interrupt)] {
            let name = format!("{name}-{signal}");
            let Some(recording) =
                recordings(&folder().join(version)).into_iter().find(|recording| recording.name == name)
            else {
                continue;
            };
            let machine = Machine::default();
            let script = format!("agent: {agent}\nanswers: [{{ says: FIRST-HALF|, hangs: true }}]");
            let mut start = Start::new(&script, &recording.argv(), &machine);
            for (name, value) in recording.json["set"].as_object().into_iter().flatten() {
                start = start.with(name, value.as_str().unwrap_or_default());
            }
            let ran = start.interrupted_by(sent);
            let exit = match ran.end {
                End::Died(Signal::Terminate) => -15,
                End::Died(Signal::Interrupt) => -2,
                _ => i64::from(ran.code()),
            };
            assert_eq!(exit, recording.json["exit"].as_i64().unwrap(), "{name}");
            assert_eq!(collapsed(ran.kinds().into_iter()), recording.kinds(), "{name}");
        }
    }
}
