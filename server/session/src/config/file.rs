//! Reads the configuration file: TOML as settings that know their line.
//! It must never guess: an unknown table or key is an error with the nearest known one.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{ConfigError, Origin};
use super::key::{self, Key};
use entraclaw_mcp::nearest::nearest;

/// A setting as text, with its place.
pub(super) type Setting = (&'static Key, String, Origin);

/// An entry of `[[allow]]` as text.
#[derive(Debug, Default)]
pub(super) struct AllowText {
    pub(super) tenant_id: Option<String>,
    pub(super) object_id: Option<String>,
    pub(super) mail: Option<String>,
    pub(super) name: Option<String>,
}

/// The content of a file.
#[derive(Debug, Default)]
pub(super) struct Parsed {
    pub(super) settings: Vec<Setting>,
    pub(super) allow: Option<Vec<(AllowText, Origin)>>,
    pub(super) errors: Vec<ConfigError>,
}

const ALLOW: &str = "allow";
const ALLOW_KEYS: &[&str] = &["tenant_id", "object_id", "mail", "name"];

/// Parses `text`; `path` is the name of the file in messages.
pub(super) fn parse(path: &str, text: &str) -> Parsed {
    let mut reader = Reader { path, text, parsed: Parsed::default() };
    match DeTable::parse(text) {
        Ok(root) => reader.root(root.get_ref()),
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            let problem = format!("it is not TOML: {}", error.message().replace('\n', ", "));
            reader.error(at, problem, "correct that line".to_owned());
        }
    }
    reader.parsed.errors.sort_by(|a, b| a.origin.cmp(&b.origin));
    reader.parsed
}

struct Reader<'a> {
    path: &'a str,
    text: &'a str,
    parsed: Parsed,
}

impl Reader<'_> {
    fn origin(&self, at: usize) -> Origin {
        let before = self.text.as_bytes().get(..at).unwrap_or(self.text.as_bytes());
        Origin::File { path: self.path.to_owned(), line: before.split(|b| *b == b'\n').count() }
    }

    fn error(&mut self, at: usize, problem: String, fix: String) {
        let origin = self.origin(at);
        self.parsed.errors.push(ConfigError { origin, problem, fix });
    }

    fn root(&mut self, root: &DeTable<'_>) {
        for (name, value) in root {
            let at = name.span().start;
            let section = key::section(name.get_ref());
            if section == ALLOW {
                self.allow_list(value);
            } else if key::ALL.iter().any(|k| k.section == section) {
                match value.get_ref().as_table() {
                    Some(table) => self.section(section, table),
                    None => self.error(
                        at,
                        format!("`{section}` is not a table"),
                        format!("write [{section}] on a line of its own"),
                    ),
                }
            } else if let Some(owners) = owners(section) {
                let problem = format!("`{section}` stands above every table");
                self.error(at, problem, format!("move it below a line {owners}"));
            } else {
                let mut known: Vec<&str> = key::ALL.iter().map(|k| k.section).chain([ALLOW]).collect();
                known.dedup();
                let fix = match nearest(section, &known) {
                    Some(close) => format!("did you mean `{close}`?"),
                    None => format!("the tables are {}", known.join(", ")),
                };
                self.error(at, format!("unknown table `{section}`"), fix);
            }
        }
    }

    fn section(&mut self, section: &str, table: &DeTable<'_>) {
        for (name, value) in table {
            let at = name.span().start;
            let below = format!("{section}.{}", name.get_ref());
            if let Some(table) = value.get_ref().as_table()
                && key::ALL.iter().any(|k| k.section == below)
            {
                self.section(&below, table);
                continue;
            }
            let of_section = || key::ALL.iter().filter(|k| k.section == section);
            let Some(found) = of_section().find(|k| k.name == name.get_ref().as_ref()) else {
                let problem = format!("unknown key `{section}.{}`", name.get_ref());
                let fix = if name.get_ref().contains("token") {
                    "a token is never kept in this file: set ENTRACLAW_ACCESS_TOKEN, or name a file of its own in \
                     `auth.token_file`"
                        .to_owned()
                } else if section == "bot"
                    && ["secret", "password"].iter().any(|w| name.get_ref().contains(w))
                {
                    format!("a secret is never kept in the file: set {}", key::BOT_SECRET_VARIABLE)
                } else if section == "wake" && name.get_ref().contains("password") {
                    format!("a secret is never kept in the file: set {}", key::OPENCODE_PASSWORD_VARIABLE)
                } else {
                    meant(section, name.get_ref())
                };
                self.error(at, problem, fix);
                continue;
            };
            match scalar(value) {
                Some(text) => {
                    let origin = self.origin(at);
                    self.parsed.settings.push((*found, text, origin));
                }
                None => self.error(
                    at,
                    format!("`{}` is of the type {}", found.field(), value.get_ref().type_str()),
                    "write a text in quotes, a number, true or false".to_owned(),
                ),
            }
        }
    }

    fn allow_list(&mut self, value: &Spanned<DeValue<'_>>) {
        let at = value.span().start;
        let Some(entries) = value.get_ref().as_array() else {
            let fix = "write [[allow]] with double brackets, once for each person".to_owned();
            return self.error(at, "`allow` is not a list".to_owned(), fix);
        };
        let mut list = Vec::new();
        for entry in entries {
            let at = entry.span().start;
            let Some(table) = entry.get_ref().as_table() else {
                let fix = "write [[allow]] with tenant_id and object_id below it".to_owned();
                self.error(at, "an entry of `allow` is not a table".to_owned(), fix);
                continue;
            };
            let mut person = AllowText::default();
            for (name, value) in table {
                let at = name.span().start;
                let slot = match name.get_ref().as_ref() {
                    "tenant_id" => &mut person.tenant_id,
                    "object_id" => &mut person.object_id,
                    "mail" => &mut person.mail,
                    "name" => &mut person.name,
                    other => {
                        let fix = match nearest(other, ALLOW_KEYS) {
                            Some(close) => format!("did you mean `allow.{close}`?"),
                            None => format!("an entry of `allow` takes {}", ALLOW_KEYS.join(", ")),
                        };
                        self.error(at, format!("unknown key `allow.{other}`"), fix);
                        continue;
                    }
                };
                match value.get_ref().as_str() {
                    Some(text) => *slot = Some(text.to_owned()),
                    None => self.error(
                        at,
                        format!("`allow.{}` is of the type {}", name.get_ref(), value.get_ref().type_str()),
                        "write a text in quotes".to_owned(),
                    ),
                }
            }
            list.push((person, self.origin(at)));
        }
        self.parsed.allow = Some(list);
    }
}

fn scalar(value: &Spanned<DeValue<'_>>) -> Option<String> {
    match value.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) => Some(number.as_str().to_owned()),
        // No setting is a fraction; the setting's own message says what to write.
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Boolean(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// The tables that have a key with this name.
fn owners(name: &str) -> Option<String> {
    let owners = key::ALL.iter().filter(|k| k.name == name);
    let owners: Vec<String> = owners.map(|k| format!("[{}]", k.section)).collect();
    (!owners.is_empty()).then(|| owners.join(" or "))
}

/// A hint which key of a table was probably meant.
fn meant(section: &str, name: &str) -> String {
    let of_section: Vec<&str> = key::ALL.iter().filter(|k| k.section == section).map(|k| k.name).collect();
    if let Some(close) = nearest(name, &of_section) {
        format!("did you mean `{section}.{close}`?")
    } else if let Some(owners) = owners(name) {
        format!("`{name}` belongs below {owners}")
    } else {
        format!("[{section}] takes {}", of_section.join(", "))
    }
}
