//! Tests of users' files, valid and invalid, and of the settings that each host reads from them.

use std::collections::BTreeMap;

use host_profiles::{Profile, profile};
use rstest::rstest;

use super::*;

fn files(pairs: &[(&str, &str)]) -> HostFiles {
    pairs.iter().map(|(path, text)| ((*path).to_owned(), (*text).to_owned())).collect()
}

fn of(family: &str, pairs: &[(&str, &str)], launch: &[&str]) -> Result<HostSettings, SettingsError> {
    let launch: Vec<String> = launch.iter().map(|word| (*word).to_owned()).collect();
    read(family, &files(pairs), &launch)
}

fn said(family: &str, pairs: &[(&str, &str)], launch: &[&str]) -> String {
    of(family, pairs, launch).unwrap_err().to_string()
}

/// The newest version of a family.
fn newest(family: &str) -> std::sync::Arc<Profile> {
    let id = match family {
        "claude-code" => "claude-code@2.1.330",
        "copilot-cli" => "copilot-cli@1.0.102",
        "codex" => "codex@0.169.0",
        "gemini-cli" => "gemini-cli@0.61.0",
        "opencode" => "opencode@1.18.33",
        _ => "qwen-code@0.24.4",
    };
    profile(id).unwrap()
}

const COPILOT: &str = ".copilot/mcp-config.json";
const GEMINI: &str = ".gemini/settings.json";
const CODEX: &str = ".codex/config.toml";
const OPENCODE: &str = ".config/opencode/opencode.json";

#[rstest]
#[case(
    "claude-code",
    ".claude.json",
    r#"{"mcpServers":{"s":{"type":"stdio","command":"/b","args":["x"],"env":{"A":"1"},"timeout":5}}}"#,
    Some(5)
)]
#[case(
    "copilot-cli",
    COPILOT,
    r#"{"mcpServers":{"s":{"type":"local","command":"/b","args":["x"],"env":{"A":"1"},"timeout":5}}}"#,
    Some(5)
)]
#[case(
    "codex",
    CODEX,
    "[mcp_servers.s]\ncommand = '/b'\nargs = ['x']\nenv = {A = '1'}\ntool_timeout_sec = 5",
    Some(5_000)
)]
#[case(
    "gemini-cli",
    GEMINI,
    r#"{/* c */"mcpServers":{"s":{"command":"/b","args":["x"],"env":{"A":"1"}}}}"#,
    None
)]
#[case(
    "opencode",
    OPENCODE,
    r#"{"mcp":{"s":{"type":"local","command":["/b","x"],"environment":{"A":"1"},},}} // c"#,
    None
)]
#[case(
    "qwen-code",
    ".qwen/settings.json",
    r#"{"mcpServers":{"s":{"command":"/b","args":["x"],"env":{"A":"1"}}}}"#,
    None
)]
fn each_family_finds_its_server(
    #[case] family: &str,
    #[case] file: &str,
    #[case] text: &str,
    #[case] tool_timeout_ms: Option<u64>,
) {
    let settings = of(family, &[(file, text)], &[]).unwrap();
    let person = BTreeMap::from([("HOME", "/h"), ("PATH", "/p"), ("SECRET", "hush")]);
    let person = person.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let profile = newest(family);
    let command = settings.command_of("s", &person, &profile.environment, "/w".into()).unwrap();
    assert_eq!((command.program.as_str(), &command.arguments[..]), ("/b", &["x".to_owned()][..]));
    assert!(command.bare_environment);
    assert_eq!(command.environment["A"], "1");
    assert_eq!(command.environment["HOME"], "/h");
    // Observed: one hands down a few names only, the other none that looks like a secret.
    let is_closed = ["codex", "gemini-cli"].contains(&family);
    assert_eq!(command.environment.contains_key("SECRET"), !is_closed, "{family}");
    assert_eq!(settings.options("s", None).tool_timeout_ms, tool_timeout_ms);
    let missing =
        settings.command_of("other", &person, &profile.environment, "/w".into()).unwrap_err().to_string();
    assert!(missing.contains("`other`") && missing.ends_with("it finds s"), "{missing}");
}

