//! The table of hosts' hooks: when each runs, and which answer reaches the model. A row that was not observed
//! must say so, and a version that drops an answer must not be in it.

/// When a hook runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// A session begins or is resumed.
    SessionStart,
    /// The person has typed a prompt, or a background task has ended.
    Prompt,
    /// A tool has returned its result.
    AfterTool,
    /// The model is about to end its turn.
    TurnEnd,
}

/// The form of a hook's answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `{"decision":"block","reason":…}`: the model gets another turn.
    Block,
    /// `{"decision":"deny","reason":…}`: the model gets another turn.
    Deny,
    /// `{"additionalContext":…}`.
    Context,
    /// `{"hookSpecificOutput":{"hookEventName":…,"additionalContext":…}}`.
    SpecificContext,
}

/// One event of one family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HookRow {
    /// The family, as [`entraclaw_mcp::hosts::HOSTS`] names it.
    pub family: &'static str,
    /// The event, as the host names it.
    pub event: &'static str,
    /// The moment at which the hook runs.
    pub moment: Moment,
    /// The form of the answer.
    pub form: Form,
    /// A better form, and the first version that knows it; used when a session gives its version.
    pub newer_form: Option<([u64; 3], Form)>,
    /// The first version that passes the answer to its model; `None` when every version with this hook does.
    pub since: Option<[u64; 3]>,
    /// The source of this knowledge.
    pub source: &'static str,
}

const fn row(
    family: &'static str,
    event: &'static str,
    moment: Moment,
    form: Form,
    since: Option<[u64; 3]>,
    source: &'static str,
) -> HookRow {
    HookRow { family, event, moment, form, newer_form: None, since, source }
}

/// The hooks that this program answers.
pub const HOOKS: &[HookRow] = {
    use Form::{Block, Context, Deny, SpecificContext};
    use Moment::{AfterTool, Prompt, SessionStart, TurnEnd};
    const CLAUDE: &str = "claude-code";
    const COPILOT: &str = "copilot-cli";
    const CODEX: &str = "codex";
    const GEMINI: &str = "gemini-cli";
    const QWEN: &str = "qwen-code";
    const SEEN_CLAUDE: &str = "observed on 2.0.73, 2.1.148 and 2.1.330";
    /// The oldest version that was tested.
    const OLDEST_CLAUDE: Option<[u64; 3]> = Some([2, 0, 73]);
    const SEEN_NOTIFICATION: &str = "changelog; observed on 1.0.24 and later";
    const SEEN_AFTER_TOOL: &str = "changelog; observed on 1.0.50, not on 1.0.24";
    const SEEN_PROMPT: &str = "changelog; observed on 1.0.83, not on 1.0.50";
    const SEEN_CODEX: &str = "observed on 0.169.0";
    const SEEN_GEMINI: &str = "observed on 0.61.0";
    const SEEN_QWEN: &str = "observed on 0.24.4";
    &[
        HookRow {
            // The host shows a block to the person as an error, and from 2.1.330 on to the model twice in one
            // request.
            newer_form: Some(([2, 1, 163], SpecificContext)),
            ..row(
                CLAUDE,
                "Stop",
                TurnEnd,
                Block,
                None,
                "observed on 2.0.73 and up to 2.1.162, which refuse the newer form, and on 2.1.163, 2.1.200, 2.1.248 and 2.1.330",
            )
        },
        row(CLAUDE, "SessionStart", SessionStart, SpecificContext, OLDEST_CLAUDE, SEEN_CLAUDE),
        row(CLAUDE, "UserPromptSubmit", Prompt, SpecificContext, OLDEST_CLAUDE, SEEN_CLAUDE),
        row(CLAUDE, "PostToolUse", AfterTool, SpecificContext, OLDEST_CLAUDE, SEEN_CLAUDE),
        row(COPILOT, "agentStop", TurnEnd, Block, None, "observed on 1.0.11 and later"),
        row(COPILOT, "sessionStart", SessionStart, Context, None, "observed on 1.0.11 and later"),
        row(COPILOT, "notification", Prompt, Context, Some([1, 0, 18]), SEEN_NOTIFICATION),
        row(COPILOT, "postToolUse", AfterTool, Context, Some([1, 0, 49]), SEEN_AFTER_TOOL),
        row(COPILOT, "userPromptSubmitted", Prompt, Context, Some([1, 0, 65]), SEEN_PROMPT),
        row(CODEX, "Stop", TurnEnd, Block, None, SEEN_CODEX),
        row(CODEX, "SessionStart", SessionStart, SpecificContext, None, SEEN_CODEX),
        row(CODEX, "UserPromptSubmit", Prompt, SpecificContext, None, SEEN_CODEX),
        row(CODEX, "PostToolUse", AfterTool, SpecificContext, None, SEEN_CODEX),
        row(GEMINI, "AfterAgent", TurnEnd, Deny, None, SEEN_GEMINI),
        row(GEMINI, "SessionStart", SessionStart, SpecificContext, None, SEEN_GEMINI),
        row(GEMINI, "BeforeAgent", Prompt, SpecificContext, None, SEEN_GEMINI),
        row(GEMINI, "AfterTool", AfterTool, SpecificContext, None, SEEN_GEMINI),
        row(QWEN, "Stop", TurnEnd, Block, None, SEEN_QWEN),
        row(QWEN, "SessionStart", SessionStart, SpecificContext, None, SEEN_QWEN),
        row(QWEN, "UserPromptSubmit", Prompt, SpecificContext, None, SEEN_QWEN),
        row(QWEN, "PostToolUse", AfterTool, SpecificContext, None, SEEN_QWEN),
    ]
};

impl HookRow {
    /// The form for a version; the oldest form when the version is not known.
    pub fn form_of(&self, version: Option<[u64; 3]>) -> Form {
        match self.newer_form {
            Some((since, form)) if version >= Some(since) => form,
            _ => self.form,
        }
    }
}

pub(super) fn find(family: &str, event: &str) -> Option<&'static HookRow> {
    HOOKS.iter().find(|row| row.family == family && row.event == event)
}

/// The families that have hooks, in order.
pub(super) fn families() -> Vec<&'static str> {
    let mut families: Vec<&str> = HOOKS.iter().map(|row| row.family).collect();
    families.dedup();
    families
}
