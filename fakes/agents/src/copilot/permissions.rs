//! What the flags of `copilot` let its tools do.

use crate::invocation::{Invocation, Nothing};
use crate::script::Script;
use crate::tool_kind::ToolKind;
use crate::turn::Verdict;

use super::args::{self, Args, Command};

/// The tools that the fake's model has.
const TOOLS: [&str; 6] = ["bash", "create", "edit", "glob", "grep", "view"];

/// What the command line and the environment allow.
pub(crate) struct Permissions {
    all_tools: bool,
    plans_only: bool,
    all_paths: bool,
    allowed: Vec<String>,
    denied: Vec<String>,
    available: Option<Vec<String>>,
    excluded: Vec<String>,
}

impl Permissions {
    /// The permissions of a start.
    pub(super) fn of(args: &Args, invocation: &Invocation) -> Self {
        let flags = &args.flags;
        let all = flags.has("--allow-all") || flags.has("--yolo");
        // The variable is for tools only, not for paths.
        let by_variable = invocation.variable("COPILOT_ALLOW_ALL") == Some("true");
        let available = flags.listed("--available-tools");
        Self {
            all_tools: all || by_variable || flags.has("--allow-all-tools"),
            plans_only: flags.last("--mode") == Some("plan") || flags.has("--plan"),
            all_paths: all || flags.has("--allow-all-paths"),
            allowed: flags.listed("--allow-tool"),
            denied: flags.listed("--deny-tool"),
            available: (!available.is_empty()).then_some(available),
            excluded: flags.listed("--excluded-tools"),
        }
    }

    /// The permissions of a server, which has the same flags.
    pub(crate) fn of_command_line(script: &Script, invocation: &Invocation) -> Self {
        match args::read(script, invocation, &Nothing) {
            Ok(Command::Ask(args)) => Self::of(&args, invocation),
            _ => Self::of(&Args::default(), invocation),
        }
    }

    /// The tools that the model does not get, if there are any.
    pub(super) fn hidden(&self) -> Option<String> {
        let hidden: Vec<&str> = match &self.available {
            Some(available) => {
                TOOLS.into_iter().filter(|tool| !available.iter().any(|one| one == tool)).collect()
            }
            None => self.excluded.iter().map(String::as_str).collect(),
        };
        (!hidden.is_empty()).then(|| hidden.join(", "))
    }

    /// Whether it may only make a plan.
    pub(super) fn plans_only(&self) -> bool {
        self.plans_only
    }

    /// What becomes of a tool. A denial wins over any permission.
    pub(crate) fn judge(&self, tool: &str) -> Verdict {
        let hidden = self.excluded.iter().any(|one| one == tool)
            || self.available.as_ref().is_some_and(|list| !list.iter().any(|one| one == tool));
        if hidden {
            return Verdict::Missing;
        }
        if self.plans_only && matches!(ToolKind::of(tool), ToolKind::Shell | ToolKind::Write) {
            return Verdict::Blocked;
        }
        if let Some(rule) = self.denied.iter().find(|rule| fits(rule, tool)) {
            return Verdict::Forbidden(rule.clone());
        }
        let allowed = self.all_tools
            || ToolKind::of(tool) == ToolKind::Read
            || self.allowed.iter().any(|rule| fits(rule, tool));
        if allowed { Verdict::Runs } else { Verdict::NobodyToAsk }
    }

    /// Whether files may be written at all.
    pub(super) fn may_write(&self) -> bool {
        self.judge("create") == Verdict::Runs
    }

    /// Whether every path may be written.
    pub(super) fn has_all_paths(&self) -> bool {
        self.all_paths
    }
}

/// Whether a rule such as `shell`, `shell(git push)`, `write` or `server(tool)` is for a tool. A command in brackets is
/// not looked at: a script's tools have none.
fn fits(rule: &str, tool: &str) -> bool {
    let (head, inside) = rule.split_once('(').map_or((rule, None), |(head, rest)| (head, Some(rest)));
    let inside = inside.and_then(|rest| rest.strip_suffix(')'));
    match (head, ToolKind::of(tool)) {
        ("shell", ToolKind::Shell) | ("write", ToolKind::Write) | ("read", ToolKind::Read) => true,
        (server, ToolKind::Other) => {
            let named = inside.map_or_else(|| format!("{server}-"), |one| format!("{server}-{one}"));
            server == tool || if inside.is_some() { tool == named } else { tool.starts_with(&named) }
        }
        _ => head == tool,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("shell", "bash", true)]
    #[case("shell(git push)", "bash", true)]
    #[case("write", "create", true)]
    #[case("write", "bash", false)]
    #[case("MyMCP", "MyMCP-look", true)]
    #[case("MyMCP(look)", "MyMCP-look", true)]
    #[case("MyMCP(look)", "MyMCP-other", false)]
    #[case("bash", "bash", true)]
    fn a_rule_is_for_a_kind_a_tool_or_a_server(#[case] rule: &str, #[case] tool: &str, #[case] is: bool) {
        assert_eq!(fits(rule, tool), is);
    }
}
