//! Answers a host's permission questions for the hook that setup writes: yes to waiting and reading, and to answering if
//! the user chose that.
//! It must never say yes to a command that differs from the wait command by one character, and it must never say no: the
//! host asks the user about everything else.

use serde_json::{Value, json};

use super::names::{ANSWERING_TOOLS, CONTEXT_READING_TOOLS, DELEGATE_READING_TOOLS, READING_TOOLS, SERVER};

/// The event at which GitHub Copilot CLI asks.
pub const APPROVAL_EVENT: &str = "permissionRequest";

/// The flag of setup, and of the hook, that lets the answering tools run without a question.
pub const ALLOW_ANSWERS: &str = "--allow-answers";

/// What may run without a question.
#[derive(Debug, Clone, Copy)]
pub struct Approval<'a> {
    /// The whole wait command.
    pub wait: &'a str,
    /// Whether the answering tools may run too.
    pub answers: bool,
}

impl Approval<'_> {
    /// The answer to Copilot CLI's question on stdin; `None` leaves the question to the user.
    pub fn answer(&self, stdin: &str) -> Option<String> {
        let asked: Value = serde_json::from_str(stdin).ok()?;
        let tool = asked.get("toolName")?.as_str()?;
        let may_run = match tool {
            "bash" | "powershell" => {
                asked.pointer("/toolInput/command").and_then(Value::as_str) == Some(self.wait)
            }
            _ => {
                let ours = tool.strip_prefix(SERVER).and_then(|rest| rest.strip_prefix('/'));
                ours.is_some_and(|tool| {
                    READING_TOOLS.contains(&tool)
                        || CONTEXT_READING_TOOLS.contains(&tool)
                        || DELEGATE_READING_TOOLS.contains(&tool)
                        || (self.answers && ANSWERING_TOOLS.contains(&tool))
                })
            }
        };
        may_run.then(|| json!({"behavior": "allow"}).to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: &str = "/opt/entraclaw-wait --consumer copilot-cli";

    fn says(tool: &str, input: &Value) -> Option<String> {
        let stdin = json!({"hookName": APPROVAL_EVENT, "toolName": tool, "toolInput": input});
        Approval { wait: WAIT, answers: false }.answer(&stdin.to_string())
    }

    #[test]
    fn answers_run_unasked_where_that_was_chosen_and_nothing_more_does() {
        let asked = |tool: &str, answers| {
            let stdin = json!({"toolName": format!("entraclaw/{tool}"), "toolInput": {}});
            Approval { wait: WAIT, answers }.answer(&stdin.to_string()).is_some()
        };
        for tool in ANSWERING_TOOLS {
            assert!(asked(tool, true) && !asked(tool, false), "{tool}");
        }
        for tool in ["create_chat", "watch_chat", "edit_message", "react", "download_attachment", "send_"] {
            assert!(!asked(tool, true), "{tool}");
        }
    }

    #[test]
    fn waiting_and_reading_run_unasked_and_nothing_else_does() {
        let yes = Some("{\"behavior\":\"allow\"}".to_owned());
        assert_eq!(says("bash", &json!({"command": WAIT})), yes);
        assert_eq!(says("entraclaw/inbox_pull", &json!({})), yes);
        let commands = [
            "/opt/entraclaw allow mallory@contoso.com".to_owned(),
            "/opt/entraclaw-wait".to_owned(),
            "entraclaw-wait --consumer copilot-cli".to_owned(),
            format!("{WAIT}; rm -rf ~"),
            format!("{WAIT}\nid"),
            format!("{WAIT} && /opt/entraclaw pair 123"),
            format!("{WAIT} > ~/.bashrc"),
            format!("PATH=. {WAIT}"),
        ];
        for command in commands {
            assert_eq!(says("bash", &json!({"command": command})), None, "{command}");
        }
        assert_eq!(says("entraclaw/read_context", &json!({})), yes);
        assert_eq!(says("entraclaw/poll_task", &json!({})), yes);
        for tool in [
            "write",
            "entraclaw/",
            "entraclaw/append_context",
            "entraclaw/chat",
            "entraclaw/cancel",
            "entraclaw/init_context",
            "entraclaw/send_teams_message",
            "entraclawx/inbox_pull",
            "other/inbox_pull",
            WAIT,
        ] {
            assert_eq!(says(tool, &json!({"command": WAIT})), None, "{tool}");
        }
        for text in ["", "{}", "[]", "null", "{\"toolName\":7}", "{\"toolName\":\"bash\"}"] {
            assert_eq!(Approval { wait: WAIT, answers: true }.answer(text), None, "{text}");
        }
    }
}
