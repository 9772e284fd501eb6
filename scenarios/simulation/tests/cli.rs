//! The command as a person meets it: listings, verdicts, errors with their place, exit codes.

use assert_cmd::Command;
use rstest::rstest;
use serde_json::Value;

fn simulation() -> Command {
    Command::new(assert_cmd::cargo::cargo_bin!("simulation"))
}

fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = simulation().args(arguments).output().expect("simulation starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("simulation prints UTF-8");
    (output.status.code().expect("an exit code"), text(output.stdout), text(output.stderr))
}

#[rstest]
#[case(&["--help"])]
#[case(&["run", "--help"])]
#[case(&["list", "--help"])]
#[case(&["hosts", "--help"])]
#[case(&["host", "--help"])]
#[case(&["validate", "--help"])]
#[case(&["probe", "--help"])]
#[case(&["record", "--help"])]
#[case(&["replay", "--help"])]
#[case(&["scenario", "--help"])]
#[case(&["report", "--help"])]
#[case(&["play", "--help"])]
#[case(&["bench", "--help"])]
#[case(&["merge", "--help"])]
#[case(&["diff", "--help"])]
#[case(&["baseline", "check", "--help"])]
#[case(&["history", "--help"])]
#[case(&["new", "--help"])]
#[case(&["schema", "--help"])]
fn every_command_explains_itself(#[case] arguments: &[&str]) {
    let (code, stdout, _) = run(arguments);
    assert_eq!(code, 0);
    assert!(stdout.contains("Usage:"), "{stdout}");
}

#[test]
fn a_listing_in_json_is_one_object_a_line() {
    let (code, stdout, _) = run(&["list", "--json", "handshake"]);
    assert_eq!(code, 0);
    let rows: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(rows.len() >= 5, "{stdout}");
    assert!(rows.iter().all(|row| row["id"].as_str().is_some_and(|id| id.starts_with("handshake."))));
}

/// The sign that it listens is the kernel's list of the signals that a process catches.
#[test]
#[cfg(target_os = "linux")]
#[expect(clippy::disallowed_methods, reason = "the test looks at a process and waits in real time")]
fn a_run_that_is_interrupted_reports_what_was_played() {
    use nix::sys::signal::{Signal, kill};
    use nix::unistd::Pid;

    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("out").display().to_string();
    let mut command = std::process::Command::new(assert_cmd::cargo::cargo_bin!("simulation"));
    command.args(["run", "handshake", "--mode", "sim", "--seeds", "60", "--all-hosts", "--out", &out]);
    let command = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let mut running = command.spawn().expect("simulation starts");
    let status = format!("/proc/{}/status", running.id());
    let listens = || {
        let status = std::fs::read_to_string(&status).unwrap_or_default();
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
        let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
        caught.is_some_and(|mask| mask & (1 << (Signal::SIGINT as u32 - 1)) != 0)
    };
    while !listens() {
        assert!(running.try_wait().expect("a process").is_none(), "it ended by itself");
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    kill(Pid::from_raw(running.id().try_into().expect("a pid")), Signal::SIGINT).expect("it runs");
    let output = running.wait_with_output().expect("it ends");
    let (screen, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(3), "{screen}{said}");
    assert!(said.contains("stopping: what plays now is awaited"), "{said}");
    assert!(screen.contains("\nstopped before its end: "), "{screen}");
    assert!(std::path::Path::new(&out).join("report.html").exists(), "{screen}");
}

#[rstest]
#[case(&["run", "delivry"], "did you mean `delivery`?")]
#[case(&["run", "--host", "claude-cod"], "did you mean `claude-code`?")]
#[case(&["run", "--seeds", "0"], "--seeds")]
#[case(&["run", "--shard", "3/2"], "like 2/8")]
#[case(&["run", "--shard", "1/2", "--baseline", "known.json"], "--baseline")]
#[case(&["run", "--baseline", "no-such-baseline.json"], "no-such-baseline.json")]
#[case(&["play", "--server", "no-such-program"], "no-such-program")]
#[case(&["scenario", "no-such-file.jsonl"], "no-such-file.jsonl")]
#[case(&["run", "--server", "true", "--shard", "1/2"], "cannot be used with")]
fn a_mistake_is_told_with_its_fix_and_exit_code_2(#[case] arguments: &[&str], #[case] wanted: &str) {
    let (code, _, stderr) = run(arguments);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains(wanted), "{stderr}");
}

