//! The server that is judged: a command, an address, or an entry of a host's configuration file, with its variables and
//! headers. No value of either may be printed; every one of them is among the secrets.

mod config;
mod expand;
mod line;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;

use self::config::{Given, How};
use self::expand::{Gap, Known, Rules, expand};
use crate::conformance::{Address, Target};

/// Shortest value that is masked in all output. Masking a shorter one would hide half of every text.
const SECRET_CHARS_MIN: usize = 6;

/// The server in the event stream, for one that is not this project's own.
pub const SUBJECT: &str = "subject";

/// The flags that name a server.
#[derive(Debug, Clone, clap::Args)]
#[group(skip)]
pub(super) struct Flags {
    /// Judge this server: its command as in a shell, like 'npx -y my-server' or 'cd server && KEY=1 node .'. What plain
    /// words can't say is run by `sh -c`, with the server in the place of the shell.
    #[arg(long, value_name = "CMD", group = SUBJECT)]
    server: Option<String>,
    /// Judge the server at this address, over streamable HTTP.
    #[arg(long, value_name = "URL", group = SUBJECT)]
    url: Option<String>,
    /// Judge a server of this configuration file: .mcp.json of Claude Code, mcp-config.json of Copilot CLI, mcp.json of
    /// VS Code, config.toml of Codex. Variables in it are replaced as that host does it.
    #[arg(long, value_name = "FILE", group = SUBJECT)]
    config: Option<PathBuf>,
    /// The name of the server: which one of the file of --config, and its name in the configuration of the hosts, which is
    /// the server's own when left out.
    #[arg(long, value_name = "NAME", requires = SUBJECT)]
    name: Option<String>,
    /// Send this header with every request to an address; may be repeated. `${VARIABLE}` stands for a variable of the
    /// environment, so that no secret is typed. No report shows the value.
    #[arg(long = "header", value_name = "NAME: VALUE", requires = SUBJECT)]
    headers: Vec<String>,
    /// Send the token in this variable with every request to an address, as `Authorization: Bearer`.
    #[arg(long, value_name = "VARIABLE", requires = SUBJECT)]
    bearer_env: Option<String>,
    /// Set a variable for the server, or pass one on. Only PATH, HOME and similar ones are passed on by
    /// default.
    #[arg(long = "env", value_name = "NAME[=VALUE]", requires = SUBJECT)]
    environment: Vec<String>,
}

/// The server.
pub(super) struct Subject {
    pub(super) target: Target,
    /// Its name in the configuration of the hosts, where one is given.
    pub(super) name: Option<String>,
    /// Texts that no report may contain.
    pub(super) secrets: Vec<String>,
    /// What the user should know before the run.
    pub(super) note: Option<&'static str>,
}

/// The note on a shell that stays.
const SHELL_STAYS: &str = "the command is more than one program, so its shell stays beside the server: what is asked of \
                           signals and of the end is then asked of the shell. Name the program alone to judge it whole";

impl Flags {
    /// Whether a server is named.
    pub(super) fn is_given(&self) -> bool {
        self.server.is_some() || self.url.is_some() || self.config.is_some()
    }

