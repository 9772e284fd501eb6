//! The names of all settings, with the values that each takes and its purpose.
//! It must never hold a value.

use entraclaw_mcp::nearest::{distance, nearest};

/// One setting of the file, with the environment variables that also set it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    /// The table in the file.
    pub section: &'static str,
    /// The key in that table.
    pub name: &'static str,
    /// More variables beside `ENTRACLAW_<SECTION>_<KEY>`; the first one that is set wins.
    pub aliases: &'static [&'static str],
    /// The values that it takes.
    pub takes: Takes,
    /// The default as it would be written; empty if there is none.
    pub default: &'static str,
    /// The purpose of the setting: one sentence for the operator, in Markdown.
    pub says: &'static str,
}

/// The values that a setting takes. The loader decides; tests check each of these against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Takes {
    /// `true` or `false`.
    Truth,
    /// A whole number with a unit.
    Time {
        /// The shortest, in milliseconds.
        ms_min: u64,
        /// The longest, in milliseconds.
        ms_max: u64,
    },
    /// A whole number.
    Number {
        /// The smallest.
        min: u32,
        /// The largest.
        max: u32,
    },
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// A GUID.
    Id,
    /// A text, described in a few words.
    Text(&'static str),
}

impl Key {
    /// The name in error messages: `section.name`.
    pub fn field(&self) -> String {
        format!("{}.{}", self.section, self.name)
    }

    /// The environment variable that is not an alias.
    pub fn variable(&self) -> String {
        format!("ENTRACLAW_{}_{}", self.section.replace('.', "_"), self.name).to_ascii_uppercase()
    }

    /// Whether this is [`Key::variable`]. It does not build the name, because every start compares every key with every
    /// variable.
    pub(super) fn is_set_by(&self, variable: &str) -> bool {
        let letters = self.section.bytes().chain([b'_']).chain(self.name.bytes());
        variable.strip_prefix("ENTRACLAW_").is_some_and(|rest| rest.bytes().eq(letters.map(of_variable)))
    }
}

/// A letter of a key as a variable has it.
fn of_variable(letter: u8) -> u8 {
    if letter == b'.' { b'_' } else { letter.to_ascii_uppercase() }
}

const fn time(ms_min: u64, ms_max: u64) -> Takes {
    Takes::Time { ms_min, ms_max }
}

const fn number(min: u32, max: u32) -> Takes {
    Takes::Number { min, max }
}

/// A limit; 0 means no limit.
const LIMIT: Takes = number(0, 1_000_000);
const HOUR_MS: u64 = 3_600_000;
const DAY_MS: u64 = 24 * HOUR_MS;
const ABSOLUTE_PATH: Takes = Takes::Text("an absolute path");
const ADDRESS: Takes = Takes::Text("an address");

macro_rules! keys {
    ($($const:ident = $section:literal . $name:literal $([$($alias:literal),+])? => $takes:expr, $default:literal, $says:literal;)+) => {
        $(#[doc = concat!("`", $section, ".", $name, "`")]
          pub const $const: Key = Key {
              section: $section, name: $name, aliases: &[$($($alias),+)?],
              takes: $takes, default: $default, says: $says,
          };)+
        /// Every setting but the `[[allow]]` list.
        pub const ALL: &[&Key] = &[$(&$const),+];
    };
}

