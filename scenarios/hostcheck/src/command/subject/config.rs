//! A server in the configuration file of a host: Claude Code, Copilot CLI, VS Code, Codex. It is pure: a text in, a server
//! out. An error names the place and never a value.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use fake_hosts::settings::{self, Form};
use serde_json::{Map, Value};

use super::expand::{Gap, Known, Rules, expand};
use crate::conformance::Program;
use crate::hint;

/// The file of Copilot CLI, which alone also replaces `$NAME` in variables.
const COPILOT_FILE: &str = "mcp-config.json";

/// How the server is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum How {
    Program(Program),
    Url(String),
}

/// A server of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) how: How,
    /// Its variables.
    pub(super) environment: BTreeMap<String, String>,
    /// A file with more of them.
    pub(super) environment_file: Option<PathBuf>,
    pub(super) headers: Vec<(String, String)>,
    /// Values of the environment that the entry takes.
    pub(super) used: Vec<String>,
}

/// What the command line gives, so that the file need not.
pub(super) struct Given<'a> {
    pub(super) environment: &'a BTreeMap<String, String>,
    /// Variables of the server that are given otherwise.
    pub(super) variables: &'a BTreeMap<String, String>,
    /// Headers that are given otherwise, in lower case.
    pub(super) headers: &'a BTreeSet<String>,
    /// The working directory.
    pub(super) directory: &'a Path,
}

/// The server of this name, or the only one, of a configuration file.
pub(super) fn read(path: &Path, text: &str, name: Option<&str>, given: &Given<'_>) -> anyhow::Result<Entry> {
    let is_toml = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("toml"));
    let form = if is_toml { Form::Toml } else { Form::Jsonc };
    let root = settings::parse(form, text).map_err(|error| {
        let line = error.line.map_or_else(String::new, |line| format!(" line {line}:"));
        anyhow::anyhow!("--config: {}:{line} {}", path.display(), error.what)
    })?;
    let places: [(&str, Host); 4] = [
        ("/mcp_servers", Host::Codex),
        ("/mcpServers", Host::Portable),
        ("/servers", Host::VsCode),
        ("/mcp/servers", Host::VsCode),
    ];
    let found = places.into_iter().find_map(|(place, host)| {
        Some((host, root.pointer(place)?.as_object().filter(|all| !all.is_empty())?))
    });
    let Some((host, servers)) = found else {
        anyhow::bail!(
            "--config: {} names no server; it needs `mcpServers` (Claude Code, Copilot CLI), `servers` (VS Code) or \
             `[mcp_servers.NAME]` (Codex)",
            path.display()
        )
    };
    let (name, entry) = pick(path, servers, name)?;
    let file_name = path.file_name().unwrap_or_default();
    let whole = std::path::absolute(given.directory.join(path)).unwrap_or_else(|_| path.to_owned());
    let folder = whole.parent().filter(|folder| folder.ends_with(".vscode")).and_then(Path::parent);
    let workspace = folder.unwrap_or(given.directory).display().to_string();
    let mut reader = Reader {
        name,
        entry,
        host,
        is_of_copilot: file_name == COPILOT_FILE,
        known: Known { given: given.environment, workspace: &workspace },
        used: Vec::new(),
    };
    let how = reader.how(folder)?;
    let (environment, headers) = (reader.environment(given.variables)?, reader.headers(given.headers)?);
    let environment_file = reader.text("envFile")?.map(PathBuf::from);
    let used = reader.used;
    Ok(Entry { name: name.to_owned(), how, environment, environment_file, headers, used })
}

/// The host whose form a file has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Host {
    /// `mcpServers`: Claude Code, Copilot CLI, and others that took it over.
    Portable,
    VsCode,
    Codex,
}

fn pick<'v>(
    path: &Path,
    servers: &'v Map<String, Value>,
    name: Option<&'v str>,
) -> anyhow::Result<(&'v str, &'v Map<String, Value>)> {
    let names = || servers.keys().map(String::as_str).collect::<Vec<_>>();
    let (name, entry) = match name {
        Some(name) => (
            name,
            servers.get(name).with_context(|| {
                let hint = hint::or_else(name, names(), &format!("it has {}", names().join(", ")));
                format!("--name: {} has no server `{name}`; {hint}", path.display())
            })?,
        ),
        None if servers.len() == 1 => {
            servers.iter().next().map(|(name, entry)| (name.as_str(), entry)).context("a server")?
        }
        None => {
            anyhow::bail!(
                "--config: {} has several servers; choose one with --name: {}",
                path.display(),
                names().join(", ")
            )
        }
    };
    let entry =
        entry.as_object().with_context(|| format!("--config: {}: `{name}` is no object", path.display()))?;
    Ok((name, entry))
}

