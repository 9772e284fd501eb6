//! What a host is known to do with each broken rule of a conversation: its profile's facts about faults, laid beside
//! the findings of the validator.

use schemas::WireError;

/// What is known of one finding on one host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Known {
    /// A fact says that nothing is lost by it.
    Harmless,
    /// A fact says what it costs, and the fake host behaves so.
    Costs,
    /// No fact tells.
    Not,
}

/// A finding of the validator, or a fault that only the host sees.
#[derive(Debug, Clone)]
pub(crate) struct Blame {
    pub(crate) rule: &'static str,
    pub(crate) message: String,
    /// An excerpt of the line.
    pub(crate) line: String,
    path: String,
    /// The line, by its number in the conversation.
    pub(crate) place: usize,
    known: Option<Known>,
    /// The fact that is not known.
    pub(crate) missing: Option<&'static str>,
}

/// All findings of one conversation.
#[derive(Debug, Default)]
pub(crate) struct Blames {
    all: Vec<Blame>,
    lines: usize,
    costs: bool,
}

/// Most findings that are kept.
const BLAMES_MAX: usize = 1_000;

impl Blames {
    /// The next line of the server comes; the facts that follow are about it.
    pub(crate) fn next_line(&mut self) {
        self.lines += 1;
    }

    /// The lines that came until now.
    pub(crate) fn lines(&self) -> usize {
        self.lines
    }

    /// A finding about the current line.
    pub(crate) fn found(&mut self, error: &WireError, line: &str) {
        self.push(error.rule, error.message.clone(), (line, &error.path), None);
    }

    /// The host has met a fault in the current line.
    pub(crate) fn met(&mut self, fact: &'static str, known: bool, harmless: bool) {
        let state = match (known, harmless) {
            (false, _) => Known::Not,
            (true, true) => Known::Harmless,
            (true, false) => Known::Costs,
        };
        self.costs |= state == Known::Costs;
        let mut covered = false;
        for one in self.all.iter_mut().filter(|one| one.place == self.lines) {
            if covers(fact, one.rule, &one.path) {
                covered = true;
                one.known = one.known.max(Some(state));
                if !known {
                    one.missing = Some(fact);
                }
            }
        }
        // The protocol allows most of what a tool may declare, so only a broken rule counts there.
        if !known && !covered && !fact.starts_with("schemas.") {
            let message = "the host meets what it was never seen to meet".to_owned();
            self.push(fact, message, ("", ""), Some(fact));
        }
    }

    fn push(
        &mut self,
        rule: &'static str,
        message: String,
        (line, path): (&str, &str),
        missing: Option<&'static str>,
    ) {
        if self.all.len() < BLAMES_MAX {
            let known = missing.map(|_| Known::Not);
            let (line, path) = (line.to_owned(), path.to_owned());
            self.all.push(Blame { rule, message, line, path, place: self.lines, known, missing });
        }
    }

    /// Whether the host met a fault of which a fact says what it costs.
    pub(crate) fn cost_something(&self) -> bool {
        self.costs
    }

    /// Every finding with what is known of it, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Blame, Known)> {
        self.all.iter().map(|one| (one, one.known.unwrap_or(Known::Not)))
    }
}

/// Whether a fact is about a finding in the same line.
fn covers(fact: &str, rule: &str, path: &str) -> bool {
    let within = |roots: &[&str]| {
        roots
            .iter()
            .any(|root| path.strip_prefix(root).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    };
    match fact {
        // The whole line is no message of a server.
        "faults.noise" | "faults.blank_lines" | "faults.foreign_json" | "faults.foreign_answers" => true,
        "faults.byte_order_mark" => rule == "byte-order-mark",
        "faults.invalid_utf8" => rule == "not-utf8",
        "faults.batches" => matches!(rule, "batch" | "empty-batch"),
        "faults.string_ids" | "faults.float_ids" => rule == "no-such-request" || within(&["/id"]),
        "faults.wrong_jsonrpc" => path.is_empty() && rule == "schema" || within(&["/jsonrpc"]),
        "faults.null_error" | "faults.result_and_error" => rule == "mixed-envelope" || within(&["/error"]),
        "requests.roots" | "requests.sampling" | "requests.elicitation" | "faults.undeclared_logs" => {
            rule == "undeclared-capability" && path == "/method"
        }
        "faults.malformed_error" => within(&["/error"]),
        "faults.bare_result" => within(&["/result"]),
        "faults.no_capabilities" | "faults.null_capability" => {
            path == "/result" || within(&["/result/capabilities"])
        }
        "faults.no_items" => {
            path == "/result" || within(&["/result/tools", "/result/prompts", "/result/resources"])
        }
        "faults.null_cursor" | "faults.wrong_cursor" => within(&["/result/nextCursor"]),
        "faults.malformed_content" | "faults.null_in_block" | "texts.content_required" => {
            path == "/result" || within(&["/result/content"])
        }
        "faults.wrong_is_error" | "faults.null_in_result" | "faults.structured_not_object" => {
            path == "/result" || within(&["/result/isError", "/result/structuredContent"])
        }
        "schemas.server_info" => path == "/result" || within(&["/result/serverInfo"]),
        _ => fact.starts_with("schemas.") && within(&["/result/tools"]),
    }
}
