//! The seven tools, with the schemas of the design document.
//! It must never describe what the engine does not do, nor grow: each byte is in the context of every host.

use std::sync::Arc;

use entraclaw_mcp::message::Object;
use entraclaw_mcp::{Offer, Offers};
use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Value, json};

use crate::engine::Capabilities;
use crate::issue::IssueKind;
use crate::task::Hint;

/// The set of these tools.
pub const SET: &str = "delegate";

/// What in `_meta` of a call names the consumer as which the session that asks reads the inbox.
pub(super) const META_CONSUMER: &str = "entraclaw/consumer";

/// The names of the tools.
pub fn tool_names() -> [&'static str; 7] {
    ["chat", "poll_task", "cancel", "get_history", "get_capabilities", "report_issue", "status"]
}

/// The tools, with what this model has proven to do well.
fn tools(known: &Capabilities) -> Vec<Tool> {
    let hints = Hint::ALL.map(Hint::as_str);
    let kinds = IssueKind::ALL.map(IssueKind::as_str);
    let task_id = |says: &str| json!({"type": "string", "description": says});
    vec![
        tool(
            "chat",
            &format!(
                "Submit a task to Entraclaw, a local AI coding assistant. Use for tasks that don't require frontier-level \
                 reasoning: implementing functions, writing boilerplate, running tests, file operations. Runs locally (free). \
                 Returns immediately with task_id - use poll_task to get results. Conversation is shared with the human user, \
                 who goes first.{}",
                proven(known)
            ),
            json!({
                "message": {"type": "string", "description": "Your message to Entraclaw"},
                "context": {
                    "type": "array",
                    "description": "Optional file contents to include as context (avoids Entraclaw re-reading)",
                    "items": {
                        "type": "object",
                        "properties": {"path": {"type": "string"}, "content": {"type": "string"}}
                    }
                },
                "hint": {
                    "type": "string",
                    "description": "Optional hint about task requirements",
                    "enum": hints
                },
                "wait": {
                    "type": "boolean",
                    "description": "If true, block until completion, as long as you can wait (default: false)",
                    "default": false
                }
            }),
            &["message"],
            false,
        ),
        tool(
            "poll_task",
            "Check the status of a previously submitted task. Returns current status and results if complete.",
            json!({
                "task_id": task_id("Task ID returned from chat"),
                "offset": {"type": "integer", "description": "Where to read on in a long response"}
            }),
            &["task_id"],
            true,
        ),
        tool(
            "cancel",
            "Cancel a queued or in-progress task. Use when requirements change or task is no longer needed.",
            json!({
                "task_id": task_id("Task ID to cancel"),
                "reason": {"type": "string", "description": "Optional reason for cancellation (logged for analysis)"}
            }),
            &["task_id"],
            false,
        ),
        tool(
            "get_history",
            "Get recent conversation history from Entraclaw, including messages from both you and the human user.",
            json!({
                "limit": {"type": "integer", "default": 20},
                "include_tool_results": {"type": "boolean", "default": true}
            }),
            &[],
            true,
        ),
        tool(
            "get_capabilities",
            "Query what models and tools Entraclaw has available. Use to understand what tasks can be delegated effectively.",
            json!({}),
            &[],
            true,
        ),
        tool(
            "report_issue",
            "Report a quality issue with Entraclaw's response. Logged for analysis and model improvement.",
            json!({
                "task_id": {"type": "string"},
                "issue_type": {"type": "string", "enum": kinds},
                "description": {"type": "string"},
                "expected": {"type": "string", "description": "What you expected instead"}
            }),
            &["issue_type", "description"],
            false,
        ),
        tool(
            "status",
            "Check Entraclaw's current status including queue depth, active tasks, and system health.",
            json!({}),
            &[],
            true,
        ),
    ]
}

/// The offers: only the one that hands over a task goes on as one of the protocol.
pub(super) fn offers(known: &Capabilities) -> Offers {
    let offer = |tool: Tool| {
        let may_be_task = tool.name == "chat";
        Offer { may_be_task, may_be_session_task: may_be_task, ..Offer::new(SET, tool) }
    };
    Offers { tools: tools(known).into_iter().map(offer).collect(), ..Offers::default() }
}

