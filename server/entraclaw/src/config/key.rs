//! The names of all settings, and what a misspelt one was probably meant to be.
//! It must never hold a value.

/// One setting of the file, with the environment variables that also set it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// Table in the file.
    pub section: &'static str,
    /// Key in that table.
    pub name: &'static str,
    /// Further variables beside `ENTRACLAW_<SECTION>_<KEY>`, the first found wins.
    pub aliases: &'static [&'static str],
}

impl Key {
    /// `section.name`, as error messages name it.
    pub fn field(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// The regular environment variable.
    pub fn variable(&self) -> String {
        format!("ENTRACLAW_{}_{}", self.section, self.name).to_ascii_uppercase()
    }

    /// Whether that is its regular variable, told without making the name: every start asks it of every key and variable.
    pub(super) fn is_set_by(&self, variable: &str) -> bool {
        let letters = self.section.bytes().chain([b'_']).chain(self.name.bytes());
        variable
            .strip_prefix("ENTRACLAW_")
            .is_some_and(|rest| rest.bytes().eq(letters.map(|letter| letter.to_ascii_uppercase())))
    }
}

macro_rules! keys {
    ($($konst:ident = $section:literal . $name:literal $([$($alias:literal),+])? ;)+) => {
        $(#[doc = concat!("`", $section, ".", $name, "`")]
          pub const $konst: Key = Key { section: $section, name: $name, aliases: &[$($($alias),+)?] };)+
        /// Every setting but the `[[allow]]` list.
        pub const ALL: &[&Key] = &[$(&$konst),+];
    };
}

keys! {
    AUTH_MODE = "auth"."mode" ["ENTRACLAW_AUTH"];
    BOT_ENABLED = "bot"."enabled";
    BOT_LISTEN = "bot"."listen";
    BOT_APP_ID = "bot"."app_id" ["ENTRABOT_BOT_APP_ID"];
    BOT_TENANT_ID = "bot"."tenant_id";
    BOT_OPENID_URL = "bot"."openid_url";
    BOT_LOGIN_URL = "bot"."login_url";
    DOORS_INBOX_SOCKET = "doors"."inbox_socket";
    DOORS_WAKING_HOOK = "doors"."waking_hook";
    DOORS_CODEX_QUEUE = "doors"."codex_queue";
    DOORS_CODEX_COMMAND = "doors"."codex_command";
    DOORS_OPENCODE_PORT = "doors"."opencode_port";
    DOORS_QWEN_PEER = "doors"."qwen_peer";
    DOORS_QWEN_INPUT_FILE = "doors"."qwen_input_file";
    DOORS_MIN_INTERVAL = "doors"."min_interval";
    DOORS_MESSAGES_PER_HOUR = "doors"."messages_per_hour";
    GATE_OPERATOR = "gate"."operator";
    GATE_PAIRING = "gate"."pairing";
    GATE_PERMISSION_RELAY = "gate"."permission_relay";
    GATE_SPONSORS = "gate"."sponsors";
    AUTH_LOGIN_URL = "auth"."login_url" ["ENTRACLAW_LOGIN_URL"];
    AUTH_BLUEPRINT_ID = "auth"."blueprint_id" ["ENTRACLAW_BLUEPRINT_APP_ID", "ENTRABOT_BLUEPRINT_APP_ID"];
    AUTH_AGENT_ID = "auth"."agent_id" ["ENTRACLAW_AGENT_ID", "ENTRABOT_AGENT_ID"];
    AUTH_CLIENT_ID = "auth"."client_id" ["ENTRACLAW_CLIENT_ID", "ENTRABOT_CLIENT_ID"];
    AUTH_SCOPES = "auth"."scopes";
    AUTH_ALGORITHM = "auth"."algorithm";
    AUTH_CERTIFICATE_FILE = "auth"."certificate_file";
    AUTH_CERTIFICATE_THUMBPRINT = "auth"."certificate_thumbprint" ["ENTRACLAW_BLUEPRINT_CERT_THUMBPRINT", "ENTRABOT_BLUEPRINT_CERT_THUMBPRINT"];
    AUTH_KEY_FILE = "auth"."key_file";
    AUTH_KEY_STORE = "auth"."key_store";
    AUTH_TOKEN_FILE = "auth"."token_file";
    GRAPH_URL = "graph"."url";
    GRAPH_REQUEST_TIMEOUT = "graph"."request_timeout";
    IDENTITY_TENANT_ID = "identity"."tenant_id" ["ENTRACLAW_TENANT_ID", "ENTRABOT_TENANT_ID"];
    IDENTITY_OBJECT_ID = "identity"."object_id" ["ENTRACLAW_AGENT_USER_ID", "ENTRABOT_AGENT_USER_ID"];
    IDENTITY_AGENT_ID = "identity"."agent_id" ["ENTRACLAW_AGENT_OBJECT_ID", "ENTRABOT_AGENT_OBJECT_ID"];
    IDENTITY_USER_NAME = "identity"."user_name" ["ENTRACLAW_AGENT_USER_UPN", "ENTRACLAW_AGENT_UPN", "ENTRABOT_AGENT_USER_UPN", "ENTRABOT_AGENT_UPN"];
    INBOX_CONSUMER = "inbox"."consumer";
    LOG_LEVEL = "log"."level";
    LOG_FILE = "log"."file";
    MAIL_ENABLED = "mail"."enabled";
    MAIL_POLL_INTERVAL = "mail"."poll_interval";
    MAIL_LOOK_BACK = "mail"."look_back";
    MAIL_AUTHSERV_ID = "mail"."authserv_id";
    MAIL_MESSAGES_PER_HOUR = "mail"."messages_per_hour";
    MCP_EVENTS = "mcp"."events";
    LOG_FILE_MB = "log"."file_mb";
    LOG_FILES = "log"."files";
    RETENTION_JOURNAL_DAYS = "retention"."journal_days";
    RETENTION_JOURNAL_MB = "retention"."journal_mb";
    RETENTION_INTERACTIONS_DAYS = "retention"."interactions_days";
    RETENTION_INTERACTIONS_MB = "retention"."interactions_mb";
    RETENTION_ATTACHMENTS_DAYS = "retention"."attachments_days";
    RETENTION_ATTACHMENTS_MB = "retention"."attachments_mb";
    RETENTION_LOG_DAYS = "retention"."log_days";
    RETENTION_CONSUMER_IDLE_DAYS = "retention"."consumer_idle_days";
    TEAMS_ENABLED = "teams"."enabled";
    TEAMS_POLL_INTERVAL = "teams"."poll_interval";
    TEAMS_OVERLAP = "teams"."overlap";
    TEAMS_PAGE_SIZE = "teams"."page_size";
    TEAMS_LOOK_BACK = "teams"."look_back";
    TEAMS_SWEEP_INTERVAL = "teams"."sweep_interval";
    TEAMS_HOT_FOR = "teams"."hot_for";
    TEAMS_GROUP_MESSAGES = "teams"."group_messages";
    TEAMS_WATCHABLE = "teams"."watchable";
    TEAMS_IDLE_POLL_INTERVAL = "teams"."idle_poll_interval";
    TOOLS_SETS = "tools"."sets";
    WAKE_WHOLE_TEXT = "wake"."whole_text";
}

/// The allowlist's variable.
pub const ALLOW_VARIABLE: &str = "ENTRACLAW_ALLOW";
/// The static token's variable. A file never holds a token, so there is no key.
pub use entraclaw_inbox::source::ACCESS_TOKEN_VARIABLE;
/// The bot's secret. A file never holds one, so there is no key.
pub const BOT_SECRET_VARIABLE: &str = "ENTRACLAW_BOT_APP_PASSWORD";
/// The same under the name of the peer that came before.
pub const BOT_SECRET_ALIAS: &str = "ENTRABOT_BOT_APP_PASSWORD";
/// The password of opencode's port. A file never holds one, so there is no key.
pub const OPENCODE_PASSWORD_VARIABLE: &str = "ENTRACLAW_DOORS_OPENCODE_PASSWORD";
/// The home folder's variable.
pub const HOME_VARIABLE: &str = "ENTRACLAW_HOME";

/// Variables that are set for another reader and therefore no mistake.
const FOREIGN_VARIABLES: &[&str] = &[
    "ENTRACLAW_LOG_DIR",
    "ENTRACLAW_SHARED",
    // Of the Python server of the same name.
    "ENTRACLAW_MODE",
];

/// The most letters that a misspelling may differ by and still be taken for the known name.
const TYPO_LETTERS_MAX: usize = 2;

/// The known name that is closest to `name`; ties go to the first.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known.into_iter().min_by_key(|candidate| distance(name, candidate))
}

