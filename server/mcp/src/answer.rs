//! Tool answers on the wire: one block of text, small enough that no host cuts it.
//!
//! It must never send structured content (hosts disagree whether the model sees it or the text), and never cut a
//! text without saying how to get the rest.

use rmcp::model::{CallToolResult, ContentBlock};
use serde::Serialize;
use serde_json::{Value, json};

use crate::era::Era;
use crate::receipt::Receipt;
use crate::task_now::TaskNow;

/// Most bytes of one answer's text. Every observed host shows this much in full, in any script.
pub const ANSWER_BYTES_MAX: usize = 8_000;

/// Bytes kept free for the parts around the messages of an answer.
pub const FRAME_BYTES: usize = 512;

/// A tool's answer before the era's rules are applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    text: String,
    is_error: bool,
    /// The task as which the call goes on, in place of a result.
    task: Option<Value>,
    /// The result of another server of ours, as it is on the wire.
    relayed: Option<Value>,
    pub(crate) receipt: Option<Receipt>,
}

impl Answer {
    /// Compact JSON and a newline; some hosts join blocks without a separator.
    pub fn json(value: &impl Serialize) -> Self {
        match serde_json::to_string(value) {
            Ok(text) => Self { text: text + "\n", is_error: false, task: None, relayed: None, receipt: None },
            Err(error) => Self::error(&format!("the answer could not be written as json: {error}")),
        }
    }

    /// A text for the model. It must fit into [`ANSWER_BYTES_MAX`], and states itself how to get the rest.
    pub fn text(text: &str) -> Self {
        Self { text: format!("{text}\n"), is_error: false, task: None, relayed: None, receipt: None }
    }

    /// An error with one sentence that names what is wrong and how to fix it.
    pub fn error(text: &str) -> Self {
        Self { text: format!("{text}\n"), is_error: true, task: None, relayed: None, receipt: None }
    }

    /// The call goes on as this task, in the form of the era in which the caller has asked for one or declared that it takes one.
    pub fn task_in(era: Era, task: &TaskNow) -> Self {
        match era {
            Era::Modern => Self::task(task.json(era)),
            Era::Legacy => Self::relayed(json!({"task": task.json(era)})),
        }
    }

    /// The call goes on as this task. Only a caller that declared the tasks extension may be answered so.
    pub fn task(task: Value) -> Self {
        Self { text: String::new(), is_error: false, task: Some(task), relayed: None, receipt: None }
    }

    /// The result of another server of ours, which has its form already.
    pub fn relayed(result: Value) -> Self {
        Self { text: String::new(), is_error: false, task: None, relayed: Some(result), receipt: None }
    }

    /// Adds a receipt, which comes back to the provider when the host has read the answer or the answer was retracted.
    #[must_use]
    pub fn with_receipt(mut self, receipt: Receipt) -> Self {
        self.receipt = Some(receipt);
        self
    }

    /// Takes the receipt out, for an answer that is a part of another one.
    pub fn take_receipt(&mut self) -> Option<Receipt> {
        self.receipt.take()
    }

    /// The result as it is on the wire.
    pub fn into_result(self) -> Value {
        if let Some(result) = self.relayed {
            return result;
        }
        if let Some(mut task) = self.task {
            task["resultType"] = "task".into();
            return task;
        }
        let blocks = vec![ContentBlock::text(self.text)];
        let mut result =
            if self.is_error { CallToolResult::error(blocks) } else { CallToolResult::success(blocks) };
        // The era decides about this member, not the type; an absent one means success in every version.
        result.result_type = None;
        if !self.is_error {
            result.is_error = None;
        }
        serde_json::to_value(result).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_one_text_block_that_ends_in_a_newline() {
        let answer = Answer::json(&serde_json::json!({"a": 1})).into_result();
        assert_eq!(answer.to_string(), r#"{"content":[{"type":"text","text":"{\"a\":1}\n"}]}"#);
        let error = Answer::error("no").into_result();
        assert_eq!(error.to_string(), r#"{"content":[{"type":"text","text":"no\n"}],"isError":true}"#);
    }
}
