//! What an agent did: the tools that it called, and the files that its calls name.
//!
//! It knows the files that tools for files name, and not those that a shell's command changes. It must never take a line
//! of a file's content for a name beyond its rule: a call names at most a few files.

use std::collections::BTreeMap;

use crate::stores::{Message, Role};
use crate::text;

/// Tools that change a file, by their names in the stores: Claude Code 2.1.330, Copilot CLI 1.0.102, Codex 0.169.0,
/// Gemini CLI 0.61.0, Qwen Code 0.24.4, opencode 1.18.33, and Copilot Chat in microsoft/vscode-copilot-chat.
const CHANGING: [&str; 19] = [
    "Write",
    "Edit",
    "MultiEdit",
    "NotebookEdit",
    "create",
    "edit",
    "str_replace_editor",
    "apply_patch",
    "write_file",
    "replace",
    "write",
    "patch",
    "multiedit",
    "copilot_createFile",
    "copilot_insertEdit",
    "copilot_replaceString",
    "copilot_multiReplaceString",
    "copilot_applyPatch",
    "copilot_editNotebook",
];
/// How lines of a patch begin that name a file.
const PATCHED: [&str; 4] = ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];
/// Most files that are named.
const FILES_MAX: usize = 200;
/// Most tools that are counted on their own.
const TOOLS_MAX: usize = 64;
/// Most files of one call.
const FILES_OF_CALL_MAX: usize = 32;
/// Longest path, in characters.
const PATH_CHARS_MAX: usize = 300;

/// What was done in a session.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Deeds {
    /// Calls by the name of the tool.
    pub tools: BTreeMap<String, usize>,
    /// Files that tools were told to change, in the order of the first call.
    pub files: Vec<String>,
}

impl Deeds {
    /// What these messages tell.
    pub fn of(messages: &[Message]) -> Self {
        let mut deeds = Self::default();
        for message in messages.iter().filter(|message| message.role == Role::Tool) {
            let Some(tool) = &message.tool else { continue };
            if deeds.tools.len() < TOOLS_MAX || deeds.tools.contains_key(tool) {
                *deeds.tools.entry(tool.clone()).or_default() += 1;
            }
            for path in changed(tool, &message.text) {
                if deeds.files.len() < FILES_MAX && !deeds.files.contains(&path) {
                    deeds.files.push(path);
                }
            }
        }
        deeds
    }

    /// The calls in one line, the commonest first.
    pub fn tools_in_a_line(&self) -> String {
        let mut tools: Vec<(&String, &usize)> = self.tools.iter().collect();
        tools.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
        tools.iter().map(|(name, count)| format!("{name} {count}")).collect::<Vec<_>>().join(", ")
    }
}

/// The files that a call changes.
fn changed(tool: &str, call: &str) -> Vec<String> {
    let patched = call.lines().filter_map(|line| PATCHED.iter().find_map(|mark| line.strip_prefix(mark)));
    let patched: Vec<String> = patched.take(FILES_OF_CALL_MAX).map(path).collect();
    if !patched.is_empty() {
        return patched;
    }
    if !CHANGING.contains(&tool) {
        return Vec::new();
    }
    let addressed: Vec<String> = addresses(call).take(FILES_OF_CALL_MAX).map(|found| path(&found)).collect();
    if !addressed.is_empty() {
        return addressed;
    }
    // The path may stand before or behind the content; a path that is whole is none of the content's words.
    let lines = || call.lines().map(str::trim).filter(|line| is_path(line));
    lines().find(|line| is_absolute(line)).or_else(|| lines().next()).map(path).into_iter().collect()
}

fn path(line: &str) -> String {
    text::safe_line(line, PATH_CHARS_MAX)
}

fn is_absolute(line: &str) -> bool {
    let has_drive = line.as_bytes().get(1..3).is_some_and(|two| two == b":\\" || two == b":/");
    line.starts_with('/') || has_drive
}