    /// The flag that names the server.
    pub(super) fn flag(&self) -> &'static str {
        match (&self.server, &self.url) {
            (Some(_), _) => "--server",
            (None, Some(_)) => "--url",
            (None, None) => "--config",
        }
    }

    /// The server, with what the environment adds.
    pub(super) fn resolve(&self, given: &BTreeMap<String, String>) -> anyhow::Result<Subject> {
        let mut extra = self.variables(given)?;
        let mut headers = self.headers(given)?;
        let mut secrets = Vec::new();
        let mut name = self.name.clone();
        let mut note = None;
        let target = match (&self.server, &self.url, &self.config) {
            (Some(line), _, _) => {
                let (target, named, stays) = Target::command(line, given, &extra)?;
                secrets.extend(named);
                secrets.extend(line::secrets_of_line(line));
                note = stays.then_some(SHELL_STAYS);
                target
            }
            (None, Some(address), _) => Target::Url(self::address(address, "--url", &headers)?),
            (None, None, Some(path)) => {
                let entry = self.entry(path, given, &extra, &headers)?;
                secrets.extend(entry.used);
                name = Some(entry.name);
                if let Some(path) = &entry.environment_file {
                    for (name, value) in variables_of(path)? {
                        extra.entry(name).or_insert(value);
                    }
                }
                for (name, value) in entry.environment {
                    extra.entry(name).or_insert(value);
                }
                headers.extend(entry.headers);
                match entry.how {
                    How::Program(program) => {
                        secrets.extend(line::secrets_of(&program.arguments));
                        Target::program(program, given, &extra)
                    }
                    How::Url(address) => Target::Url(self::address(&address, "--config", &headers)?),
                }
            }
            (None, None, None) => anyhow::bail!("name a server with --server, --url or --config"),
        };
        anyhow::ensure!(
            target.has_address() || (self.headers.is_empty() && self.bearer_env.is_none()),
            "--header and --bearer-env are for a server behind an address; a program gets its values with --env"
        );
        for (_, value) in headers {
            // The token is a secret also without the word before it.
            secrets.extend(value.split_once(' ').map(|(_, token)| token.to_owned()));
            secrets.push(value);
        }
        secrets.extend(extra.into_values());
        secrets.retain(|value| value.chars().count() >= SECRET_CHARS_MIN);
        // A value that is part of another one must not leave the rest of it.
        secrets.sort_by_key(|value| std::cmp::Reverse(value.len()));
        secrets.dedup();
        Ok(Subject { target, name, secrets, note })
    }

    fn entry(
        &self,
        path: &Path,
        given: &BTreeMap<String, String>,
        variables: &BTreeMap<String, String>,
        headers: &[(String, String)],
    ) -> anyhow::Result<config::Entry> {
        #[expect(clippy::disallowed_methods, reason = "the command line's edge reads the configuration")]
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("--config: cannot read {}", path.display()))?;
        let headers: BTreeSet<String> = headers.iter().map(|(name, _)| name.to_ascii_lowercase()).collect();
        let directory = std::env::current_dir().context("--config: the working directory is gone")?;
        let given = Given { environment: given, variables, headers: &headers, directory: &directory };
        config::read(path, &text, self.name.as_deref(), &given)
    }

    /// The variables of `--env`.
    fn variables(&self, given: &BTreeMap<String, String>) -> anyhow::Result<BTreeMap<String, String>> {
        let mut extra = BTreeMap::new();
        for variable in &self.environment {
            let (name, value) = if let Some((name, value)) = variable.split_once('=') {
                (variable_name(name)?, value.to_owned())
            } else {
                variable_name(variable)?;
                let value = given.get(variable).cloned();
                let value =
                    value.with_context(|| format!("--env: {variable} is not set; write {variable}=VALUE"))?;
                (variable.as_str(), value)
            };
            extra.insert(name.to_owned(), value);
        }
        Ok(extra)
    }

    /// The headers of `--header` and `--bearer-env`.
    fn headers(&self, given: &BTreeMap<String, String>) -> anyhow::Result<Vec<(String, String)>> {
        let mut all = Vec::new();
        for (place, header) in self.headers.iter().enumerate() {
            let (name, value) = header
                .split_once(':')
                .with_context(|| format!("--header {}: there is no colon; write 'NAME: VALUE'", place + 1))?;
            let known = Known { given, workspace: "" };
            let value = expand(value.trim(), Rules::Braces, &known, &mut Vec::new()).map_err(|gap| {
                let (Gap::Unset(word) | Gap::Input(word) | Gap::Word(word)) = gap;
                anyhow::anyhow!("--header {name}: the variable {word} is not set; export it first")
            })?;
            all.push((name.trim().to_owned(), value));
        }
        if let Some(variable) = &self.bearer_env {
            let token = given
                .get(variable)
                .map(|token| token.trim())
                .filter(|token| !token.is_empty())
                .with_context(|| {
                    format!("--bearer-env: {variable} is not set; export the token under that name")
                })?;
            all.push(("Authorization".to_owned(), format!("Bearer {token}")));
        }
        Ok(all)
    }

    /// The flags that name the server again, without the values of variables and headers, and without secrets.
    pub(super) fn repeat(&self) -> Vec<String> {
        let mut parts = Vec::new();
        parts.extend(self.server.iter().map(|line| format!("--server {}", quoted(&line::shown(line)))));
        parts.extend(self.url.iter().map(|url| format!("--url {}", quoted(&shown_url(url)))));
        parts.extend(
            self.config.iter().map(|path| format!("--config {}", quoted(&path.display().to_string()))),
        );
        parts.extend(self.name.iter().map(|name| format!("--name {}", quoted(name))));
        parts.extend(self.headers.iter().map(|header| format!("--header {}", quoted(&shown_header(header)))));
        parts.extend(self.bearer_env.iter().map(|variable| format!("--bearer-env {variable}")));
        parts.extend(self.environment.iter().map(|variable| {
            format!("--env {}", variable.split_once('=').map_or(variable.as_str(), |(name, _)| name))
        }));
        parts
    }

    /// What started the server, in one line without secrets.
    pub(super) fn started_as(&self, name: Option<&str>) -> String {
        match (&self.server, &self.url, &self.config) {
            (Some(line), _, _) => line::shown(line),
            (None, Some(url), _) => shown_url(url),
            (None, None, Some(path)) => format!("{} of {}", name.unwrap_or("a server"), path.display()),
            (None, None, None) => String::new(),
        }
    }
}

