//! The table of known hosts by client name: how long a call may wait, and whether a push can reach the model.
//!
//! A name may choose a limit or an additional carrier; it must never decide whether a message is delivered.

use std::time::Duration;

use crate::beyond::Beyond;

/// How long a call may wait on a host that is not in the table, in seconds. It is under the shortest default limit seen
/// on any host (60 s), with room for a slow pipe.
pub const WAIT_CAP_S: u64 = 55;

/// The consumer for a client that gives no name.
pub const NAMELESS: &str = "unnamed-host";

/// Longest consumer name that is made from a client's name, in characters.
const CONSUMER_CHARS_MAX: usize = 64;

/// Whether a call may wait without a limit until a message arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Park {
    /// No: the host would give it up, or it would block its turn.
    Never,
    /// Yes, from this version on: the host moves it to the background, and its late result wakes the session.
    Since([u64; 3]),
    /// Yes, if the call has a progress token, as each progress notification restarts the host's limit.
    WithProgress,
}

/// The environment variables of a host that its servers get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HandsDown {
    /// All variables.
    Everything,
    /// All variables from this version on; before it a few of the system's, or it was not examined.
    EverythingSince([u64; 3]),
    /// A few of the system's variables.
    Few,
    /// All variables but those with one of these words in capitals in their name.
    AllBut(&'static [&'static str]),
}

impl HandsDown {
    /// Whether a variable of ours does not reach the server, as far as known, on a host of this version.
    pub fn keeps(self, variable: &str, version: &str) -> bool {
        match self {
            Self::Everything => false,
            Self::EverythingSince(since) => numbers(version) < since,
            Self::Few => true,
            Self::AllBut(words) => words.iter().any(|word| variable.contains(word)),
        }
    }
}

/// Words in a variable's name that make Gemini CLI treat it as a secret.
const GEMINI_HIDES: &[&str] = &[
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "KEY",
    "AUTH",
    "CREDENTIAL",
    "CREDS",
    "PRIVATE",
    "CERT",
    "CLIENT_ID",
];

/// One family of hosts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostRow {
    /// The family, which is also the consumer that its sessions share.
    pub family: &'static str,
    /// Client names of the family; a trailing `*` matches any ending.
    pub names: &'static [&'static str],
    /// Longest wait of a call that has a limit, in seconds.
    pub wait_cap_s: u64,
    /// Whether a call may wait without a limit.
    pub park: Park,
    /// The interval of progress notifications that keep a waiting call alive, in seconds; `None` if they don't help.
    pub progress_every_s: Option<u64>,
    /// Whether the host drops an interrupted call without a cancel, so that its answer may never reach the model.
    pub abandons: bool,
    /// The first version whose model a channel push may reach; `None` if no version shows it.
    pub channel_since: Option<[u64; 3]>,
    /// The environment variables that its servers get.
    pub environment: HandsDown,
    /// The evidence for the row's numbers.
    pub source: &'static str,
}

/// The members of a row that needs no exception.
const CAUTIOUS: HostRow = HostRow {
    family: "",
    names: &[],
    wait_cap_s: WAIT_CAP_S,
    park: Park::Never,
    progress_every_s: None,
    abandons: false,
    channel_since: None,
    environment: HandsDown::Everything,
    source: "",
};

/// The hosts that were run and observed.
pub const HOSTS: &[HostRow] = &[
    HostRow {
        family: "claude-code",
        names: &["claude-code", "claude code"],
        park: Park::Since([2, 1, 212]),
        // By the vendor's documentation, half an hour without progress ends a call.
        progress_every_s: Some(600),
        channel_since: Some([2, 1, 80]),
        source: "channels are unknown to 2.0.73 and known to 2.1.80; 2.1.330 observed: no call limit, but before 2.1.212 and in -p a wait blocks the turn; 2.1.212 observed: \
                 after 120 s it goes to the background, and its result wakes the session",
        ..CAUTIOUS
    },
    HostRow {
        family: "copilot-cli",
        names: &["copilot-cli", "github-copilot-developer"],
        park: Park::WithProgress,
        progress_every_s: Some(20),
        environment: HandsDown::EverythingSince([1, 0, 102]),
        source: "0.0.384 to 1.0.102: more than 65 s observed on each, 180 s on 0.0.406, 0.0.411, 1.0.50 and 1.0.102, and each \
                 progress starts it anew; the user's config may say less",
        ..CAUTIOUS
    },
    HostRow {
        family: "copilot-cli",
        names: &["github-copilot-cli", "copilot"],
        environment: HandsDown::EverythingSince([1, 0, 102]),
        source: "names that were reported and never seen, with a limit of 60 s that nothing extends",
        ..CAUTIOUS
    },
    HostRow {
        family: "codex",
        names: &["codex-mcp-client"],
        wait_cap_s: 120,
        environment: HandsDown::Few,
        source: "0.169.0 observed: 300 s hard by default; drops every notification",
        ..CAUTIOUS
    },
    HostRow {
        family: "gemini-cli",
        names: &["gemini-cli-mcp-client*"],
        abandons: true,
        environment: HandsDown::AllBut(GEMINI_HIDES),
        source: "0.61.0 observed: an interrupted call is abandoned without a word, so short waits lose less time",
        ..CAUTIOUS
    },
    HostRow {
        family: "opencode",
        names: &["opencode"],
        park: Park::WithProgress,
        progress_every_s: Some(20),
        source: "1.18.33 observed: 60.0 s by default, each progress starts it anew",
        ..CAUTIOUS
    },
    HostRow {
        family: "qwen-code",
        names: &["qwen-cli-mcp-client*"],
        source: "0.24.4 observed: limit unknown; drops every notification",
        ..CAUTIOUS
    },
];

