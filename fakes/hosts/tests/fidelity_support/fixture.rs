//! The project's own fixtures: short recordings written for this project, each for one fact that its first
//! line names. They run everywhere; a missing fixture is a failure.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use fake_hosts::{HostOptions, Profile};
use libtest_mimic::{Failed, Trial};

use crate::recording;
use crate::replay::{self, Tolerance};
use crate::situation::Situation;

/// No fixture was recorded on a slow machine.
const EXACT: Tolerance = Tolerance { early_ms: 10, late_ms: 10, limit_ms: 10 };

/// Fewest fixtures of each host.
const FIXTURES: [(&str, usize); 26] = [
    ("claude-code@2.1.330", 6),
    ("copilot-cli@1.0.102", 6),
    ("copilot-cli@seed", 1),
    ("claude-code@2.0.73", 1),
    ("claude-code@2.1.80", 2),
    ("claude-code@2.1.148", 2),
    ("claude-code@2.1.163", 1),
    ("claude-code@2.1.237", 1),
    ("claude-code@2.1.274", 2),
    ("claude-code@2.1.317", 1),
    ("copilot-cli@0.0.384", 1),
    ("copilot-cli@0.0.401", 1),
    ("copilot-cli@0.0.406", 1),
    ("copilot-cli@0.0.411", 1),
    ("copilot-cli@0.0.420", 1),
    ("copilot-cli@1.0.0", 1),
    ("copilot-cli@1.0.11", 2),
    ("copilot-cli@1.0.24", 1),
    ("copilot-cli@1.0.50", 1),
    ("copilot-cli@1.0.60", 1),
    ("copilot-cli@1.0.83", 2),
    ("copilot-cli@1.0.92", 2),
    ("codex@0.169.0", 1),
    ("opencode@1.18.33", 2),
    ("gemini-cli@0.61.0", 1),
    ("qwen-code@0.24.4", 1),
];

/// One trial for each fixture.
pub(crate) fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (host, at_least) in FIXTURES {
        let folder = folder_of(host);
        let names = recording::names(&folder).unwrap_or_default();
        let found = names.len();
        trials.push(Trial::test(format!("{host}: at least {at_least} fixtures"), move || {
            (found >= at_least).then_some(()).ok_or_else(|| Failed::from(format!("only {found}")))
        }));
        for name in names {
            let path = folder.join(format!("{name}.jsonl"));
            trials.push(Trial::test(format!("{host}/{name} (own fixture)"), move || {
                compare(host, &path).map_err(Failed::from)
            }));
        }
    }
    trials.extend(lies());
    trials
}