fn address(address: &str, flag: &str, headers: &[(String, String)]) -> anyhow::Result<Address> {
    let parsed = url::Url::parse(address).with_context(|| format!("{flag}: {address:?} is no address"))?;
    anyhow::ensure!(
        matches!(parsed.scheme(), "http" | "https"),
        "{flag}: {address:?} must begin with http:// or https://"
    );
    Address::new(address.to_owned(), headers)
        .with_context(|| format!("the headers of {}", shown_url(address)))
}

/// The variables of a file with a `NAME=VALUE` on each line, as VS Code reads it.
fn variables_of(path: &Path) -> anyhow::Result<Vec<(String, String)>> {
    #[expect(clippy::disallowed_methods, reason = "the command line's edge reads the configuration")]
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("--config: cannot read the envFile {}", path.display()))?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    Ok(lines
        .filter_map(|line| line.strip_prefix("export ").unwrap_or(line).split_once('='))
        .map(|(name, value)| {
            let value = value.trim();
            let bare = ['"', '\''].iter().find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
            (name.trim().to_owned(), bare.unwrap_or(value).to_owned())
        })
        .collect())
}

/// Checks the name of a variable. A name that is not valid would reach no server, or prevent its start.
fn variable_name(name: &str) -> anyhow::Result<&str> {
    anyhow::ensure!(!name.is_empty(), "--env: the name is empty; write NAME=VALUE or NAME");
    anyhow::ensure!(
        !name.chars().any(|letter| letter.is_whitespace() || letter.is_control()),
        "--env: {name:?} is no name of a variable, which has no blanks; write NAME=VALUE, each with an --env of its own"
    );
    Ok(name)
}

/// A header of the command line without its value; a variable alone, with the word before it, is no value.
fn shown_header(header: &str) -> String {
    let (name, value) = header.split_once(':').unwrap_or((header, ""));
    let value = value.trim();
    let last = value.rsplit(' ').next().unwrap_or_default();
    let word = value.strip_suffix(last).unwrap_or_default().trim();
    let inside = last.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')).unwrap_or_default();
    let is_variable = !inside.is_empty() && inside.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let is_scheme = ["", "basic", "bearer", "token"].contains(&word.to_ascii_lowercase().as_str());
    if is_variable && is_scheme { header.to_owned() } else { format!("{}: <secret>", name.trim()) }
}

/// An address without the parts that may be secret: a name, a password, a query.
fn shown_url(address: &str) -> String {
    let Ok(mut parsed) = url::Url::parse(address) else { return "an address".to_owned() };
    // Both fail only for an address without a host, which `resolve` has refused.
    let _ = parsed.set_username("");
    let _ = parsed.set_password(None);
    parsed.set_query(None);
    parsed.set_fragment(None);
    parsed.to_string()
}