/// Whether a line is one path and nothing else.
fn is_path(line: &str) -> bool {
    let is_word = !line.is_empty()
        && line.len() <= PATH_CHARS_MAX
        && !line.contains(['"', '\'', '(', ')', '{', '}', ';', '<', '>', '`']);
    let name = line.rsplit(['/', '\\']).next().unwrap_or_default();
    let has_ending = name.rsplit_once('.').is_some_and(|(_, ending)| {
        (1..=10).contains(&ending.len()) && ending.bytes().all(|b| b.is_ascii_alphanumeric())
    });
    is_word
        && !line.starts_with("//")
        && (is_absolute(line) || (has_ending && !line.contains(char::is_whitespace)))
}

/// The paths of links `[](file:///…)`, with which the editor names files.
fn addresses(call: &str) -> impl Iterator<Item = String> + '_ {
    call.split("](file://").skip(1).filter_map(|rest| {
        let address = rest.split([')', '#']).next()?;
        let url = url::Url::parse(&format!("file://{address}")).ok()?;
        Some(url.to_file_path().ok()?.to_str()?.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[test]
    fn files_are_found_in_the_forms_of_all_agents() {
        assert_eq!(changed("Write", "/p/a b.rs\nfn main() {}\nsrc/other.rs"), ["/p/a b.rs"]);
        assert_eq!(changed("write_file", "fn main() {}\n/p/a.rs"), ["/p/a.rs"]);
        assert_eq!(changed("edit", "src/a.rs\nold\nnew"), ["src/a.rs"]);
        let patch =
            "*** Begin Patch\n*** Add File: a.txt\n+/etc/passwd\n*** Update File: b.txt\n*** End Patch";
        assert_eq!(changed("apply_patch", patch), ["a.txt", "b.txt"]);
        assert_eq!(changed("exec_command", patch), ["a.txt", "b.txt"]);
        #[cfg(unix)]
        assert_eq!(changed("copilot_createFile", "Creating [](file:///p/a%20b.rs#1)"), ["/p/a b.rs"]);
        assert!(changed("Read", "/p/a.rs").is_empty());
        assert!(changed("Write", "no path here").is_empty());
    }

    #[test]
    fn so_many_tools_and_files_are_named_and_no_more() {
        let call = |tool: String, text: String| Message {
            role: Role::Tool,
            text,
            at: None,
            tool: Some(tool),
            is_side: false,
            place: crate::stores::Place::default(),
        };
        let tools = (0..=TOOLS_MAX).map(|n| call(format!("tool-{n}"), String::new()));
        let again = call("tool-0".to_owned(), String::new());
        let deeds = Deeds::of(&tools.chain([again]).collect::<Vec<_>>());
        assert_eq!((deeds.tools.len(), deeds.tools["tool-0"]), (TOOLS_MAX, 2));
        let files = (0..=FILES_MAX).map(|n| call("Write".to_owned(), format!("/p/{n}.rs")));
        let deeds = Deeds::of(&files.collect::<Vec<_>>());
        assert_eq!((deeds.files.len(), deeds.tools["Write"]), (FILES_MAX, FILES_MAX + 1));
    }

    proptest! {
        #[test]
        fn no_call_breaks_the_rule(call in "(\\*\\*\\* Add File: |\\]\\(file://|/|\\\\|\\PC|\n){0,60}") {
            for tool in ["Write", "apply_patch", "copilot_createFile", "Bash"] {
                let found = changed(tool, &call);
                prop_assert!(found.len() <= FILES_OF_CALL_MAX);
                prop_assert!(found.iter().all(|path| !path.contains('\n') && path.chars().count() <= PATH_CHARS_MAX));
            }
        }
    }
    #[rstest]
    #[case("/p/a.rs", true)]
    #[case("/p/a b", true)]
    #[case("/p", true)]
    #[case("C:\\p\\a.rs", true)]
    #[case("C:/p/a b", true)]
    #[case("src/a.rs", true)]
    #[case("src\\a.rs", true)]
    #[case("a.toml", true)]
    #[case(".gitignore", true)]
    #[case("a.abcdefghij", true)]
    #[case("a.abcdefghijk", false)]
    #[case("a.", false)]
    #[case("a.r-s", false)]
    #[case("a.rs b.rs", false)]
    #[case("src/a", false)]
    #[case("src.d/a", false)]
    #[case("// a comment.rs", false)]
    #[case("//host/a.rs", false)]
    #[case("", false)]
    #[case("/p/a(b).rs", false)]
    #[case("/p/{a}.rs", false)]
    #[case("\"a.rs\"", false)]
    #[case("'a.rs'", false)]
    #[case("<a.rs", false)]
    #[case("a>b.rs", false)]
    #[case("/p/a;", false)]
    #[case("`a.rs`", false)]
    fn a_line_that_is_whole_or_ends_like_a_file_is_a_path(#[case] line: &str, #[case] expected: bool) {
        assert_eq!(is_path(line), expected);
    }

    #[test]
    fn a_path_is_as_long_as_a_path_may_be() {
        let longest = format!("/{}", "p".repeat(PATH_CHARS_MAX - 1));
        assert!(is_path(&longest) && !is_path(&format!("{longest}p")));
        assert!(is_absolute("/p") && is_absolute("C:\\p") && is_absolute("C:/p"));
        assert!(!is_absolute("p/a") && !is_absolute("C:p") && !is_absolute("C:") && !is_absolute(""));
    }

    #[test]
    fn a_whole_path_is_taken_before_another_one_and_of_each_kind_the_first() {
        assert_eq!(changed("Write", "a.rs\n/p/b.rs\n/p/c.rs"), ["/p/b.rs"]);
        assert_eq!(changed("Write", "let a = 1;\n  b.rs  \nc.rs"), ["b.rs"]);
        let mark = |n: usize| format!("*** Update File: {n}.rs\n");
        let patch: String = (0..=FILES_OF_CALL_MAX).map(mark).collect();
        assert_eq!(changed("apply_patch", &patch).len(), FILES_OF_CALL_MAX);
        let all =
            "*** Add File: a\n*** Update File: b\n*** Delete File: c\n*** Move to: d\n +*** Add File: e";
        assert_eq!(changed("apply_patch", all), ["a", "b", "c", "d"]);
    }

    #[cfg(unix)]
    #[test]
    fn the_editor_names_files_by_their_addresses() {
        let call = "[](file:///p/a.rs) and [](file:///p/b%20c.rs#L1-2) and [](https://contoso.com/d.rs)";
        assert_eq!(changed("copilot_replaceString", call), ["/p/a.rs", "/p/b c.rs"]);
        let many = "[](file:///p/a.rs) ".repeat(FILES_OF_CALL_MAX + 1);
        assert_eq!(changed("copilot_replaceString", &many).len(), FILES_OF_CALL_MAX);
    }

    #[test]
    fn tools_are_told_in_a_line_the_commonest_first() {
        let tools = [("Bash", 2), ("Edit", 7), ("Read", 2)].map(|(name, count)| (name.to_owned(), count));
        let deeds = Deeds { tools: tools.into(), files: Vec::new() };
        assert_eq!(deeds.tools_in_a_line(), "Edit 7, Bash 2, Read 2");
        assert_eq!(Deeds::default().tools_in_a_line(), "");
    }

    #[test]
    fn only_calls_are_counted_and_a_file_is_named_once() {
        let said = |role, tool: Option<&str>, text: &str| Message {
            role,
            text: text.to_owned(),
            at: None,
            tool: tool.map(str::to_owned),
            is_side: false,
            place: crate::stores::Place::default(),
        };
        let deeds = Deeds::of(&[
            said(Role::Tool, Some("Write"), "/p/b.rs"),
            said(Role::Tool, None, "/p/c.rs"),
            said(Role::Assistant, Some("Write"), "/p/d.rs"),
            said(Role::Tool, Some("Write"), "/p/a.rs"),
            said(Role::Tool, Some("Edit"), "/p/b.rs"),
        ]);
        assert_eq!(deeds.files, ["/p/b.rs", "/p/a.rs"]);
        assert_eq!(deeds.tools_in_a_line(), "Write 2, Edit 1");
    }
}
