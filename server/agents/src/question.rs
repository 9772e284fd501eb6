//! What a caller asks, checked: the three prompts of the contract, and the bounds of each argument.
//! It must never let a question through that the agent's program would refuse for a reason that is visible here.

use std::path::{Component, Path, PathBuf};

use entraclaw_mcp::arguments::{Arguments, Refusal};
use entraclaw_mcp::message::Object;

use crate::agent::{AGENTS, Agent, Flag, by_name};
use crate::permissions::Permissions;

/// Most bytes of a prompt: systems refuse longer arguments (Linux: 128 KiB each, its name and the end included).
pub const PROMPT_BYTES_MAX: usize = 120_000;
/// Most characters of a model's name.
const MODEL_CHARS_MAX: usize = 200;

/// The tools that ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asking {
    /// `ask`.
    Ask,
    /// `suggest`.
    Suggest,
    /// `explain`.
    Explain,
}

/// A checked question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The agent that is asked.
    pub agent: &'static Agent,
    /// The whole prompt.
    pub prompt: String,
    /// The title for people: the beginning of what was asked.
    pub title: String,
    /// The model, passed on as it is; `None` for the default.
    pub model: Option<String>,
    /// A folder that the agent may use beside its own.
    pub add_dir: Option<PathBuf>,
    /// The session to go on with.
    pub session: Option<String>,
    /// What the agent may do.
    pub permissions: Permissions,
}

/// The bounds that the operator has set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// The most that `ask` may permit.
    pub permissions: Permissions,
}

impl Question {
    /// Reads the arguments of a call.
    ///
    /// # Errors
    /// A sentence that names the wrong argument and how to fix it.
    pub fn read(asking: Asking, arguments: Object, bounds: Bounds) -> Result<Self, Refusal> {
        let mut given = Arguments::new(arguments);
        let (asked, prompt) = match asking {
            Asking::Ask => {
                let prompt = given.required_text("prompt", "the question")?;
                (prompt.clone(), prompt)
            }
            Asking::Suggest => {
                let prompt = given.required_text("prompt", "what the command is to do")?;
                let target = given.text("target", "")?;
                (prompt.clone(), suggestion(&target, &prompt)?)
            }
            Asking::Explain => {
                let command = given.required_text("command", "the command to explain")?;
                (command.clone(), format!("Explain what this command does: {command}"))
            }
        };
        let model = given.text("model", "")?;
        let add_dir = given.text("addDir", "")?;
        let agent = given.text("agent", AGENTS[0].name)?;
        let (session, wish) = match asking {
            Asking::Ask => (given.text("sessionId", "")?, given.text("permissions", "")?),
            _ => Default::default(),
        };
        given.finish()?;
        check_prompt(&prompt)?;
        let permissions = match asking {
            Asking::Ask => narrowed(&wish, bounds.permissions)?,
            _ => Permissions::ReadOnly,
        };
        let agent = by_name(&agent)?;
        if agent.permitting(permissions).is_none() {
            return Err(cannot_be_kept(agent, permissions));
        }
        if !add_dir.is_empty() && agent.add_dir == Flag::Missing {
            return Err(format!(
                "addDir: {} can't be given one; leave it out, or ask another agent",
                agent.title
            ));
        }
        Ok(Self {
            agent,
            title: title(&asked),
            prompt,
            model: checked_model(model)?,
            add_dir: if add_dir.is_empty() { None } else { Some(checked_folder(&add_dir)?) },
            session: checked_session(session)?,
            permissions,
        })
    }
}

/// The refusal of a question whose agent can't be kept to its permissions.
pub(crate) fn cannot_be_kept(agent: &Agent, permissions: Permissions) -> Refusal {
    format!(
        "agent: {} can't be kept to {permissions} by its program; choose another agent, or use ask where the operator permits all",
        agent.title
    )
}

fn suggestion(target: &str, prompt: &str) -> Result<String, Refusal> {
    let kind = match target {
        "" => "a command",
        "shell" => "a shell command",
        "git" => "a git command",
        "gh" => "a GitHub CLI (gh) command",
        other => {
            let other: String = other.chars().take(40).collect();
            return Err(format!(
                "target: expected shell, git or gh, got {other:?}; leave it out for any command"
            ));
        }
    };
    Ok(format!("Suggest {kind} to accomplish: {prompt}"))
}

