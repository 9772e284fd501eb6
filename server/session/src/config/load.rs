//! Turns settings from text into values: the order of strength, the bounds, the words for every mistake.
//! It must never stop at the first mistake, and never repeat a token.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;

use super::error::{ConfigError, ConfigErrors, Origin};
use super::key::{self, Key, Takes};
use super::{
    ALLOW_ENTRIES_MAX, Config, Gate, Graph, Identity, Inbox, Log, Mcp, POLL_INTERVAL_REMOTE_MIN, Sources,
    duration, file,
};
use entraclaw_inbox::gate::{Guid, Person, WILDCARDS};
use entraclaw_inbox::journal::ConsumerName;
use entraclaw_inbox::tool::ToolSet;
use entraclaw_inbox::upkeep::{Limits, Retention};
use entraclaw_inbox::wake_up::WholeText;
use entraclaw_mcp::nearest::nearest;
use entraclaw_microsoft::http::RootError;
use entraclaw_microsoft::teams::{GroupMessages, Watchable};
use entraclaw_microsoft::{graph, mail, teams};

/// Does the work of [`Config::load`].
pub(super) fn load(sources: &Sources) -> Result<Config, ConfigErrors> {
    let mut loader = Loader::default();
    loader.gather(sources);
    let config = loader.build(&sources.environment);
    // This is the order in which a user goes through the file.
    loader.errors.sort_by(|a, b| a.origin.cmp(&b.origin));
    if loader.errors.is_empty() { Ok(config) } else { Err(ConfigErrors(loader.errors)) }
}

#[derive(Default)]
pub(super) struct Loader {
    settings: BTreeMap<&'static Key, (String, Origin)>,
    allow: Vec<(file::AllowText, Origin)>,
    errors: Vec<ConfigError>,
}

impl Loader {
    fn gather(&mut self, sources: &Sources) {
        if let Some((path, text)) = &sources.file {
            let parsed = file::parse(path, text);
            self.errors.extend(parsed.errors);
            self.settings
                .extend(parsed.settings.into_iter().map(|(key, text, origin)| (key, (text, origin))));
            self.allow = parsed.allow.unwrap_or_default();
        }
        // An alias is weaker than the regular variable: it is inserted first.
        let mut regular = Vec::new();
        // Hosts set a variable to an empty text if they know no value.
        for (name, value) in sources.environment.iter().filter(|(_, value)| !value.trim().is_empty()) {
            match key::classify(name) {
                key::Variable::Sets(key) if key.is_set_by(name) => regular.push((key, name, value)),
                key::Variable::Sets(key) => self.set_from_environment(key, name, value),
                key::Variable::Misspelt(close) => self.errors.push(ConfigError {
                    origin: Origin::Environment(name.clone()),
                    problem: "it is not a known setting".to_owned(),
                    fix: close.map_or_else(
                        || {
                            "none is like it; unset it, and see the settings that `entraclaw init` writes"
                                .to_owned()
                        },
                        |close| format!("did you mean {close}?"),
                    ),
                }),
                key::Variable::Other => {}
            }
        }
        for (key, name, value) in regular {
            self.set_from_environment(key, name, value);
        }
        if let Some(list) = sources.environment.get(key::ALLOW_VARIABLE) {
            self.allow = list
                .split(',')
                .map(str::trim)
                .filter(|entry| !entry.is_empty())
                .map(|entry| (allow_from_word(entry), Origin::Environment(key::ALLOW_VARIABLE.to_owned())))
                .collect();
        }
        for (key, flag, value) in &sources.flags {
            self.settings.insert(key, (value.clone(), Origin::Flag(flag)));
        }
    }

    fn set_from_environment(&mut self, key: &'static Key, name: &str, value: &str) {
        self.settings.insert(key, (value.to_owned(), Origin::Environment(name.to_owned())));
    }

