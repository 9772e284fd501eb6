//! From a script and a command line to acts. It chooses the CLI; each CLI reads its own command line.

use crate::act::{Act, Signal};
use crate::agent::Agent;
use crate::claude_code;
use crate::codex;
use crate::copilot;
use crate::gemini_cli;
use crate::invocation::{Invocation, Outside};
use crate::opencode;
use crate::pen::Pen;
use crate::qwen_code;
use crate::script::Script;

/// What the program does that is started like this.
///
/// The last act is an end, a hang, or [`Act::ReadInput`]: then stdin is to be read to its end, and the plan made again
/// with what came.
pub fn plan(script: &Script, invocation: &Invocation, outside: &dyn Outside) -> Vec<Act> {
    let mut pen = Pen::new(invocation);
    pen.wait(script.start_ms);
    match script.agent {
        Agent::Copilot => copilot::plan(script, invocation, outside, &mut pen),
        Agent::ClaudeCode => claude_code::plan(script, invocation, outside, &mut pen),
        Agent::Codex => codex::plan(script, invocation, outside, &mut pen),
        Agent::GeminiCli => gemini_cli::plan(script, invocation, outside, &mut pen),
        Agent::Opencode => opencode::plan(script, invocation, outside, &mut pen),
        Agent::QwenCode => qwen_code::plan(script, invocation, outside, &mut pen),
    }
    pen.done()
}

/// What a signal makes of the program that has done these acts. `None`: it goes on as if nothing had been.
pub fn interrupted(
    script: &Script,
    invocation: &Invocation,
    done: &[Act],
    signal: Signal,
) -> Option<Vec<Act>> {
    let mut pen = Pen::after(invocation, done);
    match script.agent {
        Agent::Copilot => copilot::interrupted(script, invocation, done, signal, &mut pen),
        Agent::ClaudeCode => claude_code::interrupted(script, invocation, done, signal, &mut pen),
        Agent::Codex => codex::interrupted(script, invocation, done, signal, &mut pen),
        Agent::GeminiCli => gemini_cli::interrupted(script, invocation, done, signal, &mut pen),
        Agent::Opencode => opencode::interrupted(script, invocation, done, signal, &mut pen),
        Agent::QwenCode => qwen_code::interrupted(script, invocation, done, signal, &mut pen),
    }
    .then(|| pen.done())
}
