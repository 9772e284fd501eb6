//! `entraclaw setup` as a person runs it: real processes with a home folder of their own, golden pages, and every file
//! restored by a removal.

#![expect(clippy::disallowed_methods, reason = "tests make and look at real files")]

mod additions;
mod unattended;
mod user;

use std::fs;
use std::path::Path;

use assert_cmd::cargo::cargo_bin;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::json;

use self::user::{User, with_carriers};

const HOSTS: [&str; 8] =
    ["claude-code", "copilot-cli", "codex", "gemini-cli", "opencode", "qwen-code", "vscode", "cursor"];

/// A removal also removes the permission for answers, with its receipt or without.
#[test]
fn the_permission_for_answers_is_removed_to_the_byte() {
    for host in &HOSTS[..6] {
        let user = User::new();
        user.write(".codex/config.toml", "# mine\nmodel = \"m\"");
        user.write(".claude/settings.json", "{\"permissions\": {\"allow\": [\"Bash(ls)\"]}}");
        user.write(".config/opencode/opencode.json", "{\n  \"permission\": {\"bash\": \"ask\"},\n}\n");
        let before = user.tree();
        user.done(&[host, "--allow-answers"]);
        user.done(&[host, "--remove"]);
        assert_eq!(user.tree(), before, "{host}");
        user.done(&[host, "--allow-answers"]);
        user.done(&[host]);
        user.done(&[host, "--remove"]);
        assert_eq!(user.tree(), before, "{host}");
    }
}

/// The page of each host with all carriers; `UPDATE_GOLDEN=1` writes them anew.
#[cfg(target_os = "linux")]
#[test]
fn pages_equal_the_reviewed_ones() {
    let user = User::new();
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/processes/setup");
    for host in HOSTS {
        let mut arguments = vec![host, "--print"];
        arguments.extend(with_carriers(host));
        let page = user.done(&arguments);
        let page = page.replace(cargo_bin("entraclaw").to_str().unwrap(), "/usr/local/bin/entraclaw");
        let page = page.replace(user.home.to_str().unwrap(), "/home/alice");
        let path = golden.join(format!("{host}.md"));
        if std::env::vars().any(|(name, _)| name == "UPDATE_GOLDEN") {
            fs::write(&path, &page).unwrap();
        }
        assert_eq!(page, fs::read_to_string(&path).unwrap_or_default(), "{host}: UPDATE_GOLDEN=1 blesses it");
    }
    assert!(user.tree().is_empty());
}

#[test]
fn the_receipt_has_a_schema() {
    let mut text = serde_json::to_string_pretty(&schemars::schema_for!(entraclaw::setup::Receipt)).unwrap();
    text.push('\n');
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas/own/setup-receipt.schema.json");
    if std::env::vars().any(|(name, _)| name == "UPDATE_SCHEMAS") {
        fs::write(&path, &text).unwrap();
    }
    assert_eq!(text, fs::read_to_string(&path).unwrap_or_default(), "UPDATE_SCHEMAS=1 blesses it");
}

#[test]
fn each_host_is_connected_once_and_a_removal_restores_everything() {
    for host in HOSTS {
        for scope in ["user", "project"] {
            let user = User::new();
            let before = user.tree();
            let mut arguments = vec![host, "--scope", scope];
            arguments.extend(with_carriers(host));
            let mut dry = arguments.clone();
            dry.push("--dry-run");
            let shown = user.done(&dry);
            assert!(
                shown.contains("+++ ") && shown.ends_with("Nothing was written (--dry-run).\n"),
                "{shown}"
            );
            assert_eq!(user.tree(), before);
            assert!(!user.home.join(".entraclaw").exists());

            let told = user.done(&arguments);
            assert!(told.contains("written for") && told.contains("Start it: "), "{told}");
            let connected = user.tree();
            for (path, (mode, bytes)) in &connected {
                let wanted = if bytes.is_some() { 0o600 } else { 0o700 };
                assert!(!cfg!(unix) || *mode == wanted, "{} {mode:o}", path.display());
            }
            let told = user.done(&arguments);
            assert!(told.contains("is connected already"), "{told}");
            assert_eq!(user.tree(), connected);

            let told = user.done(&[host, "--scope", scope, "--remove"]);
            assert!(told.contains("Taken out of"), "{told}");
            assert_eq!(user.tree(), before, "{host} {scope}");
            let told = user.done(&[host, "--scope", scope, "--remove"]);
            assert!(told.contains("Nothing of ours"), "{told}");
        }
    }
}