pub(super) fn quoted(text: &str) -> String {
    let plain = text.chars().all(|c| c.is_ascii_alphanumeric() || "-_./:@=,+".contains(c));
    if plain && !text.is_empty() { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn flags(arguments: &[&str]) -> Flags {
        use clap::{Args as _, FromArgMatches as _};
        let command = Flags::augment_args(clap::Command::new("run").no_binary_name(true));
        Flags::from_arg_matches(&command.try_get_matches_from(arguments).unwrap()).unwrap()
    }

    fn given() -> BTreeMap<String, String> {
        BTreeMap::from(
            [("TOKEN", "t0ken-of-alice"), ("EMPTY", "")]
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        )
    }

    #[test]
    fn values_of_headers_are_secret_and_variables_in_them_are_shown_by_name() {
        let flags = flags(&[
            "--url",
            "http://127.0.0.1/mcp?key=1",
            "--header",
            "X-Key: 5ecret-of-bob",
            "--header",
            "X-Auth: Bearer ${TOKEN}",
            "--bearer-env",
            "TOKEN",
        ]);
        let subject = flags.resolve(&given()).unwrap();
        let wanted = ["Bearer t0ken-of-alice", "t0ken-of-alice", "5ecret-of-bob"];
        assert_eq!(subject.secrets, wanted);
        assert_eq!(
            flags.repeat().join(" "),
            "--url http://127.0.0.1/mcp --header 'X-Key: <secret>' --header 'X-Auth: Bearer ${TOKEN}' --bearer-env TOKEN"
        );
    }

    #[rstest]
    #[case("X: ${A}", "X: ${A}")]
    #[case("X: Basic ${A_1}", "X: Basic ${A_1}")]
    #[case("X: ${A:-secret}", "X: <secret>")]
    #[case("X: session=secret; ${A}", "X: <secret>")]
    #[case("X:secret", "X: <secret>")]
    fn a_header_is_shown_without_its_value(#[case] header: &str, #[case] wanted: &str) {
        assert_eq!(shown_header(header), wanted);
    }

    #[rstest]
    #[case(&["--url", "http://a/", "--header", "secret"], "--header 1: there is no colon")]
    #[case(&["--url", "http://a/", "--header", "X: ${NONE}"], "the variable NONE is not set")]
    #[case(&["--url", "http://a/", "--bearer-env", "NONE"], "--bearer-env: NONE is not set")]
    #[case(&["--url", "http://a/", "--bearer-env", "EMPTY"], "--bearer-env: EMPTY is not set")]
    #[case(&["--url", "http://a/", "--header", "Host: secret"], "is set by hostcheck itself")]
    #[case(&["--url", "ftp://a/"], "must begin with http://")]
    #[case(&["--server", "serve", "--bearer-env", "TOKEN"], "are for a server behind an address")]
    #[case(&["--server", "serve", "--env", "NONE"], "write NONE=VALUE")]
    #[case(&["--server", "serve 'x"], "a quote is not closed")]
    #[case(&["--config", "no/such/file.json"], "cannot read no/such/file.json")]
    fn what_is_wrong_is_said_without_a_value(#[case] arguments: &[&str], #[case] wanted: &str) {
        let error = flags(arguments).resolve(&given()).err().expect("refused");
        let error = format!("{error:#}");
        assert!(error.contains(wanted) && !error.contains("secret"), "{error}");
    }

    #[test]
    fn a_secret_in_the_command_is_shown_nowhere() {
        let flags = flags(&["--server", "serve --access-token 5ecret-of-carol --now"]);
        assert_eq!(flags.started_as(None), "serve --access-token *** --now");
        assert_eq!(flags.repeat().join(" "), "--server 'serve --access-token *** --now'");
        assert_eq!(
            flags.resolve(&given()).unwrap().secrets,
            ["5ecret-of-carol"],
            "also where the server says it"
        );
    }

    #[test]
    fn a_shell_that_stays_is_noted() {
        assert_eq!(
            flags(&["--server", "serve | tee log"]).resolve(&given()).unwrap().note,
            Some(SHELL_STAYS)
        );
        assert_eq!(flags(&["--server", "A=1 serve"]).resolve(&given()).unwrap().note, None);
    }
}