#[rstest]
#[case(
    "claude-code",
    ".claude/settings.json",
    r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"c","timeout":3}]}]}}"#,
    "Stop",
    Some(3_000)
)]
#[case(
    "copilot-cli",
    ".copilot/hooks/a.json",
    r#"{"version":1,"hooks":{"agentStop":[{"type":"command","bash":"c","powershell":"p","timeoutSec":3}]}}"#,
    "agentStop",
    Some(3_000)
)]
#[case(
    "codex",
    ".codex/hooks.json",
    r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"c","timeout":3}]}]}}"#,
    "Stop",
    Some(3_000)
)]
#[case(
    "gemini-cli",
    GEMINI,
    r#"{"hooks":{"AfterAgent":[{"hooks":[{"type":"command","command":"c","timeout":3}]}]}}"#,
    "AfterAgent",
    Some(3)
)]
#[case(
    "qwen-code",
    ".qwen/settings.json",
    r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"c"}]}]}}"#,
    "Stop",
    None
)]
fn hooks_stand_by_event_with_their_limit_in_milliseconds(
    #[case] family: &str,
    #[case] file: &str,
    #[case] text: &str,
    #[case] event: &str,
    #[case] timeout_ms: Option<u64>,
) {
    let settings = of(family, &[(file, text)], &[]).unwrap();
    let command = HookCommand { command: "c".to_owned(), timeout_ms };
    assert_eq!(settings.hooks, BTreeMap::from([(event.to_owned(), vec![command])]));
    assert!(settings.options("s", None).hooks);
}

#[rstest]
#[case("claude-code", &[(".claude.json", "{\n  \"a\": 1,\n}")], &[], ".claude.json: line 3: ")]
#[case("claude-code", &[(".claude.json", "[]")], &[], ".claude.json: is no object")]
#[case("claude-code", &[(".claude.json", r#"{"mcpServers":{"s":{"args":[]}}}"#)], &[], "`mcpServers.s` has no `command`")]
#[case("claude-code", &[(".claude.json", r#"{"mcpServers":{"s":{"command":"b","args":[1]}}}"#)], &[], "something that is no text")]
#[case("claude-code", &[(".claude/settings.json", r#"{"hooks":{"Stop":[{"hooks":[{"type":"command"}]}]}}"#)], &[], "`hooks.Stop` has no `command`")]
#[case("claude-code", &[(".claude/settings.json", r#"{"hooks":{"Stop":[{"hooks":{}}]}}"#)], &[], "is no list")]
#[case("claude-code", &[], &["--dangerously-load-development-channels", "entraclaw"], "names no `server:NAME`")]
#[case("copilot-cli", &[(".copilot/hooks/a.json", r#"{"hooks":{}}"#)], &[], "`version` is not 1")]
#[case("copilot-cli", &[], &["--experimental", "--unknown"], "`--unknown`")]
#[case("codex", &[(CODEX, "a = 1\na = 2")], &[], ".codex/config.toml: line 2: ")]
#[case("codex", &[(CODEX, "[mcp_servers.s]\nargs = []")], &[], "`mcp_servers.s` has no `command`")]
#[case("codex", &[(".codex/hooks.json", r#"{"version":1,"hooks":{}}"#)], &[], "`version` is not known at the top")]
#[case("gemini-cli", &[(GEMINI, "{\n  \"a\": 1, // c\n}")], &[], ".gemini/settings.json: line ")]
#[case("gemini-cli", &[(".gemini/policies/a.toml", "[[rule]]\ndecision = 'allow'\npriority = 1000")], &[], "`rule.priority`")]
#[case("opencode", &[(OPENCODE, r#"{"mcp":{"s":{"type":"local","command":[]}}}"#)], &[], "`mcp.s.command` is empty")]
#[case("opencode", &[], &["--port", "many"], "`many` is no port")]
#[case("qwen-code", &[(".qwen/settings.json", r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"c","timeout":3}]}]}}"#)], &[], "different units")]
#[case("cursor", &[], &[], "known are claude-code")]
fn a_refused_file_is_named_with_its_place(
    #[case] family: &str,
    #[case] pairs: &[(&str, &str)],
    #[case] launch: &[&str],
    #[case] words: &str,
) {
    let said = said(family, pairs, launch);
    assert!(said.contains(words), "{said}");
}

