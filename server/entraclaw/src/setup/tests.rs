//! Checks recipes, tables and receipts: what each host gets, and that every file can be restored.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use entraclaw_inbox::tool::ToolSet;
use entraclaw_inbox::wake_up::WakeUpSettings;

fn request(host: Host, scope: Scope) -> Request {
    Request {
        host,
        scope,
        carriers: Vec::new(),
        left_out: Vec::new(),
        host_version: None,
        consumer: None,
        given: Vec::new(),
        added: BTreeSet::new(),
        sets: None,
        for_agents: Vec::new(),
        codex: None,
        allow_answers: false,
        binary: "/opt/entraclaw".to_owned(),
        waiter: Some("/opt/entraclaw-wait".to_owned()),
        home: "/home/alice/.entraclaw".to_owned(),
        home_is_default: true,
        places: Places {
            os: Os::Linux,
            user: "/home/alice".into(),
            project: "/srv/tool".into(),
            claude: None,
            copilot: None,
            codex: None,
            config: None,
        },
    }
}

fn carriers(host: Host) -> Vec<Carrier> {
    let all =
        [Carrier::Channel, Carrier::Extension, Carrier::Queue, Carrier::Port(5000), Carrier::InputFile(None)];
    all.into_iter().filter(|carrier| carrier.host() == host).collect()
}

fn requests() -> Vec<Request> {
    let mut all = Vec::new();
    for host in Host::all() {
        for scope in [Scope::User, Scope::Project] {
            let plain = request(host, scope);
            all.push(Request { carriers: carriers(host), ..plain.clone() });
            all.push(Request { allow_answers: true, ..plain.clone() });
            for set in [ToolSet::Ask, ToolSet::Context, ToolSet::Delegate] {
                let sets = Some(format!("inbound, reply, {set}"));
                all.push(Request { added: [set].into(), sets, ..plain.clone() });
            }
            let elsewhere = "/srv/it's here/$HOME".to_owned();
            all.push(Request { home: elsewhere, home_is_default: false, ..plain.clone() });
            for os in [Os::Mac, Os::Windows] {
                let places = Places { os, ..plain.places.clone() };
                all.push(Request { places, carriers: carriers(host), ..plain.clone() });
            }
            all.push(plain);
        }
    }
    all
}

/// The tools that `--allow-answers` allows.
const ANSWERS: [&str; 3] = ["send_bot_message", "send_email", "send_teams_message"];

fn edits(content: &Content) -> &[Edit] {
    match content {
        Content::Json(edits) => edits,
        _ => &[],
    }
}

#[test]
fn only_waiting_and_reading_are_allowed_unless_answering_was_chosen() {
    for request in requests() {
        let answers = |rule: &str| request.allow_answers && ANSWERS.iter().any(|tool| rule.ends_with(tool));
        for file in recipe(&request).files {
            let text = fresh(&file.content);
            for edit in edits(&file.content) {
                if let Edit::Element { path, value: Value::String(rule) } = edit {
                    assert_eq!(path, &["permissions", "allow"]);
                    let is_reading = rule.starts_with("mcp__entraclaw__") && !rule.contains("send");
                    let is_waiting = rule.starts_with("Bash(/opt/entraclaw-wait");
                    assert!(is_reading || is_waiting || answers(rule), "{rule}");
                }
            }
            assert!(!text.contains("\"trust\"") && !text.contains("alwaysAllow"), "{text}");
            if matches!(file.content, Content::Section(_)) {
                continue;
            }
            assert!(!text.contains("mcp__entraclaw\""), "{text}");
            let named = ANSWERS.iter().any(|tool| text.contains(tool)) || text.contains("allow-answers");
            assert!(request.allow_answers || !named, "{text}");
            for tool in ["create_chat", "watch_chat", "edit_message", "react", "download_attachment"] {
                assert!(!text.contains(tool), "{text}");
            }
        }
    }
}

