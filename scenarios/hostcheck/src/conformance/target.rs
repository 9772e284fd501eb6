//! The server that is judged: a command with real pipes, an address, or a future in a test. It starts and
//! ends servers and moves their bytes; it never interprets them.

use std::collections::BTreeMap;
use std::rc::Rc;

use fake_hosts::process::{ProcessServer, ServerCommand};
use fake_hosts::{AnyServer, Serve};
use futures_util::future::LocalBoxFuture;
use tokio::io::DuplexStream;

use super::http;

/// Variables that a server always gets: those that hosts pass on, none of which is a secret.
const ENVIRONMENT: [&str; 12] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "TMPDIR",
    "TEMP",
    "SYSTEMROOT",
    "APPDATA",
    "USERPROFILE",
];

/// A server inside this process: it gets its input and its output, and ends with an exit code.
pub type Inside = Rc<dyn Fn(DuplexStream, DuplexStream) -> LocalBoxFuture<'static, i32>>;

/// How the server is reached.
#[derive(Clone)]
pub enum Target {
    /// A program with pipes.
    Command(ServerCommand),
    /// Streamable HTTP.
    Url(String),
    /// A future in this thread.
    Inside(Inside),
}

impl Target {
    /// From a command line as in a shell: words, quotes and backslashes, but nothing else of a shell. `given`
    /// is the current environment; the server gets the variables that hosts pass on, and `extra`.
    ///
    /// # Errors
    /// If a quote is not closed or there is no word.
    pub fn command(
        line: &str,
        given: &BTreeMap<String, String>,
        extra: &BTreeMap<String, String>,
    ) -> anyhow::Result<Self> {
        let mut words = words(line)?.into_iter();
        let Some(program) = words.next() else {
            anyhow::bail!(
                "--server: the command is empty; write it as in a shell, like --server 'npx my-server'"
            )
        };
        let mut environment: BTreeMap<String, String> = given
            .iter()
            .filter(|(name, _)| {
                ENVIRONMENT.contains(&name.to_ascii_uppercase().as_str()) || name.starts_with("LC_")
            })
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        environment.extend(extra.clone());
        Ok(Self::Command(ServerCommand {
            program,
            arguments: words.collect(),
            working_directory: None,
            environment,
            bare_environment: true,
        }))
    }

    /// Whether the server has pipes and a process, which rows about stdio need.
    pub fn has_process(&self) -> bool {
        matches!(self, Self::Command(_))
    }

    /// Whether the server is reached by an address.
    pub fn has_address(&self) -> bool {
        matches!(self, Self::Url(_))
    }

    /// Whether its bytes pass through pipes unchanged.
    pub fn has_pipes(&self) -> bool {
        !matches!(self, Self::Url(_))
    }

    /// A server that has not been started.
    pub(crate) fn server(&self) -> AnyServer {
        match self {
            Self::Command(command) => ProcessServer::new(command.clone()).in_own_group().into(),
            Self::Url(url) => http::server(url.clone()).into(),
            Self::Inside(make) => {
                let make = Rc::clone(make);
                let serve: Serve = Box::new(move |input, output| {
                    let running = make(input, output);
                    Ok(Box::pin(async move { Some(running.await) }))
                });
                serve.into()
            }
        }
    }

    /// Like [`server`](Self::server), for a host that never reads stderr.
    pub(crate) fn server_with_stderr_unread(&self) -> AnyServer {
        match self {
            Self::Command(command) => {
                ProcessServer::new(command.clone()).in_own_group().leaving_stderr_unread().into()
            }
            _ => self.server(),
        }
    }
}

/// Splits a command line into words at spaces, with quotes and backslashes as in a POSIX shell; nothing is
/// expanded.
fn words(line: &str) -> anyhow::Result<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote: Option<char> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match (quote, character) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), other) => word.get_or_insert_default().push(other),
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, space) if space.is_whitespace() => words.extend(word.take()),
            (_, '\\') => match characters.next() {
                Some(next) => word.get_or_insert_default().push(next),
                None => anyhow::bail!("--server: the command ends in a backslash; double it"),
            },
            (_, other) => word.get_or_insert_default().push(other),
        }
    }
    anyhow::ensure!(quote.is_none(), "--server: a quote is not closed in {line:?}");
    words.extend(word);
    Ok(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("npx -y my-server /tmp", &["npx", "-y", "my-server", "/tmp"])]
    #[case("  a   'b c'  \"d \\\" e\" f\\ g ''", &["a", "b c", "d \" e", "f g", ""])]
    #[case("'$HOME' \"*\"", &["$HOME", "*"])]
    fn a_command_line_is_split_as_a_shell_would(#[case] line: &str, #[case] wanted: &[&str]) {
        assert_eq!(words(line).unwrap(), wanted);
    }

    #[rstest]
    #[case("'open")]
    #[case("end\\")]
    #[case("  ")]
    fn an_invalid_command_line_is_refused(#[case] line: &str) {
        assert!(Target::command(line, &BTreeMap::new(), &BTreeMap::new()).is_err());
    }

    #[test]
    fn a_server_gets_the_variables_of_hosts_and_the_named_ones() {
        let given =
            BTreeMap::from(["PATH", "API_TOKEN", "LC_ALL"].map(|name| (name.to_owned(), "x".to_owned())));
        let extra = BTreeMap::from([("ROOT".to_owned(), "/srv".to_owned())]);
        let Ok(Target::Command(command)) = Target::command("serve", &given, &extra) else {
            panic!("a command")
        };
        let names: Vec<_> = command.environment.keys().map(String::as_str).collect();
        assert_eq!(names, ["LC_ALL", "PATH", "ROOT"]);
        assert!(command.bare_environment);
    }
}
