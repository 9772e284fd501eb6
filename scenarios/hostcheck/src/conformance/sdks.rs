//! Tells what comes from the SDK that a server was built with: the least server on it fails the same. Nothing in this server
//! can be at fault then, unless the author's own code can cause the same answer. It is a help for the reader and changes no
//! verdict.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use serde::Deserialize;

use super::outcome::{Judged, Outcome};
use super::row::Placed;

/// One known fault.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    row: String,
    /// A part of the evidence that only this SDK writes.
    #[serde(default)]
    sign: Option<String>,
    /// Others may write this too, so it does not show the SDK.
    #[serde(default)]
    common: bool,
    /// Every server on it fails so, whatever its author writes: one that keeps the row is on another SDK.
    #[serde(default)]
    always: bool,
    /// What in a server's own code causes the same answer, if anything does.
    #[serde(default)]
    or_yours: Option<String>,
    /// The SDKs with the versions in which it was seen.
    sdks: Vec<String>,
}

static KNOWN: LazyLock<Vec<Known>> =
    LazyLock::new(|| yaml::read(include_str!("sdks.yaml")).expect("a test reads the list"));

/// From where a failure may come besides the server's own code.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Origin {
    /// The SDKs; empty where it is the server's own, or not known.
    pub(super) sdks: BTreeSet<&'static str>,
    /// What in the server's own code may be the cause all the same.
    pub(super) or_yours: Option<&'static str>,
}

/// The SDKs of a server, as far as its failures show them.
#[derive(Default)]
pub(crate) struct Sdks(BTreeSet<&'static str>);

/// The rows that show a server's SDK by its answers, of all `rows`, where a failure may be an SDK's and these were not asked.
pub(super) fn signs(mut rows: Vec<Placed>, judged: &[Judged]) -> Vec<Placed> {
    let may_be_of_sdk = |judged: &Judged| KNOWN.iter().any(|known| known.fits(judged));
    let is_sign = |row: &str| KNOWN.iter().any(|known| known.shows_the_sdk() && known.row == row);
    let was_asked = |row: &str| judged.iter().any(|one| one.row == row);
    rows.retain(|Placed { row, .. }| is_sign(&row.id) && !was_asked(&row.id));
    if judged.iter().any(may_be_of_sdk) { rows } else { Vec::new() }
}

impl Sdks {
    /// Those with the most signs among these failures, without those that fail where the server does not.
    pub(super) fn of<'a>(judged: impl Iterator<Item = &'a Judged> + Clone) -> Self {
        let of_row = |row: &'static str| judged.clone().filter(move |one| one.row == row);
        let keeps = |row| {
            of_row(row).any(|one| one.outcome == Outcome::Passed)
                && !of_row(row).any(|one| matches!(one.outcome, Outcome::Failed(_) | Outcome::Flaky(_)))
        };
        let refuted: BTreeSet<&str> = KNOWN
            .iter()
            .filter(|known| known.always && keeps(&known.row))
            .flat_map(|known| known.sdks.iter().map(String::as_str))
            .collect();
        let mut rows: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
        for one in judged {
            for known in KNOWN.iter().filter(|known| known.shows_the_sdk() && known.fits(one)) {
                for sdk in known.sdks.iter().filter(|sdk| !refuted.contains(sdk.as_str())) {
                    rows.entry(sdk).or_default().insert(&known.row);
                }
            }
        }
        let most = rows.values().map(BTreeSet::len).max();
        Self(rows.into_iter().filter(|(_, seen)| Some(seen.len()) == most).map(|(sdk, _)| sdk).collect())
    }

    /// Whether any failure shows one.
    pub(crate) fn are_known(&self) -> bool {
        !self.0.is_empty()
    }

    /// From where this failure comes. An answer that only the SDK gives outweighs one that others may give.
    pub(super) fn origin(&self, judged: &Judged) -> Origin {
        let is_of = |sdk: &&'static str| self.0.contains(sdk);
        let names = |known: &'static Known| known.sdks.iter().map(String::as_str).filter(is_of);
        let fitting = KNOWN.iter().filter(|known| known.fits(judged) && names(known).next().is_some());
        let fitting: Vec<&'static Known> = fitting.collect();
        let is_sure = fitting.iter().any(|known| known.or_yours.is_none());
        let or_yours = fitting.iter().find_map(|known| known.or_yours.as_deref()).filter(|_| !is_sure);
        Origin { sdks: fitting.into_iter().flat_map(names).collect(), or_yours }
    }
}

impl Known {
    fn shows_the_sdk(&self) -> bool {
        self.sign.is_some() && !self.common
    }

