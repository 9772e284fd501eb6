//! A command as a user would type it in a shell. Plain words start a program directly; what only a shell understands is
//! given to one, in a form in which the server takes the place of the shell, so that signals and the end of the input
//! reach the server itself. It starts nothing.

use std::collections::BTreeSet;
use std::ops::Range;

/// Words with which a command of a shell begins that a program can't replace.
const OF_THE_SHELL: [&str; 21] = [
    "!", "{", "}", ".", ":", "break", "case", "cd", "do", "done", "elif", "else", "eval", "export", "fi",
    "for", "if", "set", "source", "until", "while",
];

/// How a command is started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommandLine {
    /// A program and its arguments.
    Words(Vec<String>),
    /// A text for `sh -c`.
    Shell(ShellText),
}

/// A text for a shell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ShellText {
    pub(super) text: String,
    /// Whether the shell stays beside the server, as for a pipeline, so that signals reach the shell.
    pub(super) stays: bool,
    /// The variables that the text names.
    pub(super) names: BTreeSet<String>,
}

/// Reads a command.
///
/// # Errors
/// If a quote is not closed, the text ends in a backslash, or there is no word.
pub(super) fn parse(line: &str) -> anyhow::Result<CommandLine> {
    let scan = scan(line)?;
    if !scan.needs_shell {
        let words = shlex::split(line).unwrap_or_default();
        anyhow::ensure!(
            !words.is_empty(),
            "--server: the command is empty; write it as in a shell, like --server 'npx my-server'"
        );
        return Ok(CommandLine::Words(words));
    }
    let place = program_place(line, scan.last);
    let program = line[place..].split_whitespace().next().unwrap_or_default();
    let (text, stays) = if program == "exec" {
        (line.to_owned(), scan.is_compound)
    } else if scan.is_compound || !is_program(program) {
        (line.to_owned(), true)
    } else {
        (format!("{}exec {}", &line[..place], &line[place..]), false)
    };
    Ok(CommandLine::Shell(ShellText { text, stays, names: scan.names }))
}

struct Scan {
    needs_shell: bool,
    /// Whether several programs run, or the shell has to do something after the last one.
    is_compound: bool,
    /// Where the last simple command begins.
    last: usize,
    names: BTreeSet<String>,
}

/// Looks for what only a shell understands, outside the quotes that hide it.
fn scan(line: &str) -> anyhow::Result<Scan> {
    let mut found = Scan { needs_shell: false, is_compound: false, last: 0, names: BTreeSet::new() };
    let mut quote: Option<char> = None;
    let mut at_word_start = true;
    let mut characters = line.char_indices().peekable();
    while let Some((place, character)) = characters.next() {
        let begins_word = std::mem::replace(&mut at_word_start, false);
        match (quote, character) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (None, '\'' | '"') => quote = Some(character),
            (_, '\\') => anyhow::ensure!(
                characters.next().is_some(),
                "--server: the command ends in a backslash; double it"
            ),
            (_, '$') => {
                found.needs_shell = true;
                found.names.extend(name_after(&line[place + 1..]));
            }
            (_, '`') | (None, '(' | ')' | '\n') => (found.needs_shell, found.is_compound) = (true, true),
            (None, '&' | '|' | ';') => {
                found.needs_shell = true;
                let doubled =
                    character != ';' && characters.next_if(|(_, next)| *next == character).is_some();
                match (character, doubled) {
                    ('&', true) | (';', _) => found.last = place + 1 + usize::from(doubled),
                    _ => found.is_compound = true,
                }
                at_word_start = true;
            }
            (None, '<') if line[place + 1..].starts_with('<') => {
                (found.needs_shell, found.is_compound) = (true, true);
            }
            (None, '<' | '>') => {
                found.needs_shell = true;
                // The `&` of `2>&1` joins no commands.
                characters.next_if(|(_, next)| matches!(next, '>' | '&'));
            }
            (None, '*' | '?' | '[') => found.needs_shell = true,
            (None, '~' | '#') if begins_word => found.needs_shell = true,
            (None, space) if space.is_whitespace() => at_word_start = true,
            _ => {}
        }
    }
    anyhow::ensure!(quote.is_none(), "--server: a quote is not closed in {line:?}");
    found.needs_shell |= assignment(line.trim_start()).is_some();
    Ok(found)
}

/// The name of the variable after a dollar sign.
fn name_after(rest: &str) -> Option<String> {
    let rest = rest.strip_prefix('{').unwrap_or(rest);
    let name: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    is_name(&name).then_some(name)
}