const HEAD: &str =
    "id: own.test\ntitle: t\nrequirement: {area: a, level: must, says: s, source: o}\nsteps:\n";

#[rstest]
#[case("  - advence: 5s\n", ":5:5", "did you mean `advance`?")]
#[case("  - write: {txt: hi}\n", ":5:13", "did you mean `text`?")]
#[case("  - advance: 5\n", ":5:14", "write a number with its unit")]
#[case(
    "  - write: {text: hi, as: m}\n  - expect: {model: {message: n}}\n",
    ":6:5",
    "no message is named `n`"
)]
#[case("  - write: {text: hi}\n  - host: {start: second}\n", ":6:5", "no session is named `second`")]
fn a_mistake_in_a_scenario_is_framed(#[case] steps: &str, #[case] place: &str, #[case] wanted: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("own.yaml");
    std::fs::File::create(&file)
        .and_then(|mut out| std::io::Write::write_all(&mut out, format!("{HEAD}{steps}").as_bytes()))
        .expect("the file is written");
    let (code, _, stderr) = run(&["run", file.to_str().expect("UTF-8")]);
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains(place) && stderr.contains(wanted) && stderr.contains('^'), "{stderr}");
}

#[test]
fn a_failing_scenario_exits_1_and_says_how_to_repeat_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("own.yaml");
    let scenario = format!(
        "{HEAD}  - advance: 2s\n  - write: {{text: hi, as: m}}\n  - expect: {{model: {{message: m, within: 3s}}}}\n"
    );
    std::fs::File::create(&file)
        .and_then(|mut out| std::io::Write::write_all(&mut out, scenario.as_bytes()))
        .expect("the file is written");
    let out = folder.path().join("out");
    let arguments = [
        "run",
        file.to_str().expect("UTF-8"),
        "--host",
        "copilot-cli@seed",
        "--seeds",
        "1",
        "--out",
        out.to_str().expect("UTF-8"),
    ];
    let (code, stdout, _) = run(&arguments);
    assert_eq!(code, 1, "{stdout}");
    assert!(
        stdout.contains("expect.model") && stdout.contains("own.yaml:7") && stdout.contains("replay:"),
        "{stdout}"
    );
    for name in ["report.html", "report.md", "report.json", "junit.xml", "events.jsonl"] {
        assert!(out.join(name).is_file(), "{name}");
    }
    let events = out.join("events.jsonl");
    let (code, again, _) = run(&["report", events.to_str().expect("UTF-8"), "--format", "md"]);
    assert_eq!(code, 0);
    assert!(again.contains("own.test"), "{again}");
}

#[test]
fn a_fake_host_meets_a_real_process() {
    let folder = tempfile::tempdir().expect("a folder");
    let binary = simulation::command::server_binary(None).expect("cargo works").expect("the server is built");
    let log = folder.path().join("wire.jsonl");
    let script = folder.path().join("agent.yaml");
    std::fs::File::create(&script)
        .and_then(|mut out| {
            std::io::Write::write_all(
                &mut out,
                b"- type: look\n- call: {tool: inbox_pull, arguments: {limit: 3}}\n- idle\n- exit\n",
            )
        })
        .expect("the script is written");
    let output = simulation()
        .env("ENTRACLAW_HOME", folder.path().join("home"))
        .args(["host", "claude-code@2.1.330", "--script"])
        .arg(&script)
        .arg("--log")
        .arg(&log)
        .arg("--")
        .arg(&binary)
        .arg("serve")
        .output()
        .expect("it runs");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::io::read_to_string(std::fs::File::open(&log).expect("a log")).expect("text");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert!(
        lines.iter().any(|l| l["dir"] == "server>host" && l.to_string().contains("unread_remaining")),
        "{text}"
    );
    assert!(lines.iter().all(|l| l["ms"].is_u64() && l["proc"].is_u64() && l["dir"].is_string()), "{text}");
}

