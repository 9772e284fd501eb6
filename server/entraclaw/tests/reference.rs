//! Holds the reference pages of the book to the code: settings, tools and commands.
//! `UPDATE_REFERENCE=1 cargo test -p entraclaw --test reference` writes them anew.

#![expect(clippy::disallowed_methods, reason = "the test reads and writes the pages")]

#[path = "../../../docs/command_line.rs"]
mod command_line;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use command_line::{commands, escaped, hold, root};
use entraclaw::command::command_lines;
use entraclaw_inbox::tool::ToolSet;
use entraclaw_microsoft::http::ReqwestTransport;
use entraclaw_seams::clock::TokioClock;
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::MemoryStorage;
use entraclaw_session::app::{self, App};
use entraclaw_session::config::key::{self, Key, Takes};
use entraclaw_session::config::{Config, Sources, duration};
use serde_json::Value;

#[test]
fn the_page_of_commands() {
    let [program, wait] = command_lines();
    let text = "# Commands\n\nHow to use them is told in [Operation](../operation.md). Every command also prints this with \
                `--help`, and `entraclaw man DIR` writes it as man pages.\n\n";
    hold("commands.md", &format!("{text}{}{}", commands(program), commands(wait)));
}

#[test]
fn every_host_that_can_be_set_up_has_a_page() {
    let [program, _] = command_lines();
    let setup = program.find_subcommand("setup").expect("the command");
    let host = setup.get_arguments().find(|argument| argument.get_id() == "host").expect("the argument");
    let hosts = host.get_possible_values();
    let shown = page("SUMMARY.md");
    let pages = shown.split("](").filter_map(|rest| rest.split_once(')')).map(|(path, _)| path);
    let pages: String =
        pages.filter(|path| path.starts_with("hosts/") && !path.ends_with("index.md")).map(page).collect();
    assert!(hosts.len() > 5, "{hosts:?}");
    for host in hosts {
        let word = format!("entraclaw setup {}", host.get_name());
        assert!(pages.contains(&word), "no page below docs/src/hosts shows `{word}`");
    }
}

#[test]
fn every_configuration_in_the_book_is_valid() {
    let mut shown = 0;
    let folders = ["docs/src", "docs/src/hosts"].map(|folder| root().join(folder));
    for entry in folders.iter().flat_map(|folder| std::fs::read_dir(folder).expect("pages")).flatten() {
        let path = entry.path();
        let text = if path.is_file() { std::fs::read_to_string(&path).expect("UTF-8") } else { continue };
        for block in text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next()) {
            let file = Some((path.display().to_string(), block.to_owned()));
            let loaded = Config::load(&Sources { file, ..Sources::default() });
            assert!(loaded.is_ok(), "{}", loaded.map_or_else(|errors| errors.to_string(), |_| String::new()));
            shown += 1;
        }
    }
    assert!(shown > 5, "configurations are shown in another way");
}

#[test]
fn the_page_of_settings() {
    let mut text = String::from(
        "# Settings\n\nThe file is `config.toml` in the home folder; [Configuration](../configuration.md) tells how it is \
         read. `[teams] poll_interval` is written as\n\n```toml\n[teams]\npoll_interval = \"5s\"\n```\n\nA time is a whole \
         number with `ms`, `s`, `m` or `h`.\n\n",
    );
    for key in key::ALL {
        assert!(
            key::SECTIONS.iter().any(|(name, _)| *name == key.section),
            "[{}] is not described",
            key.section
        );
    }
    for (section, says) in key::SECTIONS {
        let rows: Vec<_> =
            key::ALL.iter().filter(|key| key.section == *section).map(|key| row(key)).collect();
        assert!(!rows.is_empty(), "[{section}] has no key");
        let head = "| key | takes | default | what it is for |\n| --- | --- | --- | --- |";
        let _ = writeln!(text, "## `[{section}]`\n\n{says}\n\n{head}\n{}\n", rows.join("\n"));
    }
    text.push_str(
        "## `[[allow]]`\n\nOne entry for each person: `tenant_id` with `object_id`, or `mail`, or all three. `name` is for \
         the reader of the file and proves nothing.\n\n",
    );
    text.push_str("## Environment variables\n\nEach key is also the variable `ENTRACLAW_<SECTION>_<KEY>`. These belong to no key:\n\n");
    text.push_str("| variable | what it is for |\n| --- | --- |\n");
    for (name, says) in key::VARIABLES {
        let _ = writeln!(text, "| `{name}` | {says} |");
    }
    text.push_str("\nThese names are understood beside the regular ones. The regular one wins.\n\n| key | also |\n| --- | --- |\n");
    for key in key::ALL.iter().filter(|key| !key.aliases.is_empty()) {
        let aliases: Vec<_> = key.aliases.iter().map(|alias| format!("`{alias}`")).collect();
        let _ = writeln!(text, "| `{}` | {} |", key.field(), aliases.join(", "));
    }
    hold("settings.md", &text);
}