fn is_name(text: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    text.starts_with(is_letter) && text.chars().all(|c| is_letter(c) || c.is_ascii_digit())
}

/// The length of the assignment with which a text begins, up to the blank after it.
fn assignment(text: &str) -> Option<usize> {
    let (name, value) = text.split_once('=')?;
    is_name(name).then(|| name.len() + 1 + word_length(value))
}

/// Where the words of a command stand, quotes and all.
pub(crate) fn words(line: &str) -> Vec<Range<usize>> {
    let mut words = Vec::new();
    let mut place = 0;
    loop {
        let rest = &line[place..];
        place += rest.len() - rest.trim_start().len();
        if place == line.len() {
            return words;
        }
        let end = place + word_length(&line[place..]);
        words.push(place..end);
        place = end;
    }
}

/// The length of a word, quotes and all.
fn word_length(text: &str) -> usize {
    let mut quote: Option<char> = None;
    let mut characters = text.char_indices();
    while let Some((place, character)) = characters.next() {
        match (quote, character) {
            (Some(open), other) if open == other => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (Some('"') | None, '\\') => {
                characters.next();
            }
            (None, space) if space.is_whitespace() => return place,
            _ => {}
        }
    }
    text.len()
}

/// Where the program of a simple command stands, after its assignments.
fn program_place(line: &str, start: usize) -> usize {
    let mut place = start;
    loop {
        let rest = &line[place..];
        place += rest.len() - rest.trim_start().len();
        match assignment(&line[place..]) {
            Some(length) => place += length,
            None => return place,
        }
    }
}

/// Whether a word can be a program: a comment, a redirection and the words of a shell are none.
fn is_program(word: &str) -> bool {
    !word.is_empty() && !word.starts_with(['#', '<', '>']) && !OF_THE_SHELL.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("npx -y my-server /tmp", &["npx", "-y", "my-server", "/tmp"])]
    #[case("  a   'b c'  \"d \\\" e\" f\\ g ''", &["a", "b c", "d \" e", "f g", ""])]
    #[case("'$HOME' '*' a=b x~y \\$HOME", &["$HOME", "*", "a=b", "x~y", "$HOME"])]
    #[case("\"a\\nb\" {x,y}", &["a\\nb", "{x,y}"])]
    fn plain_words_need_no_shell(#[case] line: &str, #[case] wanted: &[&str]) {
        let wanted = wanted.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(parse(line).unwrap(), CommandLine::Words(wanted));
    }

    #[rstest]
    #[case("A=1 B='x y' serve --now", "A=1 B='x y' exec serve --now")]
    #[case("cd ~/x && serve", "cd ~/x && exec serve")]
    #[case("cd x && A=1 ./serve", "cd x && A=1 exec ./serve")]
    #[case("exec serve $A", "exec serve $A")]
    #[case("~/bin/serve $HOME/data", "exec ~/bin/serve $HOME/data")]
    #[case("serve 2>&1 > log", "exec serve 2>&1 > log")]
    #[case("serve \"$A\" *.md", "exec serve \"$A\" *.md")]
    fn the_server_takes_the_place_of_the_shell(#[case] line: &str, #[case] wanted: &str) {
        let CommandLine::Shell(shell) = parse(line).unwrap() else { panic!("{line} needs a shell") };
        assert_eq!((shell.text.as_str(), shell.stays), (wanted, false));
    }

    #[rstest]
    #[case("serve | tee log")]
    #[case("serve || serve-again")]
    #[case("serve &")]
    #[case("(cd x; serve)")]
    #[case("if true; then serve; fi")]
    #[case("serve $(cat arguments)")]
    #[case("a <<END\nx\nEND")]
    #[case("cd ~")]
    #[case("serve; ")]
    fn a_shell_that_has_to_stay_is_told(#[case] line: &str) {
        let CommandLine::Shell(shell) = parse(line).unwrap() else { panic!("{line} needs a shell") };
        assert_eq!((shell.text.as_str(), shell.stays), (line, true));
    }

    #[test]
    fn the_variables_that_a_text_names_are_known() {
        let CommandLine::Shell(shell) = parse("serve $A \"${B_2:-x}\" '$C' $1 \\$D").unwrap() else {
            panic!("a shell")
        };
        assert_eq!(Vec::from_iter(shell.names), ["A", "B_2"]);
    }

    #[rstest]
    #[case("'open")]
    #[case("end\\")]
    #[case("  ")]
    fn an_invalid_command_is_refused(#[case] line: &str) {
        assert!(parse(line).is_err());
    }
}
