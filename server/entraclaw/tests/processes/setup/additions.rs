//! What `--with` adds beside the inbox: other agents, shared context, a local model.
#![cfg(target_os = "linux")]

use std::fs;

use super::set_mode;
use super::user::User;

/// Where each host's entry of the server stands, below the home folder.
const ENTRIES: [(&str, &str); 8] = [
    ("claude-code", ".claude.json"),
    ("copilot-cli", ".copilot/mcp-config.json"),
    ("codex", ".codex/config.toml"),
    ("gemini-cli", ".gemini/settings.json"),
    ("opencode", ".config/opencode/opencode.json"),
    ("qwen-code", ".qwen/settings.json"),
    ("vscode", ".config/Code/User/mcp.json"),
    ("cursor", ".cursor/mcp.json"),
];

#[test]
fn other_agents_are_added_kept_told_of_and_removed() {
    for (host, entry) in ENTRIES {
        let user = User::new();
        user.write(".entraclaw/config.toml", "[tools]\nsets = \"inbound, mail\"\n");
        set_mode(&user.file(".entraclaw"), 0o700);
        set_mode(&user.file(".entraclaw/config.toml"), 0o600);
        let before = user.tree();
        let told = user.done(&[host, "--with", "ask"]);
        assert!(told.contains("`ask` may do all that you may do"), "{told}");
        let text = user.read(entry);
        assert!(text.contains("ENTRACLAW_TOOLS_SETS") && text.contains("\"inbound, mail, ask\""), "{text}");
        let told = user.done(&[host, "--with", "ask"]);
        assert!(told.contains("is connected already") && !told.contains("takes the tools"), "{told}");

        let dropped = "takes the tools that ask other coding agents out again";
        let told = user.done(&[host, "--dry-run"]);
        assert!(told.contains(dropped), "{told}");
        let told = user.done(&[host]);
        assert!(told.contains(dropped) && !user.read(entry).contains("ENTRACLAW_TOOLS_SETS"), "{told}");
        assert!(!user.done(&[host]).contains(dropped));

        user.done(&[host, "--with", "ask"]);
        let told = user.done(&[host, "--remove"]);
        assert!(!told.contains(dropped), "{told}");
        assert_eq!(user.tree(), before, "{host}");
        user.done(&[host, "--with", "ask"]);
        fs::remove_dir_all(user.file(".entraclaw/setup")).unwrap();
        user.done(&[host, "--remove"]);
        let left = fs::read_to_string(user.file(entry)).unwrap_or_default();
        assert!(!left.contains("ENTRACLAW_TOOLS_SETS"), "{host}: {left}");
    }
}

#[test]
fn shared_context_is_added_with_its_skill_and_removed() {
    for (host, entry) in ENTRIES {
        let user = User::new();
        let before = user.tree();
        let told = user.done(&[host, "--with", "context"]);
        assert!(told.contains("search what was said in the sessions of all coding agents"), "{told}");
        let text = user.read(entry);
        assert!(text.contains("ENTRACLAW_TOOLS_SETS") && text.contains("bot, context\""), "{text}");
        let with = user.tree();
        let skills =
            with.keys().filter(|path| path.to_string_lossy().ends_with("context-sharing/SKILL.md")).count();
        assert_eq!(skills, usize::from(!matches!(host, "vscode" | "cursor")), "{host}: {:?}", with.keys());
        assert!(user.done(&[host, "--with", "context"]).contains("is connected already"));

        let told = user.done(&[host, "--with", "ask"]);
        assert!(told.contains("takes the tools of shared context"), "{told}");
        assert!(!told.contains("that ask other coding agents out again"), "{told}");
        let left = user.tree();
        assert!(!left.keys().any(|path| path.to_string_lossy().ends_with("SKILL.md")), "{:?}", left.keys());
        user.done(&[host, "--with", "context,ask"]);
        assert!(user.read(entry).contains("bot, ask, context\""));
        user.done(&[host, "--remove"]);
        assert_eq!(user.tree(), before, "{host}");
    }
}

#[test]
fn other_agents_come_beside_a_carrier() {
    let user = User::new();
    user.done(&["codex", "--with", "queue,ask"]);
    let text = user.read(".codex/config.toml");
    assert!(text.contains("ENTRACLAW_WAKE_CODEX_QUEUE = \"true\""), "{text}");
    assert!(text.contains("ENTRACLAW_TOOLS_SETS = "), "{text}");
    let (code, _, complaint) = user.run(&["codex", "--with", "ask,delegat"]);
    assert_eq!(code, 2);
    assert!(complaint.contains("\"delegat\" is none of ask, context, delegate, channel"), "{complaint}");
    assert!(complaint.contains("did you mean delegate?"), "{complaint}");
}

#[test]
fn a_local_model_is_added_and_removed() {
    for (host, entry) in ENTRIES {
        let user = User::new();
        let before = user.tree();
        let told = user.done(&[host, "--with", "delegate"]);
        assert!(told.contains("hand work to a local model") && !told.contains("sessions of all"), "{told}");
        let text = user.read(entry);
        assert!(text.contains("ENTRACLAW_TOOLS_SETS") && text.contains("bot, delegate\""), "{text}");
        assert!(user.done(&[host, "--with", "delegate"]).contains("is connected already"));
        let doctor = user.other("doctor");
        assert!(doctor.contains("no engine works in") && doctor.contains("`entraclaw delegate`"), "{doctor}");
        // Whether one is found depends on what runs on this machine.
        assert!(doctor.contains("model server"), "{doctor}");
        assert!(user.other("status").contains("no engine of a local model works in"));
        let told = user.done(&[host, "--with", "ask,delegate"]);
        assert!(!told.contains("out again"), "{told}");
        assert!(user.read(entry).contains("bot, ask, delegate\""));
        let told = user.done(&[host]);
        assert!(told.contains("takes the tools of the local model out again"), "{told}");
        user.done(&[host, "--remove"]);
        assert_eq!(user.tree(), before, "{host}");
    }
}

#[test]
fn the_doctor_looks_for_agents_where_a_setup_added_them() {
    let user = User::new();
    user.done(&["claude-code"]);
    assert!(!user.other("doctor").contains("agents"));
    user.done(&["claude-code", "--with", "ask"]);
    let told = user.other("doctor");
    assert!(told.contains("no agent that can be asked is installed"), "{told}");
}