fn row(key: &Key) -> String {
    let time = |ms: u64| duration::show(Duration::from_millis(ms));
    let takes = match key.takes {
        Takes::Truth => "`true` or `false`".to_owned(),
        Takes::Time { ms_min, ms_max } => format!("{} to {}", time(ms_min), time(ms_max)),
        Takes::Number { min, max } => format!("{min} to {max}"),
        Takes::OneOf(words) => {
            words.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ")
        }
        Takes::Id => "a GUID".to_owned(),
        Takes::Text(what) => what.to_owned(),
    };
    let default = if key.default.is_empty() { String::new() } else { format!("`{}`", key.default) };
    format!("| `{}` | {takes} | {default} | {} |", key.name, key.says)
}

#[test]
fn the_page_of_tools() {
    let mut text = String::from(
        "# Tools\n\nWhat the model can call, by set. `serve --tools` and `[tools] sets` choose the sets; \
         [Tools and sets](../tools.md) tells more. The texts are those that the model reads.\n\n",
    );
    let overview = page("tools.md");
    for set in ToolSet::ALL {
        let tools = listed(set);
        assert!(!tools.is_empty(), "the set {set} is empty");
        let _ = writeln!(text, "## Set `{set}`\n");
        for tool in &tools {
            text.push_str(&described(tool));
            let name = tool["name"].as_str().expect("a name");
            assert!(overview.contains(&format!("`{name}`")), "docs/src/tools.md does not tell of {name}");
        }
    }
    hold("tools.md", &text);
}