/// Files of people: the host, the path, and the text before.
const FILES: &[(&str, &str, &str)] = &[
    ("claude-code", ".claude.json", "{\"numStartups\":3,\"oauthAccount\":{\"a\":1},\"mcpServers\":{}}"),
    ("claude-code", ".claude/settings.json", "{\r\n\t\"hooks\": {\"Stop\": [ ]},\r\n\t\"model\": \"m\"\r\n}"),
    ("claude-code", ".claude/CLAUDE.md", "# Mine\r\n\r\nno end"),
    ("copilot-cli", ".copilot/mcp-config.json", "{}"),
    ("copilot-cli", ".copilot/copilot-instructions.md", "\n"),
    ("codex", ".codex/config.toml", "# mine\r\nmodel = 'm' # x\r\n\r\n[mcp_servers.a]\r\ncommand = \"a\""),
    ("codex", ".codex/hooks.json", "{\"hooks\": {\"Stop\": [{\"hooks\": []}]}}\n\n"),
    ("codex", ".codex/AGENTS.md", ""),
    (
        "gemini-cli",
        ".gemini/settings.json",
        "// mine\n{\n    \"tools\": {\"shell\": {\"backgroundCompletionBehavior\": \"silent\"}}, /* x */\n}\n",
    ),
    (
        "opencode",
        ".config/opencode/opencode.jsonc",
        "{\n  // mine\n  \"mcp\": {\n    \"a\": {\"type\": \"local\"}, // a\n  },\n}\n",
    ),
    (
        "qwen-code",
        ".qwen/settings.json",
        "\u{feff}{\n  \"permissions\": {\n    \"allow\": [\"Bash(ls)\"]\n  }\n}",
    ),
    ("vscode", ".config/Code/User/mcp.json", "{\n\t\"inputs\": [],\n\t\"servers\": {\n\t}\n}"),
    ("cursor", ".cursor/mcp.json", "   \n"),
];

#[cfg(target_os = "linux")]
#[test]
fn existing_files_are_restored_to_the_byte() {
    for (index, (host, path, text)) in FILES.iter().enumerate() {
        let user = User::new();
        user.write(path, text);
        let private = index % 2 == 0;
        set_mode(&user.file(path), if private { 0o600 } else { 0o644 });
        let before = user.tree();
        let shown = user.done(&[host, "--dry-run"]);
        assert!(shown.contains(&format!("--- {}\n", user.file(path).display())), "{shown}");
        user.done(&[host]);
        let now = user.tree();
        assert_eq!(now[&user.file(path)].0, before[&user.file(path)].0, "{path}: mode");
        let backup = user.file(&format!("{path}.entraclaw-backup"));
        assert_eq!(now[&backup], before[&user.file(path)], "{path}: backup");
        assert!(user.read(path).contains("entraclaw"), "{path}");
        // Another setup in between changes only our content.
        let mut arguments = vec![*host];
        arguments.extend(with_carriers(host));
        user.done(&arguments);
        user.done(&[host, "--remove"]);
        assert_eq!(user.tree(), before, "{host} {path}");
    }
}

#[cfg(unix)]
fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}

#[cfg(target_os = "linux")]
#[test]
fn a_persons_change_in_between_stays() {
    let user = User::new();
    user.write(".claude/settings.json", "{\n  \"model\": \"m\",\n  \"hooks\": {\"Stop\": []}\n}\n");
    user.write(".claude/CLAUDE.md", "# Mine\n");
    user.write(".codex/config.toml", "model = \"m\"\n");
    user.done(&["claude-code"]);
    user.done(&["codex"]);
    for (path, from, to) in [
        (".claude/settings.json", "\"m\"", "\"other\", \"theme\": \"dark\""),
        (".claude.json", "{\n", "{\n  \"numStartups\": 4,\n"),
        (".claude/CLAUDE.md", "<!-- entraclaw end -->\n", "<!-- entraclaw end -->\nmore\n"),
        (".codex/config.toml", "model = \"m\"", "model = \"other\""),
    ] {
        let text = user.read(path);
        assert!(text.contains(from), "{path}: {text}");
        user.write(path, &text.replacen(from, to, 1));
    }
    // A second setup finds the content in its place and moves nothing.
    let told = user.done(&["claude-code"]);
    assert!(told.contains("is connected already"), "{told}");
    user.done(&["claude-code", "--remove"]);
    user.done(&["codex", "--remove"]);
    let settings = "{\n  \"model\": \"other\", \"theme\": \"dark\",\n  \"hooks\": {\"Stop\": []}\n}\n";
    assert_eq!(user.read(".claude/settings.json"), settings);
    assert_eq!(user.json(".claude.json"), json!({"numStartups": 4}));
    assert_eq!(user.read(".claude/CLAUDE.md"), "# Mine\nmore\n");
    assert_eq!(user.read(".codex/config.toml"), "model = \"other\"\n");
    let left: Vec<_> =
        user.tree().into_iter().filter(|(_, (_, bytes))| bytes.is_some()).map(|(path, _)| path).collect();
    assert!(!left.iter().any(|path| path.display().to_string().contains("backup")), "{left:?}");
    assert!(!user.file(".codex/hooks.json").exists());
}

