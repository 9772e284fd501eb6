//! The reports of status and doctor before anything runs, and of setup before a person leaves.

use std::process::{Command, Stdio};

use assert_cmd::cargo::cargo_bin;
use entraclaw::doctor::Diagnosis;
use rstest::rstest;

use super::support::{ALICE, Fixture, TENANT};

#[rstest]
#[case("device-code", "there was no sign-in here yet", "run `entraclaw login`")]
#[case("browser", "there was no sign-in here yet", "run `entraclaw login`")]
#[case("agent-user", "no key has been brought here yet", "run `entraclaw login --key FILE`")]
fn a_missing_sign_in_is_a_problem(#[case] mode: &str, #[case] problem: &str, #[case] fix: &str) {
    let config = format!(
        "[auth]\nmode = \"{mode}\"\nclient_id = \"{ALICE}\"\nblueprint_id = \"{ALICE}\"\nagent_id = \"{ALICE}\"\n\
         [identity]\ntenant_id = \"{TENANT}\"\nobject_id = \"{ALICE}\"\n"
    );
    let fixture = Fixture::new().config(&config);
    let said = fixture.run(&["status"]);
    assert_eq!(said.code, 1, "{}", said.out);
    assert!(said.out.contains(problem) && said.out.contains(fix), "{}", said.out);
    // Setup reports it before the person leaves.
    let fixture = fixture.with("HOME", "/nonexistent-home");
    let user = fixture.folder.path().join("user");
    std::fs::create_dir(&user).unwrap();
    let fixture = fixture.with("HOME", user.to_str().unwrap());
    let said = fixture.run(&["setup", "codex"]);
    assert!(said.code == 0 && said.out.contains("Before you leave:"), "{}{}", said.out, said.err);
    assert!(said.out.contains(problem), "{}", said.out);
    // After the sign-in it is not reported.
    let record = format!(
        "{{\"version\":1,\"mode\":\"{mode}\",\"key_store\":\"system\",\"tenant_id\":\"{TENANT}\",\"client_id\":\"{ALICE}\",\
         \"signed_in_at\":\"2026-11-21T10:00:00Z\"}}"
    );
    fixture.file("sign-in.json", &record);
    assert_eq!(fixture.run(&["status"]).code, 0);
}

/// The program runs as an ordinary user, even if the tests run as root.
#[cfg(unix)]
#[test]
fn a_home_that_can_t_be_created_is_reported() {
    use std::os::unix::process::CommandExt as _;
    let mut command = Command::new(cargo_bin("entraclaw"));
    command.args(["doctor", "--json", "--home", "/nonexistent/a/b"]).env_clear().current_dir("/");
    if nix::unistd::geteuid().is_root() {
        // The folder of the build may belong to root, so the program is copied for the other user.
        let folder = std::path::PathBuf::from(format!("/tmp/entraclaw-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let copy = folder.join("entraclaw");
        crate::copy_program(&copy);
        command = Command::new(&copy);
        command
            .args(["doctor", "--json", "--home", "/nonexistent/a/b"])
            .env_clear()
            .current_dir("/")
            .uid(65_534);
    }
    let output = command.stdin(Stdio::null()).output().unwrap();
    let _ = std::fs::remove_dir_all(format!("/tmp/entraclaw-test-{}", std::process::id()));
    let diagnosis: Diagnosis = serde_json::from_slice(&output.stdout).unwrap();
    let home = diagnosis.checks.iter().find(|check| check.name == "home").unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(home.found.contains("/nonexistent/a/b is not there and can't be made"), "{home:?}");
    assert!(home.fix.as_deref().unwrap().contains("ENTRACLAW_HOME"), "{home:?}");
}

#[test]
fn a_missing_home_is_reported_without_a_path() {
    let fixture = Fixture::bare().with("ENTRACLAW_HOME", "");
    let said = fixture.run(&["doctor"]);
    assert!(said.code == 1 && said.out.contains("set ENTRACLAW_HOME or give --home"), "{}", said.out);
    assert!(!said.out.contains("(none)/"), "{}", said.out);
}

#[test]
fn an_empty_set_of_tools_is_refused() {
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"me","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"inbox_pull","arguments":{}}}
"#;
    let fixture = Fixture::new();
    let output = fixture.command(&["serve", "--tools", ""]).write_stdin(hello).output().unwrap();
    let answer = String::from_utf8(output.stdout).unwrap();
    assert!(
        answer.contains("flag --tools: `tools.sets` names no set of tools; write some of inbound, reply"),
        "{answer}"
    );
}
