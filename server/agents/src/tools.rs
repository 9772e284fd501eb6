//! The tools as the model sees them: names, descriptions, schemas.
//! It must never take more than four kilobytes for the four tools of the contract: every byte is context of the model.

use std::sync::Arc;

use entraclaw_mcp::message::Object;
use rmcp::model::{MetaObject, Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::permissions::Permissions;

/// The name of the set.
pub const SET: &str = "ask";

/// The tools, for what `ask` may permit at most and whether this server offers the inbox.
pub(crate) fn tools(most: Permissions, has_inbox: bool) -> Vec<Tool> {
    let late = if has_inbox {
        "An answer that takes longer than this call may comes to your inbox by itself, and you get a ticket."
    } else {
        "For an answer that takes longer than this call may you get a ticket for ask_status."
    };
    let may = match most {
        Permissions::ReadOnly => "It can read this project's files and change nothing.",
        Permissions::Workspace => "It can read and change this project's files, and nothing outside them.",
        Permissions::All => {
            "It runs with all permissions of your user: it can change files and run commands. `permissions` narrows that."
        }
    };
    vec![
        tool(
            "ask",
            &format!(
                "Ask another coding agent, and get its answer. GitHub Copilot CLI, or another one by `agent`; the tool agents \
                 lists them. It works in this project's folder and knows nothing of your conversation. {may} {late}"
            ),
            json!({
                "prompt": {"type": "string", "description": "The question or task."},
                "model": model(),
                "addDir": add_dir(),
                "agent": {"type": "string", "description": "Default: copilot."},
                "sessionId": {"type": "string", "description": "A session of an answer, to go on with it."},
                "permissions": {"type": "string", "enum": ["read-only", "workspace", "all"]}
            }),
            &["prompt"],
            Nature { reads_only: most == Permissions::ReadOnly, is_open: true },
        ),
        tool(
            "suggest",
            "Get a command that does a task, from another coding agent. It only reads, and does not run the command.",
            json!({
                "prompt": {"type": "string", "description": "What the command is to do."},
                "target": {"type": "string", "enum": ["shell", "git", "gh"], "description": "The kind of command."},
                "model": model(),
                "addDir": add_dir(),
                "agent": {"type": "string"}
            }),
            &["prompt"],
            Nature { reads_only: true, is_open: true },
        ),
        tool(
            "explain",
            "Get an explanation of a shell command from another coding agent. It only reads, and does not run the command.",
            json!({
                "command": {"type": "string", "description": "The command."},
                "model": model(),
                "addDir": add_dir(),
                "agent": {"type": "string"}
            }),
            &["command"],
            Nature { reads_only: true, is_open: true },
        ),
        tool("ping", "Check that this server answers. It starts no agent.", json!({}), &[], LOCAL),
        tool(
            "ask_status",
            "See how far a question with a ticket is, or read its answer, also the rest of a long one.",
            json!({
                "ticket": {"type": "string"},
                "offset": {"type": "integer", "minimum": 0, "description": "The byte to read on from."}
            }),
            &["ticket"],
            LOCAL,
        ),
        tool(
            "ask_cancel",
            "Stop the agent that works on a question with a ticket.",
            json!({"ticket": {"type": "string"}}),
            &["ticket"],
            Nature { reads_only: false, is_open: false },
        ),
        tool(
            "list_sessions",
            "List the sessions of agents that were asked here, the newest first; pass a sessionId to ask to go on.",
            json!({"limit": {"type": "integer", "minimum": 1, "maximum": 100, "description": "Default: 20."}}),
            &[],
            LOCAL,
        ),
        tool(
            "agents",
            "List the coding agents that can be asked: which are installed, their version, and whether they are signed in.",
            json!({}),
            &[],
            LOCAL,
        ),
    ]
}

fn model() -> Value {
    json!({"type": "string", "description": "Passed on as it is."})
}

fn add_dir() -> Value {
    json!({"type": "string", "description": "The absolute path of one more folder that it may use."})
}

/// What a host may tell its user of a tool.
#[derive(Clone, Copy)]
struct Nature {
    reads_only: bool,
    is_open: bool,
}

const LOCAL: Nature = Nature { reads_only: true, is_open: false };

fn tool(name: &'static str, description: &str, properties: Value, required: &[&str], nature: Nature) -> Tool {
    let mut schema = Object::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties);
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    schema.insert("additionalProperties".to_owned(), json!(false));
    let annotations = ToolAnnotations::default()
        .read_only(nature.reads_only)
        .destructive(!nature.reads_only)
        .open_world(nature.is_open);
    let tool = Tool::new(name, description.to_owned(), Arc::new(schema)).with_annotations(annotations);
    if name != "ask" {
        return tool;
    }
    // Claude Code hides tools without this mark until the model searches for them.
    let mut meta = MetaObject::new();
    meta.insert("anthropic/alwaysLoad".to_owned(), true.into());
    tool.with_meta(meta)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(tools: &[Tool]) -> usize {
        serde_json::to_string(tools).unwrap().len()
    }

    #[test]
    fn the_four_tools_of_the_contract_take_less_than_four_kilobytes() {
        for most in Permissions::ALL {
            for has_inbox in [false, true] {
                let all = tools(most, has_inbox);
                let names: Vec<&str> = all.iter().map(|tool| &*tool.name).collect();
                assert_eq!(names[..4], ["ask", "suggest", "explain", "ping"]);
                assert!(bytes(&all[..4]) <= 4_000, "{}", bytes(&all[..4]));
                assert!(bytes(&all) <= 6_000, "{}", bytes(&all));
            }
        }
    }

    #[test]
    fn the_schemas_are_those_of_the_contract() {
        let all = tools(Permissions::All, true);
        let schema = |name: &str| {
            let tool = all.iter().find(|tool| tool.name == name).unwrap();
            serde_json::to_value(&*tool.input_schema).unwrap()
        };
        for (name, required, known) in [
            ("ask", json!(["prompt"]), &["prompt", "model", "addDir"][..]),
            ("suggest", json!(["prompt"]), &["prompt", "target", "model", "addDir"]),
            ("explain", json!(["command"]), &["command", "model", "addDir"]),
        ] {
            let schema = schema(name);
            assert_eq!(schema["required"], required, "{name}");
            for argument in known {
                assert_eq!(schema["properties"][argument]["type"], "string", "{name}.{argument}");
            }
        }
        assert_eq!(schema("suggest")["properties"]["target"]["enum"], json!(["shell", "git", "gh"]));
        assert_eq!(schema("ping")["properties"], json!({}));
    }

    #[test]
    fn what_an_agent_may_do_is_said_plainly() {
        let says = |most| tools(most, true)[0].description.clone().unwrap_or_default().into_owned();
        assert!(says(Permissions::All).contains("run commands"));
        assert!(says(Permissions::Workspace).contains("nothing outside"));
        assert!(says(Permissions::ReadOnly).contains("change nothing"));
    }
}
