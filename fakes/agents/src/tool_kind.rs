//! What a tool does, by its name in one of the CLIs. It decides which permission the tool needs.

/// What a tool does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolKind {
    /// It runs a command.
    Shell,
    /// It writes a file.
    Write,
    /// It reads.
    Read,
    /// Anything else, such as the tool of a server.
    Other,
}

impl ToolKind {
    /// The kind of a tool.
    pub(crate) fn of(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "bash" | "shell" | "powershell" | "run_shell_command" | "exec_command" | "local_shell" => {
                Self::Shell
            }
            "create" | "edit" | "write" | "multiedit" | "notebookedit" | "str_replace_editor"
            | "apply_patch" | "write_file" | "replace" | "patch" => Self::Write,
            "view"
            | "read"
            | "grep"
            | "glob"
            | "ls"
            | "list"
            | "read_file"
            | "read_many_files"
            | "list_directory"
            | "search_file_content"
            | "grep_search"
            | "rg" => Self::Read,
            _ => Self::Other,
        }
    }
}
