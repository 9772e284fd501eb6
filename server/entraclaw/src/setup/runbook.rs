//! The page for a person who connects a host by hand.
//!
//! It must never promise more than the recipe.

use std::fmt::Write as _;

use super::answers::told;
use super::content::Content;
use super::idle::told_of_idle;
use super::receipt::fresh;
use super::recipe::recipe;
use super::request::Request;
use entraclaw_inbox::wake_up::WakeUpSettings;

/// The page: the files and their content, how to start the host, how it gets messages, notes, what stops it, how to check it.
pub fn runbook(request: &Request, wake_ups: &WakeUpSettings) -> String {
    let recipe = recipe(request);
    let mut out = format!("# {} with entraclaw ({} scope)\n", request.host.title(), request.scope.name());
    for file in &recipe.files {
        let Some(path) = file.paths.first() else { continue };
        // Writing to a text can't fail.
        let _ = write!(out, "\n## {}\n\n{}", path.display(), kind(&file.content));
        let _ = write!(out, " ({}):\n\n", file.purpose);
        for line in fresh(&file.content).lines() {
            let _ = writeln!(out, "{}", format!("    {line}").trim_end());
        }
    }
    let _ = write!(out, "\n## Start it\n\n    {}\n", recipe.launch);
    out.push_str("\n## How it hears\n\n");
    for line in &recipe.hears {
        let _ = writeln!(out, "- {line}");
    }
    out.push_str("\n## To know\n\n");
    for line in &recipe.notes {
        let _ = writeln!(out, "- {line}");
    }
    let idle = told_of_idle(request, wake_ups).map(|idle| format!("{idle}\n\n")).unwrap_or_default();
    let _ = write!(out, "\n## Before you leave it alone\n\n{idle}{}\n", told(request));
    let name = request.host.name();
    let scope = request.scope.name();
    let _ = write!(
        out,
        "\n## See that it works\n\n\
         1. `entraclaw doctor`: every line ok.\n\
         2. Start {} anew and ask it to call inbound_queue_stats: an answer with counts means that the server runs.\n\
         3. Write to the agent; `entraclaw status` shows who polls and who reads.\n\
         \n## Undo\n\n    entraclaw setup {name} --scope {scope} --remove\n",
        request.host.title()
    );
    out
}

fn kind(content: &Content) -> &'static str {
    match content {
        Content::Json(_) => "Add to what is there, or write",
        Content::Table { .. } => "Add",
        Content::Section(_) => "Add at the end",
        Content::Whole(_) => "Write",
    }
}