    fn fits(&self, judged: &Judged) -> bool {
        let shows = |text: &str| self.sign.as_deref().is_none_or(|sign| text.contains(sign));
        self.row == judged.row
            && match &judged.outcome {
                Outcome::Failed(evidence) => {
                    evidence.iter().any(|one| shows(one.observed.as_deref().unwrap_or_default()))
                }
                Outcome::Flaky(_) => self.sign.is_none(),
                _ => false,
            }
    }
}

#[cfg(test)]
mod tests {
    use super::super::outcome::Evidence;
    use super::*;

    fn failed(row: &str, observed: &str) -> Judged {
        let observed = Some(observed.to_owned());
        let evidence = Evidence { message: String::new(), expected: None, observed, tells: false, at_ms: 0 };
        Judged::bare(row, "2025-11-25", Outcome::Failed(vec![evidence]))
    }

    #[test]
    fn every_entry_names_a_row_and_an_sdk_with_its_version() {
        let rows = super::super::rows().unwrap();
        for known in KNOWN.iter() {
            assert!(rows.iter().any(|placed| placed.row.id == known.row), "{}", known.row);
            assert!(!known.sdks.is_empty(), "{}", known.row);
            assert!(
                known.sdks.iter().all(|sdk| sdk.ends_with(|last: char| last.is_ascii_digit())),
                "{known:?}"
            );
        }
    }