/// A host that deviates from the real one in one fact: `section.fact: value`, as a profile file writes it.
const LIES: [(&str, &str, &str, &str); 81] = [
    ("claude-code@2.1.330", "wire", "request_order", "[jsonrpc, id, method, params]"),
    ("claude-code@2.1.330", "wire", "result_order", "[jsonrpc, id, result]"),
    ("claude-code@2.1.330", "wire", "probe_id", "counter"),
    ("claude-code@2.1.330", "wire", "progress_tokens", "all_by_counter"),
    ("claude-code@2.1.330", "wire", "tool_use_id_key", "null"),
    ("claude-code@2.1.330", "opening", "probe", "false"),
    (
        "claude-code@2.1.330",
        "lists",
        "order",
        "{ tui: [tools, resources, prompts], print: [tools, resources, prompts] }",
    ),
    ("claude-code@2.1.330", "lists", "follow_cursor", "false"),
    ("claude-code@2.1.330", "modern", "discover_after_acknowledgement", "false"),
    ("claude-code@2.1.330", "modern", "answers_ping", "true"),
    ("claude-code@2.1.330", "calls", "parallel", "all"),
    ("claude-code@2.1.330", "calls", "progress_extends", "true"),
    ("claude-code@2.1.330", "calls", "timeout_reason", "timeout"),
    ("claude-code@2.1.330", "notifications", "resources_relist", "[resources]"),
    ("claude-code@2.1.330", "notifications", "relist_interval_ms", "0"),
    ("claude-code@2.1.330", "requests", "roots", "empty"),
    ("claude-code@2.1.330", "life", "restart", "{ tui: never, print: never }"),
    ("claude-code@2.1.330", "life", "shutdown", "[{ after_ms: 0, how: term }]"),
    ("copilot-cli@1.0.102", "opening", "probe_timeout_ms", "3000"),
    ("copilot-cli@1.0.102", "lists", "undeclared", "[]"),
    ("copilot-cli@1.0.102", "calls", "progress_extends", "false"),
    ("copilot-cli@1.0.102", "calls", "cancel_at_exit", "false"),
    ("copilot-cli@1.0.102", "calls", "parallel", "serial"),
    ("copilot-cli@1.0.102", "notifications", "tools_list_changed", "{ tui: now, print: now }"),
    ("copilot-cli@1.0.102", "requests", "sampling", "{ tui: ask, print: no_such_method }"),
    ("copilot-cli@1.0.102", "modern", "strict_stream", "false"),
    ("copilot-cli@seed", "calls", "timeout_ms", "180000"),
    ("claude-code@2.0.73", "lists", "follow_cursor", "true"),
    ("claude-code@2.0.73", "wire", "progress_tokens", "calls_by_id"),
    ("claude-code@2.1.163", "requests", "url_elicitation", "null"),
    ("claude-code@2.1.163", "calls", "timeout_floor_ms", "0"),
    ("copilot-cli@1.0.24", "calls", "setting_lost_on_change", "false"),
    ("copilot-cli@1.0.24", "lists", "order", "{ tui: [tools], print: [tools] }"),
    ("codex@0.169.0", "wire", "call_meta", "{ tui: {}, print: {} }"),
    ("codex@0.169.0", "lists", "undeclared", "[]"),
    ("codex@0.169.0", "calls", "parallel", "all"),
    ("opencode@1.18.33", "calls", "abort_after_ms", "null"),
    ("opencode@1.18.33", "calls", "cancel_at_exit", "false"),
    ("opencode@1.18.33", "lists", "fetch_prompts", "{ tui: false, print: false }"),
    ("opencode@1.18.33", "wire", "bare_notification_order", "[jsonrpc, method]"),
    ("gemini-cli@0.61.0", "wire", "progress_tokens", "calls_by_id"),
    ("gemini-cli@0.61.0", "wire", "empty_params", "false"),
    ("gemini-cli@0.61.0", "lists", "one_by_one", "false"),
    ("gemini-cli@0.61.0", "lists", "follow_cursor", "true"),
    ("gemini-cli@0.61.0", "notifications", "unchanged_again_ms", "null"),
    ("gemini-cli@0.61.0", "requests", "roots", "working_directory"),
    ("qwen-code@0.24.4", "lists", "undeclared", "[]"),
    ("qwen-code@0.24.4", "life", "restart", "{ tui: never, print: next_call }"),
    ("qwen-code@0.24.4", "identity", "client_info", "{ name: qwen-cli-mcp-client, version: 0.0.1 }"),
    ("claude-code@2.1.80", "lists", "follow_cursor", "true"),
    ("claude-code@2.1.80", "requests", "elicitation", "{ tui: ask, print: { answer: cancel } }"),
    ("claude-code@2.1.80", "calls", "timeout_floor_ms", "1000"),
    ("claude-code@2.1.80", "notifications", "resources_relist", "[resources, resource_templates]"),
    ("claude-code@2.1.148", "lists", "follow_cursor", "false"),
    ("claude-code@2.1.148", "notifications", "tools_list_changed", "{ tui: now, print: now }"),
    ("claude-code@2.1.148", "calls", "interrupt_reason", "\"AbortError: user-cancel\""),
    ("claude-code@2.1.237", "opening", "probe_configurable", "true"),
    ("claude-code@2.1.237", "calls", "timeout_reason", "\"SdkError: Request timed out\""),
    ("claude-code@2.1.274", "opening", "probe", "true"),
    ("claude-code@2.1.274", "opening", "probe_configurable", "false"),
    ("claude-code@2.1.274", "modern", "relist_on_refusal", "false"),
    ("claude-code@2.1.274", "requests", "url_elicitation", "null"),
    ("claude-code@2.1.317", "opening", "probe", "false"),
    ("copilot-cli@0.0.384", "identity", "protocol_version", "\"2025-11-25\""),
    ("copilot-cli@0.0.384", "calls", "progress_extends", "false"),
    ("copilot-cli@0.0.401", "requests", "roots", "empty"),
    ("copilot-cli@0.0.406", "calls", "setting_lost_on_change", "false"),
    ("copilot-cli@0.0.411", "lists", "follow_cursor", "true"),
    ("copilot-cli@0.0.420", "identity", "protocol_version", "\"2025-11-25\""),
    ("copilot-cli@1.0.0", "lists", "order", "{ tui: [tools, tools], print: [tools, tools] }"),
    ("copilot-cli@1.0.11", "lists", "order", "{ tui: [tools], print: [tools] }"),
    ("copilot-cli@1.0.11", "requests", "sampling", "{ tui: ask, print: no_such_method }"),
    ("copilot-cli@1.0.50", "requests", "elicitation", "{ tui: ask, print: no_such_method }"),
    ("copilot-cli@1.0.50", "wire", "empty_params", "true"),
    ("copilot-cli@1.0.60", "wire", "empty_params", "false"),
    ("copilot-cli@1.0.60", "calls", "setting_lost_on_change", "true"),
    ("copilot-cli@1.0.60", "life", "shutdown", "[{ after_ms: 0, how: close_stdin }]"),
    ("copilot-cli@1.0.83", "modern", "listen", "true"),
    ("copilot-cli@1.0.83", "requests", "elicitation", "{ tui: ask, print: silent }"),
    ("copilot-cli@1.0.92", "modern", "listen", "false"),
    ("copilot-cli@1.0.92", "identity", "client_info", "{ name: copilot-cli, version: 0.0.0 }"),
];

