//! The content of the probe: lists in pages, a resource, a prompt, and the effect of each tool call. It never
//! decides what an answer says about the host.

use serde_json::{Value, json};

use super::opening::Opening;
use super::tools;
use super::tracer::{Due, Tracer};

/// Duration of the two calls of a pair, in milliseconds. A host that runs calls in parallel has sent both by
/// then.
const PAIR_MS: u64 = 1_500;
/// Delay of a list change after the answer to its call, in milliseconds.
const CHANGE_MS: u64 = 3_000;
/// Time between two changes of one list, in milliseconds.
const TWICE_MS: u64 = 20;
/// Duration of the call that the user interrupts, in milliseconds.
const INTERRUPT_MS: u64 = 600_000;
/// Longest result, in characters.
const CHARACTERS_MAX: u64 = 2_000_000;
/// Longest call, in milliseconds: a day.
const CALL_MS_MAX: u64 = 86_400_000;

/// The only resource.
pub(super) const RESOURCE: &str = "probe://word";

impl Tracer {
    /// The answer to a list, a read or a prompt, and whether it is the first page of a list; `None` for
    /// another method.
    pub(super) fn listed(&self, method: &str, params: &Value) -> Option<(Value, bool)> {
        let cursor = params.get("cursor").and_then(Value::as_str);
        let first = cursor.is_none();
        let result = match method {
            "tools/list" => {
                let page_tools =
                    if self.opening == Opening::OnePage { usize::MAX } else { tools::PAGE_TOOLS };
                let (tools, next) = tools::page(cursor, page_tools, self.grown)?;
                let mut result = json!({"tools": tools});
                if let Some(next) = next {
                    result["nextCursor"] = json!(next);
                }
                result
            }
            "prompts/list" => json!({"prompts": [{"name": "greet", "description": "Greets someone.",
                "arguments": [{"name": "who", "description": "Whom to greet.", "required": true}]}]}),
            "resources/list" => {
                json!({"resources": [{"uri": RESOURCE, "name": "word", "mimeType": "text/plain"}]})
            }
            "resources/templates/list" => {
                json!({"resourceTemplates": [{"uriTemplate": "probe://word/{number}", "name": "numbered"}]})
            }
            "resources/read" => {
                let contents = json!([{"uri": RESOURCE, "mimeType": "text/plain", "text": "MARK-resource"}]);
                return Some((json!({"contents": contents}), false));
            }
            "prompts/get" => {
                let content = json!({"type": "text", "text": "MARK-prompt"});
                return Some((json!({"messages": [{"role": "user", "content": content}]}), false));
            }
            _ => return None,
        };
        Some((result, first))
    }

    pub(super) fn call(&mut self, id: &Value, params: &Value) {
        let arguments = &params["arguments"];
        let word = |name: &str| arguments.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let seconds = |name: &str| arguments.get(name).and_then(Value::as_f64).map_or(0, milliseconds);
        match params["name"].as_str().unwrap_or_default() {
            "begin" => {
                let era = if self.modern { "modern" } else { "legacy" };
                let text =
                    format!("The era is {era}, the opening {}.\n\n{}", self.opening, super::runbook::STEPS);
                self.text(id, &text);
            }
            "read_a" | "read_b" | "write_a" | "write_b" => self.text_after(id, PAIR_MS, "done"),
            "structured" => {
                let content = json!([{"type": "text", "text": "MARK-content"}]);
                self.answer(
                    id,
                    json!({"content": content, "structuredContent": {"word": "MARK-structured"}}),
                );
            }
            "structured_alone" => {
                self.answer(id, json!({"content": [], "structuredContent": {"word": "MARK-alone"}}));
            }
            "notify" => {
                self.fire_all();
                self.text_after(id, PAIR_MS, "sent");
            }
            "heard" | "note" | "answer" => self.text(id, "noted"),
            "ask" => self.ask(id, &word("what")),
            "change" => self.change_later(id, &word("what")),
            "stray" => self.stray(id),
            "long_call" => {
                self.progress(id, &params["_meta"]["progressToken"], seconds("progress_every_s"));
                self.text_after(id, seconds("seconds"), "done");
            }
            "size" => {
                let wanted = arguments.get("characters").and_then(Value::as_u64).unwrap_or(0);
                self.text(id, &sized(wanted));
            }
            "interrupt_me" => self.text_after(id, INTERRUPT_MS, "the call was not interrupted"),
            "exit" => {
                let code = arguments.get("code").and_then(Value::as_i64).unwrap_or(0);
                self.exit(i32::try_from(code.clamp(0, 255)).unwrap_or(0));
            }
            "hold" => {}
            name if name.starts_with("grown_") => self.text(id, "it does nothing"),
            name => self.refuse(id, -32602, &format!("no tool {name}; list the tools again")),
        }
    }

    fn text_after(&mut self, id: &Value, wait_ms: u64, text: &str) {
        let result = json!({"content": [{"type": "text", "text": text}]});
        self.after(wait_ms, Due::Answer(id.clone(), result));
    }

    fn progress(&mut self, id: &Value, token: &Value, every_ms: u64) {
        if every_ms > 0 && !token.is_null() {
            let due = Due::Progress { id: id.clone(), token: token.clone(), count: 1, every_ms };
            self.after(every_ms, due);
        }
    }

    fn change_later(&mut self, id: &Value, what: &str) {
        let what = match what {
            "tools" => "tools",
            "prompts" | "unchanged" => "prompts",
            "resources" => "resources",
            "tools_twice" => {
                self.after(CHANGE_MS + TWICE_MS, Due::Change("tools"));
                "tools"
            }
            other => {
                return self.refuse(
                    id,
                    -32602,
                    &format!(
                        "no list `{other}`; there are tools, prompts, resources, tools_twice and unchanged"
                    ),
                );
            }
        };
        self.after(CHANGE_MS, Due::Change(what));
        self.text(id, "in three seconds; end your turn now");
    }

    /// Changes a list, and tells the host as its era allows.
    pub(super) fn change(&mut self, what: &'static str) {
        if what == "tools" {
            self.grown += 1;
        }
        let method = format!("notifications/{what}/list_changed");
        match (&self.stream, self.modern) {
            (Some(stream), true) => {
                let meta = json!({"_meta": {super::tracer::META_STREAM: stream}});
                self.notify(&method, Some(meta));
            }
            // That era has no way to tell a host without a stream.
            (None, true) => {}
            (_, false) => self.notify(&method, None),
        }
    }

    /// Whether the server declared that it reports changes.
    pub(super) fn is_quiet(&self) -> bool {
        matches!(self.opening, Opening::Quiet | Opening::NoCapabilities)
    }
}

/// A text of this length, or the length of its last word if that is longer.
fn sized(characters: u64) -> String {
    let last = format!(" MARK-end-{characters}");
    let length = usize::try_from(characters.min(CHARACTERS_MAX)).unwrap_or(0);
    let filler = "filler ".chars().cycle().take(length.saturating_sub(last.len()));
    filler.chain(last.chars()).collect()
}

/// Seconds from a model, as milliseconds within bounds.
fn milliseconds(seconds: f64) -> u64 {
    let wait = std::time::Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default();
    u64::try_from(wait.as_millis()).unwrap_or(CALL_MS_MAX).min(CALL_MS_MAX)
}