keys! {
    ASK_PERMISSIONS = "ask"."permissions" =>
        Takes::OneOf(&["read-only", "workspace", "all"]), "all",
        "The most that another agent may do for `ask`: read; also change the project's files; or all that you may do, commands included. A call can only ask for less. `suggest` and `explain` only read.";
    ASK_DEFAULT_MODEL = "ask"."default_model" ["COPILOT_DEFAULT_MODEL"] =>
        Takes::Text("the name of a model"), "",
        "The model that Copilot is asked for where a call names none. Without it: `gpt-4.1` on versions that have it, and else Copilot's own default.";
    ASK_COPILOT = "ask"."copilot" ["COPILOT_BINARY_PATH"] =>
        Takes::Text("the path of a program"), "",
        "The program of the GitHub Copilot CLI, if it is not the `copilot` of the search path.";
    ASK_WAIT = "ask"."wait" =>
        time(10_000, HOUR_MS), "10m",
        "Longest wait for an answer on a host that lets a call go on. After that, and on every other host shortly before its own limit, the caller gets a ticket, and the answer comes to the inbox.";
    ASK_TIME_LIMIT = "ask"."time_limit" =>
        time(10_000, DAY_MS), "1h",
        "When an agent is ended that still works on a question.";
    ASK_AT_ONCE = "ask"."at_once" =>
        number(1, 64), "4",
        "How many agents may work at once; further questions wait.";
    ASK_WARM = "ask"."warm" =>
        number(0, 8), "0",
        "How many programs of agents may stand by for the next question, which is then answered without their start. Each takes about 350 MB.";
    AUTH_MODE = "auth"."mode" ["ENTRACLAW_AUTH"] =>
        Takes::OneOf(&["agent-user", "device-code", "browser", "static"]), "",
        "How the agent signs in. Without it nothing is polled and nothing can be sent.";
    AUTH_CLIENT_ID = "auth"."client_id" ["ENTRACLAW_CLIENT_ID", "ENTRABOT_CLIENT_ID"] =>
        Takes::Id, "",
        "The application (client) id of the app registration, for `device-code` and `browser`.";
    AUTH_SCOPES = "auth"."scopes" =>
        Takes::Text("scopes with blanks between"), "",
        "What is asked for at sign-in (`device-code`, `browser`). Without it: `offline_access User.Read Chat.Read ChatMessage.Send`, and with mail also `Mail.ReadWrite Mail.Send`. `offline_access` is added where it is missing.";
    AUTH_BLUEPRINT_ID = "auth"."blueprint_id" ["ENTRACLAW_BLUEPRINT_APP_ID", "ENTRABOT_BLUEPRINT_APP_ID"] =>
        Takes::Id, "",
        "The blueprint's application id, for `agent-user`.";
    AUTH_AGENT_ID = "auth"."agent_id" ["ENTRACLAW_AGENT_ID", "ENTRABOT_AGENT_ID"] =>
        Takes::Id, "",
        "The agent identity's application id, for `agent-user`.";
    AUTH_ALGORITHM = "auth"."algorithm" =>
        Takes::OneOf(&["PS256", "RS256"]), "PS256",
        "How the assertion is signed, for `agent-user`.";
    AUTH_KEY_STORE = "auth"."key_store" =>
        Takes::OneOf(&["system", "file"]), "system",
        "Where secrets are kept: the system's key store, or files with mode 0600 in the home folder.";
    AUTH_KEY_FILE = "auth"."key_file" =>
        ABSOLUTE_PATH, "",
        "The PEM private key in a file with mode 0600, instead of the key store (`agent-user`).";
    AUTH_CERTIFICATE_FILE = "auth"."certificate_file" =>
        ABSOLUTE_PATH, "",
        "The PEM certificate in a file (`agent-user`).";
    AUTH_CERTIFICATE_THUMBPRINT = "auth"."certificate_thumbprint" ["ENTRACLAW_BLUEPRINT_CERT_THUMBPRINT", "ENTRABOT_BLUEPRINT_CERT_THUMBPRINT"] =>
        Takes::Text("64 hexadecimal digits, or base64url"), "",
        "The certificate's SHA-256, where the certificate itself is not given (`agent-user`).";
    AUTH_TOKEN_FILE = "auth"."token_file" =>
        ABSOLUTE_PATH, "",
        "A file of yours alone that holds an access token, for `static`. It is read at each need.";
    AUTH_LOGIN_URL = "auth"."login_url" ["ENTRACLAW_LOGIN_URL"] =>
        ADDRESS, "https://login.microsoftonline.com",
        "Where to sign in.";
    BOT_ENABLED = "bot"."enabled" =>
        Takes::Truth, "false",
        "Whether the endpoint listens.";
    BOT_APP_ID = "bot"."app_id" ["ENTRABOT_BOT_APP_ID"] =>
        Takes::Id, "",
        "The application id of the bot's registration.";
    BOT_TENANT_ID = "bot"."tenant_id" =>
        Takes::Id, "",
        "The tenant of the registration. Without it: `identity.tenant_id`.";
    BOT_LISTEN = "bot"."listen" =>
        Takes::Text("an address on this machine with a port"), "127.0.0.1:3978",
        "Where activities arrive. A tunnel or a reverse proxy on this machine brings them.";
    BOT_OPENID_URL = "bot"."openid_url" =>
        ADDRESS, "https://login.botframework.com/v1/.well-known/openidconfiguration",
        "Where the channel publishes its keys: Microsoft's address, or one on 127.0.0.1 for tests.";
    BOT_LOGIN_URL = "bot"."login_url" =>
        ADDRESS, "https://login.microsoftonline.com",
        "Where the bot signs in: Microsoft's address, or one on 127.0.0.1 for tests.";
    CONTEXT_FILE_NAME = "context"."file_name" ["CONTEXT_FILE_NAME"] =>
        Takes::Text("a name of a file"), "context.md",
        "The name of the context file in a workspace.";
    CONTEXT_WORKSPACES = "context"."workspaces" =>
        Takes::Text("absolute paths with commas between"), "",
        "Folders that a call may name as its workspace, each with all folders below, beside those that the host or the user has opened.";
    CONTEXT_MEANINGS = "context"."meanings" =>
        ABSOLUTE_PATH, "",
        "The folder `wordllama` of the Python package of that name (0.4.0), whose table lets a question find an answer in other words. Without it: words alone.";
    DELEGATE_BASE_URL = "delegate"."base_url" =>
        Takes::Text("the address of a model server"), "",
        "The model server that `entraclaw delegate` asks. Without it: the first that is found on this machine, of Ollama (port 11434), llama.cpp (8080) and LM Studio (1234).";
    DELEGATE_MODEL = "delegate"."model" =>
        Takes::Text("the name of a model"), "",
        "The model of that server. Without it: the one that is loaded, or the only one.";
    DELEGATE_API = "delegate"."api" =>
        Takes::OneOf(&["auto", "openai", "ollama", "llama.cpp"]), "auto",
        "The form of the model server at `delegate.base_url`. With `auto` it is asked what it is.";
    DELEGATE_WORKTREE = "delegate"."worktree" =>
        Takes::Truth, "false",
        "Whether each task of a host works in a git worktree of its own. Then its answer names a branch, and nothing is merged.";
    GATE_PAIRING = "gate"."pairing" =>
        Takes::Truth, "false",
        "Whether a stranger who writes in a 1:1 chat gets a code for `entraclaw pair`.";
    GATE_SPONSORS = "gate"."sponsors" =>
        Takes::Truth, "false",
        "Whether the sponsors of the agent identity may speak. It needs `identity.agent_id`.";
    GATE_PERMISSION_RELAY = "gate"."permission_relay" =>
        Takes::Truth, "false",
        "Whether the permission requests of Claude Code are also sent to the operator's 1:1 chat.";
    GATE_OPERATOR = "gate"."operator" =>
        Takes::Text("`TENANT_ID/OBJECT_ID`"), "",
        "The operator. Without it the first allowed person who has written in a 1:1 chat answers permission requests, and no message is the operator's for `wake.whole_text`.";
    GRAPH_URL = "graph"."url" =>
        ADDRESS, "https://graph.microsoft.com",
        "Root of Microsoft Graph, without a version. `http` is for loopback only.";
    GRAPH_REQUEST_TIMEOUT = "graph"."request_timeout" =>
        time(100, 300_000), "20s",
        "How long one request may take.";
    IDENTITY_TENANT_ID = "identity"."tenant_id" ["ENTRACLAW_TENANT_ID", "ENTRABOT_TENANT_ID"] =>
        Takes::Id, "",
        "The agent's own tenant: the directory (tenant) id. Senders without a tenant id belong to it.";
    IDENTITY_OBJECT_ID = "identity"."object_id" ["ENTRACLAW_AGENT_USER_ID", "ENTRABOT_AGENT_USER_ID"] =>
        Takes::Id, "",
        "The agent's own object id. Its own messages are not delivered.";
    IDENTITY_USER_NAME = "identity"."user_name" ["ENTRACLAW_AGENT_USER_UPN", "ENTRACLAW_AGENT_UPN", "ENTRABOT_AGENT_USER_UPN", "ENTRABOT_AGENT_UPN"] =>
        Takes::Text("a mail address"), "",
        "The agent user's principal name, for `agent-user` where `object_id` is not given.";
    IDENTITY_AGENT_ID = "identity"."agent_id" ["ENTRACLAW_AGENT_OBJECT_ID", "ENTRABOT_AGENT_OBJECT_ID"] =>
        Takes::Id, "",
        "The object id of the agent identity. Its sponsors are asked for by this id.";
    INBOX_CONSUMER = "inbox"."consumer" =>
        Takes::Text("a name of a-z, 0-9, `.`, `_`, `-`"), "",
        "The consumer that sessions read as. Without it: the host's name decides.";
    LOG_LEVEL = "log"."level" ["LOG_LEVEL"] =>
        Takes::OneOf(&["off", "error", "warn", "info", "debug", "trace"]), "info",
        "How much is logged. The log goes to stderr.";
    LOG_FILE = "log"."file" =>
        Takes::Truth, "false",
        "Whether `log/entraclaw.log` in the home folder is written as well.";
    LOG_FILE_MB = "log"."file_mb" =>
        number(1, 1_024), "5",
        "Megabytes after which the log file is renamed and a new one begun.";
    LOG_FILES = "log"."files" =>
        number(1, 100), "5",
        "Log files that are kept, the current one included.";
    MAIL_ENABLED = "mail"."enabled" =>
        Takes::Truth, "false",
        "Whether the inbox is polled, and mail can be read and sent.";
    MAIL_POLL_INTERVAL = "mail"."poll_interval" =>
        time(10, DAY_MS), "60s",
        "Time between two looks at the inbox. Less than 1s is for a Graph on loopback only.";
    MAIL_LOOK_BACK = "mail"."look_back" =>
        time(0, 30 * DAY_MS), "0s",
        "How far back the very first start looks. What is older is history.";
    MAIL_AUTHSERV_ID = "mail"."authserv_id" =>
        Takes::Text("a host name"), "",
        "The name that your own mail gateway writes into `Authentication-Results`. Exchange Online writes none.";
    MAIL_MESSAGES_PER_HOUR = "mail"."messages_per_hour" =>
        number(1, 100), "10",
        "Mails that the agent may send in an hour in one conversation, or to one address.";
    MCP_EVENTS = "mcp"."events" =>
        Takes::Truth, "false",
        "Whether the draft of MCP Events is offered.";
    MCP_EXTERNAL_ENABLED = "mcp.external"."enabled" =>
        Takes::Truth, "true",
        "Whether hosts reach the engine of `entraclaw delegate`, by `entraclaw mcp-bridge`.";
    MCP_EXTERNAL_SOCKET_PATH = "mcp.external"."socket_path" =>
        ABSOLUTE_PATH, "",
        "The socket of the engine. Without it: one for each project, in the folder `delegate` of the home folder.";
    MCP_EXTERNAL_RATE_LIMIT = "mcp.external"."rate_limit" =>
        number(1, 100), "10",
        "Tasks a minute that a host may hand over.";
    RETENTION_JOURNAL_DAYS = "retention"."journal_days" =>
        LIMIT, "90",
        "Days that messages are kept. 0 is no limit, here and in all keys of this table but the last.";
    RETENTION_JOURNAL_MB = "retention"."journal_mb" =>
        LIMIT, "512",
        "Megabytes of messages.";
    RETENTION_INTERACTIONS_DAYS = "retention"."interactions_days" =>
        LIMIT, "90",
        "Days that the audit log is kept.";
    RETENTION_INTERACTIONS_MB = "retention"."interactions_mb" =>
        LIMIT, "128",
        "Megabytes of the audit log.";
    RETENTION_ATTACHMENTS_DAYS = "retention"."attachments_days" =>
        LIMIT, "30",
        "Days that fetched files are kept.";
    RETENTION_ATTACHMENTS_MB = "retention"."attachments_mb" =>
        LIMIT, "512",
        "Megabytes of fetched files.";
    RETENTION_LOG_DAYS = "retention"."log_days" =>
        LIMIT, "30",
        "Days that renamed log files are kept.";
    RETENTION_CONSUMER_IDLE_DAYS = "retention"."consumer_idle_days" =>
        number(1, 3_650), "30",
        "A consumer that was not seen for so many days does not keep messages from being removed.";
    TEAMS_ENABLED = "teams"."enabled" =>
        Takes::Truth, "true",
        "Whether Teams is polled.";
    TEAMS_POLL_INTERVAL = "teams"."poll_interval" =>
        time(10, DAY_MS), "5s",
        "Time between two looks at the list of chats. Less than 1s is for a Graph on loopback only.";
    TEAMS_IDLE_POLL_INTERVAL = "teams"."idle_poll_interval" =>
        time(10, DAY_MS), "",
        "The same when nothing has happened for `hot_for`. Without it, and where it is shorter: `poll_interval`.";
    TEAMS_LOOK_BACK = "teams"."look_back" =>
        time(0, 30 * DAY_MS), "0s",
        "How far back the very first start looks. What is older is history.";
    TEAMS_GROUP_MESSAGES = "teams"."group_messages" =>
        Takes::OneOf(&["mentioned", "all"]), "mentioned",
        "Which messages of group and meeting chats are heard: those that mention the agent, or all.";
    TEAMS_REACTIONS = "teams"."reactions" =>
        Takes::Truth, "true",
        "Whether the model has the tool `react`, which puts an emoji under a message.";
    TEAMS_WATCHABLE = "teams"."watchable" =>
        Takes::Text("chat ids with commas between, or `*`"), "",
        "Group chats that the model may choose to hear whole with `watch_chat`.";
    TEAMS_OVERLAP = "teams"."overlap" =>
        time(0, HOUR_MS), "30s",
        "How far behind its position a chat is read again, for messages that become visible late.";
    TEAMS_SWEEP_INTERVAL = "teams"."sweep_interval" =>
        time(1_000, DAY_MS), "45s",
        "Time between two looks into an active chat for edits, deletions and reactions.";
    TEAMS_HOT_FOR = "teams"."hot_for" =>
        time(0, DAY_MS), "15m",
        "How long a chat counts as active after its last message.";
    TEAMS_PAGE_SIZE = "teams"."page_size" =>
        number(1, 50), "50",
        "Items for each page that Graph is asked for.";
    TOOLS_SETS = "tools"."sets" =>
        Takes::Text("names with commas between"), "inbound, reply, chats, people, files, mail, bot",
        "Which sets of tools the model gets; see [Tools](tools.md).";
    WAKE_INBOX_SOCKET = "wake"."inbox_socket" ["ENTRACLAW_DOORS_INBOX_SOCKET"] =>
        Takes::Truth, "true",
        "Whether the inbox socket that Claude Code gives to its servers is used.";
    WAKE_WAKING_HOOK = "wake"."waking_hook" ["ENTRACLAW_DOORS_WAKING_HOOK"] =>
        Takes::Truth, "true",
        "Whether the hook that `entraclaw setup claude-code` writes may wake an idle session.";
    WAKE_CODEX_QUEUE = "wake"."codex_queue" ["ENTRACLAW_DOORS_CODEX_QUEUE"] =>
        Takes::Truth, "false",
        "Whether `codex queue` is run.";
    WAKE_CODEX_COMMAND = "wake"."codex_command" ["ENTRACLAW_DOORS_CODEX_COMMAND"] =>
        Takes::Text("a program in `PATH`, or an absolute path"), "codex",
        "The program for `codex_queue`.";
    WAKE_OPENCODE_PORT = "wake"."opencode_port" ["ENTRACLAW_DOORS_OPENCODE_PORT"] =>
        number(0, 65_535), "0",
        "The port of `opencode --port`. 0 is none.";
    WAKE_QWEN_PEER = "wake"."qwen_peer" ["ENTRACLAW_DOORS_QWEN_PEER"] =>
        Takes::Truth, "true",
        "Whether the inbox of the Qwen Code session that started the server is used.";
    WAKE_QWEN_INPUT_FILE = "wake"."qwen_input_file" ["ENTRACLAW_DOORS_QWEN_INPUT_FILE"] =>
        ABSOLUTE_PATH, "",
        "The file or pipe of `qwen --input-file`. It must be there and yours.";
    WAKE_MIN_INTERVAL = "wake"."min_interval" ["ENTRACLAW_DOORS_MIN_INTERVAL"] =>
        time(1_000, HOUR_MS), "10s",
        "How long a wake-up delays the next one, unless the agent calls a tool before. Messages that come in between go together.";
    WAKE_MESSAGES_PER_HOUR = "wake"."messages_per_hour" ["ENTRACLAW_DOORS_MESSAGES_PER_HOUR"] =>
        number(1, 600), "360",
        "Messages that may go by wake-ups in an hour; an announcement counts as one. The others wait for the next hour or a pull.";
    WAKE_WHOLE_TEXT = "wake"."whole_text" =>
        Takes::OneOf(&["operator", "allowed", "nobody"]), "operator",
        "The senders whose messages go whole through a wake-up. Of all others the agent is only told that messages wait.";
}