impl HostRow {
    /// Longest wait of a call that has a limit.
    pub fn wait_cap(&self) -> Duration {
        Duration::from_secs(self.wait_cap_s)
    }

    /// Whether a channel push may reach the model of this version; an unknown version counts as the oldest.
    pub fn takes_channel(&self, version: &str) -> bool {
        self.channel_since.is_some_and(|since| numbers(version) >= since)
    }

    /// What becomes of a call of this version that is open beyond the limit.
    pub fn beyond(&self, version: &str, has_token: bool) -> Beyond {
        let every =
            self.progress_every_s.map(Duration::from_secs).filter(|_| self.may_park(version, has_token));
        match (every, self.park) {
            (None, _) | (_, Park::Never) => Beyond::GivenUp,
            (Some(every), Park::WithProgress) => Beyond::KeptOpen(every),
            (Some(every), Park::Since(_)) => Beyond::InBackground(every),
        }
    }

    /// Whether a call of this version, with or without a progress token, may wait without a limit.
    pub fn may_park(&self, version: &str, has_token: bool) -> bool {
        match self.park {
            Park::Never => false,
            Park::Since(since) => numbers(version) >= since,
            Park::WithProgress => has_token,
        }
    }
}

/// Why a variable may be missing although the user has set it, if the host is known to withhold it from its servers.
pub fn why_missing(row: &HostRow, version: &str, variable: &str) -> Option<String> {
    row.environment.keeps(variable, version).then(|| {
        let family = row.family;
        let by_setup = match row.environment {
            HandsDown::EverythingSince(_) => "",
            _ => "run `entraclaw setup` for it in the shell where the variable is set, or ",
        };
        format!(
            "{family} does not hand {variable} of its own environment to its servers: {by_setup}write the token into a file \
             of yours alone and name it in config.toml as `auth.token_file`"
        )
    })
}

/// The three numbers of a version; a part that is no number counts as 0.
pub fn numbers(version: &str) -> [u64; 3] {
    let mut numbers = [0; 3];
    let core = version.split(['-', '+', ' ']).next().unwrap_or_default();
    for (number, text) in numbers.iter_mut().zip(core.split('.')) {
        *number = text.parse().unwrap_or(0);
    }
    numbers
}

/// The row that matches a client name, ignoring case.
pub fn row<'a>(table: &'a [HostRow], client: &str) -> Option<&'a HostRow> {
    let client = client.trim().to_lowercase();
    table.iter().find(|row| {
        row.names.iter().any(|name| match name.strip_suffix('*') {
            Some(prefix) => client.starts_with(prefix),
            None => client == *name,
        })
    })
}

/// The consumer for a client: its family, or else its own name in safe characters.
pub fn consumer_of(table: &[HostRow], client: Option<&str>) -> String {
    let Some(client) = client else { return NAMELESS.to_owned() };
    if let Some(row) = row(table, client) {
        return row.family.to_owned();
    }
    let mut name = String::new();
    for c in client.chars().flat_map(char::to_lowercase) {
        if name.len() == CONSUMER_CHARS_MAX {
            break;
        }
        if c.is_ascii_alphanumeric() {
            name.push(c);
        } else if !(name.is_empty() || name.ends_with('-')) {
            name.push('-');
        }
    }
    let name = name.trim_end_matches('-');
    if name.is_empty() { NAMELESS.to_owned() } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_known_name_of_a_family_is_one_consumer() {
        for (client, consumer) in [
            ("claude-code", "claude-code"),
            ("Claude Code", "claude-code"),
            ("copilot-cli", "copilot-cli"),
            ("github-copilot-developer", "copilot-cli"),
            ("github-copilot-cli", "copilot-cli"),
            ("qwen-cli-mcp-client-mail", "qwen-code"),
            ("My  Own/Höst", "my-own-h-st"),
            ("..", NAMELESS),
            ("", NAMELESS),
        ] {
            assert_eq!(consumer_of(HOSTS, Some(client)), consumer, "{client}");
        }
        assert_eq!(consumer_of(HOSTS, None), NAMELESS);
        assert_eq!(consumer_of(HOSTS, Some(&"h1".repeat(300))).len(), CONSUMER_CHARS_MAX);
    }

    #[test]
    fn only_hosts_that_withhold_a_variable_are_named_as_the_cause() {
        const TOKEN: &str = "ENTRACLAW_ACCESS_TOKEN";
        let why = |client, version| why_missing(row(HOSTS, client).unwrap(), version, TOKEN);
        for (client, version) in
            [("claude-code", "2.1.330"), ("opencode", "1.18.33"), ("qwen-cli-mcp-client-x", "0.24.4")]
        {
            assert_eq!(why(client, version), None, "{client}");
        }
        assert_eq!(why("github-copilot-developer", "1.0.102"), None);
        assert!(!why("github-copilot-developer", "0.0.423").unwrap().contains("entraclaw setup"));
        assert!(
            why("codex-mcp-client", "0.169.0")
                .unwrap()
                .starts_with("codex does not hand ENTRACLAW_ACCESS_TOKEN")
        );
        assert!(why("gemini-cli-mcp-client-x", "0.61.0").unwrap().contains("`entraclaw setup`"));
        assert!(!HandsDown::AllBut(GEMINI_HIDES).keeps("ENTRACLAW_GRAPH_URL", "0.61.0"));
    }

    #[test]
    fn no_row_waits_less_than_the_default_or_as_long_as_a_known_limit() {
        for row in HOSTS {
            assert!(row.wait_cap_s >= WAIT_CAP_S && row.wait_cap_s < 300, "{}", row.family);
            assert!(!row.source.is_empty());
        }
    }
}
