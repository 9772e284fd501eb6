//! The command that a model leaves running in its shell to be woken. Setup, the rules and the command's own
//! output all take it from here, so that the model is told to run the same command again.
//!
//! It must never start a program that can do more than wait if the program that can only wait is installed.

/// The program that can only wait.
pub const WAIT_PROGRAM: &str = "entraclaw-wait";

/// The shell that reads the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    /// `sh` and compatible shells.
    Posix,
    /// `cmd` and the shells that hosts bring to Windows.
    Windows,
}

impl Shell {
    /// The shell of this system.
    pub fn here() -> Self {
        if cfg!(windows) { Self::Windows } else { Self::Posix }
    }

    /// Quotes a word for this shell.
    pub fn quoted(self, word: &str) -> String {
        match self {
            Self::Posix => {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,=".contains(c);
                if !word.is_empty() && word.chars().all(is_plain) {
                    return word.to_owned();
                }
                format!("'{}'", word.replace('\'', r"'\''"))
            }
            // Windows paths hold no quotes.
            Self::Windows => {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "/\\._-:=".contains(c);
                if word.chars().all(is_plain) { word.to_owned() } else { format!("\"{word}\"") }
            }
        }
    }
}

/// The wait command for this machine's shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitCommand {
    start: String,
    home: Option<String>,
    /// The consumer that it reads as, if that is not the host's family.
    consumer: Option<String>,
}

impl WaitCommand {
    /// The command with the program that can only wait: its path, or its name if a shell finds it by name.
    /// `home` is the home folder, if the program would not use it by default.
    pub fn of_waiter(program: &str, home: Option<&str>, shell: Shell) -> Self {
        Self {
            start: shell.quoted(program),
            home: home.map(|home| shell.quoted(&format!("--home={home}"))),
            consumer: None,
        }
    }

    /// The command with the whole program, for a machine without the other one.
    pub fn of_whole(program: &str, home: Option<&str>, shell: Shell) -> Self {
        let waiter = Self::of_waiter(program, home, shell);
        Self { start: waiter.start + " wait", ..waiter }
    }

    /// The same command, for sessions whose consumer is set in the configuration.
    #[must_use]
    pub fn reading_as(self, consumer: Option<&str>) -> Self {
        Self { consumer: consumer.map(str::to_owned), ..self }
    }

    /// The command for the messages of a family's sessions, with the consumer that they are configured to
    /// read as.
    pub fn for_family(&self, family: &str) -> String {
        self.for_consumer(self.consumer.as_deref().unwrap_or(family))
    }

    /// The beginning of every such command, which is enough for a host's permission rule.
    pub fn start(&self) -> &str {
        &self.start
    }

    /// The command for the messages of a consumer.
    ///
    /// The home and its flag are one word, because a host that asks about each path outside the work folder
    /// recognises only a path that is a word of its own.
    pub fn for_consumer(&self, consumer: &str) -> String {
        let home = self.home.iter().map(String::as_str);
        let words: Vec<&str> =
            std::iter::once(self.start.as_str()).chain(home).chain(["--consumer", consumer]).collect();
        words.join(" ")
    }
}

impl Default for WaitCommand {
    /// The command for a user with the programs on the path and the default home.
    fn default() -> Self {
        Self { start: WAIT_PROGRAM.to_owned(), home: None, consumer: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_can_never_end_its_word() {
        let quoted = |word| Shell::Posix.quoted(word);
        assert_eq!(quoted("/usr/bin/entraclaw"), "/usr/bin/entraclaw");
        assert_eq!(quoted("/a b/$(id)'x"), r"'/a b/$(id)'\''x'");
        assert_eq!(quoted(""), "''");
        assert_eq!(Shell::Windows.quoted(r"C:\Program Files\e.exe"), r#""C:\Program Files\e.exe""#);
    }

    #[test]
    fn the_command_names_program_home_and_consumer() {
        let plain = WaitCommand::of_waiter("/opt/entraclaw-wait", None, Shell::Posix);
        assert_eq!(plain.for_consumer("codex"), "/opt/entraclaw-wait --consumer codex");
        assert_eq!(plain.for_family("codex"), plain.for_consumer("codex"));
        let named = plain.reading_as(Some("reviewer"));
        assert_eq!(named.for_family("codex"), "/opt/entraclaw-wait --consumer reviewer");
        assert_eq!(named.for_consumer("codex"), "/opt/entraclaw-wait --consumer codex");
        let whole = WaitCommand::of_whole("/my tools/entraclaw", Some("/srv/it's"), Shell::Posix);
        assert_eq!(
            whole.for_consumer("reviewer"),
            r"'/my tools/entraclaw' wait '--home=/srv/it'\''s' --consumer reviewer"
        );
        assert_eq!(whole.start(), "'/my tools/entraclaw' wait");
    }
}