#[test]
fn nothing_is_written_while_one_file_has_an_obstacle() {
    let user = User::new();
    let large = format!("{{\"a\": \"{}\"}}", "x".repeat(9 * 1024 * 1024));
    for (host, path, text, says) in [
        (
            "claude-code",
            ".claude/settings.json",
            "{\n  \"a\": 1,\n  oops\n}",
            "settings.json: line 3, column 3: ",
        ),
        (
            "claude-code",
            ".claude/settings.json",
            "{\"hooks\": []}",
            "line 1, column 11: `hooks` must be an object, and is a list",
        ),
        (
            "claude-code",
            ".claude.json",
            "{\"mcpServers\": {}, \"mcpServers\": {}}",
            "stands here a second time",
        ),
        (
            "claude-code",
            ".claude.json",
            "{\"mcpServers\": {\"entraclaw\": {\"command\": \"sh\"}}}",
            "starts another program",
        ),
        ("claude-code", ".claude.json", "\"text\"", "the file must be an object, and is a text"),
        ("claude-code", ".claude.json", &large, "at most 8388608 are read"),
        (
            "codex",
            ".codex/config.toml",
            "a = 1\na = 2\n",
            "config.toml: line 2, column 1: it can't be read as TOML",
        ),
        ("gemini-cli", ".gemini/policies/entraclaw.toml", "# mine\n", "setup didn't write is in the way"),
        (
            "gemini-cli",
            ".gemini/GEMINI.md",
            "a\n<!-- entraclaw begin: written by `entraclaw setup`, removed by `entraclaw setup --remove` -->\n",
            "line 2, column 1",
        ),
    ] {
        user.write(path, text);
        let complaint = user.refused(&[host]);
        assert!(complaint.contains(says) && complaint.contains("nothing was written"), "{path}: {complaint}");
        fs::remove_file(user.file(path)).unwrap();
    }
    fs::write(user.file(".claude.json"), b"{\"a\": \"\xff\"}").unwrap();
    assert!(user.refused(&["claude-code"]).contains("not UTF-8 from byte 7 on"));
}

#[cfg(target_os = "linux")]
#[test]
fn links_and_open_folders_are_left_alone() {
    let user = User::new();
    user.write("dotfiles/settings.json", "{}");
    user.write(".claude/CLAUDE.md", "");
    std::os::unix::fs::symlink(user.file("dotfiles/settings.json"), user.file(".claude/settings.json"))
        .unwrap();
    let complaint = user.refused(&["claude-code"]);
    let target = user.file("dotfiles/settings.json").display().to_string();
    assert!(
        complaint.contains(&format!("it is a symlink to {target}, which is left as it is")),
        "{complaint}"
    );
    assert!(complaint.contains(".claude/settings.json") && complaint.contains("--print"), "{complaint}");
    assert_eq!(user.read("dotfiles/settings.json"), "{}");
    // With the content added by hand behind the link, the other files are written and removed.
    let by_hand = User::new();
    by_hand.done(&["claude-code"]);
    let mine = by_hand.read(".claude/settings.json");
    user.write("dotfiles/settings.json", &mine);
    let told = user.done(&["claude-code"]);
    assert!(told.contains("2 files written") && user.read(".claude.json").contains("entraclaw"), "{told}");
    assert_eq!(user.read("dotfiles/settings.json"), mine);
    assert!(user.refused(&["claude-code", "--remove"]).contains("it is a symlink"));
    user.write("dotfiles/settings.json", "{}");
    user.done(&["claude-code", "--remove"]);
    assert!(!user.file(".claude.json").exists() && user.read("dotfiles/settings.json") == "{}");

    fs::create_dir_all(user.file(".cursor/mcp.json")).unwrap();
    assert!(user.refused(&["cursor"]).contains("not a plain file"));

    fs::create_dir(user.file(".qwen")).unwrap();
    set_mode(&user.file(".qwen"), 0o777);
    assert!(user.refused(&["qwen-code"]).contains("every user can write to the folder"));

    user.write(".copilot", "a file where a folder should be");
    assert!(user.refused(&["copilot-cli"]).contains("can't be looked at"));
}

