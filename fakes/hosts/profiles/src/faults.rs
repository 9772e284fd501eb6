//! What a host does with lines and answers that break the protocol, or that hosts read differently. Nothing here
//! acts; a fact that no machine reads must not be declared.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fact::{Evidence, Fact, facts};

/// What happens to a faulty answer, or after a faulty line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnFault {
    /// It counts as if it were right.
    Read,
    /// The line is dropped; what it should answer stays open until its limit.
    Dropped,
    /// What it answers, or what is open at that moment, fails at once: the server is given up, a list brings
    /// nothing, a call ends with an error.
    Fails,
}

/// What a host does with a list whose cursor repeats.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OnRepeat {
    /// It asks no more, and takes the pages that it has.
    Stops,
    /// It asks no more, and the list brings nothing.
    Fails,
    /// It goes on to its highest number of pages.
    GoesOn,
}

/// A value that differs by what the host waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PerStage<T> {
    /// In the handshake, the probe included.
    pub opening: T,
    /// While a list is open.
    pub list: T,
    /// At any later time, such as during a call.
    pub call: T,
}

/// What the host waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The handshake, the probe included.
    Opening,
    /// A list.
    List,
    /// Anything later.
    Call,
}

impl<T: Copy> PerStage<T> {
    /// The value for what the host waits for.
    pub fn at(&self, stage: Stage) -> T {
        match stage {
            Stage::Opening => self.opening,
            Stage::List => self.list,
            Stage::Call => self.call,
        }
    }
}

facts! {
    /// Faulty lines and answers. A profile states only what was tried on its version; see `faults_hold` of the file.
    Faults, FaultsPatch {
        /// A line that is no JSON, such as a banner.
        noise: PerStage<OnFault>,
        /// An empty line, or one of spaces only.
        blank_lines: PerStage<OnFault>,
        /// A line of JSON that is no message of JSON-RPC.
        foreign_json: PerStage<OnFault>,
        /// An answer whose id is null, or belongs to no request.
        foreign_answers: PerStage<OnFault>,
        /// A message after a byte order mark.
        byte_order_mark: PerStage<OnFault>,
        /// A message with bytes in a text that are no UTF-8.
        invalid_utf8: PerStage<OnFault>,
        /// An answer whose id is the request's number as a string.
        string_ids: PerStage<OnFault>,
        /// An answer whose id is the request's number with a fraction of zero, such as `1.0`.
        float_ids: PerStage<OnFault>,
        /// A message without `jsonrpc`, or with another version than `2.0`.
        wrong_jsonrpc: PerStage<OnFault>,
        /// An answer with a member that JSON-RPC does not know.
        extra_members: PerStage<OnFault>,
        /// An array of messages.
        batches: PerStage<OnFault>,
        /// A result beside `error: null`.
        null_error: PerStage<OnFault>,
        /// A result beside an error.
        result_and_error: PerStage<OnFault>,
        /// An error that is no object, or whose code or message is missing or of a wrong type.
        malformed_error: PerStage<OnFault>,
        /// A result that is no object.
        bare_result: PerStage<OnFault>,
        /// A message with two members of one name.
        doubled_members: PerStage<OnFault>,
        /// An object inside a message with two members of one name.
        doubled_inside: PerStage<OnFault>,
        /// A log message of an open session whose server did not declare `logging`.
        undeclared_logs: OnFault,
        /// An answer to `initialize` without `capabilities`.
        no_capabilities: OnFault,
        /// An answer to `initialize` with a capability that is null.
        null_capability: OnFault,
        /// A list without the array of its items.
        no_items: OnFault,
        /// `nextCursor: null`.
        null_cursor: OnFault,
        /// A `nextCursor` that is neither a string nor null.
        wrong_cursor: OnFault,
        /// Whether an empty `nextCursor` makes the host ask for another page.
        empty_cursor_followed: bool,
        /// A `nextCursor` that the list had before.
        repeated_cursor: OnRepeat,
        /// Most pages of one list; none if the host goes on as far as it was tried.
        pages_max: Option<u64>,
        /// A list with more pages than that.
        beyond_pages: OnFault,
        /// A list with two tools of one name.
        doubled_names: OnFault,
        /// A result whose `content` is no array of content blocks.
        malformed_content: OnFault,
        /// A result whose `isError` is neither a boolean nor null.
        wrong_is_error: OnFault,
        /// A result whose `isError` or `structuredContent` is null.
        null_in_result: OnFault,
        /// A content block whose `annotations` are null.
        null_in_block: OnFault,
        /// A result whose `structuredContent` is neither an object nor null.
        structured_not_object: OnFault,
        /// A result without the structured content that the tool's `outputSchema` promises.
        unfilled_output: OnFault,
    }
}