    fn build(&mut self, environment: &BTreeMap<String, String>) -> Config {
        let found = self.root(&key::GRAPH_URL, graph::Origin::parse);
        // An address that can't be read may have meant this machine.
        let may_be_local = found.as_ref().is_none_or(graph::Origin::is_loopback);
        let origin = found.unwrap_or_else(graph::Origin::microsoft);
        let identity = Identity {
            tenant_id: self.guid(&key::IDENTITY_TENANT_ID),
            object_id: self.guid(&key::IDENTITY_OBJECT_ID),
            agent_id: self.guid(&key::IDENTITY_AGENT_ID),
        };
        Config {
            ask: self.ask(),
            auth: self.auth(environment.get(key::ACCESS_TOKEN_VARIABLE)),
            bot: self.bot(environment),
            context: self.context(),
            delegate: self.delegate(),
            wake_ups: self.wake_ups(environment),
            sign_in: self.sign_in(),
            identity,
            gate: self.gate(),
            inbox: Inbox { consumer: self.consumer() },
            log: Log {
                level: self.word(&key::LOG_LEVEL, "write off, error, warn, info, debug or trace").to_owned(),
                file: self.truth(&key::LOG_FILE),
                file_mb: self.number(&key::LOG_FILE_MB),
                files: self.number(&key::LOG_FILES),
            },
            mail: self.mail(may_be_local),
            mcp: Mcp { events: self.truth(&key::MCP_EVENTS) },
            retention: self.retention(),
            teams: self.teams(may_be_local),
            tools: self.tool_sets(),
            whole_text: self.whole_text(),
            allow: self.people(),
            graph: Graph { origin, request_timeout: self.duration(&key::GRAPH_REQUEST_TIMEOUT) },
        }
    }

    pub(super) fn error(&mut self, origin: &Origin, problem: String, fix: impl Into<String>) {
        self.errors.push(ConfigError { origin: origin.clone(), problem, fix: fix.into() });
    }

    pub(super) fn value(&self, key: &'static Key) -> Option<(String, Origin)> {
        self.settings.get(key).cloned()
    }

    /// The root of a service; `None` if the text can't be one.
    pub(super) fn root<T>(
        &mut self,
        key: &'static Key,
        parse: impl Fn(&str) -> Result<T, RootError>,
    ) -> Option<T> {
        let (text, at) = self.value(key).unwrap_or_else(|| (key.default.to_owned(), Origin::Default));
        let parsed = parse(&text);
        parsed
            .map_err(|error| self.error(&at, format!("`{}` {}", key.field(), error.problem), error.fix))
            .ok()
    }

    /// Whether a mistake was already found at this place.
    pub(super) fn has_error_at(&self, at: &Origin) -> bool {
        self.errors.iter().any(|error| error.origin == *at)
    }

    fn gate(&mut self) -> Gate {
        let gate = Gate {
            sponsors: self.truth(&key::GATE_SPONSORS),
            pairing: self.truth(&key::GATE_PAIRING),
            permission_relay: self.truth(&key::GATE_PERMISSION_RELAY),
            operator: self.operator(),
        };
        if gate.sponsors && self.value(&key::IDENTITY_AGENT_ID).is_none() {
            let at = self.value(&key::GATE_SPONSORS).map_or(Origin::Default, |(_, at)| at);
            let fix =
                "set `identity.agent_id` to the object id of the agent identity, or `gate.sponsors` to false";
            self.error(&at, "`gate.sponsors` is true, but `identity.agent_id` is missing".to_owned(), fix);
        }
        gate
    }

    fn operator(&mut self) -> Option<(Guid, Guid)> {
        let ids = |text: &str| Person::parse(text).ok().and_then(|person| person.ids());
        self.parsed(&key::GATE_OPERATOR, ", which is no person", "write TENANT_ID/OBJECT_ID, two GUIDs", ids)
    }

    pub(super) fn guid(&mut self, key: &'static Key) -> Option<Guid> {
        self.parsed(key, ", which is not a GUID", GUID_FIX, Guid::parse)
    }

    fn consumer(&mut self) -> Option<ConsumerName> {
        let fix = "use 1 to 64 of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit";
        self.parsed(&key::INBOX_CONSUMER, "", fix, |text| ConsumerName::new(text).ok())
    }