/// Whether `variable` is a setting, a mistake, or none of our business.
#[derive(Debug, PartialEq, Eq)]
pub enum Variable {
    /// Sets this key.
    Sets(&'static Key),
    /// Read elsewhere, or not ours.
    Other,
    /// Looks like a setting and is none; this one was probably meant.
    Misspelt(String),
}

/// Classifies a variable by name.
pub fn classify(variable: &str) -> Variable {
    if let Some(key) = ALL.iter().find(|k| k.is_set_by(variable) || k.aliases.contains(&variable)) {
        return Variable::Sets(key);
    }
    let fixed = [
        ALLOW_VARIABLE,
        ACCESS_TOKEN_VARIABLE,
        BOT_SECRET_VARIABLE,
        OPENCODE_PASSWORD_VARIABLE,
        HOME_VARIABLE,
    ];
    if !variable.starts_with("ENTRACLAW_")
        || fixed.contains(&variable)
        || FOREIGN_VARIABLES.contains(&variable)
    {
        return Variable::Other;
    }
    let names: Vec<String> = ALL
        .iter()
        .flat_map(|k| std::iter::once(k.variable()).chain(k.aliases.iter().map(|a| (*a).to_owned())))
        .chain(fixed.map(str::to_owned))
        .collect();
    let Some(close) = nearest(variable, names.iter().map(String::as_str)) else { return Variable::Other };
    let of_a_section =
        ALL.iter().any(|k| variable.starts_with(&format!("ENTRACLAW_{}_", k.section.to_ascii_uppercase())));
    // The section was left out: `ENTRACLAW_POLL_INTERVAL`.
    let bare = variable.trim_start_matches("ENTRACLAW_").to_ascii_lowercase();
    let without_section = ALL.iter().filter(|k| k.name.contains('_') && distance(&bare, k.name) <= 1);
    let without_section: Vec<String> = without_section.map(|k| k.variable()).collect();
    if !without_section.is_empty() {
        Variable::Misspelt(without_section.join(" or "))
    } else if of_a_section || distance(variable, close) <= TYPO_LETTERS_MAX {
        Variable::Misspelt(close.to_owned())
    } else {
        Variable::Other
    }
}

/// Edits between two names: insertions, deletions, replacements.
pub(super) fn distance(a: &str, b: &str) -> usize {
    const NAME_LETTERS_MAX: usize = 64;
    let b: Vec<char> = b.chars().take(NAME_LETTERS_MAX).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(NAME_LETTERS_MAX).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("ENTRACLAW_TEAMS_POLL_INTERVAL", Variable::Sets(&TEAMS_POLL_INTERVAL))]
    #[case("ENTRACLAW_AUTH", Variable::Sets(&AUTH_MODE))]
    #[case("ENTRACLAW_AUTH_MODE", Variable::Sets(&AUTH_MODE))]
    #[case("ENTRACLAW_TENANT_ID", Variable::Sets(&IDENTITY_TENANT_ID))]
    #[case("ENTRACLAW_GRAPH_UR", Variable::Misspelt("ENTRACLAW_GRAPH_URL".to_owned()))]
    #[case("ENTRACLAW_GRPAH_URL", Variable::Misspelt("ENTRACLAW_GRAPH_URL".to_owned()))]
    #[case("ENTRACLAW_TEAMS_INTERVAL", Variable::Misspelt("ENTRACLAW_TEAMS_POLL_INTERVAL".to_owned()))]
    #[case("ENTRACLAW_ALOW", Variable::Misspelt("ENTRACLAW_ALLOW".to_owned()))]
    #[case("ENTRACLAW_POLL_INTERVAL", Variable::Misspelt("ENTRACLAW_MAIL_POLL_INTERVAL or ENTRACLAW_TEAMS_POLL_INTERVAL".to_owned()))]
    #[case("ENTRACLAW_REQUEST_TIMEOUTS", Variable::Misspelt("ENTRACLAW_GRAPH_REQUEST_TIMEOUT".to_owned()))]
    #[case("ENTRACLAW_TEAM_POLL_INTERVAL", Variable::Misspelt("ENTRACLAW_TEAMS_POLL_INTERVAL".to_owned()))]
    #[case("ENTRACLAW_MODE", Variable::Other)]
    #[case("ENTRACLAW_SHARED", Variable::Other)]
    #[case("ENTRACLAW_BLUEPRINT_OBJECT_ID", Variable::Other)]
    #[case("ENTRABOT_BLUEPRINT_APP_ID", Variable::Sets(&AUTH_BLUEPRINT_ID))]
    #[case("ENTRACLAW_DOORS_CODEX_QUEUE", Variable::Sets(&DOORS_CODEX_QUEUE))]
    #[case("ENTRACLAW_DOORS_OPENCODE_PASSWORD", Variable::Other)]
    #[case("ENTRACLAW_DOORS_OPENCODE_PASWORD", Variable::Misspelt("ENTRACLAW_DOORS_OPENCODE_PASSWORD".to_owned()))]
    #[case("ENTRACLAW_LOGIN_URL", Variable::Sets(&AUTH_LOGIN_URL))]
    #[case("PATH", Variable::Other)]
    fn variables_are_told_apart(#[case] name: &str, #[case] verdict: Variable) {
        assert_eq!(classify(name), verdict);
    }
}