#[test]
fn a_shell_rule_is_for_whole_words_and_one_command() {
    let rules = r#"{"permissions":{"allow":["Bash(/b wait:*)","Bash(ls)","mcp__s__t","Bash(cd *)"]}}"#;
    let settings = of("claude-code", &[(".claude/settings.json", rules)], &[]).unwrap();
    for (command, may) in [
        ("/b wait", true),
        ("/b wait --consumer a", true),
        ("/b waiting", false),
        ("/b wait; rm -r x", false),
        ("/b wait && x", false),
        ("/b wait $(x)", false),
        ("/b", false),
        ("ls", true),
        ("ls -l", false),
        ("cd x", true),
    ] {
        assert_eq!(settings.may_run(command), may, "{command}");
    }
    assert!(of("qwen-code", &[], &[]).unwrap().shell.is_empty());
    assert!(of("copilot-cli", &[], &[]).unwrap().may_run("anything that the person allows"));
}

#[rstest]
#[case(
    "claude-code",
    ".claude/settings.json",
    r#"{"permissions":{"allow":["mcp__s__t","mcp__other","Bash(ls)"]}}"#
)]
#[case(
    "qwen-code",
    ".qwen/settings.json",
    r#"{"permissions":{"allow":["mcp__s__t","mcp__other","Bash(ls)"]}}"#
)]
#[case(
    "codex",
    CODEX,
    "[mcp_servers.s]\ncommand = 'b'\n[mcp_servers.s.tools.t]\napproval_mode = 'approve'\n[mcp_servers.s.tools.u]\napproval_mode = 'prompt'"
)]
#[case(
    "gemini-cli",
    ".gemini/policies/a.toml",
    "[[rule]]\nmcpName = 's'\ntoolName = ['t']\ndecision = 'allow'\npriority = 100\n[[rule]]\nmcpName = 's'\ntoolName = 'u'\ndecision = 'deny'\npriority = 100"
)]
fn a_tool_runs_unasked_where_a_rule_names_it(#[case] family: &str, #[case] file: &str, #[case] text: &str) {
    let settings = of(family, &[(file, text)], &[]).unwrap();
    assert_eq!(settings.options("s", None).unasked, Some(vec!["t".to_owned()]));
    assert_eq!(settings.options("unknown", None).unasked, Some(Vec::new()));
    if ["claude-code", "qwen-code"].contains(&family) {
        assert_eq!(settings.options("other", None).unasked, Some(vec!["*".to_owned()]));
    }
}

