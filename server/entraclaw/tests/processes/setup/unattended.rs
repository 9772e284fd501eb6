//! The reports about hosts that can't go on without a person at the keyboard.

use super::*;

#[test]
fn a_stopped_first_answer_is_reported_by_setup_status_and_doctor_until_it_is_allowed() {
    const STOPS: &str = "the first answer of Claude Code stops at a dialog";
    let user = User::new();
    let other = |command: &str| user.other(command);
    let told = user.done(&["claude-code"]);
    assert!(told.contains("The first answer stops at a dialog of Claude Code"), "{told}");
    for command in ["status", "doctor"] {
        let said = other(command);
        assert!(said.contains(STOPS) && said.contains("--allow-answers"), "{said}");
    }
    let told = user.done(&["claude-code", "--allow-answers"]);
    assert!(told.contains("+      \"mcp__entraclaw__send_teams_message\""), "{told}");
    assert!(!other("status").contains(STOPS) && !other("doctor").contains(STOPS));
    let told = user.done(&["claude-code"]);
    assert!(told.contains("-      \"mcp__entraclaw__send_teams_message\""), "{told}");
    assert!(other("status").contains(STOPS));
    user.done(&["claude-code", "--remove"]);
    assert!(!other("status").contains(STOPS));
    let (code, _, complaint) = user.run(&["cursor", "--allow-answers"]);
    assert!(code == 2 && complaint.contains("not known how Cursor"), "{complaint}");
}

/// Setup, status and doctor report to the user that nothing wakes the chosen host.
#[test]
fn a_host_that_nothing_wakes_is_reported_by_setup_status_and_doctor_until_a_wake_up_is_added() {
    let user = User::new();
    for (host, title, flag) in [
        ("codex", "nothing wakes Codex CLI while it is idle", "queue"),
        ("opencode", "nothing wakes opencode while it is idle", "port"),
    ] {
        let told = user.done(&[host, "--allow-answers"]);
        let leaving = told.split("Before you leave:\n").nth(1).unwrap();
        let sentence = title.replacen("nothing", "Nothing", 1);
        assert!(leaving.contains(&sentence) && leaving.contains(&format!("--with {flag}")), "{told}");
        for command in ["status", "doctor"] {
            let said = user.other(command);
            assert!(said.contains(title) && said.contains(&format!("--with {flag}")), "{said}");
        }
        let told = user.done(&[host, "--allow-answers", "--with", flag]);
        assert!(!told.to_lowercase().contains(&title.to_lowercase()), "{told}");
        assert!(!user.other("status").contains(title) && !user.other("doctor").contains(title));
        user.done(&[host, "--remove"]);
        assert!(!user.other("status").contains(title));
    }
    let told = user.done(&["cursor"]);
    assert!(told.contains("Nothing wakes Cursor while it is idle"), "{told}");
    // A wake-up of the configuration needs no flag of setup.
    user.write(".entraclaw/config.toml", "[wake]\ncodex_queue = true\n");
    assert!(!user.done(&["codex"]).contains("Nothing wakes"));
}

/// A running session knows its host's version and its wake-ups best.
#[test]
fn status_reports_a_running_session_that_nothing_wakes() {
    use entraclaw_seams::storage::{DiskStorage, Storage as _};
    use entraclaw_session::status::{HostLine, SessionFile, session_file, session_lock};
    let user = User::new();
    user.done(&["codex", "--allow-answers"]);
    let disk = DiskStorage::open(&user.home.join(".entraclaw")).unwrap();
    disk.create_dir("sessions").unwrap();
    let _alive = disk.try_lock(&session_lock("one")).unwrap().unwrap();
    let said = |name: &str, version: &str, carriers: &[&str]| {
        let file = SessionFile {
            v: 1,
            id: "one".to_owned(),
            may_lead: true,
            leads: true,
            hosts: vec![HostLine { name: name.to_owned(), version: version.to_owned() }],
            carriers: carriers.iter().map(|name| (*name).to_owned()).collect(),
            ..SessionFile::default()
        };
        disk.replace(&session_file("one"), &serde_json::to_vec(&file).unwrap()).unwrap();
        user.other("status")
    };
    for (name, version, carriers, words) in [
        ("codex-mcp-client", "0.169.0", vec!["wait"], Some("nothing wakes Codex CLI 0.169.0 while")),
        ("codex-mcp-client", "0.169.0", vec!["codex queue (waits for a first call)"], None),
        ("opencode", "1.18.33", vec![], Some("nothing wakes opencode 1.18.33 while")),
        ("opencode", "1.18.33", vec!["opencode port"], None),
        ("claude-code", "2.1.330", vec!["inbox socket", "channel"], None),
        ("claude-code", "2.1.148", vec!["waking hook"], None),
        ("claude-code", "2.0.73", vec!["waking hook"], Some("Claude Code 2.0.73 has no wake-up of its own")),
        ("claude-code", "2.1.330", vec!["channel"], Some("Claude Code 2.1.330 has no wake-up of its own")),
        ("copilot-cli", "1.0.102", vec![], None),
        ("copilot-cli", "0.0.0", vec![], None),
        ("github-copilot-developer", "1.0.0", vec![], Some("asks at every start of `entraclaw-wait`")),
        ("github-copilot-developer", "0.0.384", vec![], Some("nothing wakes GitHub Copilot CLI 0.0.384")),
        ("gemini-cli-mcp-client-entraclaw", "0.61.0", vec![], None),
        ("qwen-cli-mcp-client-entraclaw", "0.24.4", vec![], None),
        ("Visual Studio Code", "1.110.0", vec![], Some("nothing wakes Visual Studio Code 1.110.0")),
        ("my-own-host", "", vec!["resource"], Some("nothing wakes my-own-host while")),
    ] {
        let said = said(name, version, &carriers);
        let lines: Vec<&str> =
            said.lines().filter(|line| line.contains("wakes") || line.contains("wake-up")).collect();
        // Codex was set up without its queue, and no session of it runs beside another host's.
        let others = lines.iter().filter(|line| line.contains("Codex CLI while")).count();
        assert_eq!(others, usize::from(name != "codex-mcp-client"), "{said}");
        match words {
            Some(words) => assert!(said.contains(words), "{name} {version}: {said}"),
            None => assert_eq!(lines.len(), others, "{name} {version}: {said}"),
        }
    }
}