#[test]
fn a_new_scenario_is_valid_passes_and_is_never_overwritten() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("mine.yaml");
    let path = file.to_str().expect("UTF-8");
    let (code, _, stderr) = run(&["new", "scenario", "own.mine", "--file", path]);
    assert_eq!(code, 0, "{stderr}");
    assert!(folder.path().join("scenario.schema.json").is_file(), "an editor finds its schema beside it");
    let out = folder.path().join("out");
    let out = out.to_str().expect("UTF-8");
    let (code, stdout, stderr) =
        run(&["run", path, "--host", "copilot-cli@seed", "--seeds", "1", "--once", "--out", out]);
    assert_eq!(code, 0, "{stdout}{stderr}");
    let (code, _, stderr) = run(&["new", "scenario", "own.mine", "--file", path]);
    assert!(code == 2 && stderr.contains("exists already"), "{stderr}");
    for id in ["mine", "Own.mine", "own.", "own.a.b", "own.../x"] {
        let (code, _, stderr) = run(&["new", "scenario", id]);
        assert!(code == 2 && stderr.contains("is no id"), "{id}: {stderr}");
    }
}

#[test]
fn shards_join_to_the_bytes_of_one_run_and_a_baseline_judges_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    // Hosts that need no process; the second scenario fails.
    let scenario = format!(
        "{HEAD}  - advance: 2s\n  - write: {{text: hi, as: m}}\n  - expect: {{model: {{message: m, within: 3s}}}}\n"
    );
    std::fs::File::create(path("own.yaml"))
        .and_then(|mut out| std::io::Write::write_all(&mut out, scenario.as_bytes()))
        .expect("the file is written");
    let (own, whole) = (path("own.yaml"), path("whole"));
    let play = |out: &str, more: &[&str]| {
        let words =
            ["run", &own, "waiting.cap", "--host", "copilot-cli", "--mode", "sim", "--once", "--seeds", "3"];
        run(&[&words[..], &["--out", out], more].concat())
    };
    assert_eq!(play(&whole, &[]).0, 1);
    let parts = ["1/2", "2/2"].map(|shard| {
        let out = path(&shard.replace('/', "-"));
        play(&out, &["--shard", shard]);
        out
    });
    let (code, _, stderr) = run(&["merge", &parts[1], "--out", &path("hole")]);
    assert!(code == 3 && stderr.contains("missing: 1"), "{stderr}");
    let merged = path("merged");
    assert_eq!(run(&["merge", &parts[1], &parts[0], "--out", &merged]).0, 1);
    for name in ["events.jsonl", "report.html", "report.sarif", "junit.xml"] {
        let read =
            |folder: &str| std::io::read_to_string(std::fs::File::open(format!("{folder}/{name}")).unwrap());
        assert_eq!(read(&whole).unwrap(), read(&merged).unwrap(), "{name}");
    }
    let baseline = path("baseline.json");
    assert_eq!(run(&["baseline", "update", &whole, &baseline]).0, 0);
    assert_eq!(run(&["merge", &parts[0], &parts[1], "--out", &merged, "--baseline", &baseline]).0, 0);
    assert_eq!(run(&["baseline", "check", &merged, &baseline, "--json"]).0, 0);
    assert_eq!(run(&["diff", &whole, &merged]).0, 0);
    let (code, stdout, _) = run(&["report", &merged, "--format", "summary", "--baseline", &baseline]);
    assert!(code == 0 && stdout.contains("Against the baseline"), "{stdout}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test changes the mode of a kept run")]