#[test]
fn codex_hands_down_the_variables_of_the_entry() {
    let text = "[mcp_servers.s]\ncommand = 'b'\nenv_vars = ['SECRET', 'MISSING']";
    let settings = of("codex", &[(CODEX, text)], &[]).unwrap();
    let person =
        [("SECRET", "hush"), ("OTHER", "x")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let handed = &newest("codex").environment;
    let command = settings.command_of("s", &person.into(), handed, "/w".into()).unwrap();
    assert_eq!(command.environment, BTreeMap::from([("SECRET".to_owned(), "hush".to_owned())]));
}

#[rstest]
#[case(r#"{"allowed":["run_shell_command(git)"]}"#, 290, false)]
#[case(r#"{"allowed":["run_shell_command(git)"]}"#, 291, true)]
#[case(r#"{"allowed":["run_shell_command","read_file"]}"#, 1, true)]
#[case(r#"{"core":["read_file"]}"#, 240, false)]
#[case(r#"{"core":["read_file"]}"#, 241, true)]
#[case(r#"{"core":["run_shell_command"]}"#, 1, true)]
fn gemini_denies_tools_outside_the_users_list(
    #[case] tools: &str,
    #[case] priority: u64,
    #[case] runs: bool,
) {
    let rule = format!(
        "[[rule]]\ntoolName = 'run_shell_command'\ncommandPrefix = ['b wait']\ndecision = 'allow'\npriority = {priority}"
    );
    let tools = format!(
        r#"{{"tools":{{"shell":{{"backgroundCompletionBehavior":"inject"}},{}}},"experimental":{{"modelSteering":true}}}}"#,
        tools.trim_start_matches('{').trim_end_matches('}')
    );
    let settings = of("gemini-cli", &[(GEMINI, &tools), (".gemini/policies/a.toml", &rule)], &[]).unwrap();
    assert_eq!(settings.options("s", Some("b wait --consumer a")).shell, runs, "{tools} {rule}");
}

#[test]
fn gemini_hides_tools_of_servers_behind_a_list_of_its_own_tools() {
    for (priority, tools) in [(240, vec![]), (241, vec!["t".to_owned()])] {
        let rule =
            format!("[[rule]]\nmcpName = 's'\ntoolName = 't'\ndecision = 'allow'\npriority = {priority}");
        let files =
            [(GEMINI, r#"{"tools":{"core":["read_file"]}}"#), (".gemini/policies/a.toml", rule.as_str())];
        let settings = of("gemini-cli", &files, &[]).unwrap();
        assert_eq!(settings.options("s", None).unasked, Some(tools), "{rule}");
    }
}

#[test]
fn gemini_tells_of_a_shell_with_both_settings_only() {
    let policy = (
        ".gemini/policies/a.toml",
        "[[rule]]\ntoolName = 'run_shell_command'\ncommandPrefix = ['b wait']\ndecision = 'allow'\npriority = 100",
    );
    let inject = r#""tools":{"shell":{"backgroundCompletionBehavior":"inject"}}"#;
    let steer = r#""experimental":{"modelSteering":true}"#;
    for (text, told) in [
        ("{}".to_owned(), false),
        (format!("{{{inject}}}"), false),
        (format!("{{{steer}}}"), false),
        (format!("{{{inject},{steer}}}"), true),
    ] {
        let settings = of("gemini-cli", &[(GEMINI, &text), policy], &[]).unwrap();
        assert_eq!(settings.options("s", Some("b wait --consumer a")).shell, told, "{text}");
        assert!(!settings.options("s", Some("b watch")).shell);
    }
}

#[test]
fn wake_ups_open_by_the_launch_line_alone_but_for_a_command_that_needs_none() {
    assert_eq!(of("codex", &[], &[]).unwrap().wake_up, Some(OpenWakeUp::QueueCommand));
    assert_eq!(of("opencode", &[], &[]).unwrap().wake_up, None);
    assert_eq!(of("opencode", &[], &["--port", "5000"]).unwrap().wake_up, Some(OpenWakeUp::Port(5000)));
    let file = Some(OpenWakeUp::InputFile("/f".to_owned()));
    assert_eq!(of("qwen-code", &[], &["--input-file", "/f"]).unwrap().wake_up, file);
    let extension = [(".copilot/extensions/x/extension.mjs", "code")];
    assert_eq!(of("copilot-cli", &extension, &[]).unwrap().wake_up, None);
    let loaded = of("copilot-cli", &extension, &["--experimental"]).unwrap();
    assert_eq!(loaded.wake_up, Some(OpenWakeUp::Extension("code".to_owned())));
    assert!(loaded.options("s", None).experimental);
    let channel = ["--dangerously-load-development-channels", "server:s", "server:t"];
    let settings = of("claude-code", &[], &channel).unwrap();
    assert!(settings.options("s", None).channels && !settings.options("u", None).channels);
}

#[test]
fn servers_that_are_off_or_elsewhere_are_not_started() {
    let all =
        r#"{"mcp":{"a":{"type":"local","command":["x"],"enabled":false},"b":{"type":"remote","url":"u"}}}"#;
    assert!(of("opencode", &[(OPENCODE, all)], &[]).unwrap().servers.is_empty());
    let all = r#"{"mcpServers":{"a":{"command":"x","tools":[]},"b":{"type":"http","url":"u"}}}"#;
    assert!(of("copilot-cli", &[(COPILOT, all)], &[]).unwrap().servers.is_empty());
    let off = "[mcp_servers.a]\ncommand = 'x'\nenabled = false\n[mcp_servers.b]\nurl = 'u'";
    assert!(of("codex", &[(CODEX, off)], &[]).unwrap().servers.is_empty());
    let off = r#"{"disableAllHooks":true,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"c"}]}]}}"#;
    assert!(of("claude-code", &[(".claude/settings.json", off)], &[]).unwrap().hooks.is_empty());
}

#[test]
fn no_file_means_no_server_and_an_override_replaces_its_neighbour() {
    for family in SETTINGS_FAMILIES {
        let settings = of(family, &[], &[]).unwrap();
        assert!(settings.servers.is_empty() && settings.hooks.is_empty() && settings.channels.is_empty());
        assert!(settings.instructions.is_empty());
    }
    let both = [(".codex/AGENTS.md", "seen"), (".codex/AGENTS.override.md", "instead")];
    assert_eq!(of("codex", &both, &[]).unwrap().instructions, "instead");
    assert_eq!(of("gemini-cli", &[(GEMINI, "\u{feff} \n")], &[]).unwrap().servers.len(), 0);
}