/// A page of the book.
fn page(name: &str) -> String {
    let path = root().join("docs/src").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_test_and_scenario_that_the_page_about_asking_names_is_there() {
    let shown = page("ask.md");
    let words: BTreeSet<&str> = shown.split('`').skip(1).step_by(2).collect();
    let (mut tests, mut scenarios) = (0, BTreeSet::new());
    let is_setting =
        |name: &str| name == "…" || key::ALL.iter().any(|key| (key.section, key.name) == ("ask", name));
    for word in words {
        if let Some((module, test)) = word.rsplit_once("::").filter(|(module, _)| *module != "work") {
            let path = match module {
                "work::ask" => "server/entraclaw/tests/processes/work/ask.rs".to_owned(),
                "roots" => "server/mcp/src/roots.rs".to_owned(),
                _ => format!("server/agents/src/{module}.rs"),
            };
            let source = std::fs::read_to_string(root().join(&path)).unwrap_or_default();
            assert!(source.contains(&format!("fn {test}(")), "{path} has no test {test}");
            tests += 1;
        } else if let Some(name) = word.strip_prefix("ask.").filter(|name| !is_setting(name)) {
            scenarios.insert(name.to_owned());
        }
    }
    assert!(tests > 20, "tests are named in another way");
    let files = std::fs::read_dir(root().join("scenarios/suites/ask")).expect("the suite").flatten();
    let names = files.map(|file| file.path().file_stem().unwrap_or_default().to_string_lossy().into_owned());
    let there: BTreeSet<String> = names.collect();
    let missing: Vec<_> = scenarios.difference(&there).collect();
    assert!(missing.is_empty(), "there are no such scenarios: {missing:?}");
}

#[test]
fn every_test_and_scenario_that_the_page_about_shared_context_names_is_there() {
    let shown = page("context.md");
    let words: BTreeSet<&str> = shown.split('`').skip(1).step_by(2).collect();
    let (mut tests, mut scenarios) = (0, 0);
    for word in words {
        if let Some((module, test)) = word.rsplit_once("::").filter(|(_, test)| *test != "…") {
            let path = match module.split_once("::") {
                Some(("operator", file)) => format!("server/entraclaw/tests/processes/operator/{file}.rs"),
                Some((room, file)) => format!("server/memory/src/{room}/{file}.rs"),
                None => format!("server/memory/tests/provider/{module}.rs"),
            };
            let source = std::fs::read_to_string(root().join(&path)).unwrap_or_default();
            assert!(source.contains(&format!("fn {test}(")), "{path} has no test {test}");
            tests += 1;
        } else if let Some(name) = word.strip_prefix("context.") {
            let is_setting = key::ALL.iter().any(|key| (key.section, key.name) == ("context", name));
            let path = root().join(format!("scenarios/suites/context/{name}.yaml"));
            assert!(is_setting || name == "md" || path.exists(), "there is no scenario {word}");
            scenarios += usize::from(path.exists());
        }
    }
    assert!(tests > 15 && scenarios > 10, "tests are named in another way: {tests}, {scenarios}");
}

fn described(tool: &Value) -> String {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut text = format!("### `{}`\n\n", word(&tool["name"]));
    for paragraph in word(&tool["description"]).split("\n\n") {
        let _ = writeln!(text, "{}\n", escaped(paragraph));
    }
    if tool["annotations"]["readOnlyHint"] == true {
        text.push_str("It only reads, and says so to the host.\n\n");
    }
    let required: Vec<_> =
        tool["inputSchema"]["required"].as_array().into_iter().flatten().map(word).collect();
    let arguments: BTreeMap<_, _> =
        tool["inputSchema"]["properties"].as_object().into_iter().flatten().collect();
    if arguments.is_empty() {
        return text + "It takes no arguments.\n\n";
    }
    text.push_str("| argument | type | default | what it is for |\n| --- | --- | --- | --- |\n");
    for (name, argument) in arguments {
        let default = match argument.get("default") {
            Some(value) => format!("`{value}`"),
            None if required.contains(name) => "required".to_owned(),
            None => String::new(),
        };
        let mut says = escaped(&word(&argument["description"]));
        let words: Vec<_> =
            argument["enum"].as_array().into_iter().flatten().map(|word| format!("`{word}`")).collect();
        if !words.is_empty() {
            let _ = write!(says, " One of {}.", words.join(", "));
        }
        let kind = word(&argument["type"]);
        let _ = writeln!(text, "| `{name}` | {kind} | {default} | {} |", says.trim());
    }
    text + "\n"
}

/// The tools of one set, as the server lists them with everything switched on.
fn listed(set: ToolSet) -> Vec<Value> {
    const OPENING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"reference","version":"1"}}}
{"jsonrpc":"2.0","id":2,"method":"tools/list"}
"#;
    let id = "11111111-1111-1111-1111-111111111111";
    let variables = [
        ("ENTRACLAW_MAIL_ENABLED", "true"),
        ("ENTRACLAW_BOT_ENABLED", "true"),
        ("ENTRACLAW_BOT_APP_ID", id),
        ("ENTRACLAW_BOT_TENANT_ID", id),
        ("ENTRACLAW_BOT_APP_PASSWORD", "secret"),
        ("ENTRACLAW_TOOLS_SETS", set.as_str()),
    ];
    let environment = variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
    let config = Config::load(&Sources { environment, ..Sources::default() }).expect("a configuration");
    let app = App::new(
        config,
        Arc::new(TokioClock::starting_at(jiff::Timestamp::UNIX_EPOCH)),
        Arc::new(SplitMix::seeded(1)),
        Arc::new(MemoryStorage::new()),
        Arc::new(ReqwestTransport::new(true)),
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let mut answers = Vec::new();
    let local = tokio::task::LocalSet::new();
    local.block_on(&runtime.expect("a runtime"), app::run(app, OPENING, &mut answers));
    let answers = String::from_utf8(answers).expect("UTF-8");
    let list: Value = answers
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .find(|message| message["id"] == 2)
        .expect("an answer");
    list["result"]["tools"].as_array().cloned().expect("a list")
}

#[test]
fn every_list_of_sets_names_them_all() {
    let all = ToolSet::ALL.map(ToolSet::as_str).join(", ");
    let usual = ToolSet::DEFAULT.map(ToolSet::as_str).join(", ");
    assert_eq!(key::TOOLS_SETS.default, usual);
    let starter = include_str!("../src/command/starter.toml");
    assert!(
        starter.contains(&format!("sets = \"{all}\"")),
        "command/starter.toml names other sets than {all}"
    );
    assert!(
        starter.contains(&format!("When left out: {usual}.")),
        "command/starter.toml names other usual sets than {usual}"
    );
    let help = include_str!("../../../docs/src/reference/commands.md");
    assert!(
        help.contains(&format!("some of {all}")),
        "the help of `serve --tools` names other sets than {all}"
    );
}
