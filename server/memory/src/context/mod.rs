//! The notes that agents and people share in the file `context.md` of a workspace.
//!
//! From the ground up: `error` has the names of errors, `workspace` finds the folder, `entry` is what is written,
//! `document` reads and writes the text, `plain` takes its Markdown away, `home` has what belongs to one context file in
//! the home folder, `pending` is the promise that a crash leaves no half section, `contexts` are the operations.
//!
//! It must never create another file in a workspace, nor confirm a section before it is on the disk.

mod contexts;
mod document;
mod entry;
mod error;
mod home;
mod pending;
mod plain;
mod range;
mod results;
mod workspace;

pub use contexts::{Contexts, ContextsParts};
pub use document::Format;
pub use entry::{Author, Entry, Project};
pub use error::ContextError;
pub use range::Range;
pub use results::{
    Appended, ContextSummary, Initialized, KnownWorkspace, ReadContext, ReadMetadata, RecentSession, Stats,
};
pub(crate) use workspace::is_path;
pub use workspace::{WorkspaceHints, find_workspace, repository};

/// Whether a text can be the name of the context file: it names no folder, and no file of a device on any system.
pub fn is_file_name(text: &str) -> bool {
    let is_plain =
        |c: char| !c.is_control() && !matches!(c, '/' | '\\' | ':' | '*' | '?' | '"' | '<' | '>' | '|');
    text.trim() == text && !matches!(text, "" | "." | "..") && text.len() <= 255 && text.chars().all(is_plain)
}

/// The name of the context file, unless the operator gives another one.
pub const FILE_NAME: &str = "context.md";

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("context.md", true)]
    #[case("my notes.md", true)]
    #[case("größe", true)]
    #[case(".notes", true)]
    #[case("", false)]
    #[case(".", false)]
    #[case("..", false)]
    #[case("a/b", false)]
    #[case("a\\b", false)]
    #[case("c:notes", false)]
    #[case("a*", false)]
    #[case("a?", false)]
    #[case("a\"", false)]
    #[case("<a", false)]
    #[case("a>", false)]
    #[case("a|b", false)]
    #[case("a\nb", false)]
    #[case(" a", false)]
    #[case("a ", false)]
    fn a_name_of_a_context_file_names_no_folder_and_no_device(#[case] name: &str, #[case] expected: bool) {
        assert_eq!(is_file_name(name), expected);
        assert!(is_file_name(&"a".repeat(255)) && !is_file_name(&"a".repeat(256)));
    }
}