/// Users link folders of dotfiles within their own folder; a link in a project may come from a stranger.
#[cfg(target_os = "linux")]
#[test]
fn a_linked_folder_is_followed_only_within_the_users_own_and_shown() {
    use std::os::unix::fs::symlink;

    let user = User::new();
    user.write("dotfiles/gemini/settings.json", "{}");
    symlink(user.file("dotfiles/gemini"), user.file(".gemini")).unwrap();
    let told = user.done(&["gemini-cli"]);
    let real = user.file("dotfiles/gemini").display().to_string();
    assert!(told.contains(&format!("a symlink on the way leads to {real}")), "{told}");
    assert!(user.read("dotfiles/gemini/settings.json").contains("entraclaw"));
    user.done(&["gemini-cli", "--remove"]);
    assert_eq!(user.read("dotfiles/gemini/settings.json"), "{}");

    let outside = tempfile::tempdir().unwrap();
    symlink(outside.path(), user.file(".qwen")).unwrap();
    let complaint = user.refused(&["qwen-code"]);
    let link = user.file(".qwen").display().to_string();
    assert!(complaint.contains(&format!("the folder {link} is a symlink that leads to ")), "{complaint}");
    assert!(complaint.contains("--print"), "{complaint}");

    // No link may lead out of a project, even if the user owns the target.
    symlink(user.file("dotfiles/gemini"), user.file("project/.gemini")).unwrap();
    let complaint = user.refused(&["gemini-cli", "--scope", "project"]);
    assert!(complaint.contains("is a symlink that leads to"), "{complaint}");

    symlink(user.file("nowhere"), user.file(".cursor")).unwrap();
    assert!(user.refused(&["cursor"]).contains("leads nowhere"));
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[cfg(target_os = "linux")]
#[test]
fn carriers_follow_their_flag() {
    let user = User::new();
    let told = user.done(&["copilot-cli", "--with", "extension"]);
    assert!(told.contains("Start it: copilot --experimental"), "{told}");
    let extension = user.read(".copilot/extensions/entraclaw/extension.mjs");
    assert!(
        extension.contains("session.send(") && extension.contains("Message from outside, not from your user")
    );
    user.done(&["copilot-cli"]);
    assert!(!user.file(".copilot/extensions").exists());
    assert!(user.file(".copilot/hooks/entraclaw.json").exists());

    user.done(&["opencode", "--with", "port=5000"]);
    let entry = &user.json(".config/opencode/opencode.json")["mcp"]["entraclaw"];
    assert_eq!(entry["environment"]["ENTRACLAW_WAKE_OPENCODE_PORT"], "5000");
    user.done(&["opencode"]);
    assert_eq!(user.json(".config/opencode/opencode.json")["mcp"]["entraclaw"].get("environment"), None);

    user.done(&["codex", "--with", "queue"]);
    assert!(
        user.read(".codex/config.toml")
            .contains("[mcp_servers.entraclaw.env]\nENTRACLAW_WAKE_CODEX_QUEUE = \"true\"\n")
    );
}

#[cfg(target_os = "linux")]
#[test]
fn another_home_folder_reaches_every_part() {
    let user = User::new();
    let elsewhere = user.home.join("else where");
    let elsewhere = elsewhere.to_str().unwrap();
    user.done(&["claude-code", "--home", elsewhere]);
    let entry = &user.json(".claude.json")["mcpServers"]["entraclaw"];
    assert_eq!(entry["env"], json!({"ENTRACLAW_HOME": elsewhere}));
    let hook = &user.json(".claude/settings.json")["hooks"]["Stop"][0]["hooks"][0]["command"];
    assert!(
        hook.as_str().unwrap().ends_with(&format!(" hook claude-code Stop --home '{elsewhere}'")),
        "{hook}"
    );
    assert!(
        user.read(".claude/CLAUDE.md")
            .contains(&format!("entraclaw-wait '--home={elsewhere}' --consumer claude-code`"))
    );
    user.done(&["claude-code", "--home", elsewhere, "--remove"]);
    assert!(!user.file(".claude").exists() && !user.file(".claude.json").exists());
}

#[rstest]
#[case(&["emacs"])]
#[case(&["codex", "--with", "port"])]
#[case(&["codex", "--with", "radio"])]
#[case(&["codex", "--with", "ask=1"])]
#[case(&["codex", "--without", "ask"])]
#[case(&["opencode", "--with", "port=80"])]
#[case(&["codex", "--print", "--remove"])]
#[case(&["codex", "--scope", "world"])]
#[case(&[])]
fn wrong_usage_has_its_own_exit_code(#[case] arguments: &[&str]) {
    let (code, told, complaint) = User::new().run(arguments);
    assert_eq!((code, told.as_str()), (2, ""), "{complaint}");
    assert!(!complaint.is_empty());
}

#[cfg(target_os = "linux")]
#[test]
fn a_removal_works_without_its_receipt() {
    let user = User::new();
    user.write(".claude/settings.json", "{\n  \"model\": \"m\"\n}\n");
    let before = user.tree();
    user.done(&["claude-code"]);
    fs::remove_dir_all(user.file(".entraclaw/setup")).unwrap();
    user.done(&["claude-code", "--remove"]);
    fs::remove_file(user.file(".claude/settings.json.entraclaw-backup")).unwrap();
    assert_eq!(user.tree(), before);

    user.done(&["claude-code"]);
    for entry in fs::read_dir(user.file(".entraclaw/setup")).unwrap() {
        fs::write(entry.unwrap().path(), "{").unwrap();
    }
    assert!(
        user.refused(&["claude-code", "--remove"])
            .contains("remove it, and setup finds what it wrote by its form")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 20))]

    /// With a few files at once and any order of hosts, a removal restores the tree.
    #[test]
    fn any_order_of_hosts_restores_the_tree(
        order in Just(HOSTS.to_vec()).prop_shuffle(),
        back in Just(HOSTS.to_vec()).prop_shuffle(),
        project in any::<bool>(),
    ) {
        let user = User::new();
        user.write("project/AGENTS.md", "# Ours\n\nno end");
        user.write("project/.mcp.json", "{\"mcpServers\":{\"a\":{}}}");
        user.write(".gemini/settings.json", "{}");
        let scope = if project { "project" } else { "user" };
        let before = user.tree();
        for host in &order {
            user.done(&[host, "--scope", scope]);
        }
        for host in &back {
            user.done(&[host, "--scope", scope, "--remove"]);
        }
        prop_assert_eq!(user.tree(), before);
    }
}

