//! What the engine holds every task to.

use crate::limits::RATE_LIMIT;

/// The bounds of the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Tasks a minute that a host may hand over.
    pub rate_limit: u32,
    /// Most tasks that have not ended.
    pub tasks_max: usize,
    /// Longest message, in bytes.
    pub message_bytes_max: usize,
    /// Most bytes of the files that come along with a message.
    pub context_bytes_max: usize,
    /// Most questions to the model for one task; the last one is asked without tools.
    pub steps_max: u32,
    /// Most tools that one answer may ask for.
    pub calls_per_step_max: usize,
    /// Most tool calls of a task that are not of the right form.
    pub malformed_max: u32,
    /// Longest answer of the model in one step, in tokens.
    pub answer_tokens_max: u32,
    /// Longest answer of the model in one step, in bytes; beyond it the stream is closed.
    pub step_bytes_max: usize,
    /// Longest result of a tool that the model is shown, in bytes.
    pub result_bytes_max: usize,
    /// Longest work on one task, without pauses.
    pub task_ms_max: u64,
    /// How long the model may send nothing.
    pub stall_ms_max: u64,
    /// How often a step is asked again after a stalled or unreadable answer.
    pub tries_max: u32,
    /// The first pause after the model server was not reached; each next one is twice as long.
    pub retry_ms_first: u64,
    /// The longest of these pauses.
    pub retry_ms_max: u64,
    /// How long the server may take to hold a step while a person waits.
    pub hold_ms_max: u64,
    /// How long the server may take to bring a step back.
    pub bring_back_ms_max: u64,
    /// Longest run of one tool.
    pub tool_ms_max: u64,
    /// How long it may take to keep what a task has done.
    pub report_ms_max: u64,
    /// How long a tool may take to end that was stopped.
    pub tool_stop_ms_max: u64,
    /// How long a person may take to approve a tool call; then it is refused.
    pub approval_ms_max: u64,
    /// How often the text of a step is written while it grows.
    pub partial_every_ms: u64,
    /// How long the facts of the model hold.
    pub facts_ms_max: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Self {
            rate_limit: RATE_LIMIT,
            tasks_max: 200,
            message_bytes_max: 256 * 1024,
            context_bytes_max: 1024 * 1024,
            steps_max: 40,
            calls_per_step_max: 16,
            malformed_max: 8,
            answer_tokens_max: 4_096,
            step_bytes_max: 256 * 1024,
            result_bytes_max: 64 * 1024,
            task_ms_max: 30 * 60_000,
            stall_ms_max: 120_000,
            tries_max: 3,
            retry_ms_first: 500,
            retry_ms_max: 30_000,
            hold_ms_max: 80,
            bring_back_ms_max: 10_000,
            tool_ms_max: 10 * 60_000,
            report_ms_max: 60_000,
            tool_stop_ms_max: 5_000,
            approval_ms_max: 10 * 60_000,
            partial_every_ms: 500,
            facts_ms_max: 30_000,
        }
    }
}