fn cells_played_over_an_address_are_a_mode_of_a_kept_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_owned();
    let out = path("run");
    let words =
        ["run", "handshake.early-notification", "--host", "codex", "--mode", "sim", "--once", "--seeds", "1"];
    let (code, _, told) = run(&[&words[..], &["--out", &out]].concat());
    assert_eq!(code, 0, "{told}");
    // A run of a server behind an address needs a server; all that counts here is the mode of its cells.
    let events = format!("{out}/events.jsonl");
    let kept = std::fs::read_to_string(&events).expect("the run is kept");
    std::fs::write(&events, kept.replace("\"mode\":\"sim\"", "\"mode\":\"http\""))
        .expect("the file is written");
    let (code, text, told) = run(&["report", &out, "--mode", "http", "--format", "json"]);
    assert!(code == 0 && text.contains("\"http\""), "{told}");
    let (code, _, told) = run(&["report", &out, "--mode", "sim"]);
    assert!(
        code == 2 && told.contains("nothing of this run was played as `sim`; it has http"),
        "{code}: {told}"
    );
    let (code, _, told) =
        run(&["history", "add", &out, "--release", "1", "--mode", "http", "--file", &path("history.jsonl")]);
    assert_eq!(code, 0, "{told}");
    let (code, _, told) = run(&["run", "--mode", "http"]);
    assert!(code == 2 && told.contains("possible values: sim, process"), "{told}");
}

#[test]
fn the_action_uses_flags_that_exist_and_puts_no_input_into_a_command() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../.github/actions/hostcheck");
    let read = |name: &str| {
        std::io::read_to_string(std::fs::File::open(format!("{folder}/{name}")).expect(name)).expect("UTF-8")
    };
    let (action, script) = (read("action.yml"), read("run.sh"));
    for line in action.lines().filter(|line| line.trim_start().starts_with("run:")) {
        assert!(!line.contains("${{"), "{line}");
    }
    let help = ["run", "merge"].map(|command| run(&[command, "--help"]).1).concat();
    let flags: Vec<&str> = script.split([' ', '(']).filter(|word| word.starts_with("--")).collect();
    assert!(flags.len() >= 4, "{flags:?}");
    for flag in flags {
        assert!(help.contains(flag), "{flag}");
    }
}

