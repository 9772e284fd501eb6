//! The operator's commands, as typed: their output, their changes, and their exit codes.

use std::path::Path;

use assert_cmd::Command;
use rstest::rstest;
use serde_json::{Value, json};

const TENANT: &str = "aaaaaaaa-0000-0000-0000-000000000001";
const BOB: &str = "bbbbbbbb-0000-0000-0000-00000000000b";

/// The exit code, stdout and stderr.
fn typed(home: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = Command::cargo_bin("entraclaw")
        .unwrap()
        .env_clear()
        .args(arguments)
        .arg("--home")
        .arg(home)
        .output()
        .unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[expect(clippy::disallowed_methods, reason = "the test looks at the real file")]
fn policy(home: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(home.join("policy.json")).unwrap()).unwrap()
}

#[expect(clippy::disallowed_methods, reason = "the test looks at the real files")]
fn interactions(home: &Path) -> String {
    let days = std::fs::read_dir(home.join("interactions")).unwrap();
    days.flatten().filter_map(|day| std::fs::read_to_string(day.path()).ok()).collect()
}

fn home() -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let home = folder.path().join("home");
    (folder, home)
}

#[test]
fn a_person_is_allowed_and_then_denied() {
    let (_folder, home) = home();
    let bob = format!("{TENANT}/{BOB}");
    let (code, said, _) = typed(&home, &["allow", &bob.to_uppercase(), "--name", "Bob"]);
    assert_eq!((code, said), (0, format!("allowed: {bob} may speak to the agent from now on\n")));
    let (_, listed, _) = typed(&home, &["allow", "--list"]);
    assert!(listed.contains(&format!("  {bob}  Bob (unverified)\n")), "{listed}");
    let (code, said, _) = typed(&home, &["deny", &bob]);
    assert!(code == 0 && said.starts_with("denied: "), "{said}");
    assert!(
        said.contains("a mail address of theirs is denied with it only where one entry names both"),
        "{said}"
    );
    let (_, said, _) = typed(&home, &["deny", "mallory@contoso.com"]);
    assert!(said.contains("an account of theirs is denied with it only"), "{said}");
    let policy = policy(&home);
    assert_eq!((&policy["allow"], policy["deny"][0]["object_id"].as_str()), (&json!([]), Some(BOB)));
    let log = interactions(&home);
    assert!(
        log.contains("was allowed in the terminal") && log.contains("was denied in the terminal"),
        "{log}"
    );
}

#[test]
fn a_chat_gets_a_rule() {
    let (_folder, home) = home();
    assert_eq!(typed(&home, &["chat", "19:team@thread.v2", "all"]).0, 0);
    assert_eq!(policy(&home)["chats"], json!({"19:team@thread.v2": "all"}));
    assert_eq!(typed(&home, &["chat", "19:team@thread.v2", "default"]).0, 0);
    assert_eq!(policy(&home)["chats"], json!({}));
}

#[rstest]
#[case(&["allow", "bob"], 1, "write TENANT_ID/OBJECT_ID")]
#[case(&["deny", "bob"], 1, "write TENANT_ID/OBJECT_ID")]
#[case(&["pair", "AAAAAA"], 1, "nobody was told this code")]
#[case(&["pair"], 2, "")]
#[case(&["allow"], 2, "")]
#[case(&["chat", "c", "loud"], 2, "")]
fn mistakes_come_with_the_fix(#[case] arguments: &[&str], #[case] code: i32, #[case] complaint: &str) {
    let (_folder, home) = home();
    let (ended, _, complained) = typed(&home, arguments);
    assert!(ended == code && complained.contains(complaint), "{ended}: {complained}");
}

#[test]
fn five_wrong_codes_in_a_minute_are_enough() {
    let (_folder, home) = home();
    assert_eq!(typed(&home, &["pair", "--list"]).1, "no person waits to be paired\n");
    for _ in 0..5 {
        assert!(typed(&home, &["pair", "222222"]).2.contains("nobody was told this code"));
    }
    assert!(typed(&home, &["pair", "222222"]).2.contains("wait a minute"));
}

#[cfg(unix)]
#[test]
#[expect(clippy::disallowed_methods, reason = "the test breaks and looks at the real file")]
fn a_broken_policy_is_kept_and_reported_and_the_new_one_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_folder, home) = home();
    typed(&home, &["allow", "alice@contoso.com"]);
    std::fs::write(home.join("policy.json"), "{\"v\":1,").unwrap();
    assert!(typed(&home, &["allow", "--list"]).2.contains("policy.json is broken"));
    let (code, said, _) = typed(&home, &["allow", "bob@contoso.com"]);
    assert!(code == 0 && said.contains("warning: policy.json was broken"), "{said}");
    assert_eq!(std::fs::read_to_string(home.join("policy.json.broken")).unwrap(), "{\"v\":1,");
    assert_eq!(policy(&home)["allow"].as_array().unwrap().len(), 1);
    let mode = std::fs::metadata(home.join("policy.json")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}
