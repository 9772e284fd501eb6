//! Plans an import: the settings and positions that it takes over, those that it leaves, and why.
//! It must never show a value that may be a secret.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{env_file, positions};
use entraclaw_microsoft::{mail, teams};
use entraclaw_session::config::key::{self, Key, Takes, Variable};
use entraclaw_session::config::{Config, Origin, Sources};
use entraclaw_session::status::amount::{counted, counted_with};

/// The prefixes of the other server's variables, the newer one first.
const PREFIXES: [&str; 2] = ["ENTRABOT_", "ENTRACLAW_"];
/// Ways to sign in that read settings of their own.
const MODES: [&str; 2] = ["agent-user", "device-code"];
/// Words in a name that make its value a secret.
const SECRET_WORDS: [&str; 6] = ["PASSWORD", "SECRET", "TOKEN", "PRIVATE", "CREDENTIAL", "CONNECTION_STRING"];
/// The other server's switch for reactions, which has another name here.
const REACTIONS: &str = "REACTIONS_ENABLED";
/// Names that together describe the people who may write.
const PEOPLE: [&str; 7] = [
    "HUMAN_USER_ID",
    "HUMAN_USER_IDS",
    "HUMAN_UPN",
    "HUMAN_UPNS",
    "HUMAN_USER_TENANT_IDS",
    "HUMAN_USER_MAILS",
    "HUMAN_USER_TYPES",
];

/// The texts of the other server's files, as far as they exist.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Found {
    /// The text of its environment file.
    pub environment: Option<String>,
    /// The text of `watched_chats`.
    pub watched_chats: Option<String>,
    /// The text of `watched_chats.json`.
    pub watched_chats_json: Option<String>,
    /// The text of `email_cursor.txt`.
    pub email_cursor: Option<String>,
    /// The name and text of each file in `chat_cursors`.
    pub chat_cursors: Vec<(String, String)>,
}

impl Found {
    /// Whether no file exists.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A person who may write to the agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Person {
    /// The home tenant.
    pub tenant_id: String,
    /// The object id in that tenant.
    pub object_id: String,
    /// The mail address.
    pub mail: Option<String>,
    /// A name for readers of the file.
    pub name: Option<String>,
}