#[test]
fn colours_are_for_terminals_unless_they_are_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().to_str().expect("UTF-8");
    let words = [
        "run",
        "waiting.cap",
        "--host",
        "copilot-cli@seed",
        "--mode",
        "sim",
        "--once",
        "--seeds",
        "1",
        "--out",
        out,
    ];
    let coloured = |variables: &[(&str, &str)]| {
        let mut command = simulation();
        command
            .args(words)
            .env_remove("NO_COLOR")
            .env_remove("CLICOLOR_FORCE")
            .envs(variables.iter().copied());
        let output = command.output().expect("it runs");
        assert!(output.stderr.is_empty(), "no progress in a pipe");
        String::from_utf8(output.stdout).expect("UTF-8").contains('\u{1b}')
    };
    assert!(!coloured(&[]));
    assert!(coloured(&[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")]));
}

/// A day that any server fails: its agent never reads.
const DEAF_DAY: &str = "\
id: mine.deaf-day
title: A day of an agent that never reads
requirement: {area: mine, level: must, says: every message is read, source: nobody}
agent: forgets
set_up: []
world:
  people: {alice: {}, bob: {}}
  chats: {dm: {members: [alice]}, second: {members: [bob]}}
steps:
  - random: {lasting: 2h, bursts: 6, troubles: [throttle, outage, crash, disk_full]}
  - expect: {model: {every_message: true, within: 1m}}
";

#[test]
#[expect(clippy::disallowed_methods, reason = "the test writes a scenario and reads what a run kept")]
fn a_seed_that_failed_is_kept_and_made_small_and_played_first() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    std::fs::create_dir(at("mine")).expect("a folder");
    std::fs::write(at("mine/day.yaml"), DEAF_DAY).expect("a scenario");
    let (mine, reports, host) = (at("mine"), at("out"), "copilot-cli@1.0.102");
    let play = |more: &[&str]| {
        run(&[&["run", "--host", host, "--mode", "sim", "--once", "--out", &reports], more].concat())
    };
    let (code, stdout, stderr) = play(&[&mine, "--seed", "7", "--seeds", "2", "--fault-profile", "stormy"]);
    assert_eq!((code, stderr.as_str()), (1, ""));
    let kept = std::fs::read_to_string(at("out/corpus.txt")).expect("a corpus");
    let lines: Vec<&str> = kept.lines().filter(|line| !line.starts_with('#')).collect();
    let line = |seed| format!("mine.deaf-day {host} {seed} stormy expect.model");
    assert_eq!(lines, [line(7), line(8)]);
    assert!(stdout.contains("out/corpus.txt, to be played first from now on: 2 of the seeds"), "{stdout}");
    let replay = stdout.lines().find(|line| line.contains("/minimised/")).expect("a small scenario");
    let words: Vec<&str> = replay.trim().split(' ').collect();
    let words = words.strip_prefix(&["cargo", "run", "--release", "--", "run"]).expect("a command");
    let small = std::fs::read_to_string(words[0]).expect("the small scenario");
    let steps = |text: &str| text.lines().skip_while(|line| *line != "steps:").skip(1).count();
    assert_eq!(steps(&small), 3, "a wait, a message and the demand: {small}");

    // It is a scenario like any other, and breaks the same rule.
    let (code, stdout, _) = run(&[&["run", "--once", "--out", &at("again")], words].concat());
    assert_eq!(code, 1);
    assert!(stdout.contains("expect.model") && !stdout.contains("corpus.txt"), "{stdout}");
    assert!(!std::path::Path::new(&at("again/corpus.txt")).exists(), "a seed that is looked at is not kept");

    // The next run plays what was kept, and keeps nothing twice; what is gone is named.
    let more = format!("{kept}mine.gone {host} 3 - oracle.lost\n");
    std::fs::write(at("out/corpus.txt"), &more).expect("a corpus");
    let (code, stdout, stderr) = play(&[&mine, "--seeds", "1", "--fault-profile", "calm"]);
    assert_eq!(code, 1, "{stdout}");
    assert!(stderr.contains("corpus.txt:6: no scenario is named `mine.gone` here"), "{stderr}");
    let events = std::fs::read_to_string(at("out/events.jsonl")).expect("events");
    let seeds: Vec<(u64, String)> = events
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"))
        .filter(|event| event["event"] == "cell_finished")
        .map(|cell| (cell["seed"].as_u64().unwrap_or(0), cell["fault_profile"].to_string()))
        .collect();
    let of = |seed, faults: &str| (seed, format!("\"{faults}\""));
    assert_eq!(seeds, [of(7, "stormy"), of(8, "stormy"), of(1, "calm")]);
    let after = std::fs::read_to_string(at("out/corpus.txt")).expect("a corpus");
    assert_eq!(after, format!("{more}mine.deaf-day {host} 1 calm expect.model\n"));

    std::fs::write(at("out/corpus.txt"), "mine.deaf-day 7\n").expect("a corpus");
    let (code, _, stderr) = play(&[&mine]);
    assert_eq!(code, 2);
    assert!(stderr.contains("corpus.txt:1: not `scenario host seed fault-profile rule`"), "{stderr}");
}

#[test]
fn fault_profiles_are_explained_and_a_wrong_name_is_told() {
    let (_, stdout, _) = run(&["run", "--help"]);
    assert!(stdout.contains("- stormy:"), "{stdout}");
    let (code, _, stderr) = run(&["run", "--fault-profile", "stormi"]);
    assert_eq!(code, 2);
    assert!(stderr.contains("'stormy'"), "{stderr}");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test writes what the command reads")]
fn an_error_is_called_one_once_and_names_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("own.yaml");
    std::fs::write(&file, "- bogus: 1\n").expect("the file is written");
    let (file, log) = (file.display().to_string(), folder.path().join("log").display().to_string());
    let mistakes: [&[&str]; 4] = [
        &["run", &file],
        &["list", &file],
        &["host", "claude-code", "--log", &log, "--script", &file, "--", "x"],
        &["scenario", &file],
    ];
    for words in mistakes {
        let (code, _, said) = run(words);
        assert_eq!((code, said.matches("error").count()), (2, 1), "{words:?}: {said}");
        assert!(said.contains(&file), "{words:?}: {said}");
    }
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).expect("a folder");
    let (code, _, said) = run(&["run", &empty.display().to_string()]);
    assert!(code == 2 && said.contains("there is no scenario in"), "{said}");
}