struct Reader<'a> {
    name: &'a str,
    entry: &'a Map<String, Value>,
    host: Host,
    is_of_copilot: bool,
    known: Known<'a>,
    used: Vec<String>,
}

impl Reader<'_> {
    fn how(&mut self, workspace: Option<&Path>) -> anyhow::Result<How> {
        let kind = self.entry.get("type").and_then(Value::as_str).unwrap_or_default();
        anyhow::ensure!(
            kind != "sse",
            "--config: `{}` has the type sse, the transport before streamable HTTP, which is not judged; name the address of \
             its streamable HTTP with --url",
            self.name
        );
        if let Some(program) = self.text("command")? {
            let mut arguments = Vec::new();
            for (place, argument) in self.list("args")?.into_iter().enumerate() {
                arguments.push(self.filled(
                    &argument,
                    &format!("args[{place}]"),
                    Rules::Braces,
                    OTHERWISE,
                )?);
            }
            let directory = self.text("cwd")?.map(PathBuf::from);
            let directory = directory.or_else(|| workspace.map(Path::to_owned));
            return Ok(How::Program(Program { program, arguments, directory }));
        }
        let address = match self.text("url")? {
            Some(address) => Some(address),
            None => self.text("httpUrl")?,
        };
        let address =
            address.with_context(|| format!("--config: `{}` has neither `command` nor `url`", self.name))?;
        Ok(How::Url(address))
    }

    fn environment(
        &mut self,
        otherwise: &BTreeMap<String, String>,
    ) -> anyhow::Result<BTreeMap<String, String>> {
        let mut all = BTreeMap::new();
        for (variable, value) in self.object("env")? {
            if value.is_null() || otherwise.contains_key(&variable) {
                continue;
            }
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let place = format!("env.{variable}");
            let rules = if self.is_of_copilot { Rules::BracesAndBare } else { Rules::Braces };
            let value = self.filled(&value, &place, rules, &format!("write --env {variable}=VALUE"))?;
            all.insert(variable, value);
        }
        // Codex hands down the variables that are named, where they are set.
        let named = self.entry.get("env_vars").and_then(Value::as_array).into_iter().flatten();
        for name in named.filter_map(|one| one.as_str().or_else(|| one.get("name")?.as_str())) {
            if let Some(value) = self.known.given.get(name) {
                all.entry(name.to_owned()).or_insert_with(|| value.clone());
            }
        }
        Ok(all)
    }

    fn headers(&mut self, otherwise: &BTreeSet<String>) -> anyhow::Result<Vec<(String, String)>> {
        let mut all = Vec::new();
        let is_given = |header: &str| otherwise.contains(&header.to_ascii_lowercase());
        for member in ["headers", "http_headers"] {
            for (header, value) in self.object(member)? {
                if is_given(&header) {
                    continue;
                }
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                let place = format!("{member}.{header}");
                let way = format!("write --header '{header}: ${{VARIABLE}}'");
                all.push((header, self.filled(&value, &place, Rules::Braces, &way)?));
            }
        }
        for (header, variable) in self.object("env_http_headers")? {
            let value = variable.as_str().and_then(|variable| self.known.given.get(variable));
            if let Some(value) = value.filter(|_| !is_given(&header)) {
                all.push((header, value.clone()));
            }
        }
        if let Some(variable) = self.entry.get("bearer_token_env_var").and_then(Value::as_str)
            && !is_given("authorization")
        {
            let token = self.known.given.get(variable).with_context(|| {
                format!("--config: `{}` takes its token from {variable}, which is not set", self.name)
            })?;
            all.push(("Authorization".to_owned(), format!("Bearer {token}")));
        }
        anyhow::ensure!(
            !self.entry.contains_key("headersHelper") || !otherwise.is_empty(),
            "--config: `{}` gets headers from a program (headersHelper), which is not run here; write them with --header",
            self.name
        );
        Ok(all)
    }

    /// A member that is a text, filled in.
    fn text(&mut self, member: &str) -> anyhow::Result<Option<String>> {
        match self.entry.get(member) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => self.filled(text, member, Rules::Braces, OTHERWISE).map(Some),
            Some(_) => anyhow::bail!("--config: `{member}` of `{}` is no text", self.name),
        }
    }

    fn list(&self, member: &str) -> anyhow::Result<Vec<String>> {
        let wrong = || format!("--config: `{member}` of `{}` is no list of texts", self.name);
        let Some(value) = self.entry.get(member) else { return Ok(Vec::new()) };
        let texts = value.as_array().with_context(wrong)?.iter().map(|one| one.as_str().map(str::to_owned));
        texts.collect::<Option<_>>().with_context(wrong)
    }

    fn object(&self, member: &str) -> anyhow::Result<Vec<(String, Value)>> {
        let Some(value) = self.entry.get(member) else { return Ok(Vec::new()) };
        let members = value
            .as_object()
            .with_context(|| format!("--config: `{member}` of `{}` is no object", self.name))?;
        Ok(members.iter().map(|(name, value)| (name.clone(), value.clone())).collect())
    }

    /// A text with its variables replaced; `way` says how the user gives the value otherwise.
    fn filled(&mut self, text: &str, place: &str, rules: Rules, way: &str) -> anyhow::Result<String> {
        let rules = match self.host {
            Host::Portable => rules,
            Host::VsCode => Rules::VsCode,
            Host::Codex => Rules::Literal,
        };
        expand(text, rules, &self.known, &mut self.used).map_err(|gap| {
            let why = match gap {
                Gap::Unset(name) => format!("needs the variable {name}, which is not set; set it, or {way}"),
                Gap::Input(id) => {
                    format!("needs the input `{id}`, for which VS Code asks its user, and hostcheck does not; {way}")
                }
                Gap::Word(word) => format!("has `${{{word}}}`, which is not known here; {way}"),
            };
            anyhow::anyhow!("--config: `{place}` of `{}` {why}", self.name)
        })
    }
}

