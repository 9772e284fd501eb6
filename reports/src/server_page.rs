//! The first page about a judged server: in which hosts it works, and what to mend, with links to the two full reports. It
//! judges nothing; whoever judged the server says what it shows.

use std::fmt::Write as _;

use askama::Template;

use crate::badge::{endpoint, picture};
use crate::html::say;
use crate::markdown::pieces::{cell_code, code};
use crate::model::Verdict;
use crate::text::short_line;

/// Most bytes of a line.
const LINE_BYTES_MAX: usize = 400;
/// The left half of the badge.
const LABEL: &str = "MCP hosts";

/// Whether a server works in a host, the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Works {
    /// Everything that it must do there was seen to work.
    Yes,
    /// Nothing fails, and of something no fact of the host tells.
    AsFarAsKnown,
    /// That it opens there, shows its tools or answers a call was not seen.
    NotKnown,
    /// Something fails.
    No,
}

impl Works {
    /// Whether it counts as a host in which the server works.
    pub fn is_counted(self) -> bool {
        matches!(self, Self::Yes | Self::AsFarAsKnown)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::AsFarAsKnown => "yes, as far as is known",
            Self::NotKnown => "not known",
            Self::No => "no",
        }
    }

    fn mark(self) -> char {
        match self {
            Self::Yes | Self::AsFarAsKnown => '✓',
            Self::NotKnown => '?',
            Self::No => '✗',
        }
    }

    /// The class of its mark on the page.
    fn class(self) -> &'static str {
        match self {
            Self::Yes | Self::AsFarAsKnown => "s-pass",
            Self::NotKnown => "s-unknown",
            Self::No => "s-fail",
        }
    }
}

/// Whether a server works in one host version, and what keeps it from that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostVerdict {
    /// The host, with its version.
    pub host: String,
    /// Whether it works there.
    pub works: Works,
    /// What does not work there.
    pub wrong: Vec<String>,
    /// What is not known of the host.
    pub unknown: Vec<String>,
}

/// One thing to mend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mend {
    /// `must`, `flaky` or `should`.
    pub weight: &'static str,
    /// What is wrong, in a sentence.
    pub message: String,
    /// What would be right.
    pub right: Option<String>,
    /// What came, where that tells more than that it is not right.
    pub seen: Option<String>,
    /// The versions and hosts in which it shows.
    pub shows_in: Vec<String>,
    /// The rows that it fails.
    pub rows: Vec<String>,
    /// Where the requirement stands.
    pub source: String,
    /// The SDKs on which the least server fails the same; empty where it is the server's own.
    pub sdks: Vec<String>,
    /// What in the server's own code may be the cause beside an SDK.
    pub or_yours: Option<String>,
}

/// Everything on the page.
#[derive(Debug, Clone, PartialEq, Eq, Template)]
#[template(path = "server.html")]
pub struct ServerPage {
    /// The server's name and version.
    pub server: String,
    /// The versions of the protocol that it speaks.
    pub speaks: Vec<String>,
    /// The number of rows that hold, fail, and so on: for the protocol, and for the hosts.
    pub counts: Vec<(&'static str, String)>,
    /// One entry a host version.
    pub hosts: Vec<HostVerdict>,
    /// What to mend, the most binding first.
    pub mend: Vec<Mend>,
    /// The command that repeats the run.
    pub command: String,
}

impl ServerPage {
    /// `index.html`.
    ///
    /// # Errors
    /// If the page can't be rendered.
    pub fn html(&self) -> Result<String, askama::Error> {
        self.render()
    }

    /// `overview.md`.
    pub fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n{}\n\n", short_line(&self.server, LINE_BYTES_MAX), self.spoken());
        for (what, counts) in &self.counts {
            let _ = writeln!(text, "- {what}: {}", short_line(counts, LINE_BYTES_MAX));
        }
        let _ = write!(text, "\n{}", self.hosts_table());
        for (title, mends) in [("To mend", self.own()), ("From the SDK", self.of_sdk())] {
            if mends.is_empty() {
                continue;
            }
            let _ = writeln!(text, "\n### {title}\n");
            for mend in mends {
                let rows = mend.rows.iter().map(|row| code(row)).collect::<Vec<_>>().join(", ");
                let _ = writeln!(text, "- **{}** {} ({rows})", mend.weight, code(&mend.message));
                if let Some(right) = &mend.right {
                    let _ = writeln!(text, "  - right is: {}", code(right));
                }
                if let Some(seen) = &mend.seen {
                    let _ = writeln!(text, "  - seen: {}", code(seen));
                }
                let _ = writeln!(text, "  - in {}", code(&mend.shows_in.join(", ")));
                let _ = writeln!(text, "  - {}", short_line(&mend.source, LINE_BYTES_MAX));
                if !mend.sdks.is_empty() {
                    let sdks = mend.sdks.join(" or ");
                    let _ = writeln!(text, "  - the least server on {sdks} does the same");
                }
                if let Some(yours) = &mend.or_yours {
                    let _ = writeln!(text, "  - or it comes from {yours}");
                }
            }
        }
        text
    }

    /// `hosts.md`: a table for a README.
    pub fn hosts_table(&self) -> String {
        let mut text = "| host | works |\n| --- | --- |\n".to_owned();
        for host in &self.hosts {
            let why = match host.works {
                Works::Yes | Works::AsFarAsKnown => &[][..],
                Works::NotKnown => &host.unknown,
                Works::No => &host.wrong,
            };
            let colon = if why.is_empty() { "" } else { ": " };
            let why = short_line(&why.join("; "), LINE_BYTES_MAX).replace('|', "¦");
            let works = format!("{}{colon}{why}", host.works.word());
            let _ = writeln!(text, "| {} | {works} |", cell_code(&host.host));
        }
        if self.hosts.is_empty() { String::new() } else { text }
    }