    #[test]
    fn a_failure_is_the_sdks_only_where_a_sign_shows_the_sdk() {
        let unknown = failed(
            "tools.unknown",
            r#"result {"content":[{"text":"Unknown tool: hostcheck.no-such-tool"}]}"#,
        );
        let resource = failed(
            "resources.not-found-code",
            r#"error {"code":-32602,"message":"Unknown resource: hostcheck://no-such-resource/1","data":{}}"#,
        );
        let cursor = failed("messages.invalid-cursor", "result {}");
        let own = failed("tools.unknown", "result {}");
        let sdks = Sdks::of([&unknown, &resource, &cursor].into_iter());
        assert_eq!(sdks.origin(&cursor).sdks, BTreeSet::from(["Python SDK 2.3.0"]));
        assert!(sdks.origin(&own).sdks.is_empty());
        let nothing = Sdks::of([&own, &cursor].into_iter());
        assert!(nothing.origin(&cursor).sdks.is_empty());
        let wrapped = failed("tools.structured-text", r#"{"structuredContent":{"result":2}}"#);
        let other = failed("tools.structured-text", r#"{"structuredContent":{"sum":2}}"#);
        assert!(Sdks::of([&wrapped].into_iter()).origin(&wrapped).sdks.is_empty(), "others wrap results too");
        assert_eq!((sdks.origin(&wrapped).sdks.len(), sdks.origin(&other).sdks.len()), (1, 0));
    }

    /// A server that was tried, by hand and on no SDK, has the same words.
    #[test]
    fn an_sdk_that_fails_where_the_server_does_not_is_not_the_servers() {
        let unknown = failed(
            "tools.unknown",
            r#"result {"content":[{"text":"Unknown tool: hostcheck.no-such-tool"}],"isError":true}"#,
        );
        let keeps = Judged::bare("messages.unknown-method", "2025-11-25", Outcome::Passed);
        let fails = failed(
            "messages.unknown-method",
            r#"error {"code":-32602,"message":"Invalid request parameters","data":""}"#,
        );
        let origin = |judged: &[&Judged]| Sdks::of(judged.iter().copied()).origin(&unknown);
        let by_hand = origin(&[&unknown, &keeps]);
        assert_eq!(by_hand.sdks, BTreeSet::from(["Python SDK 2.3.0"]));
        assert_eq!(by_hand.or_yours, Some("a handler of your own that answers so"));
        let on_an_sdk = origin(&[&unknown, &fails]);
        assert!(
            on_an_sdk.sdks.contains("Python SDK 1.30.0") && on_an_sdk.or_yours.is_none(),
            "{on_an_sdk:?}"
        );
        // It failed in another version.
        assert_eq!(origin(&[&unknown, &fails, &keeps]), on_an_sdk);
    }

    #[test]
    fn rmcp_is_known_by_the_error_for_a_call_that_it_can_not_read() {
        let call = failed("messages.invalid-params", r#"error {"code":-32601,"message":"tools/call"}"#);
        let other =
            failed("messages.invalid-params", r#"error {"code":-32601,"message":"Method not found"}"#);
        let ended =
            failed("cancellation.unknown-ignored", "no answer: the server ended or closed its stdout");
        let cursor = failed("messages.invalid-cursor", "result {}");
        let sdks = Sdks::of([&call, &ended, &cursor].into_iter());
        let rmcp = BTreeSet::from(["rmcp 3.11.0"]);
        assert!([&call, &ended, &cursor].into_iter().all(|one| sdks.origin(one).sdks == rmcp));
        assert_eq!(sdks.origin(&ended).or_yours, None);
        assert!(sdks.origin(&cursor).or_yours.is_some());
        assert!(!Sdks::of([&other, &ended, &cursor].into_iter()).are_known());
    }

    /// Asked by hand of the least server on it, which has one tool: no error of it has words of its own.
    #[test]
    fn the_typescript_sdk_2_is_known_by_how_it_writes_a_list_of_tools() {
        let legacy = r#"result {"tools":[{"name":"add","description":"Adds.","inputSchema":{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema","properties":{}}}]}"#;
        let modern = r#"result {"tools":[{"name":"now","inputSchema":{"type":"object"}}],"resultType":"complete","ttlMs":0,"cacheScope":"private","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"a","version":"1"}}}"#;
        let stream = failed("subscriptions.graceful-end", "no answer: the server ended or closed its stdout");
        for list in [legacy, modern] {
            let cursor = failed("messages.invalid-cursor", list);
            let sdks = Sdks::of([&cursor, &stream].into_iter());
            assert_eq!(sdks.origin(&cursor).sdks, BTreeSet::from(["TypeScript SDK 2.4.0"]), "{list}");
            assert_eq!(sdks.origin(&stream).sdks, BTreeSet::from(["TypeScript SDK 2.4.0"]), "{list}");
        }
        // The order in which other SDKs, and most people, write the same.
        for list in [
            r#"result {"tools":[{"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object"}}]}"#,
            r#"result {"cacheScope":"private","resultType":"complete","tools":[],"ttlMs":0,"_meta":{"io.modelcontextprotocol/serverInfo":{}}}"#,
        ] {
            let cursor = failed("messages.invalid-cursor", list);
            assert!(Sdks::of([&cursor, &stream].into_iter()).origin(&stream).sdks.is_empty(), "{list}");
        }
    }

    #[test]
    fn an_error_of_the_low_level_api_is_the_sdks_where_another_answer_shows_the_sdk() {
        let sign = r#"error {"code":-32602,"message":"Invalid request parameters","data":""}"#;
        let shown = failed("messages.unknown-method", sign);
        let raised =
            failed("tools.unknown", r#"result {"content":[{"text":"no such tool"}],"isError":true}"#);
        let answered = failed("tools.unknown", r#"result {"content":[{"text":"no such tool"}]}"#);
        let sdks = Sdks::of([&shown, &raised].into_iter());
        assert_eq!(sdks.origin(&raised).sdks, BTreeSet::from(["Python SDK 1.30.0"]));
        assert!(sdks.origin(&answered).sdks.is_empty());
        assert!(Sdks::of([&raised].into_iter()).origin(&raised).sdks.is_empty(), "others answer so too");
    }
    #[test]
    fn an_answer_that_the_authors_own_handler_may_give_is_told_as_either() {
        let low_level = failed(
            "messages.unknown-method",
            r#"error {"code":-32602,"message":"Invalid request parameters","data":""}"#,
        );
        let prompt = failed(
            "prompts.unknown",
            r#"error {"code":0,"message":"Unknown prompt: hostcheck-no-such-prompt"}"#,
        );
        let cursor = failed("messages.invalid-cursor", r#"result {"tools":[]}"#);
        let sdks = Sdks::of([&low_level, &prompt, &cursor].into_iter());
        for (judged, has_other_cause) in [(&low_level, false), (&prompt, true), (&cursor, true)] {
            let origin = sdks.origin(judged);
            // FastMCP 2 stands on it, and these three answers are the same.
            assert_eq!(
                origin.sdks,
                BTreeSet::from(["FastMCP 2.13.3", "Python SDK 1.30.0"]),
                "{}",
                judged.row
            );
            assert_eq!(origin.or_yours.is_some(), has_other_cause, "{}", judged.row);
        }
        let of_helper =
            r#"{"inputSchema":{"type":"object","$schema":"https://json-schema.org/draft/2020-12/schema"}}"#;
        let of_helper = failed("messages.invalid-cursor", of_helper);
        assert_eq!(Sdks::of([&of_helper].into_iter()).origin(&of_helper).or_yours, None);
    }
    /// The two words of the library that reads its messages: of version 4 and of version 3, with either of which the SDK works.
    #[test]
    fn a_level_that_the_sdks_library_refuses_is_the_sdks_in_both_versions_of_it() {
        for code in ["invalid_value", "invalid_enum_value"] {
            let said = format!(
                r#"error {{"code":-32603,"message":"[\n  {{\n    \"code\": \"{code}\",\n    \"path\": []"#
            );
            let level = failed("lifecycle.log-level", &said);
            let sdks = Sdks::of([&level].into_iter()).origin(&level).sdks;
            assert!(sdks.contains("TypeScript SDK 1.32.2"), "{code}: {sdks:?}");
        }
    }
}
