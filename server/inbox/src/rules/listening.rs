//! When to listen and how, a rule for each family of hosts and one for all that are unknown.
//!
//! It must never promise a wake that was not seen on that family, and never name what only another host has.

use super::WaitCommand;

const LOOP: &str = "\
Listening: nothing wakes you on most hosts. When you have finished a piece of work, call wait_for_inbound_message; when it \
returns, handle what it brought and call it again. An empty answer only means that nobody wrote: call again. Before a long \
task, or when you answer in a watched chat, inbox_pull shows at once what has come in. If messages appear by themselves as \
channel messages, you need not wait, but inbox_pull still shows what you may have missed.";

/// How long a rule holds, and what to do while working; the same words wherever they are true.
const WHILE_WORKING: &str = "Before a long task, or when you answer in a watched chat, call inbox_pull. Listen until \
your user tells you to stop.";

/// Whether there is a rule of its own for the family.
pub(super) fn is_known(family: &str) -> bool {
    own_rule(family, "").is_some()
}

/// The rule for a family, else for any host. `wait` is the command of the shell.
pub(super) fn rule(family: Option<&str>, wait: &WaitCommand) -> String {
    // The last one to be seen may be another host's.
    let own = |family| own_rule(family, &wait.for_family(family));
    match family.and_then(own) {
        Some(own) => format!("Listening: {own} {WHILE_WORKING}"),
        None => LOOP.to_owned(),
    }
}

fn own_rule(family: &str, wait: &str) -> Option<String> {
    let rule = match family {
        // The call goes to the background after 120 s, from 2.1.212 on; the shell brings only a path to its output.
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
        // Its output is injected only with the two settings that `setup` writes.
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
