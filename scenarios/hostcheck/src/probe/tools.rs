//! The tools of the probe, in the order in which a model should call them. Each description says what to do.
//! This module holds texts and schemas only.

use serde_json::{Value, json};

/// Number of tools on one page of the list, so that a host has pages to follow.
pub const PAGE_TOOLS: usize = 7;

/// One tool.
#[derive(Debug, Clone, Copy)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// What to do, when, and what happens then.
    pub description: &'static str,
    /// Its arguments: name, JSON type, description.
    pub arguments: &'static [(&'static str, &'static str, &'static str)],
    /// Whether it declares `readOnlyHint: true`.
    pub read_only: bool,
}

macro_rules! tools {
    ($( $name:literal $reads:ident $arguments:tt $description:literal; )*) => {
        /// The tools, in order.
        pub const TOOLS: &[Tool] = &[$( Tool {
            name: $name,
            description: $description,
            arguments: &$arguments,
            read_only: tools!(@ $reads),
        }, )*];
    };
    (@ reads) => { true };
    (@ writes) => { false };
}

// A row: the name, whether it only reads, its arguments, and its description.
tools! {
    "begin" reads [] "Step 1. Call this first. It answers with the whole runbook; follow it step by step.";
    "read_a" reads [] "Step 2. Call read_a and read_b together, in one and the same step, not one after the other.";
    "read_b" reads [] "Step 2. See read_a: both in the same step.";
    "write_a" writes [] "Step 3. Call write_a and write_b together, in one and the same step.";
    "write_b" writes [] "Step 3. See write_a: both in the same step.";
    "structured" reads []
        "Step 4. Its result has a text and a structure, each with a word of its own that begins with MARK-.";
    "structured_alone" reads [] "Step 5. Its result has a structure only.";
    "notify" reads []
        "Step 6. Sends one notification of each kind, each with a word of its own that begins with MARK-, then answers.";
    "heard" reads [("words", "array", "every word beginning with MARK- that you have seen anywhere in this conversation so far")]
        "Steps 7 and 13. Report honestly which words beginning with MARK- you have seen so far, in any place: in results, in instructions, in messages that came by themselves. An empty list is a good answer.";
    "ask" reads [("what", "string", "ping, roots, elicitation, elicitation_url, sampling or unknown")]
        "Step 8. Sends the host one request and waits up to 45 s for its answer. Call it once with each of: ping, roots, elicitation, elicitation_url, sampling, unknown. What the host did not declare is not asked. If a form opens, the user fills it in.";
    "change" reads [("what", "string", "tools, prompts, resources, tools_twice or unchanged")]
        "Step 9. Three seconds after its answer a list changes and the host is told. Call it once with each of: tools, prompts, resources, tools_twice, unchanged. After each, end your turn at once; the user waits ten seconds and then says \"go on\".";
    "stray" reads []
        "Step 10, only where `begin` says that the era is modern. Sends a notification that the stream of changes did not ask for.";
    "long_call" reads [("seconds", "number", "how long the call takes"), ("progress_every_s", "number", "seconds between progress notifications; 0 for none")]
        "Step 11. Takes so many seconds. Call it with 10, 70, 130 and 200, then with 200 and progress_every_s 5. If you can act before it has answered, call note with what \"long_call still runs\" at once.";
    "size" reads [("characters", "number", "how long the result is")]
        "Step 12. Its result is so many characters long and ends with a word that begins with MARK-. Call it with 8000, 20000, 40000, 60000 and 100000. Do not look the rest up elsewhere where it was cut.";
    "note" reads [("what", "string", "what you noticed")]
        "Notes something in the log. Use it whenever something surprising happens.";
    "interrupt_me" reads []
        "Step 14. Takes ten minutes. While it runs the user interrupts it (Esc or Ctrl+C), waits five seconds, and says \"go on\".";
    "answer" reads [("question", "number", "1 to 7"), ("says", "string", "what the user knows")]
        "Step 15. What the user knows of an open question, in their words.";
    "exit" writes [("code", "number", "the exit code")]
        "In a session of its own. The probe's process ends during this call. Then call note once, to see whether the host starts it again.";
    "hold" reads [] "Step 16, the last. Never answers. While it runs the user quits the host in its normal way.";
}

/// One page with this many tools, and the cursor of the next page; `None` for an unknown cursor.
pub fn page(cursor: Option<&str>, page_tools: usize, grown: u32) -> Option<(Vec<Value>, Option<String>)> {
    let pages = TOOLS.len().div_ceil(page_tools);
    let number = match cursor {
        None => 0,
        Some(cursor) => {
            cursor.strip_prefix("page-")?.parse::<usize>().ok().filter(|page| (1..pages).contains(page))?
        }
    };
    let mut tools: Vec<Value> =
        TOOLS.iter().skip(number * page_tools).take(page_tools).copied().map(Tool::to_value).collect();
    let next = (number + 1 < pages).then(|| format!("page-{}", number + 1));
    if next.is_none() {
        let description = "Appeared while the session ran. It does nothing.";
        tools.extend((1..=grown).map(|count| {
            json!({"name": format!("grown_{count}"), "description": description, "inputSchema": {"type": "object"}})
        }));
    }
    Some((tools, next))
}

impl Tool {
    fn to_value(self) -> Value {
        let mut properties = serde_json::Map::new();
        for (name, kind, description) in self.arguments {
            let mut property = json!({"type": kind, "description": description});
            if *kind == "array" {
                property["items"] = json!({"type": "string"});
            }
            properties.insert((*name).to_owned(), property);
        }
        json!({
            "name": self.name,
            "description": self.description,
            "inputSchema": {"type": "object", "properties": properties},
            "annotations": {"readOnlyHint": self.read_only},
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_hold_every_tool_once() {
        let (mut names, mut cursor, mut pages) = (Vec::new(), None, 0);
        loop {
            let (tools, next) = page(cursor.as_deref(), PAGE_TOOLS, 1).unwrap();
            names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
            pages += 1;
            match next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!((names.len(), pages), (TOOLS.len() + 1, 3));
        for wrong in ["page-0", "page-3", "page--1", "x"] {
            assert!(page(Some(wrong), PAGE_TOOLS, 0).is_none(), "{wrong}");
        }
        let (whole, next) = page(None, usize::MAX, 0).unwrap();
        assert_eq!((whole.len(), next), (TOOLS.len(), None));
    }
}
