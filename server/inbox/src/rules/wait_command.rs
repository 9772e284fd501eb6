//! The command that a model leaves running in its shell to be woken. Setup, the rules and the command's own output all take it
//! from here, so that what a model is told to run again is what ran.
//!
//! It must never lead to a program that can do more than wait where one that can't is there.

/// The program that can only wait.
pub const WAIT_PROGRAM: &str = "entraclaw-wait";

/// Which shell reads a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shell {
    /// `sh` and its kin.
    Posix,
    /// `cmd` and the shells that hosts bring to Windows.
    Windows,
}

impl Shell {
    /// The shell of the system that this program runs on.
    pub fn here() -> Self {
        if cfg!(windows) { Self::Windows } else { Self::Posix }
    }

    /// The word as this shell must be given it.
    pub fn quoted(self, word: &str) -> String {
        match self {
            Self::Posix => {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,=".contains(c);
                if !word.is_empty() && word.chars().all(is_plain) {
                    return word.to_owned();
                }
                format!("'{}'", word.replace('\'', r"'\''"))
            }
            // Paths hold no quotes there.
            Self::Windows => {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "/\\._-:=".contains(c);
                if word.chars().all(is_plain) { word.to_owned() } else { format!("\"{word}\"") }
            }
        }
    }
}

/// The wait command as the shell of this machine runs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitCommand {
    start: String,
    home: Option<String>,
    /// Whom it reads as, where that is not the host's family.
    consumer: Option<String>,
}

impl WaitCommand {
    /// By the program that can only wait: its path, or its name where a shell finds it by that. `home` is the home folder
    /// where the program would not take it by itself.
    pub fn of_waiter(program: &str, home: Option<&str>, shell: Shell) -> Self {
        Self {
            start: shell.quoted(program),
            home: home.map(|home| shell.quoted(&format!("--home={home}"))),
            consumer: None,
        }
    }

    /// By the whole program, where the other one is missing.
    pub fn of_whole(program: &str, home: Option<&str>, shell: Shell) -> Self {
        let waiter = Self::of_waiter(program, home, shell);
        Self { start: waiter.start + " wait", ..waiter }
    }

    /// The same for sessions that the configuration gives a consumer of its own.
    #[must_use]
    pub fn reading_as(self, consumer: Option<&str>) -> Self {
        Self { consumer: consumer.map(str::to_owned), ..self }
    }

    /// The command for the messages of a family's sessions, as they are configured to read.
    pub fn for_family(&self, family: &str) -> String {
        self.for_consumer(self.consumer.as_deref().unwrap_or(family))
    }

    /// What every such command begins with; a host that is asked to let it run needs to know no more.
    pub fn start(&self) -> &str {
        &self.start
    }

    /// The command for the messages of a consumer.
    ///
    /// The home stands in one word with its flag: a host that asks about each path outside the work folder takes a word of
    /// its own for such a path.
    pub fn for_consumer(&self, consumer: &str) -> String {
        let home = self.home.iter().map(String::as_str);
        let words: Vec<&str> =
            std::iter::once(self.start.as_str()).chain(home).chain(["--consumer", consumer]).collect();
        words.join(" ")
    }
}

impl Default for WaitCommand {
    /// As somebody runs it who has the programs on the path and the usual home.
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