/// The plan of an import.
#[derive(Debug, Default)]
pub struct Plan {
    /// Settings for config.toml, with the name that each comes from.
    pub settings: Vec<(&'static Key, String, String)>,
    /// Entries for `[[allow]]`.
    pub people: Vec<Person>,
    /// Files below the home folder, each with its content and a short description.
    pub files: Vec<(&'static str, Vec<u8>, String)>,
    /// Names that are left out, each with the reason.
    pub left_out: Vec<(String, String)>,
    /// Facts that are worth knowing.
    pub notes: Vec<String>,
}

/// Makes the plan. `has_file` says whether a file in the home folder exists already.
pub fn plan(found: &Found, has_file: impl Fn(&str) -> bool) -> Plan {
    let mut plan = Plan::default();
    if let Some(text) = &found.environment {
        plan.environment(text);
    }
    plan.chats(found, &has_file);
    plan.mail(found, &has_file);
    plan.watched(found, &has_file);
    plan
}

impl Plan {
    fn leave(&mut self, name: impl Into<String>, why: impl Into<String>) {
        self.left_out.push((name.into(), why.into()));
    }

    fn environment(&mut self, text: &str) {
        let mut people = BTreeMap::new();
        let mut taken: Vec<&'static Key> = Vec::new();
        let variables = env_file::parse(text);
        for prefix in PREFIXES {
            for (line, name, value) in &variables {
                let Some(bare) = name.strip_prefix(prefix) else { continue };
                if value.is_empty() {
                    continue;
                }
                if SECRET_WORDS.iter().any(|word| bare.contains(word)) {
                    self.leave(name, "a secret; no file of this server holds one");
                } else if PEOPLE.contains(&bare) {
                    people.entry(bare.to_owned()).or_insert_with(|| value.clone());
                } else if let Some(key) = key_of(name, bare) {
                    if taken.contains(&key) {
                        self.leave(name, format!("`{}` was taken from another name", key.field()));
                    } else if let Some(setting) = self.setting(key, (*line, name), value) {
                        taken.push(key);
                        self.settings.push((key, setting, name.clone()));
                    }
                } else {
                    self.leave(name, "this server has no such setting");
                }
            }
        }
        self.people(&people);
    }

    /// The value in the form of this server, if it is valid.
    fn setting(&mut self, key: &'static Key, at: (usize, &str), value: &str) -> Option<String> {
        let value = match (key, value.to_ascii_lowercase().as_str()) {
            (k, "warning") if *k == key::LOG_LEVEL => "warn".to_owned(),
            (k, "critical" | "fatal") if *k == key::LOG_LEVEL => "error".to_owned(),
            (k, lower) if *k == key::LOG_LEVEL => lower.to_owned(),
            (k, "yes" | "on") if k.takes == Takes::Truth => "true".to_owned(),
            (k, "no" | "off") if k.takes == Takes::Truth => "false".to_owned(),
            (k, lower) if k.takes == Takes::Truth => lower.to_owned(),
            _ => value.to_owned(),
        };
        let Some(why) = mistake(key, &value) else { return Some(value) };
        let (line, name) = at;
        self.leave(name, format!("line {line}: {why}"));
        None
    }

    fn people(&mut self, words: &BTreeMap<String, String>) {
        let list = |names: [&str; 2]| -> Vec<String> {
            let text = names.iter().find_map(|name| words.get(*name));
            text.map_or_else(Vec::new, |text| text.split(',').map(|part| part.trim().to_owned()).collect())
        };
        let own_tenant = self.settings.iter().find(|(key, ..)| **key == key::IDENTITY_TENANT_ID);
        let own_tenant = own_tenant.map(|(_, value, _)| value.clone());
        let tenants = list(["HUMAN_USER_TENANT_IDS", ""]);
        let (mails, names) = (list(["HUMAN_USER_MAILS", ""]), list(["HUMAN_UPNS", "HUMAN_UPN"]));
        let of = |list: &[String], at: usize| list.get(at).filter(|text| !text.is_empty()).cloned();
        for (at, object_id) in list(["HUMAN_USER_IDS", "HUMAN_USER_ID"]).into_iter().enumerate() {
            if object_id.is_empty() {
                continue;
            }
            let Some(tenant_id) = of(&tenants, at).or_else(|| own_tenant.clone()) else {
                self.leave(format!("person {object_id}"), "its tenant is not known");
                continue;
            };
            let mut person = Person { tenant_id, object_id, mail: of(&mails, at), name: of(&names, at) };
            if load_person(&person).is_err() {
                person.mail = None;
            }
            match load_person(&person) {
                Ok(()) => self.people.push(person),
                Err(why) => self.leave(format!("person {}", person.object_id), why),
            }
        }
        if self.people.is_empty() && words.keys().any(|name| name.contains("UPN") || name.contains("MAIL")) {
            self.leave("HUMAN_UPN", "a name or address proves nothing in Teams; add the person's object id");
        }
    }

    fn chats(&mut self, found: &Found, has_file: &dyn Fn(&str) -> bool) {
        let read = positions::chats(&found.chat_cursors);
        for (file, why) in read.unreadable {
            self.leave(file, why);
        }
        let Some(newest) = read.chats.values().max().copied() else { return };
        if has_file(teams::CURSOR_FILE) {
            return self.leave("chat_cursors", format!("{} is there already and stays", teams::CURSOR_FILE));
        }
        let what = format!("{} chats go on where each was read to, others at {newest}", read.chats.len());
        self.files.extend(teams::position(read.chats).map(|bytes| (teams::CURSOR_FILE, bytes, what)));
    }

    /// Takes over the groups of which the other server reads every message. Here they are watched and watchable, so that the
    /// agent may leave them.
    fn watched(&mut self, found: &Found, has_file: &dyn Fn(&str) -> bool) {
        let (plain, json) = (found.watched_chats.as_deref(), found.watched_chats_json.as_deref());
        let mut watched = positions::watched(plain, json);
        if let Some(why) = watched.unreadable {
            self.leave("watched_chats.json", why);
        }
        if watched.of_two > 0 {
            let chats = counted(watched.of_two as u64, "watched chat");
            self.notes.push(format!(
                "{chats} of two people: nothing to take over, they are heard whole here anyway"
            ));
        }
        if watched.groups.is_empty() {
            return;
        }
        let read = positions::chats(&found.chat_cursors).chats;
        let newest = read.values().max().copied();
        let mut chats = BTreeMap::new();
        for (id, added_at) in std::mem::take(&mut watched.groups) {
            match read.get(&id).copied().or(added_at).or(newest) {
                Some(from) => drop(chats.insert(id, from.to_string())),
                None => self.leave(
                    id,
                    "it is not known since when it is watched; the agent can watch it by `watch_chat`",
                ),
            }
        }
        if chats.is_empty() {
            return;
        }
        let ids: Vec<&str> = chats.keys().map(String::as_str).collect();
        self.settings.push((&key::TEAMS_WATCHABLE, ids.join(","), "watched_chats".to_owned()));
        if has_file(teams::WATCHED_FILE) {
            return self
                .leave("watched_chats", format!("{} is there already and stays", teams::WATCHED_FILE));
        }
        let groups = counted_with(chats.len() as u64, "group", ["is", "are"]);
        let what = format!("{groups} heard whole, of people who may write");
        self.files.extend(teams::watched_list(chats).map(|bytes| (teams::WATCHED_FILE, bytes, what)));
    }

    fn mail(&mut self, found: &Found, has_file: &dyn Fn(&str) -> bool) {
        let Some(text) = &found.email_cursor else { return };
        let Some(since) = positions::instant(text) else {
            return self.leave("email_cursor.txt", "it holds no time");
        };
        if has_file(mail::CURSOR_FILE) {
            return self.leave("email_cursor.txt", "mail has a position here already, which stays");
        }
        let what = format!("mail goes on at {since}");
        self.files.extend(mail::position(since).map(|bytes| (mail::CURSOR_FILE, bytes, what)));
    }
}

/// The problem of a value, by itself or when a way to sign in reads it.
fn mistake(key: &'static Key, value: &str) -> Option<String> {
    let variable = key.variable();
    let wrong = |mode: Option<&str>| {
        let mode = mode.map(|mode| (key::AUTH_MODE.variable(), mode.to_owned()));
        let own = (variable.clone(), value.to_owned());
        let environment = mode.into_iter().chain([own]).collect();
        let errors = Config::load(&Sources { environment, ..Sources::default() }).err()?.0;
        // Only the mistake of this value matters, not what else the mode requires.
        let own = errors.iter().find(|e| e.origin == Origin::Environment(variable.clone()));
        own.map(|e| format!("{}; {}", e.problem, e.fix))
    };
    let modes = MODES.into_iter().filter(|_| *key != key::AUTH_MODE).map(Some);
    [None].into_iter().chain(modes).find_map(wrong)
}

fn key_of(name: &str, bare: &str) -> Option<&'static Key> {
    if bare == REACTIONS {
        return Some(&key::TEAMS_REACTIONS);
    }
    [name.to_owned(), format!("ENTRACLAW_{bare}")].iter().find_map(|name| match key::classify(name) {
        Variable::Sets(key) => Some(key),
        Variable::Misspelt(_) | Variable::Other => None,
    })
}

/// Checks whether the configuration accepts a person.
fn load_person(person: &Person) -> Result<(), String> {
    let quoted = |text: &str| serde_json::to_string(text).unwrap_or_default();
    let mut file = format!(
        "[[allow]]\ntenant_id = {}\nobject_id = {}\n",
        quoted(&person.tenant_id),
        quoted(&person.object_id)
    );
    if let Some(mail) = &person.mail {
        let _ = writeln!(file, "mail = {}", quoted(mail));
    }
    let sources = Sources { file: Some(("config.toml".to_owned(), file)), ..Sources::default() };
    let problem = |errors: entraclaw_session::config::ConfigErrors| {
        errors.0.first().map_or_else(String::new, |error| format!("{}; {}", error.problem, error.fix))
    };
    Config::load(&sources).map(|_| ()).map_err(problem)
}
