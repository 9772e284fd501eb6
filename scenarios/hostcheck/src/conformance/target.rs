//! The server that is judged: a command with real pipes, an address, or a future in a test. It starts and
//! ends servers and moves their bytes; it never interprets them.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;

use fake_hosts::process::{ProcessServer, ServerCommand};
use fake_hosts::{AnyServer, Serve};
use futures_util::future::LocalBoxFuture;
use tokio::io::DuplexStream;

use super::address::Address;
use super::command_line::{self, CommandLine};
use super::heard::Heard;
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

/// Programs that download or build a server when they start it for the first time.
const FETCHERS: [&str; 13] =
    ["bunx", "cargo", "deno", "dnx", "docker", "go", "npm", "npx", "pipx", "pnpm", "podman", "uv", "uvx"];

/// A server inside this process: it gets its input and its output, and ends with an exit code.
pub type Inside = Rc<dyn Fn(DuplexStream, DuplexStream) -> LocalBoxFuture<'static, i32>>;

/// A program as a configuration names it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Program {
    /// The program.
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its working directory; `None` for that of this process.
    pub directory: Option<PathBuf>,
}

/// How the server is reached.
#[derive(Clone)]
pub enum Target {
    /// A program with pipes.
    Command(ServerCommand),
    /// Streamable HTTP.
    Url(Address),
    /// A future in this thread.
    Inside(Inside),
}

impl Target {
    /// From a command as in a shell. `given` is the current environment; the server gets the variables that hosts pass
    /// on, those that the command names, and `extra`. Also gives what its reader should know: the values of the
    /// variables that it names, and whether a shell stays beside the server.
    ///
    /// # Errors
    /// If a quote is not closed, there is no word, or the command needs a shell where there is none.
    pub fn command(
        line: &str,
        given: &BTreeMap<String, String>,
        extra: &BTreeMap<String, String>,
    ) -> anyhow::Result<(Self, Vec<String>, bool)> {
        let shell = match command_line::parse(line)? {
            CommandLine::Words(words) => {
                let mut words = words.into_iter();
                let program = words.next().unwrap_or_default();
                let program = Program { program, arguments: words.collect(), directory: None };
                return Ok((Self::program(program, given, extra), Vec::new(), false));
            }
            CommandLine::Shell(shell) => shell,
        };
        anyhow::ensure!(
            cfg!(unix),
            "--server: {line:?} needs a POSIX shell, which this system does not have; write the program and its arguments \
             only, and set variables with --env"
        );
        let mut extra = extra.clone();
        let mut named = Vec::new();
        for name in shell.names.iter().filter(|name| !is_handed_down(name)) {
            if let Some(value) = given.get(name) {
                named.push(value.clone());
                extra.entry(name.clone()).or_insert_with(|| value.clone());
            }
        }
        let program = Program {
            program: "sh".to_owned(),
            arguments: vec!["-c".to_owned(), shell.text],
            directory: None,
        };
        Ok((Self::program(program, given, &extra), named, shell.stays))
    }

    /// A program. `given` is the current environment; the server gets the variables that hosts pass on, and `extra`.
    pub fn program(
        program: Program,
        given: &BTreeMap<String, String>,
        extra: &BTreeMap<String, String>,
    ) -> Self {
        let mut environment: BTreeMap<String, String> = given
            .iter()
            .filter(|(name, _)| is_handed_down(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        environment.extend(extra.clone());
        Self::Command(ServerCommand {
            program: program.program,
            arguments: program.arguments,
            working_directory: program.directory,
            environment,
            bare_environment: true,
        })
    }

    /// The program that is started; `None` where none is.
    pub(crate) fn program_name(&self) -> Option<&str> {
        match self {
            Self::Command(command) => Some(&command.program),
            Self::Url(_) | Self::Inside(_) => None,
        }
    }

    /// Whether the program is to start in a folder that is not there.
    pub(crate) fn lacks_its_directory(&self) -> bool {
        match self {
            Self::Command(command) => {
                command.working_directory.as_ref().is_some_and(|folder| !folder.is_dir())
            }
            Self::Url(_) | Self::Inside(_) => false,
        }
    }

    /// Whether the program is one that may first download or build the server.
    pub(crate) fn may_fetch_first(&self) -> bool {
        let program = self.program_name().unwrap_or_default();
        let name = program.rsplit(['/', '\\']).next().unwrap_or_default();
        FETCHERS.contains(&name.split('.').next().unwrap_or_default())
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
        self.server_heard(&Heard::default())
    }

    /// Like [`server`](Self::server); what HTTP carries beside the messages goes to `heard`.
    pub(crate) fn server_heard(&self, heard: &Heard) -> AnyServer {
        match self {
            Self::Command(command) => ProcessServer::new(command.clone()).in_own_group().into(),
            Self::Url(address) => http::server(address.clone(), Rc::clone(heard)).into(),
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

/// Whether every server gets a variable.
fn is_handed_down(name: &str) -> bool {
    ENVIRONMENT.contains(&name.to_ascii_uppercase().as_str()) || name.starts_with("LC_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn given() -> BTreeMap<String, String> {
        BTreeMap::from(["PATH", "API_TOKEN", "LC_ALL"].map(|name| (name.to_owned(), "xyz".to_owned())))
    }

    #[rstest]
    #[case("npx -y a-server", true)]
    #[case("/usr/local/bin/uvx a-server", true)]
    #[case("node_modules/.bin/npx.cmd -y a-server", true)]
    #[case("node npx.js", false)]
    #[case("./npx-server", false)]
    fn a_program_that_fetches_servers_is_known_by_its_name(#[case] line: &str, #[case] wanted: bool) {
        let (target, ..) = Target::command(line, &given(), &BTreeMap::new()).unwrap();
        assert_eq!(target.may_fetch_first(), wanted);
    }

    #[rstest]
    #[case("serve", &["LC_ALL", "PATH", "ROOT"], &[])]
    #[case("serve $PATH $API_TOKEN ${NEVER_SET}", &["API_TOKEN", "LC_ALL", "PATH", "ROOT"], &["xyz"])]
    fn a_server_gets_the_variables_of_hosts_and_the_named_ones(
        #[case] line: &str,
        #[case] wanted: &[&str],
        #[case] named: &[&str],
    ) {
        let extra = BTreeMap::from([("ROOT".to_owned(), "/srv".to_owned())]);
        let (target, values, _) = Target::command(line, &given(), &extra).unwrap();
        let Target::Command(command) = target else { panic!("a command") };
        let names: Vec<_> = command.environment.keys().map(String::as_str).collect();
        assert_eq!(names, wanted);
        assert_eq!(values, named);
        assert!(command.bare_environment);
    }

    #[rstest]
    #[case("Mcp-Session-Id", "1", "is set by hostcheck itself")]
    #[case("a b", "1", "is no name of an HTTP header")]
    #[case("X-Key", "secret\nsecret", "has characters that no header may have")]
    fn a_header_that_can_not_be_sent_is_refused(#[case] name: &str, #[case] value: &str, #[case] why: &str) {
        let headers = [(name.to_owned(), value.to_owned())];
        let error =
            Address::new("http://127.0.0.1/mcp".to_owned(), &headers).err().expect("refused").to_string();
        assert!(error.contains(why) && !error.contains("secret"), "{error}");
    }
}