fn check_prompt(prompt: &str) -> Result<(), Refusal> {
    if prompt.len() > PROMPT_BYTES_MAX {
        return Err(format!(
            "prompt: it has {} bytes, and an agent's program takes at most {PROMPT_BYTES_MAX}; write the long part into a \
             file, and name the file in the prompt",
            prompt.len()
        ));
    }
    no_nul("prompt", prompt)
}

fn no_nul(field: &str, text: &str) -> Result<(), Refusal> {
    if text.contains('\0') {
        return Err(format!("{field}: it has a NUL character, which no program can be given; leave it out"));
    }
    Ok(())
}

fn narrowed(wish: &str, most: Permissions) -> Result<Permissions, Refusal> {
    if wish.is_empty() {
        return Ok(most);
    }
    let Some(wished) = Permissions::parse(wish) else {
        let wish: String = wish.chars().take(40).collect();
        return Err(format!(
            "permissions: expected read-only, workspace or all, got {wish:?}; leave it out for {most}"
        ));
    };
    if wished > most {
        return Err(format!(
            "permissions: the operator allows at most {most}; leave it out, or ask your user to set `permissions` in [ask] of \
             the configuration"
        ));
    }
    Ok(wished)
}

fn checked_model(model: String) -> Result<Option<String>, Refusal> {
    no_nul("model", &model)?;
    if model.chars().count() > MODEL_CHARS_MAX || model.chars().any(char::is_control) {
        return Err(
            "model: it is no name of a model; name one that the agent lists, or leave it out".to_owned()
        );
    }
    // Some programs read a value that begins so as a flag of its own, such as the one that permits everything.
    if model.starts_with('-') {
        return Err(
            "model: it begins with a dash, as no name of a model does; name a model, or leave it out"
                .to_owned(),
        );
    }
    Ok(Some(model).filter(|model| !model.trim().is_empty()))
}

fn checked_session(session: String) -> Result<Option<String>, Refusal> {
    if session.is_empty() {
        return Ok(None);
    }
    // A leading dash would be read as a flag.
    let is_plain = session.len() <= 128
        && session.starts_with(|c: char| c.is_ascii_alphanumeric())
        && session.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    if !is_plain {
        return Err(
            "sessionId: it is no id of a session; take one from an answer or from list_sessions".to_owned()
        );
    }
    Ok(Some(session))
}

/// Checks the form of a folder; whether it exists is checked by who can look.
fn checked_folder(folder: &str) -> Result<PathBuf, Refusal> {
    no_nul("addDir", folder)?;
    let path = Path::new(folder);
    // Both separators, on every system: the agent's program may accept either.
    if folder.split(['/', '\\']).any(|part| part == "..")
        || path.components().any(|c| c == Component::ParentDir)
    {
        return Err("addDir: it has a `..` segment; give the folder's own absolute path".to_owned());
    }
    if !path.is_absolute() {
        return Err("addDir: it is not absolute; give the folder's absolute path".to_owned());
    }
    Ok(path.to_owned())
}

