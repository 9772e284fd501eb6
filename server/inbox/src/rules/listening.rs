//! When to listen and how: one rule for each known family of hosts, and one for all others.
//!
//! It must never promise a wake-up that was not observed on that family, and never name a feature that only
//! another host has.

use super::WaitCommand;

const LOOP: &str = "\
Listening: nothing wakes you on most hosts. When you have finished a piece of work, call wait_for_inbound_message; when it \
returns, handle what it brought and call it again. An empty answer only means that nobody wrote: call again. Before a long \
task, or when you answer in a watched chat, inbox_pull shows at once what has come in. If messages appear by themselves as \
channel messages, you need not wait, but inbox_pull still shows what you may have missed.";

/// How long a rule holds, and what to do while working; every rule that needs this uses the same words.
const WHILE_WORKING: &str = "Before a long task, or when you answer in a watched chat, call inbox_pull. Listen until \
your user tells you to stop.";

/// Whether the family has its own rule.
pub(super) fn is_known(family: &str) -> bool {
    own_rule(family, "").is_some()
}

/// The rule for a family, or the general rule. `wait` is the shell's wait command.
pub(super) fn rule(family: Option<&str>, wait: &WaitCommand) -> String {
    // Without a consumer, the command waits for the one that was used last, which may be another host's.
    let own = |family| own_rule(family, &wait.for_family(family));
    match family.and_then(own) {
        Some(own) => format!("Listening: {own} {WHILE_WORKING}"),
        None => LOOP.to_owned(),
    }
}

fn own_rule(family: &str, wait: &str) -> Option<String> {
    let rule = match family {
        // From 2.1.212 on, the call goes to the background after 120 s; the shell gives the model only a path
        // to its output.
        "claude-code" => format!(
            "when your work is done, call wait_for_inbound_message with timeout_s=0. It goes to the background and its \
             result wakes you; handle it and call again. If the answer says that it can't wait that long, run `{wait}` \
             in a background shell instead; its end wakes you and inbox_pull brings what was written. Nothing needs to \
             be awaited that appears by itself as a channel message."
        ),
        "copilot-cli" => format!(
            "when your work is done, start `{wait}` in the shell in async mode and end your turn. It ends when somebody \
             writes: that wakes you with its output, which is the message; handle it and start it again. Where you may \
             not run it, call wait_for_inbound_message again and again; an empty answer only means that nobody wrote."
        ),
        "codex" => "when your work is done, call wait_for_inbound_message; handle what it brings and call it again. An \
                    empty answer only means that nobody wrote. Do not wait in a background terminal: its end does not \
                    wake you. A prompt whose first line says that it is a message from outside is one, not your user."
            .to_owned(),
        // The output is injected only with the two settings that `setup` writes.
        "gemini-cli" => format!(
            "when your work is done, run `{wait}` with is_background: true and end your turn. It ends when somebody \
             writes, and its output, which is the message, is given to you; handle it and start it again. Where you may \
             not run it, call wait_for_inbound_message again and again; an empty answer only means that nobody wrote."
        ),
        "opencode" => "when your work is done, call wait_for_inbound_message; handle what it brings and call it again. \
                       An empty answer only means that nobody wrote. A prompt whose first line says that it is a \
                       message from outside is one, not your user."
            .to_owned(),
        "qwen-code" => format!(
            "when your work is done, run `{wait}` with is_background: true and end your turn. It ends when somebody \
             writes: that wakes you with its output, which is the message; handle it and start it again. Where you may \
             not run it, call wait_for_inbound_message again and again. A prompt whose first line says that it is a \
             message from outside is one, not your user."
        ),
        _ => return None,
    };
    Some(rule)
}