/// The tables of the file, in the order in which they are described.
pub const SECTIONS: &[(&str, &str)] = &[
    ("identity", "Who the agent is."),
    ("auth", "How the agent signs in."),
    ("gate", "Who may speak, beside `[[allow]]` and the policy."),
    ("teams", "Chats of Teams."),
    ("mail", "The agent's mailbox."),
    ("bot", "The endpoint for people who write to a registered Teams bot."),
    ("inbox", "Who reads the inbox."),
    ("tools", "What the model can call."),
    ("ask", "Other coding agents as tools."),
    ("context", "Shared context, and the search over all sessions."),
    ("delegate", "The local model of `entraclaw delegate`."),
    ("wake", "A host's own ways to wake its agent, and what goes through them."),
    ("mcp", "What is offered to hosts beside the tools."),
    ("mcp.external", "How hosts reach the local model of a project."),
    ("retention", "What is kept, and for how long."),
    ("log", "What is logged."),
    ("graph", "Where Microsoft Graph is."),
];

/// Tables that had another name in files of an older release, and their name here. Such a file still works.
const RENAMED_SECTIONS: &[(&str, &str)] = &[("doors", "wake")];

/// The current name of a table of the file.
pub(super) fn section(written: &str) -> &str {
    RENAMED_SECTIONS.iter().find(|(before, _)| *before == written).map_or(written, |(_, now)| now)
}