    /// Reads a value of any form; `problem` follows the wrong text in the message.
    pub(super) fn parsed<T>(
        &mut self,
        key: &'static Key,
        problem: &str,
        fix: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Option<T> {
        let (text, at) = self.value(key)?;
        let parsed = parse(&text);
        if parsed.is_none() {
            self.error(&at, format!("`{}` is {text:?}{problem}", key.field()), fix);
        }
        parsed
    }

    /// Reads a path, which must be absolute.
    pub(super) fn absolute_path(&mut self, key: &'static Key) -> Option<PathBuf> {
        let (text, at) = self.value(key)?;
        let path = PathBuf::from(text);
        if !path.is_absolute() {
            let problem = format!("`{}` is not an absolute path", key.field());
            self.error(&at, problem, "write it out from the root; the host chooses the working folder");
        }
        Some(path)
    }

    pub(super) fn truth(&mut self, key: &'static Key) -> bool {
        let default = key.default == "true";
        let Some((text, at)) = self.value(key) else { return default };
        match text.as_str() {
            "true" | "1" => true,
            "false" | "0" => false,
            _ => {
                self.error(&at, format!("`{}` is {text:?}", key.field()), "write true or false");
                default
            }
        }
    }

    pub(super) fn duration(&mut self, key: &'static Key) -> Duration {
        let Takes::Time { ms_min, ms_max } = key.takes else { unreachable!("{} is a time", key.name) };
        let default = duration::parse(key.default).unwrap_or_default();
        let Some((text, at)) = self.value(key) else { return default };
        let Some(parsed) = duration::parse(&text) else {
            self.not_a_duration(key, &text, &at);
            return default;
        };
        let (least, most) = (Duration::from_millis(ms_min), Duration::from_millis(ms_max));
        if parsed < least || parsed > most {
            let fix = format!("write {} to {}", duration::show(least), duration::show(most));
            self.error(&at, format!("`{}` is {}", key.field(), duration::show(parsed)), fix);
        }
        parsed
    }

    /// Reads one of the words that a key takes. For another word the hint names the one that was probably meant.
    pub(super) fn word(&mut self, key: &'static Key, fix: &str) -> &'static str {
        let Takes::OneOf(known) = key.takes else { unreachable!("{} is a word", key.name) };
        let Some((text, at)) = self.value(key) else { return key.default };
        if let Some(word) = known.iter().find(|word| **word == text) {
            return word;
        }
        self.error(&at, format!("`{}` is {text:?}", key.field()), format!("{}{fix}", meant(&text, known)));
        key.default
    }

    fn not_a_duration(&mut self, key: &'static Key, text: &str, at: &Origin) {
        let field = key.field();
        if text.parse::<u32>().is_ok() {
            let fix = format!("add a unit, such as \"{text}s\" or \"{text}m\"");
            return self.error(at, format!("`{field}` is {text} without a unit"), fix);
        }
        let fix = "write a whole number and a unit, such as \"5s\" or \"500ms\"";
        self.error(at, format!("`{field}` is {text:?}, which is not a duration"), fix);
    }

    pub(super) fn number(&mut self, key: &'static Key) -> u32 {
        self.number_or(key, |min, max| format!("write a whole number from {min} to {max}"))
    }

    /// Reads a number, with another text for the fix.
    fn number_or(&mut self, key: &'static Key, fix: impl FnOnce(u32, u32) -> String) -> u32 {
        let Takes::Number { min, max } = key.takes else { unreachable!("{} is a number", key.name) };
        let default = key.default.parse().unwrap_or(min);
        let Some((text, at)) = self.value(key) else { return default };
        match text.parse() {
            Ok(number) if (min..=max).contains(&number) => number,
            _ => {
                self.error(&at, format!("`{}` is {text:?}", key.field()), fix(min, max));
                default
            }
        }
    }

    /// Reads a limit; zero means none.
    fn limit(&mut self, key: &'static Key) -> Option<u32> {
        Some(self.number(key)).filter(|limit| *limit > 0)
    }

    fn retention(&mut self) -> Retention {
        Retention {
            journal: Limits {
                days: self.limit(&key::RETENTION_JOURNAL_DAYS),
                mb: self.limit(&key::RETENTION_JOURNAL_MB),
            },
            interactions: Limits {
                days: self.limit(&key::RETENTION_INTERACTIONS_DAYS),
                mb: self.limit(&key::RETENTION_INTERACTIONS_MB),
            },
            attachments: Limits {
                days: self.limit(&key::RETENTION_ATTACHMENTS_DAYS),
                mb: self.limit(&key::RETENTION_ATTACHMENTS_MB),
            },
            log_days: self.limit(&key::RETENTION_LOG_DAYS),
            consumer_idle_days: self.number(&key::RETENTION_CONSUMER_IDLE_DAYS),
        }
    }

    /// Reads a poll interval; less than a second only for a Graph on this machine.
    fn poll_interval(&mut self, key: &'static Key, graph_is_local: bool) -> Duration {
        let interval = self.duration(key);
        if interval < POLL_INTERVAL_REMOTE_MIN && !graph_is_local {
            let at = self.value(key).map_or(Origin::Default, |(_, at)| at);
            let problem = format!("`{}` is {}", key.field(), duration::show(interval));
            let fix = "write 1s or more; less is for a Graph on loopback, set by `graph.url`";
            if !self.has_error_at(&at) {
                self.error(&at, problem, fix);
            }
        }
        interval
    }

    fn mail(&mut self, graph_is_local: bool) -> mail::Settings {
        mail::Settings {
            enabled: self.truth(&key::MAIL_ENABLED),
            poll_interval: self.poll_interval(&key::MAIL_POLL_INTERVAL, graph_is_local),
            look_back: self.duration(&key::MAIL_LOOK_BACK),
            authserv_id: self.authserv_id(),
            messages_per_hour: self.number_or(&key::MAIL_MESSAGES_PER_HOUR, |min, max| {
                format!("write a number from {min} to {max}")
            }),
        }
    }

    fn authserv_id(&mut self) -> Option<String> {
        let fix = "write the host name before the first semicolon of Authentication-Results";
        let is_plain = |name: &str| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
        let name = |text: &str| Some(text.trim().to_ascii_lowercase()).filter(|name| is_plain(name));
        self.parsed(&key::MAIL_AUTHSERV_ID, "", fix, name).filter(|name| !name.is_empty())
    }

    fn teams(&mut self, graph_is_local: bool) -> teams::Settings {
        let poll_interval = self.poll_interval(&key::TEAMS_POLL_INTERVAL, graph_is_local);
        let idle_poll_interval = match self.value(&key::TEAMS_IDLE_POLL_INTERVAL) {
            None => poll_interval,
            Some(_) => self.duration(&key::TEAMS_IDLE_POLL_INTERVAL).max(poll_interval),
        };
        teams::Settings {
            enabled: self.truth(&key::TEAMS_ENABLED),
            poll_interval,
            overlap: self.duration(&key::TEAMS_OVERLAP),
            page_size: self.number_or(&key::TEAMS_PAGE_SIZE, |min, max| {
                format!("write a number from {min} to {max}, the most that Graph gives")
            }),
            look_back: self.duration(&key::TEAMS_LOOK_BACK),
            sweep_interval: self.duration(&key::TEAMS_SWEEP_INTERVAL),
            hot_for: self.duration(&key::TEAMS_HOT_FOR),
            group_messages: self.group_messages(),
            watchable: self.watchable(),
            idle_poll_interval,
            reactions: self.truth(&key::TEAMS_REACTIONS),
        }
    }

    fn watchable(&self) -> Watchable {
        let text = self.value(&key::TEAMS_WATCHABLE).map(|(text, _)| text).unwrap_or_default();
        let chats = words(&text);
        if chats.iter().any(|chat| chat == "*") { Watchable::All } else { Watchable::Only(chats) }
    }

    fn tool_sets(&mut self) -> BTreeSet<ToolSet> {
        let Some((text, at)) = self.value(&key::TOOLS_SETS) else { return ToolSet::DEFAULT.into() };
        let known_sets = ToolSet::ALL.map(ToolSet::as_str);
        let names = known_sets.join(", ");
        let given = words(&text);
        if given.is_empty() {
            let fix =
                format!("write some of {names}, with commas between, or leave it out for the usual ones");
            self.error(&at, "`tools.sets` names no set of tools".to_owned(), fix);
            return ToolSet::DEFAULT.into();
        }
        for word in given.iter().filter(|word| ToolSet::parse(word).is_none()) {
            let fix = format!("{}write some of {names}, with commas between", meant(word, &known_sets));
            self.error(&at, format!("`tools.sets` names {word:?}"), fix);
        }
        given.iter().filter_map(|word| ToolSet::parse(word)).collect()
    }

    fn whole_text(&mut self) -> WholeText {
        match self.word(&key::WAKE_WHOLE_TEXT, "write \"operator\", \"allowed\" or \"nobody\"") {
            "allowed" => WholeText::Allowed,
            "nobody" => WholeText::Nobody,
            _ => WholeText::Operator,
        }
    }

    fn group_messages(&mut self) -> GroupMessages {
        match self.word(&key::TEAMS_GROUP_MESSAGES, "write \"all\" or \"mentioned\"") {
            "all" => GroupMessages::All,
            _ => GroupMessages::Mentioned,
        }
    }

    fn people(&mut self) -> Vec<Person> {
        let texts = std::mem::take(&mut self.allow);
        if let Some((_, at)) = texts.get(ALLOW_ENTRIES_MAX) {
            let problem = format!("the allowlist has {} entries", texts.len());
            self.error(at, problem, format!("keep at most {ALLOW_ENTRIES_MAX}"));
        }
        let mut seen = BTreeSet::new();
        let mut people = Vec::new();
        for (text, at) in texts.into_iter().take(ALLOW_ENTRIES_MAX) {
            if let Some(person) = self.person(text, &at)
                && seen.insert((person.tenant_id.clone(), person.object_id.clone(), person.mail.clone()))
            {
                people.push(person);
            }
        }
        people
    }

    fn person(&mut self, text: file::AllowText, at: &Origin) -> Option<Person> {
        let before = self.errors.len();
        for (field, value) in [("tenant_id", &text.tenant_id), ("object_id", &text.object_id)] {
            if let Some(value) = value
                && Guid::parse(value).is_none()
            {
                self.error(at, format!("`allow.{field}` is {value:?}, which is not a GUID"), GUID_FIX);
            }
        }
        if text.tenant_id.is_some() != text.object_id.is_some() {
            let missing = if text.tenant_id.is_none() { "tenant_id" } else { "object_id" };
            let fix = format!("add `{missing}`: a person is a tenant id with an object id");
            self.error(at, format!("an entry of `allow` has no `{missing}`"), fix);
        } else if text.tenant_id.is_none() && text.mail.is_none() {
            let fix = "add `tenant_id` and `object_id`, or `mail`";
            self.error(at, "an entry of `allow` names nobody".to_owned(), fix);
        }
        if let Some(mail) = &text.mail
            && !is_mail_address(mail)
        {
            self.error(
                at,
                format!("`allow.mail` is {mail:?}"),
                "write one address such as alice@contoso.com",
            );
        }
        (self.errors.len() == before).then(|| Person {
            tenant_id: text.tenant_id.as_deref().and_then(Guid::parse),
            object_id: text.object_id.as_deref().and_then(Guid::parse),
            mail: text.mail.map(|m| m.trim().to_ascii_lowercase()),
            name: text.name,
            ..Person::default()
        })
    }
}

const GUID_FIX: &str = "write it like 00000000-0000-0000-0000-000000000000";

/// Reads an entry of the allowlist: `tenant/object` or `mail@host`.
fn allow_from_word(word: &str) -> file::AllowText {
    if let Some((tenant, object)) = word.split_once('/') {
        file::AllowText {
            tenant_id: Some(tenant.trim().to_owned()),
            object_id: Some(object.trim().to_owned()),
            ..Default::default()
        }
    } else if word.contains('@') {
        file::AllowText { mail: Some(word.to_owned()), ..Default::default() }
    } else {
        file::AllowText { object_id: Some(word.to_owned()), ..Default::default() }
    }
}

/// A hint with the nearest of the known words, to put before the fix.
pub(super) fn meant(word: &str, known: &[&str]) -> String {
    nearest(word, known).map(|close| format!("did you mean {close}? ")).unwrap_or_default()
}

/// The words between commas.
fn words(text: &str) -> BTreeSet<String> {
    text.split(',').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

pub(super) fn is_mail_address(text: &str) -> bool {
    let text = text.trim();
    text.split_once('@').is_some_and(|(local, host)| {
        let odd = |c: char| c.is_whitespace() || WILDCARDS.contains(&c);
        !local.is_empty() && !host.is_empty() && !host.contains('@') && !text.contains(odd)
    })
}
