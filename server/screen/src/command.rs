//! What a person may tell the screen instead of the model: `/help` and its like.
//!
//! It must never take a path at the start of a message for a command.

/// A command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Command {
    /// Ends a task: the named one, or the one that is worked on.
    Cancel(Option<String>),
    /// Shows the whole conversation.
    History,
    /// Shows how the models have done.
    Issues,
    /// Shows where everything stands.
    Status,
    /// Begins an empty conversation.
    New,
    /// Leaves.
    Quit,
    /// Shows the commands and keys.
    Help,
}

/// The commands, as `/help` shows them.
pub(crate) const HELP: &str = "\
/cancel [task]  end the task that is worked on, or the one with this number
/status         where everything stands
/history        the whole conversation
/issues         how each model has done, by kind of task
/new            begin an empty conversation; the old one is kept
/quit           leave

enter           send; what the model works on is paused for you
alt-enter       a new line (ctrl-j too)
up, down        what you sent before
pgup, pgdn      scroll; esc goes back to the end
ctrl-l          draw everything anew
ctrl-c          clear the line; twice: leave
y, n            with an empty line: let a tool run, or refuse it";

/// The command in a line; `None` if it is a message.
///
/// # Errors
/// Fails with a sentence if there is no such command.
pub fn parse(line: &str) -> Option<Result<Command, String>> {
    let rest = line.trim().strip_prefix('/')?;
    let (name, argument) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
    if !name.chars().all(|c| c.is_ascii_alphabetic()) {
        return None;
    }
    let argument = argument.trim();
    Some(match (name, argument) {
        ("cancel", "") => Ok(Command::Cancel(None)),
        ("cancel", task) => Ok(Command::Cancel(Some(task.trim_start_matches('#').to_owned()))),
        ("history", "") => Ok(Command::History),
        ("issues", "") => Ok(Command::Issues),
        ("status", "") => Ok(Command::Status),
        ("new", "") => Ok(Command::New),
        ("quit" | "exit", "") => Ok(Command::Quit),
        ("help" | "", "") => Ok(Command::Help),
        ("history" | "issues" | "status" | "new" | "quit" | "exit" | "help", _) => Err(format!(
            "/{name} takes nothing behind it; to send this as a message, begin it with another word"
        )),
        _ => Err(format!("there is no command /{name}; /help shows them")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_message_and_an_unknown_word_is_refused() {
        assert_eq!(parse("/etc/hosts is wrong"), None);
        assert_eq!(parse("fix /help"), None);
        assert_eq!(parse(" /cancel #12 "), Some(Ok(Command::Cancel(Some("12".to_owned())))));
        assert_eq!(parse("/cancel"), Some(Ok(Command::Cancel(None))));
        assert_eq!(parse("/"), Some(Ok(Command::Help)));
        assert!(parse("/nonsense").unwrap().unwrap_err().contains("/help"));
        assert!(parse("/new and fix the test").unwrap().is_err(), "a message must not begin a conversation");
    }
}
