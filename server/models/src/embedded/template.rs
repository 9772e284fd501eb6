//! ChatML, the template of SmolLM2 and others: each turn between `<|im_start|>ROLE` and `<|im_end|>`.

use std::fmt::Write as _;

use serde_json::json;

use crate::question::{Question, Role, Turn};

/// What SmolLM2's own template says where no rules are given.
const RULES: &str = "You are a helpful AI assistant named SmolLM, trained by Hugging Face";

/// The question up to where the model's answer begins; what it has already said is not part of it.
pub(super) fn render(question: &Question) -> String {
    let mut text = String::new();
    let rules = question.turns.first().filter(|turn| turn.role == Role::System);
    let _ = write!(text, "<|im_start|>system\n{}", rules.map_or(RULES, |turn| &turn.text));
    if !question.tools.is_empty() {
        text.push_str("\nTo use a tool, write {\"name\": NAME, \"arguments\": {...}}. The tools:");
        for tool in &question.tools {
            let one =
                json!({"name": tool.name, "description": tool.description, "parameters": tool.parameters});
            let _ = write!(text, "\n{one}");
        }
    }
    text.push_str("<|im_end|>\n");
    for turn in question.turns.iter().skip(usize::from(rules.is_some())) {
        let _ = writeln!(text, "<|im_start|>{}\n{}<|im_end|>", role(turn), words(turn));
    }
    text.push_str("<|im_start|>assistant\n");
    text
}

fn role(turn: &Turn) -> &'static str {
    match turn.role {
        Role::System => "system",
        Role::Assistant => "assistant",
        Role::User | Role::Tool => "user",
    }
}

fn words(turn: &Turn) -> String {
    let mut words =
        if turn.role == Role::Tool { format!("Result: {}", turn.text) } else { turn.text.clone() };
    for tool in &turn.tool_requests {
        let _ = write!(words, "{}", json!({"name": tool.name, "arguments": tool.arguments}));
    }
    words
}
