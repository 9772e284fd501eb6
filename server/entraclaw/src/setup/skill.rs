//! The skill that teaches an agent to use shared context, and where each host reads skills.
//!
//! The places are those in which the real programs, run offline with a scripted model, found a probe. It must never be
//! written where no host was seen to read it.

use std::path::PathBuf;

use super::content::Content;
use super::request::{Host, Os, Request, Scope};

/// The name of the skill, which is its folder too.
const NAME: &str = "context-sharing";
const TEXT: &str = include_str!("SKILL.md");

/// What the user of a host without a known place is told.
pub(super) const NOT_WRITTEN: &str = "No skill was written: it was not seen where this host reads skills. `entraclaw setup copilot-cli --with context --print` \
     shows its text.";

/// The file of the skill and what it holds; `None` where it is not known that the host reads one.
pub(super) fn file(request: &Request) -> Option<(PathBuf, Content)> {
    let path = skills(request)?.join(NAME).join("SKILL.md");
    Some((path, Content::Whole(TEXT.to_owned())))
}

fn skills(request: &Request) -> Option<PathBuf> {
    let places = &request.places;
    let own =
        |given: &Option<PathBuf>, folder: &str| given.clone().unwrap_or_else(|| places.user.join(folder));
    let folder = match (request.host, request.scope) {
        // 2.0.73 and 2.1.330.
        (Host::ClaudeCode, Scope::User) => own(&places.claude, ".claude"),
        (Host::ClaudeCode, Scope::Project) => places.project.join(".claude"),
        // 1.0.24 and 1.0.102. VS Code was not run; the design document names this place for it too.
        (Host::CopilotCli, Scope::User) => own(&places.copilot, ".copilot"),
        (Host::CopilotCli | Host::Vscode, Scope::Project) => places.project.join(".github"),
        // 0.150.0 and 0.169.0.
        (Host::Codex, Scope::User) => own(&places.codex, ".codex"),
        (Host::Codex, Scope::Project) => places.project.join(".codex"),
        // 0.61.0.
        (Host::GeminiCli, Scope::User) => places.user.join(".gemini"),
        (Host::GeminiCli, Scope::Project) => places.project.join(".gemini"),
        // 1.18.33.
        (Host::Opencode, Scope::User) => {
            let set = places.config.clone().filter(|_| places.os == Os::Linux);
            set.unwrap_or_else(|| places.user.join(".config")).join("opencode")
        }
        (Host::Opencode, Scope::Project) => places.project.join(".opencode"),
        // 0.15.10 and 0.24.4.
        (Host::QwenCode, Scope::User) => places.user.join(".qwen"),
        (Host::QwenCode, Scope::Project) => places.project.join(".qwen"),
        (Host::Vscode, Scope::User) | (Host::Cursor, _) => return None,
    };
    Some(folder.join("skills"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_skill_has_a_name_and_a_description_and_names_only_tools_that_there_are() {
        let mut parts = TEXT.splitn(3, "---\n");
        assert_eq!(parts.next(), Some(""));
        let front = parts.next().unwrap();
        assert!(front.contains(&format!("name: {NAME}\n")) && front.contains("description: "), "{front}");
        let body = parts.next().unwrap();
        let known = entraclaw_memory::provider::tool_names();
        let words = body.split('`').skip(1).step_by(2).filter(|word| word.contains('_'));
        let words: Vec<&str> = words.collect();
        assert!(words.len() > 4, "{words:?}");
        for word in words {
            assert!(known.iter().any(|name| name == word), "{word} is no tool");
        }
    }
}