/// The allowlist's variable.
pub const ALLOW_VARIABLE: &str = "ENTRACLAW_ALLOW";
/// The static token's variable. A file never holds a token, so there is no key.
pub use entraclaw_inbox::source::ACCESS_TOKEN_VARIABLE;
/// The bot's secret. A file never holds one, so there is no key.
pub const BOT_SECRET_VARIABLE: &str = "ENTRACLAW_BOT_APP_PASSWORD";
/// The same under the name of the Python server.
pub const BOT_SECRET_ALIAS: &str = "ENTRABOT_BOT_APP_PASSWORD";
/// The password of opencode's port. A file never holds one, so there is no key.
pub const OPENCODE_PASSWORD_VARIABLE: &str = "ENTRACLAW_WAKE_OPENCODE_PASSWORD";
/// The same under its older name.
pub const OPENCODE_PASSWORD_ALIAS: &str = "ENTRACLAW_DOORS_OPENCODE_PASSWORD";
/// The bearer token of `serve --http`. A file never holds one, so there is no key.
pub const HTTP_TOKEN_VARIABLE: &str = "ENTRACLAW_HTTP_TOKEN";
/// The home folder's variable.
pub const HOME_VARIABLE: &str = "ENTRACLAW_HOME";

/// Variables that belong to no key of the file, and the purpose of each, in Markdown.
pub const VARIABLES: [(&str, &str); 7] = [
    (HOME_VARIABLE, "The home folder. Without it: `~/.entraclaw`."),
    (
        "WORKSPACE",
        "The workspace of shared context, where a call names none. A placeholder that a host has left in it does not count.",
    ),
    (
        ALLOW_VARIABLE,
        "Who may speak: `TENANT_ID/OBJECT_ID` or mail addresses with commas between. It replaces `[[allow]]`.",
    ),
    (
        ACCESS_TOKEN_VARIABLE,
        "An access token for Microsoft Graph, for `auth.mode = \"static\"`. The file never holds a token.",
    ),
    (
        BOT_SECRET_VARIABLE,
        "The client secret of the bot's registration; also read as `ENTRABOT_BOT_APP_PASSWORD`. The file never holds it.",
    ),
    (
        HTTP_TOKEN_VARIABLE,
        "The bearer token that clients of `serve --http` send, of at least 16 characters. Without it one is made up and shown.",
    ),
    (
        OPENCODE_PASSWORD_VARIABLE,
        "What opencode's port asks for, where `OPENCODE_SERVER_PASSWORD` is set; also read as \
         `ENTRACLAW_DOORS_OPENCODE_PASSWORD`. The file never holds it.",
    ),
];