/// What this model has proven, in a sentence; empty as long as too little is known.
fn proven(known: &Capabilities) -> String {
    let Some(facts) = known.model.as_ref().filter(|_| !known.strengths.is_empty()) else {
        return String::new();
    };
    let name: String = facts.model.chars().filter(|c| !c.is_control()).take(60).collect();
    format!(" Proven here with {name}: {}.", known.strengths.join(", "))
}

fn tool(
    name: &'static str,
    description: &str,
    properties: Value,
    required: &[&str],
    reads_only: bool,
) -> Tool {
    let mut schema = Object::new();
    schema.insert("type".to_owned(), json!("object"));
    schema.insert("properties".to_owned(), properties);
    if !required.is_empty() {
        schema.insert("required".to_owned(), json!(required));
    }
    // What a task may do is bounded by its sandbox, on this machine.
    let annotations =
        ToolAnnotations::default().read_only(reads_only).destructive(name == "chat").open_world(false);
    Tool::new(name, description.to_owned(), Arc::new(schema)).with_annotations(annotations)
}

#[cfg(test)]
mod tests {
    use entraclaw_models::Facts;

    use super::*;

    fn known() -> Capabilities {
        let model = Some(Facts { model: "m".repeat(500), ..Facts::default() });
        Capabilities {
            model,
            strengths: Hint::ALL.map(|hint| hint.as_str().to_owned()).to_vec(),
            ..Capabilities::default()
        }
    }

    #[test]
    fn the_list_of_tools_takes_less_than_five_kilobytes() {
        for known in [Capabilities::default(), known()] {
            let bytes = serde_json::to_string(&tools(&known)).unwrap().len();
            assert!(bytes <= 5_000, "{bytes}");
        }
    }

    #[test]
    fn the_schemas_are_those_of_the_document() {
        let all = tools(&Capabilities::default());
        let names: Vec<&str> = all.iter().map(|tool| &*tool.name).collect();
        assert_eq!(names, tool_names());
        for (name, required, properties) in [
            ("chat", json!(["message"]), &["message", "context", "hint", "wait"][..]),
            // `offset` is ours: a response may be longer than a host shows.
            ("poll_task", json!(["task_id"]), &["task_id", "offset"]),
            ("cancel", json!(["task_id"]), &["task_id", "reason"]),
            ("get_history", Value::Null, &["limit", "include_tool_results"]),
            ("get_capabilities", Value::Null, &[]),
            (
                "report_issue",
                json!(["issue_type", "description"]),
                &["task_id", "issue_type", "description", "expected"],
            ),
            ("status", Value::Null, &[]),
        ] {
            let tool = all.iter().find(|tool| tool.name == name).unwrap();
            let schema = serde_json::to_value(&*tool.input_schema).unwrap();
            assert_eq!(schema["required"], required, "{name}");
            let found: Vec<&String> = schema["properties"].as_object().unwrap().keys().collect();
            assert_eq!(found, properties, "{name}");
            let hints = tool.annotations.as_ref().unwrap();
            assert_eq!(hints.destructive_hint, Some(name == "chat"), "{name}: its task may change files");
        }
        let chat = serde_json::to_value(&*all[0].input_schema).unwrap();
        let hints =
            json!(["code_generation", "code_review", "refactoring", "testing", "documentation", "general"]);
        assert_eq!(chat["properties"]["hint"]["enum"], hints);
        assert_eq!(chat["properties"]["wait"]["default"], false);
        let report = serde_json::to_value(&*all[5].input_schema).unwrap();
        let kinds = json!(["incorrect", "incomplete", "hallucination", "off_topic", "slow", "other"]);
        assert_eq!(report["properties"]["issue_type"]["enum"], kinds);
    }

    #[test]
    fn what_a_model_has_proven_is_said_and_nothing_before() {
        let says =
            |known: &Capabilities| tools(known)[0].description.clone().unwrap_or_default().into_owned();
        assert!(!says(&Capabilities::default()).contains("Proven"));
        let known = Capabilities { strengths: vec!["testing".to_owned()], ..known() };
        assert!(says(&known).ends_with(": testing."));
    }
}