#[test]
fn every_file_is_in_the_requested_place_and_once() {
    for request in requests() {
        let recipe = recipe(&request);
        let mut paths: Vec<PathBuf> = recipe.files.iter().flat_map(|file| file.paths.clone()).collect();
        let root = if request.scope == Scope::User { "/home/alice" } else { "/srv/tool" };
        assert!(paths.iter().all(|path| path.starts_with(root)), "{paths:?}");
        let count = paths.len();
        paths.sort();
        paths.dedup();
        assert_eq!(paths.len(), count, "{paths:?}");
        assert!(!recipe.launch.is_empty() && !recipe.hears.is_empty() && !recipe.notes.is_empty());
    }
}

#[test]
fn a_home_folder_elsewhere_reaches_server_hooks_and_wait() {
    for host in Host::all() {
        let elsewhere = Request {
            home: "/srv/it's here".to_owned(),
            home_is_default: false,
            ..request(host, Scope::User)
        };
        let page = runbook(&elsewhere, &WakeUpSettings::default());
        assert!(page.contains("/srv/it's here; every command"), "{page}");
        for line in page.lines().filter(|line| line.contains("/opt/entraclaw hook ")) {
            assert!(line.contains(r"--home '/srv/it'\\''s here'") || line.contains(r#""""'it'"""#), "{line}");
        }
    }
}

#[test]
fn a_text_for_several_hosts_has_no_hosts_own_rule() {
    let generic = entraclaw_inbox::rules::section(None, &entraclaw_inbox::rules::WaitCommand::default());
    for host in Host::all() {
        for file in recipe(&request(host, Scope::Project)).files {
            if let Content::Section(section) = file.content {
                assert_eq!(section, generic, "{}", host.name());
            }
        }
    }
}

#[test]
fn hosts_that_share_a_file_agree_on_it_and_keep_each_others_content() {
    let claude = request(Host::ClaudeCode, Scope::Project);
    let copilot = request(Host::CopilotCli, Scope::Project);
    let [first, second] = [&claude, &copilot].map(|request| recipe(request).files[0].clone());
    assert_eq!(first, second);
    let path = first.paths[0].display().to_string();
    let text = "{\"mcpServers\": {\"mine\": {}}}";
    let one =
        with(&path, Found { text: Some(text), ..Found::default() }, &claude.owner(), &first.content).unwrap();
    let found = |outcome: &Outcome, backup| {
        let (text, receipt) = (outcome.text.clone(), outcome.receipt.clone());
        move |act: &dyn Fn(Found<'_>) -> Outcome| {
            act(Found { text: text.as_deref(), receipt: receipt.as_ref(), backup })
        }
    };
    let two =
        found(&one, Some(text))(&|found| with(&path, found, &copilot.owner(), &second.content).unwrap());
    assert_eq!(one.text, two.text);
    let left =
        found(&two, Some(text))(&|found| without(&path, found, &claude.owner(), &first.content).unwrap());
    assert_eq!(left.text, two.text);
    let gone =
        found(&left, Some(text))(&|found| without(&path, found, &copilot.owner(), &second.content).unwrap());
    assert_eq!((gone.text.as_deref(), gone.receipt), (Some(text), None));
}

const TABLE: &str = "[mcp_servers.entraclaw]\ncommand = \"/opt/entraclaw\"\nargs = [\"serve\"]\nenv_vars = [\"ALL_PROXY\", \"DBUS_SESSION_BUS_ADDRESS\", \"ENTRACLAW_ACCESS_TOKEN\", \"ENTRACLAW_BOT_APP_PASSWORD\", \"ENTRACLAW_HOME\", \"HTTPS_PROXY\", \"HTTP_PROXY\", \"NO_PROXY\", \"SSL_CERT_DIR\", \"SSL_CERT_FILE\", \"XDG_RUNTIME_DIR\", \"all_proxy\", \"http_proxy\", \"https_proxy\", \"no_proxy\"]\n";

fn codex() -> Content {
    recipe(&request(Host::Codex, Scope::User)).files[0].content.clone()
}

#[rstest]
#[case::absent(None, TABLE.to_owned())]
#[case::no_last_line_end(Some("model = \"m\""), format!("model = \"m\"\n\n{TABLE}"))]
#[case::comments(Some("# mine\n[a] # b\nx = 1\n"), format!("# mine\n[a] # b\nx = 1\n\n{TABLE}"))]
#[case::windows(Some("x = 1\r\n"), format!("x = 1\r\n\r\n{TABLE}").replace("\r\n", "\n").replace('\n', "\r\n"))]
#[case::mixed(Some("x = 1\r\ny = 2\n"), format!("x = 1\r\ny = 2\n\r\n{}", TABLE.replace('\n', "\r\n")))]
#[case::byte_order_mark(Some("\u{feff}x = 1\n"), format!("\u{feff}x = 1\n\n{TABLE}"))]
#[case::other_servers(Some("[mcp_servers.a]\ncommand = \"a\"\n"), format!("[mcp_servers.a]\ncommand = \"a\"\n\n{TABLE}"))]
fn a_table_is_added_and_every_other_byte_stays(#[case] before: Option<&str>, #[case] after: String) {
    let found = Found { text: before, ..Found::default() };
    let outcome = with("c", found, "codex/user", &codex()).unwrap();
    assert_eq!(outcome.text.as_deref(), Some(after.as_str()));
    // The same without the backup.
    let edited = format!("{after}# more\n");
    for (text, wanted) in
        [(&after, before.map(str::to_owned)), (&edited, Some(format!("{}# more\n", before.unwrap_or(""))))]
    {
        let found = Found { text: Some(text), receipt: outcome.receipt.as_ref(), backup: None };
        assert_eq!(without("c", found, "codex/user", &codex()).unwrap().text, wanted);
    }
}

#[rstest]
#[case("x = \n", "line 1, column 5")]
#[case("x = 1\nx = 2\n", "line 2, column 1")]
#[case("a = 1\nmcp_servers = {}\n", "line 2, column 1")]
#[case("mcp_servers = 5\n", "must be a table")]
#[case("[mcp_servers.entraclaw]\ncommand = \"sh\"\n", "line 1, column 1")]
#[case("[mcp_servers]\nentraclaw = 3\n", "must be a table")]
fn an_obstacle_in_toml_is_refused_with_its_place(#[case] text: &str, #[case] place: &str) {
    let problem =
        with("c", Found { text: Some(text), ..Found::default() }, "codex/user", &codex()).unwrap_err();
    assert!(problem.to_string().contains(place), "{problem}");
}

#[test]
fn a_persons_own_table_for_this_program_is_taken_over_and_given_back() {
    let before = "# mine\n[mcp_servers.entraclaw]\ncommand = \"entraclaw\" # on the path\nargs = [\"serve\"]\nstartup_timeout_sec = 20\n\n[mcp_servers.entraclaw.env]\nA = \"b\"\n";
    let found = Found { text: Some(before), ..Found::default() };
    let outcome = with("c", found, "codex/user", &codex()).unwrap();
    let text = outcome.text.as_deref().unwrap();
    assert!(
        text.contains("command = \"/opt/entraclaw\"")
            && text.contains("A = \"b\"")
            && text.contains("startup_timeout_sec = 20"),
        "{text}"
    );
    let edited = format!("{text}[x]\ny = 1\n");
    let found = Found { text: Some(&edited), receipt: outcome.receipt.as_ref(), backup: Some(before) };
    let left = without("c", found, "codex/user", &codex()).unwrap().text.unwrap();
    let left: toml::Value = toml::from_str(&left).unwrap();
    let wanted: toml::Value = toml::from_str(&format!("{before}[x]\ny = 1\n")).unwrap();
    assert_eq!(left, wanted);
}

/// Codex itself writes into our table when the user chooses "always allow".
#[test]
fn a_hosts_additions_to_our_table_stay_until_it_is_removed() {
    let before = "model = \"m\"\n";
    let found = Found { text: Some(before), ..Found::default() };
    let first = with("c", found, "codex/user", &codex()).unwrap();
    let added = "\n[mcp_servers.entraclaw.tools.react]\napproval_mode = \"approve\"\n";
    let text = format!("{}{added}", first.text.unwrap());
    let found = Found { text: Some(&text), receipt: first.receipt.as_ref(), backup: Some(before) };
    let again = with("c", found, "codex/user", &codex()).unwrap();
    assert_eq!(again.text.as_deref(), Some(text.as_str()));
    let gone = without("c", found, "codex/user", &codex()).unwrap().text.unwrap();
    assert_eq!(gone.trim_end(), before.trim_end());
}

#[test]
fn without_a_receipt_recognisable_content_is_removed() {
    for host in Host::all() {
        for file in recipe(&Request { carriers: carriers(host), ..request(host, Scope::User) }).files {
            let text = fresh(&file.content);
            let found = Found { text: Some(&text), ..Found::default() };
            let left = without("f", found, "x", &file.content).unwrap().text;
            let has_settings = edits(&file.content).iter().any(|edit| matches!(edit, Edit::Setting { .. }));
            if !has_settings {
                assert_eq!(left, None, "{:?}", file.paths);
            }
            assert!(!left.unwrap_or_default().contains("/opt/entraclaw"));
        }
    }
}

#[test]
fn a_whole_file_that_was_changed_is_left_alone() {
    let content = Content::Whole("ours\n".to_owned());
    let outcome = with("f", Found::default(), "x", &content).unwrap();
    let found = Found { text: Some("theirs\n"), receipt: outcome.receipt.as_ref(), backup: None };
    assert!(without("f", found, "x", &content).is_err());
    assert!(with("f", Found { text: Some("theirs\n"), ..Found::default() }, "x", &content).is_err());
}

/// Hosts share the file of the skill, and a home may be new while the file is not.
#[test]
fn a_whole_file_of_the_same_text_is_shared_and_taken_over() {
    let content = Content::Whole("ours\n".to_owned());
    let found = Found { text: Some("ours\n"), ..Found::default() };
    let first = with("f", found, "x", &content).unwrap();
    assert_eq!(first.text.as_deref(), Some("ours\n"));
    let found = Found { receipt: first.receipt.as_ref(), backup: first.without.as_deref(), ..found };
    assert_eq!(
        with("f", found, "x", &content).unwrap().receipt,
        first.receipt,
        "a second setup changes nothing"
    );
    let both = with("f", found, "y", &content).unwrap();
    assert_eq!(both.text.as_deref(), Some("ours\n"));
    assert_eq!(both.receipt.unwrap().owners.len(), 2);
}

#[test]
fn a_second_setup_after_others_have_changed_the_file_changes_nothing() {
    for request in requests() {
        for file in recipe(&request).files {
            let outcome = with("f", Found::default(), "x", &file.content).unwrap();
            let text = match &file.content {
                Content::Json(_) => outcome.text.clone().unwrap().replacen('{', "{\n  \"mine\": 1,", 1),
                Content::Whole(_) => continue,
                _ => format!("# mine\n{}\n# mine too\n", outcome.text.clone().unwrap()),
            };
            let found = Found { text: Some(&text), receipt: outcome.receipt.as_ref(), backup: None };
            let again = with("f", found, "x", &file.content).unwrap();
            assert_eq!(again.text.as_deref(), Some(text.as_str()));
            assert_eq!(again.receipt, outcome.receipt);
        }
    }
}

#[test]
fn receipts_are_read_as_they_were_written() {
    for request in requests() {
        for file in recipe(&request).files {
            let outcome = with("f", Found::default(), &request.owner(), &file.content).unwrap();
            let text = serde_json::to_string(&outcome.receipt).unwrap();
            assert_eq!(serde_json::from_str::<Option<Receipt>>(&text).unwrap(), outcome.receipt);
        }
    }
}

#[test]
fn the_extension_is_javascript_with_this_machines_program_in_it() {
    let odd = Request {
        binary: "/opt/a \"b\" \\ `c`/entraclaw".to_owned(),
        carriers: vec![Carrier::Extension],
        ..request(Host::CopilotCli, Scope::User)
    };
    let files = recipe(&odd).files;
    let text = fresh(&files.last().unwrap().content);
    assert!(text.contains(r#"const BINARY = "/opt/a \"b\" \\ `c`/entraclaw";"#), "{text}");
    assert!(
        text.contains(r#"["wait","--format","json","--consumer","copilot-cli"]"#)
            && !text.contains('@'.to_string().as_str().repeat(2).as_str())
    );
    assert!(!text.contains("@BINARY@") && !text.contains("@ARGUMENTS@"));
    assert_eq!(
        Path::new(&files[3].paths[0]),
        Path::new("/home/alice/.copilot/extensions/entraclaw/extension.mjs")
    );
}

proptest! {
    /// For any text and host, setup and removal restore the same bytes, even without the backup and with a setup of other
    /// carriers in between.
    #[test]
    fn every_file_can_be_restored(
        text in prop_oneof![
            "[a-z#\n\r\u{e9} ]{0,30}",
            Just(String::new()),
            Just("{}".to_owned()),
            Just("\u{feff}{\r\n}\r\n".to_owned()),
            Just("// only\n".to_owned()),
            Just("{\"hooks\": {}, \"mcpServers\": {}}".to_owned()),
            Just("{\n  \"permissions\": {\"allow\": []},\n}".to_owned()),
            Just("a = 1\n[mcp_servers]\n".to_owned()),
        ],
        index in 0..64usize,
        keeps_backup in any::<bool>(),
    ) {
        let requests = requests();
        let request = &requests[index % requests.len()];
        for (plain, file) in recipe(&Request { carriers: vec![], ..request.clone() }).files.iter().zip(recipe(request).files) {
            let found = Found { text: Some(&text), ..Found::default() };
            let Ok(first) = with("f", found, "x", &plain.content) else { continue };
            let backup = keeps_backup.then_some(text.as_str());
            let found = Found { text: first.text.as_deref(), receipt: first.receipt.as_ref(), backup };
            let second = with("f", found, "x", &file.content).unwrap();
            prop_assert_eq!(second.without.as_deref().unwrap_or(&text), &text);
            let found = Found { text: second.text.as_deref(), receipt: second.receipt.as_ref(), backup };
            let gone = without("f", found, "x", &file.content).unwrap();
            prop_assert_eq!(gone.text.as_deref(), Some(text.as_str()));
            prop_assert_eq!(gone.receipt, None);
        }
    }
}

#[test]
fn a_json_value_of_a_policy_is_valid_toml() {
    let policy = fresh(&recipe(&request(Host::GeminiCli, Scope::User)).files[1].content);
    let parsed: toml::Value = toml::from_str(&policy).unwrap();
    let rules = json!(parsed.get("rule"));
    assert_eq!(
        rules[0]["toolName"],
        json!(["wait_for_inbound_message", "inbox_pull", "inbound_queue_stats"])
    );
    assert_eq!(rules[1]["commandPrefix"], json!(["/opt/entraclaw-wait"]));
    assert_eq!(rules[1]["decision"], "allow");
}

/// Alice lets `git` run without a question by the host's older setting `tools.allowed`. The host treats that as a no to every
/// other shell command and denied the wait that she had set up, so her idle agent never got a message again.
#[test]
fn a_users_allowed_tools_in_gemini_cli_do_not_deny_the_wait() {
    // In thousandths within the user's own rules: from the host's bundle of 0.61.0, and tried with it.
    const DENIED_BY_TOOLS_CORE: i64 = 240;
    const DENIED_BY_TOOLS_ALLOWED: i64 = 290;
    const ASKED_BY_CONFIRMATION_REQUIRED: i64 = 350;
    for request in requests().into_iter().filter(|request| request.host == Host::GeminiCli) {
        let policy = fresh(&recipe(&request).files[1].content);
        let parsed: toml::Value = toml::from_str(&policy).unwrap();
        let rules = parsed["rule"].as_array().unwrap();
        assert_eq!(rules.len(), 2, "{policy}");
        for rule in rules {
            let priority = rule["priority"].as_integer().unwrap();
            assert!(priority > DENIED_BY_TOOLS_ALLOWED.max(DENIED_BY_TOOLS_CORE), "{policy}");
            assert!(
                priority < ASKED_BY_CONFIRMATION_REQUIRED,
                "a tool that the user forbids by name stays forbidden: {policy}"
            );
        }
    }
}

#[test]
fn the_written_content_shows_whether_answers_are_allowed() {
    for request in requests() {
        let asks = matches!(first_answer(request.host), FirstAnswer::Stops);
        let found = recipe(&request).files.iter().any(|file| lets_answer(&file.content));
        assert!(found == request.allow_answers || !asks, "{}", request.host.name());
        let told = told_of_answers(&request);
        assert_eq!(told.contains("stops at a dialog"), asks && !request.allow_answers, "{told}");
    }
}

#[test]
fn the_wait_uses_the_consumer_of_the_configuration() {
    for host in [Host::ClaudeCode, Host::CopilotCli, Host::GeminiCli, Host::QwenCode] {
        let carriers = carriers(host);
        let request =
            Request { consumer: Some("reviewer".to_owned()), carriers, ..request(host, Scope::User) };
        let page = runbook(&request, &WakeUpSettings::default());
        assert!(page.contains("/opt/entraclaw-wait --consumer reviewer"), "{page}");
        assert!(!page.contains(&format!("--consumer {}", host.name())), "{page}");
        assert!(!page.contains(&format!("\"--consumer\",\"{}\"", host.name())), "{page}");
    }
}

#[test]
fn copilot_gets_no_hook_that_its_version_does_not_know() {
    for (version, events) in [
        (None, [true, true]),
        (Some([0, 0, 423]), [false, false]),
        (Some([1, 0, 11]), [false, false]),
        (Some([1, 0, 16]), [false, true]),
        (Some([1, 0, 18]), [true, true]),
    ] {
        let request = Request { host_version: version, ..request(Host::CopilotCli, Scope::User) };
        let text = fresh(&recipe(&request).files[1].content);
        let found = ["\"notification\"", "\"permissionRequest\""].map(|event| text.contains(event));
        assert_eq!(found, events, "{version:?}: {text}");
        assert!(text.contains("\"agentStop\""), "{text}");
    }
}

#[test]
fn withheld_variables_are_passed_on_by_name_and_never_by_value() {
    let names = ["ENTRACLAW_ACCESS_TOKEN", "ENTRACLAW_AUTH", "ENTRACLAW_GRAPH_URL", "ENTRACLAW_HOME"];
    for host in Host::all() {
        let given = names.map(str::to_owned).to_vec();
        let request = Request { given, ..request(host, Scope::User) };
        let text = fresh(&recipe(&request).files[0].content);
        let named: Vec<bool> = names.iter().map(|name| text.contains(name)).collect();
        let wanted = match host {
            // Its hooks have the person's home folder, so the server has it, too.
            Host::Codex => [true, true, true, true],
            Host::GeminiCli => [true, true, false, false],
            _ => [false; 4],
        };
        assert_eq!(named, wanted, "{}: {text}", host.name());
        assert_eq!(text.contains("\"$ENTRACLAW_AUTH\""), host == Host::GeminiCli);
    }
    let queue = Request { carriers: vec![Carrier::Queue], ..request(Host::Codex, Scope::User) };
    assert!(runbook(&queue, &WakeUpSettings::default()).contains("No program `codex` was found"));
    let found = Request { codex: Some("/opt/my codex".to_owned()), ..queue };
    let page = runbook(&found, &WakeUpSettings::default());
    assert!(page.contains("ENTRACLAW_WAKE_CODEX_COMMAND = \"/opt/my codex\""), "{page}");
}

#[test]
fn a_setup_with_ask_names_the_sets_and_hands_down_what_agents_read() {
    let names = ["COPILOT_GITHUB_TOKEN", "COPILOT_HOME", "LANG", "PATH"];
    for host in Host::all() {
        let for_agents = names.map(str::to_owned).to_vec();
        let sets = Some("inbound, reply, ask".to_owned());
        let plain = Request { for_agents, ..request(host, Scope::User) };
        let text = fresh(&recipe(&plain).files[0].content);
        assert!(!names.iter().any(|name| text.contains(name)) && !adds(&text, ToolSet::Ask), "{text}");

        let request = Request { added: [ToolSet::Ask].into(), sets, ..plain };
        let recipe = recipe(&request);
        let text = fresh(&recipe.files[0].content);
        assert!(text.contains("inbound, reply, ask") && text.contains("ENTRACLAW_TOOLS_SETS"), "{text}");
        assert!(
            recipe.files.iter().skip(1).all(|file| !content_adds(&file.content, ToolSet::Ask)),
            "{}",
            host.name()
        );
        let named: Vec<bool> = names.iter().map(|name| text.contains(name)).collect();
        let wanted = match host {
            Host::Codex => [true, true, false, false],
            Host::GeminiCli => [true, false, false, false],
            _ => [false; 4],
        };
        assert_eq!(named, wanted, "{}: {text}", host.name());
        assert_eq!(text.contains("\"$COPILOT_GITHUB_TOKEN\""), host == Host::GeminiCli);
        assert!(recipe.notes.iter().any(|note| note.contains("all that you may do")), "{:?}", recipe.notes);
    }
}

#[test]
fn a_setup_with_context_writes_the_skill_where_the_host_reads_skills() {
    for (host, place) in [
        (Host::ClaudeCode, Some("/home/alice/.claude/skills")),
        (Host::CopilotCli, Some("/home/alice/.copilot/skills")),
        (Host::Codex, Some("/home/alice/.codex/skills")),
        (Host::GeminiCli, Some("/home/alice/.gemini/skills")),
        (Host::Opencode, Some("/home/alice/.config/opencode/skills")),
        (Host::QwenCode, Some("/home/alice/.qwen/skills")),
        (Host::Vscode, None),
        (Host::Cursor, None),
    ] {
        let plain = request(host, Scope::User);
        let with = Request {
            added: [ToolSet::Context].into(),
            sets: Some("inbound, context".to_owned()),
            ..plain.clone()
        };
        let recipe = recipe(&with);
        let skill = recipe.files.iter().find(|file| file.paths[0].ends_with("SKILL.md"));
        let folder = skill.map(|file| file.paths[0].parent().unwrap().to_owned());
        assert_eq!(folder, place.map(|place| Path::new(place).join("context-sharing")), "{}", host.name());
        assert!(recipe.notes.iter().any(|note| note.contains("of other projects too")), "{:?}", recipe.notes);
        assert_eq!(recipe.notes.iter().any(|note| note.contains("No skill was written")), place.is_none());
        let allows = |request: &Request| {
            let recipe = super::recipe(request);
            let texts: String = recipe.files.iter().map(|file| fresh(&file.content)).collect();
            texts.contains("\"search_conversations\"") || texts.contains("__search_conversations")
        };
        let is_listed = matches!(host, Host::ClaudeCode | Host::GeminiCli | Host::QwenCode);
        assert!(!allows(&plain), "{}", host.name());
        assert!(!is_listed || allows(&with), "{}", host.name());
    }
}

#[rstest]
#[case(Host::Cursor, Scope::User, "/home/alice/.cursor/mcp.json", "mcpServers")]
#[case(Host::Cursor, Scope::Project, "/srv/tool/.cursor/mcp.json", "mcpServers")]
#[case(Host::Vscode, Scope::User, "/home/alice/.config/Code/User/mcp.json", "servers")]
#[case(Host::Vscode, Scope::Project, "/srv/tool/.vscode/mcp.json", "servers")]
fn an_editor_gets_the_file_that_it_reads(
    #[case] host: Host,
    #[case] scope: Scope,
    #[case] path: &str,
    #[case] servers: &str,
) {
    let recipe = recipe(&request(host, scope));
    assert_eq!(recipe.files.len(), 1);
    assert_eq!(recipe.files[0].paths, [PathBuf::from(path)]);
    let text: Value = serde_json::from_str(&fresh(&recipe.files[0].content)).unwrap();
    let entry = &text[servers]["entraclaw"];
    assert_eq!(entry["command"], "/opt/entraclaw", "{text}");
    // Only VS Code wants to be told how the server is reached.
    assert_eq!(entry.get("type").is_some(), host == Host::Vscode, "{text}");
    assert_eq!(recipe.launch == "cursor", host == Host::Cursor, "{}", recipe.launch);
}

#[test]
fn a_default_carrier_is_named_and_can_be_left_out() {
    let plain = request(Host::QwenCode, Scope::User);
    let without = Request { left_out: vec![LeftOut::PeerProtocol], ..plain.clone() };
    let said = |request: &Request| {
        let recipe = recipe(request);
        (recipe.hears.join("\n"), fresh(&recipe.files[0].content))
    };
    let (hears, settings) = said(&plain);
    assert!(hears.contains("cross-session messaging") && !settings.contains("ENTRACLAW_WAKE_QWEN_PEER"));
    let (hears, settings) = said(&without);
    assert!(!hears.contains("cross-session messaging"), "{hears}");
    assert!(settings.contains("\"ENTRACLAW_WAKE_QWEN_PEER\": \"false\""), "{settings}");
    assert_eq!(LeftOut::parse("peer-protocol"), Ok(LeftOut::PeerProtocol));
    assert!(LeftOut::parse("queue").unwrap_err().contains("peer-protocol"));
    let without = Request { left_out: vec![LeftOut::InboxSocket], ..request(Host::ClaudeCode, Scope::User) };
    assert!(said(&without).1.contains("\"ENTRACLAW_WAKE_INBOX_SOCKET\": \"false\""));
    assert_eq!(LeftOut::parse(LeftOut::InboxSocket.name()), Ok(LeftOut::InboxSocket));
}

#[test]
fn the_waking_hook_is_beside_the_other_one_until_it_is_left_out() {
    let plain = request(Host::ClaudeCode, Scope::User);
    let stop = |request: &Request| {
        let settings: Value = serde_json::from_str(&fresh(&recipe(request).files[1].content)).unwrap();
        settings["hooks"]["Stop"].as_array().unwrap().clone()
    };
    let [first, waking] = &stop(&plain)[..] else { panic!("not two hooks") };
    assert_eq!(first["hooks"][0].get("async"), None);
    let hook = &waking["hooks"][0];
    assert_eq!(
        hook["command"],
        json!(format!("exec {} hook claude-code Stop --wake", plain.shell().quoted(&plain.binary)))
    );
    assert_eq!(
        (&hook["async"], &hook["asyncRewake"], &hook["timeout"]),
        (&json!(true), &json!(true), &json!(36_000))
    );
    let without = Request { left_out: vec![LeftOut::WakingHook], ..plain.clone() };
    assert_eq!(stop(&without), std::slice::from_ref(first));
    assert!(fresh(&recipe(&without).files[0].content).contains("\"ENTRACLAW_WAKE_WAKING_HOOK\": \"false\""));
    // Where the socket is not wanted, the hook waits beside it.
    let without = Request { left_out: vec![LeftOut::InboxSocket], ..plain };
    let command = stop(&without)[1]["hooks"][0]["command"].clone();
    assert!(command.as_str().unwrap().ends_with(" --wake --without-socket"), "{command}");
    assert_eq!(LeftOut::parse("waking-hook"), Ok(LeftOut::WakingHook));
}

#[rstest]
#[case::claude(Host::ClaudeCode, Os::Linux, &[], &[], None)]
#[case::claude_by_its_hook_alone(Host::ClaudeCode, Os::Linux, &[LeftOut::InboxSocket], &[], None)]
#[case::claude_by_its_socket_alone(Host::ClaudeCode, Os::Linux, &[LeftOut::WakingHook], &[], None)]
#[case::claude_without_both(
    Host::ClaudeCode, Os::Linux, &[LeftOut::InboxSocket, LeftOut::WakingHook], &[], Some("without --without"))]
#[case::no_hook_on_windows(
    Host::ClaudeCode, Os::Windows, &[LeftOut::InboxSocket], &[], Some("without --without"))]
#[case::codex(Host::Codex, Os::Linux, &[], &[], Some("--with queue"))]
#[case::codex_with_its_queue(Host::Codex, Os::Linux, &[], &[Carrier::Queue], None)]
#[case::opencode(Host::Opencode, Os::Linux, &[], &[], Some("--with port"))]
#[case::opencode_with_its_port(Host::Opencode, Os::Linux, &[], &[Carrier::Port(5000)], None)]
fn a_setup_tells_before_it_ends_that_nothing_wakes_the_host(
    #[case] host: Host,
    #[case] os: Os,
    #[case] left_out: &[LeftOut],
    #[case] with: &[Carrier],
    #[case] said: Option<&str>,
) {
    let mut asked = request(host, Scope::User);
    asked.places.os = os;
    asked.left_out = left_out.to_vec();
    asked.carriers = with.to_vec();
    let told = told_of_idle(&asked, &WakeUpSettings::default());
    match said {
        None => assert_eq!(told, None),
        Some(said) => assert!(told.as_ref().is_some_and(|told| told.contains(said)), "{told:?}"),
    }
}