/// How a value is given that no flag sets.
const OTHERWISE: &str = "name the server with --server or --url";

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    const CLAUDE: &str = r#"{"mcpServers": {
        "notes": {"command": "npx", "args": ["-y", "notes", "${ROOT:-/srv}"], "env": {"KEY": "${TOKEN}", "DEPTH": 3}},
        "shop": {"type": "http", "url": "https://${DOMAIN}/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}},
        "old": {"type": "sse", "url": "https://contoso.com/sse"}
    }}"#;
    const COPILOT: &str = r#"{"mcpServers": {
        "notes": {"type": "local", "command": "notes", "args": ["$TOKEN"], "env": {"KEY": "$TOKEN"}, "cwd": "/srv", "tools": ["*"]}
    }}"#;
    const VS_CODE: &str = r#"{
        // The key is asked for.
        "inputs": [{"type": "promptString", "id": "key", "password": true}],
        "servers": {
            "notes": {"type": "stdio", "command": "${workspaceFolder}/notes", "env": {"KEY": "${input:key}"}, "envFile": "${workspaceFolder}/.env"},
            "shop": {"type": "http", "url": "https://contoso.com/mcp", "headers": {"X-Key": "${env:TOKEN}"}},
        },
    }"#;
    const CODEX: &str = "
        [mcp_servers.notes]
        command = \"notes\"
        args = [\"${TOKEN}\"]
        env = { KEY = \"k\" }
        env_vars = [\"TOKEN\", \"NEVER_SET\"]
        cwd = \"/srv\"
        [mcp_servers.shop]
        url = \"https://contoso.com/mcp\"
        bearer_token_env_var = \"TOKEN\"
        http_headers = { X-Plain = \"p\" }
        env_http_headers = { X-Key = \"TOKEN\", X-None = \"NEVER_SET\" }
    ";

    fn pairs(of: &[(&str, &str)]) -> BTreeMap<String, String> {
        of.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    fn told(file: &str, text: &str, name: Option<&str>, variables: &[(&str, &str)]) -> anyhow::Result<Entry> {
        let environment = pairs(&[("TOKEN", "t0ken"), ("DOMAIN", "contoso.com")]);
        let given = Given {
            environment: &environment,
            variables: &pairs(variables),
            headers: &BTreeSet::new(),
            directory: Path::new("/work-folder"),
        };
        read(Path::new(file), text, name, &given)
    }

    fn program(entry: &Entry) -> (String, Vec<String>, Option<PathBuf>) {
        let How::Program(program) = &entry.how else { panic!("{entry:?}") };
        (program.program.clone(), program.arguments.clone(), program.directory.clone())
    }

    #[test]
    fn claude_code_names_a_program() {
        let entry = told(".mcp.json", CLAUDE, Some("notes"), &[]).unwrap();
        let words = ["-y", "notes", "/srv"].map(str::to_owned).to_vec();
        assert_eq!(program(&entry), ("npx".to_owned(), words, None));
        assert_eq!(entry.environment, pairs(&[("KEY", "t0ken"), ("DEPTH", "3")]));
        assert_eq!(entry.used, ["t0ken"]);
    }

    #[test]
    fn claude_code_names_an_address() {
        let entry = told(".mcp.json", CLAUDE, Some("shop"), &[]).unwrap();
        assert_eq!(entry.how, How::Url("https://contoso.com/mcp".to_owned()));
        assert_eq!(entry.headers, [("Authorization".to_owned(), "Bearer t0ken".to_owned())]);
    }

    #[test]
    fn copilot_cli_replaces_bare_names_in_variables_alone() {
        let entry = told("/home/alice/.copilot/mcp-config.json", COPILOT, None, &[]).unwrap();
        assert_eq!(program(&entry), ("notes".to_owned(), vec!["$TOKEN".to_owned()], Some("/srv".into())));
        assert_eq!(entry.environment, pairs(&[("KEY", "t0ken")]));
    }

    #[test]
    fn vs_code_has_its_workspace_and_its_inputs() {
        let file = "/srv/shop/.vscode/mcp.json";
        let error = told(file, VS_CODE, Some("notes"), &[]).unwrap_err().to_string();
        assert!(error.contains("`env.KEY` of `notes` needs the input `key`"), "{error}");
        assert!(error.ends_with("write --env KEY=VALUE"), "{error}");
        let entry = told(file, VS_CODE, Some("notes"), &[("KEY", "k")]).unwrap();
        assert_eq!(program(&entry), ("/srv/shop/notes".to_owned(), Vec::new(), Some("/srv/shop".into())));
        assert_eq!(entry.environment_file, Some("/srv/shop/.env".into()));
        let shop = told("mcp.json", VS_CODE, Some("shop"), &[]).unwrap();
        assert_eq!(shop.headers, [("X-Key".to_owned(), "t0ken".to_owned())]);
    }

    #[test]
    fn codex_replaces_nothing_and_hands_down_what_it_names() {
        let entry = told("config.toml", CODEX, Some("notes"), &[]).unwrap();
        assert_eq!(program(&entry), ("notes".to_owned(), vec!["${TOKEN}".to_owned()], Some("/srv".into())));
        assert_eq!(entry.environment, pairs(&[("KEY", "k"), ("TOKEN", "t0ken")]));
        let shop = told("config.toml", CODEX, Some("shop"), &[]).unwrap();
        let headers = [("X-Plain", "p"), ("X-Key", "t0ken"), ("Authorization", "Bearer t0ken")];
        assert_eq!(shop.headers, headers.map(|(name, value)| (name.to_owned(), value.to_owned())));
    }

    #[rstest]
    #[case(CLAUDE, None, "has several servers; choose one with --name: notes, shop, old")]
    #[case(CLAUDE, Some("note"), "did you mean `notes`?")]
    #[case(CLAUDE, Some("old"), "has the type sse")]
    #[case("{}", None, "names no server; it needs `mcpServers`")]
    #[case("{\"servers\": 1", None, "line 1")]
    #[case(r#"{"mcpServers": {"a": {}}}"#, None, "has neither `command` nor `url`")]
    #[case(r#"{"mcpServers": {"a": {"command": "x", "args": "y"}}}"#, None, "is no list of texts")]
    #[case(r#"{"mcpServers": {"a": {"command": "${NEVER_SET}"}}}"#, None, "needs the variable NEVER_SET")]
    fn what_is_wrong_is_said(#[case] text: &str, #[case] name: Option<&str>, #[case] wanted: &str) {
        let error = format!("{:#}", told(".mcp.json", text, name, &[]).unwrap_err());
        assert!(error.contains(wanted), "{error}");
    }
}
