//! From settings as text to values: the order of strength, the bounds, the words for every mistake.
//! It must never stop at the first mistake, and never repeat a token.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::error::{ConfigError, ConfigErrors, Origin};
use super::key::{self, Key};
use super::{
    ALLOW_ENTRIES_MAX, Allow, Auth, Config, Graph, GroupMessages, Identity, Inbox, Limits, Log,
    PAGE_SIZE_MAX, POLL_INTERVAL_REMOTE_MIN, Retention, Secret, Sources, Teams, duration, file,
};
use crate::gate::Guid;
use crate::graph;
use crate::journal::ConsumerName;

/// See [`Config::load`].
pub(super) fn load(sources: &Sources) -> Result<Config, ConfigErrors> {
    let mut loader = Loader::default();
    loader.gather(sources);
    let config = loader.build(&sources.environment);
    if loader.errors.is_empty() { Ok(config) } else { Err(ConfigErrors(loader.errors)) }
}

#[derive(Default)]
struct Loader {
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
        // Hosts set a variable that they know nothing of to nothing.
        for (name, value) in sources.environment.iter().filter(|(_, value)| !value.trim().is_empty()) {
            match key::classify(name) {
                key::Variable::Sets(key) if key.variable() == *name => regular.push((key, name, value)),
                key::Variable::Sets(key) => self.set_from_environment(key, name, value),
                key::Variable::Misspelt(close) => self.errors.push(ConfigError {
                    origin: Origin::Environment(name.clone()),
                    problem: "it is not a known setting".to_owned(),
                    fix: format!("did you mean {close}?"),
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
        let origin = self.graph_origin();
        Config {
            auth: self.auth(environment.get(key::ACCESS_TOKEN_VARIABLE)),
            identity: Identity {
                tenant_id: self.guid(&key::IDENTITY_TENANT_ID),
                object_id: self.guid(&key::IDENTITY_OBJECT_ID),
            },
            inbox: Inbox { consumer: self.consumer() },
            log: Log {
                level: self.log_level(),
                file: self.truth(&key::LOG_FILE, false),
                file_mb: self.number(&key::LOG_FILE_MB, 5, 1, 1_024),
                files: self.number(&key::LOG_FILES, 5, 1, 100),
            },
            retention: self.retention(),
            teams: self.teams(origin.is_loopback()),
            allow: self.people(),
            graph: Graph {
                origin,
                request_timeout: self.duration(&key::GRAPH_REQUEST_TIMEOUT, 20_000, 100, 300_000),
            },
        }
    }

    fn error(&mut self, origin: &Origin, problem: String, fix: impl Into<String>) {
        self.errors.push(ConfigError { origin: origin.clone(), problem, fix: fix.into() });
    }

    fn value(&self, key: &'static Key) -> Option<(String, Origin)> {
        self.settings.get(key).cloned()
    }

    fn graph_origin(&mut self) -> graph::Origin {
        let (text, at) =
            self.value(&key::GRAPH_URL).unwrap_or_else(|| (graph::DEFAULT_ROOT.to_owned(), Origin::Default));
        graph::Origin::parse(&text).unwrap_or_else(|error| {
            self.error(&at, format!("`graph.url` {}", error.problem), error.fix);
            graph::Origin::microsoft()
        })
    }

    fn auth(&mut self, token: Option<&String>) -> Auth {
        const FIX: &str = "set ENTRACLAW_ACCESS_TOKEN to an access token for Microsoft Graph";
        let token = token.map(|t| t.trim()).filter(|t| !t.is_empty());
        let mode = self.value(&key::AUTH_MODE);
        let at = mode.as_ref().map_or(Origin::Default, |(_, at)| at.clone());
        match (mode.as_ref().map(|(text, _)| text.as_str()), token) {
            (None, None) => Auth::None,
            (None | Some("static"), Some(token)) if token.bytes().all(|b| b.is_ascii_graphic()) => {
                Auth::Static(Secret::new(token))
            }
            (None | Some("static"), Some(_)) => {
                let at = Origin::Environment(key::ACCESS_TOKEN_VARIABLE.to_owned());
                self.error(&at, "the token holds a blank or a control character".to_owned(), "copy it again");
                Auth::None
            }
            (Some("static"), None) => {
                self.error(&at, "`auth.mode` is static, but there is no token".to_owned(), FIX);
                Auth::None
            }
            (Some(later @ ("agent-user" | "device-code" | "browser")), _) => {
                let problem = format!("`auth.mode` \"{later}\" is not available in this version");
                self.error(&at, problem, format!("write \"static\" and {FIX}"));
                Auth::None
            }
            (Some(other), _) => {
                // Not repeated: people put the token itself here.
                let problem =
                    format!("`auth.mode` is none that is known ({} characters)", other.chars().count());
                self.error(&at, problem, format!("write \"static\" and {FIX}"));
                Auth::None
            }
        }
    }

    fn guid(&mut self, key: &'static Key) -> Option<Guid> {
        let (text, at) = self.value(key)?;
        let guid = Guid::parse(&text);
        if guid.is_none() {
            self.error(&at, format!("`{}` is {text:?}, which is not a GUID", key.field()), GUID_FIX);
        }
        guid
    }

    fn consumer(&mut self) -> Option<ConsumerName> {
        let (text, at) = self.value(&key::INBOX_CONSUMER)?;
        let consumer = ConsumerName::new(&text).ok();
        if consumer.is_none() {
            let fix = "use 1 to 64 of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit";
            self.error(&at, format!("`inbox.consumer` is {text:?}"), fix);
        }
        consumer
    }

    fn log_level(&mut self) -> String {
        const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];
        let Some((text, at)) = self.value(&key::LOG_LEVEL) else { return "info".to_owned() };
        if !LEVELS.contains(&text.as_str()) {
            self.error(
                &at,
                format!("`log.level` is {text:?}"),
                "write off, error, warn, info, debug or trace",
            );
        }
        text
    }

    fn truth(&mut self, key: &'static Key, default: bool) -> bool {
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

    fn duration(&mut self, key: &'static Key, default_ms: u64, ms_min: u64, ms_max: u64) -> Duration {
        let default = Duration::from_millis(default_ms);
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

    fn not_a_duration(&mut self, key: &'static Key, text: &str, at: &Origin) {
        let field = key.field();
        if text.parse::<u32>().is_ok() {
            let fix = format!("add a unit, such as \"{text}s\" or \"{text}m\"");
            return self.error(at, format!("`{field}` is {text} without a unit"), fix);
        }
        let fix = "write a whole number and a unit, such as \"5s\" or \"500ms\"";
        self.error(at, format!("`{field}` is {text:?}, which is not a duration"), fix);
    }

    fn number(&mut self, key: &'static Key, default: u32, min: u32, max: u32) -> u32 {
        let Some((text, at)) = self.value(key) else { return default };
        match text.parse() {
            Ok(number) if (min..=max).contains(&number) => number,
            _ => {
                let fix = format!("write a whole number from {min} to {max}");
                self.error(&at, format!("`{}` is {text:?}", key.field()), fix);
                default
            }
        }
    }

    /// Zero is no limit.
    fn limit(&mut self, key: &'static Key, default: u32) -> Option<u32> {
        const MAX: u32 = 1_000_000;
        Some(self.number(key, default, 0, MAX)).filter(|limit| *limit > 0)
    }

    fn retention(&mut self) -> Retention {
        Retention {
            journal: Limits {
                days: self.limit(&key::RETENTION_JOURNAL_DAYS, 90),
                mb: self.limit(&key::RETENTION_JOURNAL_MB, 512),
            },
            interactions: Limits {
                days: self.limit(&key::RETENTION_INTERACTIONS_DAYS, 90),
                mb: self.limit(&key::RETENTION_INTERACTIONS_MB, 128),
            },
            attachments: Limits {
                days: self.limit(&key::RETENTION_ATTACHMENTS_DAYS, 30),
                mb: self.limit(&key::RETENTION_ATTACHMENTS_MB, 512),
            },
            log_days: self.limit(&key::RETENTION_LOG_DAYS, 30),
            consumer_idle_days: self.number(&key::RETENTION_CONSUMER_IDLE_DAYS, 30, 1, 3_650),
        }
    }

    fn teams(&mut self, graph_is_local: bool) -> Teams {
        const HOUR_MS: u64 = 3_600_000;
        let poll_interval = self.duration(&key::TEAMS_POLL_INTERVAL, 5_000, 10, 24 * HOUR_MS);
        if poll_interval < POLL_INTERVAL_REMOTE_MIN && !graph_is_local {
            let at = self.value(&key::TEAMS_POLL_INTERVAL).map_or(Origin::Default, |(_, at)| at);
            let problem = format!("`teams.poll_interval` is {}", duration::show(poll_interval));
            let fix = "write 1s or more; less is for a Graph on loopback, set by `graph.url`";
            if !self.errors.iter().any(|e| e.origin == at) {
                self.error(&at, problem, fix);
            }
        }
        Teams {
            enabled: self.truth(&key::TEAMS_ENABLED, true),
            poll_interval,
            overlap: self.duration(&key::TEAMS_OVERLAP, 30_000, 0, HOUR_MS),
            page_size: self.page_size(),
            look_back: self.duration(&key::TEAMS_LOOK_BACK, 0, 0, 30 * 24 * HOUR_MS),
            sweep_interval: self.duration(&key::TEAMS_SWEEP_INTERVAL, 45_000, 1_000, 24 * HOUR_MS),
            hot_for: self.duration(&key::TEAMS_HOT_FOR, 15 * 60_000, 0, 24 * HOUR_MS),
            group_messages: self.group_messages(),
        }
    }

    fn page_size(&mut self) -> u32 {
        let Some((text, at)) = self.value(&key::TEAMS_PAGE_SIZE) else { return PAGE_SIZE_MAX };
        if let Ok(size @ 1..=PAGE_SIZE_MAX) = text.parse() {
            return size;
        }
        let fix = format!("write a number from 1 to {PAGE_SIZE_MAX}, the most that Graph gives");
        self.error(&at, format!("`teams.page_size` is {text:?}"), fix);
        PAGE_SIZE_MAX
    }

    fn group_messages(&mut self) -> GroupMessages {
        let Some((text, at)) = self.value(&key::TEAMS_GROUP_MESSAGES) else { return GroupMessages::All };
        match text.as_str() {
            "all" => GroupMessages::All,
            "mentioned" => GroupMessages::Mentioned,
            _ => {
                let fix = "write \"all\" or \"mentioned\"";
                self.error(&at, format!("`teams.group_messages` is {text:?}"), fix);
                GroupMessages::All
            }
        }
    }

    fn people(&mut self) -> Vec<Allow> {
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

    fn person(&mut self, text: file::AllowText, at: &Origin) -> Option<Allow> {
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
        (self.errors.len() == before).then(|| Allow {
            tenant_id: text.tenant_id.as_deref().and_then(Guid::parse),
            object_id: text.object_id.as_deref().and_then(Guid::parse),
            mail: text.mail.map(|m| m.trim().to_lowercase()),
            name: text.name,
        })
    }
}

const GUID_FIX: &str = "write it like 00000000-0000-0000-0000-000000000000";

/// `tenant/object` or `mail@host`.
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

fn is_mail_address(text: &str) -> bool {
    let text = text.trim();
    text.split_once('@').is_some_and(|(local, host)| {
        !local.is_empty() && !host.is_empty() && !host.contains('@') && !text.contains(char::is_whitespace)
    })
}
