//! A command line as Markdown, and the comparison of a reference page with what the code says.
//! Shared by the tests that hold `docs/src/reference` to the code, each in the crate whose code it reads.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// The first line of each page.
const NOTE: &str =
    "<!-- Written by a test from the code. Change the code, then write it anew: UPDATE_REFERENCE=1 -->";

/// Compares `docs/src/reference/<name>` with `text`, or writes it when `UPDATE_REFERENCE` is set.
pub(crate) fn hold(name: &str, text: &str) {
    let path = root().join("docs/src/reference").join(name);
    let text = format!("{NOTE}\n\n{}\n", text.trim_end());
    if std::env::var_os("UPDATE_REFERENCE").is_some() {
        std::fs::write(&path, &text).expect("the page can be written");
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let at = kept.lines().zip(text.lines()).position(|(kept, made)| kept != made);
    assert!(
        kept == text,
        "{} is not what the code says, from line {} on; run the test with UPDATE_REFERENCE=1 and look at the change",
        path.display(),
        at.unwrap_or(kept.lines().count().min(text.lines().count())) + 1
    );
}

/// The checkout, wherever in it this crate lies.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().find(|folder| folder.join("docs/book.toml").is_file()).expect("the book").to_owned()
}

/// Text of ours inside Markdown, also inside a table.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('\n', " ").replace('&', "&amp;").replace('<', "&lt;").replace('|', "\\|").replace('*', "\\*")
}

/// Every command of a program: what it is for, how it is called, its arguments, and the examples of its help.
pub(crate) fn commands(mut program: clap::Command) -> String {
    program.build();
    let mut text = String::new();
    command(&program, &mut text);
    text
}

fn command(this: &clap::Command, text: &mut String) {
    let name = this.get_bin_name().unwrap_or_else(|| this.get_name());
    let about =
        this.get_long_about().or_else(|| this.get_about()).map(ToString::to_string).unwrap_or_default();
    let usage = this.clone().render_usage().to_string();
    let _ = writeln!(text, "## `{name}`\n\n{}\n", sentence(&escaped(&about)));
    let _ = writeln!(
        text,
        "```text\n{}\n```\n",
        usage.trim_start_matches("Usage:").replace("\n       ", "\n").trim()
    );
    let arguments: Vec<String> = this.get_arguments().filter_map(argument).collect();
    let is_the_same =
        |sub: &&clap::Command| sub.get_arguments().filter_map(argument).eq(arguments.iter().cloned());
    if let Some(default) = this.get_subcommands().find(is_the_same).filter(|_| !arguments.is_empty()) {
        let _ =
            writeln!(text, "Without a command it takes the arguments of `{name} {}`.\n", default.get_name());
    } else if !arguments.is_empty() {
        let _ = writeln!(text, "| argument | what it is for |\n| --- | --- |\n{}\n", arguments.join("\n"));
    }
    if let Some(after) = this.get_after_long_help().or_else(|| this.get_after_help()) {
        let _ = writeln!(text, "```text\n{}\n```\n", after.to_string().trim());
    }
    for sub in this.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        command(sub, text);
    }
}

/// A row of the table; nothing for `--help`, `--version` and what is hidden.
fn argument(this: &clap::Arg) -> Option<String> {
    if this.is_hide_set() || matches!(this.get_id().as_str(), "help" | "version") {
        return None;
    }
    let takes_value = this.get_action().takes_values();
    let value = takes_value.then(|| {
        let names = this.get_value_names().unwrap_or_default();
        let names: Vec<_> = names.iter().map(|name| format!("<{name}>")).collect();
        names.join(" ")
    });
    let long = this.get_long().map(|long| format!("--{long}"));
    let name =
        [this.get_short().map(|short| format!("-{short}")), long].into_iter().flatten().collect::<Vec<_>>();
    let name = [Some(name.join(", ")).filter(|name| !name.is_empty()), value].into_iter().flatten();
    let name = name.collect::<Vec<_>>().join(" ");
    let help = this.get_long_help().or_else(|| this.get_help()).map(ToString::to_string).unwrap_or_default();
    let mut says = sentence(&escaped(&help));
    let words: Vec<_> = this
        .get_possible_values()
        .iter()
        .filter(|word| !word.is_hide_set())
        .map(|word| {
            let help = word
                .get_help()
                .map(|help| format!(" ({})", escaped(&help.to_string()).trim_end_matches('.')));
            format!("`{}`{}", word.get_name(), help.unwrap_or_default())
        })
        .collect();
    if takes_value && !words.is_empty() {
        let _ = write!(says, " One of {}.", words.join(", "));
    }
    let default: Vec<_> = this.get_default_values().iter().map(|value| value.to_string_lossy()).collect();
    if takes_value && !default.is_empty() {
        let _ = write!(says, " Default: `{}`.", default.join(" "));
    }
    if this.is_required_set() {
        says.push_str(" Required.");
    }
    Some(format!("| `{}` | {} |", name.replace('|', "\\|"), says.trim()))
}

/// The text with a full stop, which help leaves out, and with its `[default: …]` as a sentence of its own.
fn sentence(text: &str) -> String {
    let text = text.trim();
    let (text, default) = match text.strip_suffix(']').and_then(|text| text.rsplit_once(" [default: ")) {
        Some((text, default)) => (text, format!(" Default: {default}.")),
        None => (text, String::new()),
    };
    let end = if text.is_empty() || text.ends_with(['.', ':', '!', '?']) { "" } else { "." };
    format!("{text}{end}{default}")
}