/// One trial for each wrong fact: at least one fixture of the host must catch it.
fn lies() -> Vec<Trial> {
    LIES.iter()
        .map(|(host, section, fact, value)| {
            Trial::test(format!("{host}: a lie about {section}.{fact} is caught"), move || {
                let text = format!(
                    "id: liar@1\nextends: {host}\nfamily: x\ntitle: x\nabout: x\n{section}:\n  \
                     {fact}: {{ value: {value}, mark: guess, source: a lie }}\n"
                );
                let liar = Arc::new(fake_hosts::load("liar", &text).map_err(|error| error.to_string())?);
                let folder = folder_of(host);
                let names = recording::names(&folder).unwrap_or_default();
                let caught = names
                    .iter()
                    .any(|name| compare_with(&liar, &folder.join(format!("{name}.jsonl"))).is_err());
                caught.then_some(()).ok_or_else(|| Failed::from("no fixture noticed"))
            })
        })
        .collect()
}

fn folder_of(host: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(host)
}

fn compare(host: &str, path: &Path) -> Result<(), String> {
    let profile = fake_hosts::profile(host).map_err(|error| error.to_string())?;
    compare_with(&profile, path)
}

fn compare_with(profile: &Arc<Profile>, path: &Path) -> Result<(), String> {
    let text = recording::read_text(path)?;
    let settings = text.lines().find_map(|line| line.strip_prefix("#! "));
    let settings = settings.ok_or("a fixture names its settings in a line that begins with #!")?;
    let mut situation = Situation::plain("");
    let server_name = situation.options.server_name.clone();
    situation.options = serde_json::from_str::<HostOptions>(&with_mode(settings)?)
        .map_err(|error| format!("settings: {error}"))?;
    situation.options.server_name = server_name;
    replay::compare(profile, &situation, &recording::parse(&text)?, EXACT)
}

/// A fixture is headless unless it says otherwise.
fn with_mode(settings: &str) -> Result<String, String> {
    let mut settings: serde_json::Map<String, serde_json::Value> =
        serde_json::from_str(settings).map_err(|error| format!("settings: {error}"))?;
    settings.entry("mode").or_insert_with(|| "print".into());
    Ok(serde_json::Value::Object(settings).to_string())
}