    /// `badge.svg`, where hosts were asked.
    pub fn badge_svg(&self) -> Option<String> {
        self.badge().map(|(message, verdict)| picture(LABEL, &message, verdict))
    }

    /// `badge.json`, where hosts were asked.
    ///
    /// # Errors
    /// If it can't be written as JSON.
    pub fn badge_json(&self) -> Result<Option<String>, serde_json::Error> {
        self.badge().map(|(message, verdict)| endpoint(LABEL, &message, verdict)).transpose()
    }

    fn badge(&self) -> Option<(String, Verdict)> {
        let works = self.hosts.iter().filter(|host| host.works.is_counted()).count();
        let verdict = match works {
            all if all == self.hosts.len() => Verdict::Passed,
            0 if self.hosts.iter().all(|host| host.works == Works::No) => Verdict::Failed,
            _ => Verdict::Incomplete,
        };
        (!self.hosts.is_empty()).then(|| (format!("works in {works} of {}", self.hosts.len()), verdict))
    }

    fn spoken(&self) -> String {
        match self.speaks.as_slice() {
            [] => "It speaks no version that was asked for.".to_owned(),
            versions => format!("It was judged in {}.", versions.join(", ")),
        }
    }

    fn own(&self) -> Vec<&Mend> {
        self.mend.iter().filter(|mend| mend.sdks.is_empty()).collect()
    }

    fn of_sdk(&self) -> Vec<&Mend> {
        self.mend.iter().filter(|mend| !mend.sdks.is_empty()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page() -> ServerPage {
        let mend = |message: &str, sdks: &[&str]| Mend {
            weight: "should",
            message: message.to_owned(),
            right: Some("an <error>".to_owned()),
            seen: Some("error -32603 \"no such <u>tool</u>\"".to_owned()),
            shows_in: vec!["2025-11-25".to_owned()],
            rows: vec!["tools.unknown".to_owned()],
            source: "https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling"
                .to_owned(),
            sdks: sdks.iter().map(|sdk| (*sdk).to_owned()).collect(),
            or_yours: sdks.first().map(|_| "a handler of your own".to_owned()),
        };
        let host = |host: &str, wrong: &[&str]| HostVerdict {
            host: host.to_owned(),
            works: if wrong.is_empty() { Works::Yes } else { Works::No },
            wrong: wrong.iter().map(|text| (*text).to_owned()).collect(),
            unknown: Vec::new(),
        };
        ServerPage {
            server: "<b>notes</b> 1.0".to_owned(),
            speaks: vec!["2025-11-25".to_owned()],
            counts: vec![("protocol", "10 of 12 rows apply: 9 hold, 1 fail".to_owned())],
            hosts: vec![host("claude-code@2.1.330", &[]), host("codex@0.169.0", &["a | name"])],
            mend: vec![mend("an <i>unknown</i> tool", &[]), mend("a cursor", &["Python SDK 2.3.0"])],
            command: "hostcheck run --server './notes'".to_owned(),
        }
    }

    #[test]
    fn texts_of_a_server_are_no_markup_on_the_page() {
        let html = page().html().unwrap();
        assert!(
            !html.contains("<b>notes") && !html.contains("<i>unknown") && !html.contains("<u>"),
            "{html}"
        );
        assert!(html.contains("Seen: <code>error -32603"), "{html}");
        assert!(html.contains("works in 1 of 2"), "{html}");
        assert!(html.contains(
            "href=\"https://modelcontextprotocol.io/specification/2025-11-25/server/tools#error-handling\""
        ));
        assert!(html.contains("protocol/report.html") && html.contains("hosts/report.html"));
    }

    #[test]
    fn the_badge_counts_the_hosts_in_which_the_server_works() {
        let mut page = page();
        assert!(page.badge_svg().unwrap().contains("works in 1 of 2"));
        assert!(page.badge_json().unwrap().unwrap().contains("yellow"));
        page.hosts.clear();
        assert_eq!(page.badge_svg(), None);
    }

    #[test]
    fn a_host_of_which_nothing_is_known_does_not_count() {
        let mut page = page();
        for host in &mut page.hosts {
            (host.works, host.wrong) = (Works::NotKnown, Vec::new());
            host.unknown.push("a line | breaks the protocol".to_owned());
        }
        assert!(page.badge_svg().unwrap().contains("works in 0 of 2"));
        assert!(page.badge_json().unwrap().unwrap().contains("yellow"), "it is not seen to fail");
        assert!(page.html().unwrap().contains("? not known"));
        let text = page.markdown();
        assert!(text.contains("| `codex@0.169.0` | not known: a line ¦ breaks the protocol |"), "{text}");
        page.hosts[0].works = Works::AsFarAsKnown;
        assert!(page.badge_svg().unwrap().contains("works in 1 of 2"));
    }

    #[test]
    fn the_overview_tells_what_is_the_servers_own_and_what_its_sdks() {
        let text = page().markdown();
        let (own, sdk) = text.split_once("### From the SDK").unwrap();
        assert!(own.contains("`an <i>unknown</i> tool`") && !own.contains("a cursor"), "{text}");
        assert!(own.contains("- seen: `error -32603"), "{text}");
        assert!(sdk.contains("the least server on Python SDK 2.3.0 does the same"), "{text}");
        assert!(sdk.contains("or it comes from a handler of your own"), "{text}");
        assert!(text.contains("| `codex@0.169.0` | no: a ¦ name |"), "{text}");
        let html = page().html().unwrap();
        let (own, sdk) = html.split_once("What comes from the SDK").unwrap();
        assert!(sdk.contains("or from a handler of your own") && !own.contains("or from"), "{html}");
    }
}