fn title(asked: &str) -> String {
    let line = asked.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.chars().take(80).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;
    use serde_json::{Value, json};

    const ANY: Bounds = Bounds { permissions: Permissions::All };

    fn read(asking: Asking, arguments: &Value, bounds: Bounds) -> Result<Question, Refusal> {
        Question::read(asking, arguments.as_object().unwrap().clone(), bounds)
    }

    #[rstest]
    #[case(Asking::Ask, json!({"prompt": "why?"}), "why?")]
    #[case(Asking::Ask, json!({"prompt": " --help "}), " --help ")]
    #[case(Asking::Suggest, json!({"prompt": "list files"}), "Suggest a command to accomplish: list files")]
    #[case(
        Asking::Suggest,
        json!({"prompt": "list files", "target": "shell"}),
        "Suggest a shell command to accomplish: list files"
    )]
    #[case(Asking::Suggest, json!({"prompt": "undo", "target": "git"}), "Suggest a git command to accomplish: undo")]
    #[case(
        Asking::Suggest,
        json!({"prompt": "open a pr", "target": "gh"}),
        "Suggest a GitHub CLI (gh) command to accomplish: open a pr"
    )]
    #[case(Asking::Explain, json!({"command": "ls -l | wc"}), "Explain what this command does: ls -l | wc")]
    fn the_prompts_are_those_of_the_contract(
        #[case] asking: Asking,
        #[case] arguments: Value,
        #[case] prompt: &str,
    ) {
        assert_eq!(read(asking, &arguments, ANY).unwrap().prompt, prompt);
    }

    #[test]
    fn a_model_has_two_hundred_characters_at_most() {
        let longest = "é".repeat(200);
        let question = read(Asking::Ask, &json!({"prompt": "p", "model": longest}), ANY).unwrap();
        assert_eq!(question.model, Some(longest));
    }

    #[rstest]
    #[case(json!({}), "prompt: missing or empty")]
    #[case(json!({"prompt": "  "}), "prompt: missing or empty")]
    #[case(json!({"prompt": "a\u{0}b"}), "prompt: it has a NUL")]
    #[case(json!({"prompt": "x".repeat(1_000_000)}), "prompt: it has 1000000 bytes")]
    #[case(json!({"prompt": "p", "addDir": "relative"}), "addDir: it is not absolute")]
    #[case(json!({"prompt": "p", "addDir": "/a/../b"}), "addDir: it has a `..` segment")]
    #[case(json!({"prompt": "p", "addDir": "/a/b\\..\\c"}), "addDir: it has a `..` segment")]
    #[case(json!({"prompt": "p", "addDir": "/a\u{0}"}), "addDir: it has a NUL")]
    #[case(json!({"prompt": "p", "agent": "copilto"}), "did you mean copilot?")]
    #[case(json!({"prompt": "p", "permissions": "root"}), "permissions: expected read-only")]
    #[case(json!({"prompt": "p", "agent": "opencode", "permissions": "read-only"}), "opencode can't be kept to read-only")]
    #[case(json!({"prompt": "p", "agent": "qwen-code", "permissions": "workspace"}), "Qwen Code can't be kept to workspace")]
    #[case(json!({"prompt": "p", "agent": "opencode", "addDir": "/a"}), "addDir: opencode can't be given one")]
    #[case(json!({"prompt": "p", "sessionId": "--yolo"}), "sessionId: it is no id")]
    #[case(json!({"prompt": "p", "sessionId": "../../etc"}), "sessionId: it is no id")]
    #[case(json!({"prompt": "p", "model": "a\nb"}), "model: it is no name")]
    #[case(json!({"prompt": "p", "model": "é".repeat(201)}), "model: it is no name")]
    #[case(json!({"prompt": "p", "model": "é".repeat(300)}), "model: it is no name")]
    #[case(json!({"prompt": "p", "agent": "gemini-cli", "model": "--yolo"}), "model: it begins with a dash")]
    #[case(json!({"prompt": "p", "adddir": "/a"}), "did you mean addDir?")]
    #[case(json!({"prompt": 5}), "prompt: expected a string")]
    fn a_wrong_argument_is_refused_with_its_remedy(#[case] arguments: Value, #[case] says: &str) {
        let refusal = read(Asking::Ask, &arguments, ANY).unwrap_err();
        assert!(refusal.contains(says), "{refusal}");
    }

    #[test]
    fn a_wish_narrows_and_never_widens() {
        for most in Permissions::ALL {
            for wish in Permissions::ALL {
                let arguments = json!({"prompt": "p", "permissions": wish.as_str()});
                let read = read(Asking::Ask, &arguments, Bounds { permissions: most });
                assert_eq!(read.map(|question| question.permissions).ok(), (wish <= most).then_some(wish));
            }
        }
    }

    #[test]
    fn only_a_question_may_do_more_than_read() {
        let suggest = read(Asking::Suggest, &json!({"prompt": "p"}), ANY).unwrap();
        let explain = read(Asking::Explain, &json!({"command": "c"}), ANY).unwrap();
        assert_eq!(
            [suggest.permissions, explain.permissions],
            [Permissions::ReadOnly, Permissions::ReadOnly]
        );
        let wish = json!({"prompt": "p", "permissions": "all"});
        assert!(read(Asking::Suggest, &wish, ANY).unwrap_err().contains("no such argument"));
    }

    #[test]
    fn any_text_is_passed_on_as_the_model() {
        let question = read(Asking::Ask, &json!({"prompt": "p", "model": "no-such/model:1"}), ANY).unwrap();
        assert_eq!(question.model.as_deref(), Some("no-such/model:1"));
    }
}