/// Variables that other programs read, and that are therefore no mistake.
const FOREIGN_VARIABLES: &[&str] = &[
    "ENTRACLAW_LOG_DIR",
    "ENTRACLAW_SHARED",
    // Of the Python server of the same name.
    "ENTRACLAW_MODE",
];

/// Most letters by which a misspelling may differ from the known name.
const TYPO_LETTERS_MAX: usize = 2;

/// The kind of a variable: a setting, a mistake, or not ours.
#[derive(Debug, PartialEq, Eq)]
pub enum Variable {
    /// It sets this key.
    Sets(&'static Key),
    /// It is read elsewhere, or is not ours.
    Other,
    /// It looks like a setting but is none; with the name that was probably meant, if one is near.
    Misspelt(Option<String>),
}

/// Classifies a variable by name.
pub fn classify(variable: &str) -> Variable {
    if let Some(key) = ALL.iter().find(|k| k.is_set_by(variable) || k.aliases.contains(&variable)) {
        return Variable::Sets(key);
    }
    let fixed = VARIABLES.map(|(name, _)| name);
    if !variable.starts_with("ENTRACLAW_")
        || fixed.contains(&variable)
        || variable == OPENCODE_PASSWORD_ALIAS
        || FOREIGN_VARIABLES.contains(&variable)
    {
        return Variable::Other;
    }
    let names: Vec<String> = ALL
        .iter()
        .flat_map(|k| std::iter::once(k.variable()).chain(k.aliases.iter().map(|a| (*a).to_owned())))
        .chain(fixed.map(str::to_owned))
        .collect();
    let close = nearest(variable, &names);
    let of_a_section =
        ALL.iter().any(|k| variable.starts_with(&format!("ENTRACLAW_{}_", k.section.to_ascii_uppercase())));
    // The section may be missing: `ENTRACLAW_POLL_INTERVAL`.
    let bare = variable.trim_start_matches("ENTRACLAW_").to_ascii_lowercase();
    let without_section = ALL.iter().filter(|k| k.name.contains('_') && distance(&bare, k.name) <= 1);
    let without_section: Vec<String> = without_section.map(|k| k.variable()).collect();
    if !without_section.is_empty() {
        Variable::Misspelt(Some(without_section.join(" or ")))
    } else if of_a_section || close.is_some_and(|close| distance(variable, close) <= TYPO_LETTERS_MAX) {
        Variable::Misspelt(close.map(str::to_owned))
    } else {
        Variable::Other
    }
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
    #[case("ENTRACLAW_GRAPH_UR", Variable::Misspelt(Some("ENTRACLAW_GRAPH_URL".to_owned())))]
    #[case("ENTRACLAW_GRPAH_URL", Variable::Misspelt(Some("ENTRACLAW_GRAPH_URL".to_owned())))]
    #[case("ENTRACLAW_TEAMS_INTERVAL", Variable::Misspelt(Some("ENTRACLAW_TEAMS_POLL_INTERVAL".to_owned())))]
    #[case("ENTRACLAW_ALOW", Variable::Misspelt(Some("ENTRACLAW_ALLOW".to_owned())))]
    #[case("ENTRACLAW_POLL_INTERVAL", Variable::Misspelt(Some("ENTRACLAW_MAIL_POLL_INTERVAL or ENTRACLAW_TEAMS_POLL_INTERVAL".to_owned())))]
    #[case("ENTRACLAW_REQUEST_TIMEOUTS", Variable::Misspelt(Some("ENTRACLAW_GRAPH_REQUEST_TIMEOUT".to_owned())))]
    #[case("ENTRACLAW_TEAM_POLL_INTERVAL", Variable::Misspelt(Some("ENTRACLAW_TEAMS_POLL_INTERVAL".to_owned())))]
    #[case("ENTRACLAW_TEAMS_ZZZZZZZZZZZZZZZZZZZZZZZZZZZ", Variable::Misspelt(None))]
    #[case("ENTRACLAW_MODE", Variable::Other)]
    #[case("ENTRACLAW_SHARED", Variable::Other)]
    #[case("ENTRACLAW_BLUEPRINT_OBJECT_ID", Variable::Other)]
    #[case("ENTRABOT_BLUEPRINT_APP_ID", Variable::Sets(&AUTH_BLUEPRINT_ID))]
    #[case("ENTRACLAW_WAKE_CODEX_QUEUE", Variable::Sets(&WAKE_CODEX_QUEUE))]
    #[case("ENTRACLAW_WAKE_OPENCODE_PASSWORD", Variable::Other)]
    #[case("ENTRACLAW_DOORS_CODEX_QUEUE", Variable::Sets(&WAKE_CODEX_QUEUE))]
    #[case("ENTRACLAW_DOORS_OPENCODE_PASSWORD", Variable::Other)]
    #[case("ENTRACLAW_WAKE_OPENCODE_PASWORD", Variable::Misspelt(Some("ENTRACLAW_WAKE_OPENCODE_PASSWORD".to_owned())))]
    #[case("ENTRACLAW_LOGIN_URL", Variable::Sets(&AUTH_LOGIN_URL))]
    #[case("PATH", Variable::Other)]
    fn variables_are_told_apart(#[case] name: &str, #[case] verdict: Variable) {
        assert_eq!(classify(name), verdict);
    }
}