/// Protection is found before anything is written.
#[cfg(unix)]
#[test]
fn nothing_is_written_while_a_folder_or_a_file_is_protected() {
    use std::os::unix::fs::PermissionsExt as _;
    let mode = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let user = User::new();
    let folder = user.home.join(".claude");
    fs::create_dir(&folder).unwrap();
    mode(&folder, 0o500);
    let told = user.refused(&["claude-code"]);
    assert!(told.contains("chmod u+wx") && told.contains("nothing was written"), "{told}");
    mode(&folder, 0o700);
    user.write(".claude.json", "{}");
    mode(&user.home.join(".claude.json"), 0o400);
    let told = user.refused(&["claude-code"]);
    assert!(told.contains("protected") && told.contains("chmod u+w "), "{told}");
    mode(&user.home.join(".claude.json"), 0o600);
    user.done(&["claude-code"]);
}

/// A read-only home folder is refused with the fix. The program runs as an ordinary user, even if the tests run as root.
#[cfg(unix)]
#[test]
fn a_read_only_home_folder_is_refused_with_the_fix() {
    use std::os::unix::fs::{PermissionsExt as _, chown};
    use std::os::unix::process::CommandExt as _;
    const NOBODY: u32 = 65_534;
    let mode = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    mode(folder.path(), 0o755);
    // The folder of the build may be root's alone.
    let program = folder.path().join("entraclaw");
    crate::copy_program(&program);
    let user = folder.path().join("user");
    let home = user.join(".entraclaw");
    fs::create_dir_all(&home).unwrap();
    let is_root = nix::unistd::geteuid().is_root();
    for path in [&user, &home] {
        mode(path, 0o700);
        if is_root {
            chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
        }
    }
    mode(&home, 0o500);
    let mut command = std::process::Command::new(&program);
    command.args(["setup", "codex"]).env_clear().env("HOME", &user).current_dir(&user);
    if is_root {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    mode(&home, 0o700);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("setup.lock: Permission denied"), "{said}");
    assert!(said.contains("chmod 700") && said.contains("ENTRACLAW_HOME"), "{said}");
    assert!(!user.join(".codex").exists(), "nothing is written");
}
