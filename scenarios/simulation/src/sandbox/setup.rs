//! The setup of hosts for the sandbox: the variables, and one line a host.
//! It must never name the page's token; the access token opens nothing but the fake Graph.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;

/// The server's name in a host, beside one that may be there for a real tenant.
const NAME: &str = "entraclaw-play";

/// The values that a host needs.
pub(crate) struct Setup {
    program: String,
    environment: BTreeMap<String, String>,
}

impl Setup {
    /// For a server binary, a home folder, a Graph and its token.
    pub(crate) fn new(program: &Path, home: &Path, graph_url: &str, access_token: &str) -> Self {
        let variable = |name: &str, value: &str| (format!("ENTRACLAW_{name}"), value.to_owned());
        let environment = BTreeMap::from([
            variable("HOME", &home.display().to_string()),
            variable("GRAPH_URL", graph_url),
            variable("AUTH", "static"),
            variable("ACCESS_TOKEN", access_token),
        ]);
        Self { program: program.display().to_string(), environment }
    }

    /// The server's program.
    pub(crate) fn program(&self) -> &str {
        &self.program
    }

    /// The server's variables.
    pub(crate) fn environment(&self) -> &BTreeMap<String, String> {
        &self.environment
    }

    /// Host and command, or block, for each host.
    pub(crate) fn lines(&self) -> Vec<(&'static str, String)> {
        let pairs: Vec<String> =
            self.environment.iter().map(|(name, value)| quoted(&format!("{name}={value}"))).collect();
        let program = quoted(&self.program);
        let flags =
            |flag: &str| pairs.iter().map(|pair| format!("{flag} {pair}")).collect::<Vec<_>>().join(" ");
        let added = |host: &str| format!("{host} mcp add {NAME} {} -- {program} serve", flags("--env"));
        // Their flag takes every word behind it, so it stands last.
        let added_before =
            |host: &str| format!("{host} mcp add -s user {NAME} {program} serve {}", flags("-e"));
        let server = json!({"command": self.program, "args": ["serve"], "env": self.environment});
        let block = json!({"mcpServers": {NAME: server}});
        vec![
            ("Claude Code", added("claude")),
            ("GitHub Copilot CLI", added("copilot")),
            ("Codex", added("codex")),
            ("Gemini CLI", added_before("gemini")),
            ("opencode", added("opencode")),
            ("Qwen Code", added_before("qwen")),
            ("any other host", serde_json::to_string_pretty(&block).unwrap_or_default()),
            ("by hand", format!("env {} {program} serve", pairs.join(" "))),
        ]
    }

    /// The commands that remove it from the hosts.
    pub(crate) fn removal() -> String {
        let commands = [
            ("claude", "mcp remove"),
            ("copilot", "mcp remove"),
            ("codex", "mcp remove"),
            ("gemini", "mcp remove -s user"),
            ("qwen", "mcp remove"),
        ];
        let commands = commands.map(|(host, words)| format!("{host} {words} {NAME}"));
        format!("{}; for opencode take {NAME} out of its opencode.jsonc", commands.join("; "))
    }
}

/// A word as a POSIX shell takes it whole.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@+,".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_host_gets_the_same_variables() {
        let setup =
            Setup::new(Path::new("/opt/my tools/entraclaw"), Path::new("/tmp/h"), "http://127.0.0.1:1", "t0");
        let lines = setup.lines();
        assert_eq!(
            lines[0].1,
            "claude mcp add entraclaw-play --env ENTRACLAW_ACCESS_TOKEN=t0 --env ENTRACLAW_AUTH=static \
             --env ENTRACLAW_GRAPH_URL=http://127.0.0.1:1 --env ENTRACLAW_HOME=/tmp/h -- '/opt/my tools/entraclaw' serve"
        );
        for (host, line) in &lines {
            for (name, value) in setup.environment() {
                assert!(line.contains(name) && line.contains(value), "{host}: {line}");
            }
        }
        assert_eq!(
            lines[3].1,
            "gemini mcp add -s user entraclaw-play '/opt/my tools/entraclaw' serve -e ENTRACLAW_ACCESS_TOKEN=t0 \
             -e ENTRACLAW_AUTH=static -e ENTRACLAW_GRAPH_URL=http://127.0.0.1:1 -e ENTRACLAW_HOME=/tmp/h"
        );
        let block: serde_json::Value = serde_json::from_str(&lines[6].1).unwrap();
        assert_eq!(block["mcpServers"][NAME]["args"], json!(["serve"]));
    }

    #[test]
    fn a_word_survives_the_shell() {
        assert_eq!(quoted("a=b"), "a=b");
        assert_eq!(quoted("it's $HOME"), r"'it'\''s $HOME'");
        assert_eq!(quoted(""), "''");
    }
}
