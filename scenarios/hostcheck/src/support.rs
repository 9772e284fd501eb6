//! Turns the facts of profiles into answers of one word: the features that a server can rely on, host by
//! host. It says what a profile states and no more; an unknown fact is answered with `unknown`, whatever a
//! fake does instead.

use std::sync::Arc;

use fake_hosts::{
    Fact, Fate, ListChanged, Mark, Mode, OnAsk, OnRoots, Parallel, PerMode, Profile, ProgressTokens, Restart,
    Stop, StopStep, Structured, WakeUpKind,
};
use reports::event::Support;
use serde::Serialize;

use crate::host::Host;

/// Whether one host has a feature.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Answer {
    /// The answer in one word.
    pub support: Support,
    /// What the word leaves out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A question about hosts that one fact answers.
pub struct Feature {
    /// The fact as `section.field`; unique.
    pub fact: &'static str,
    /// The feature in one line.
    pub title: &'static str,
    /// The group of the feature.
    pub area: &'static str,
    answer: fn(&Profile) -> Answer,
}

impl Feature {
    /// The answer of a profile.
    pub fn answer(&self, profile: &Profile) -> Answer {
        (self.answer)(profile)
    }
}

/// An answer with its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Told {
    /// The answer.
    pub answer: Answer,
    /// Mark and source. Neighbours of one family with the same answer share the source of the newest of them;
    /// `hostcheck hosts NAME` prints each host's own.
    pub source: String,
}

/// Every feature with the answer of each host, in the order of the hosts.
pub fn table(hosts: &[Arc<Host>]) -> Vec<(&'static Feature, Vec<Told>)> {
    FEATURES.iter().map(|feature| (feature, row(feature, hosts))).collect()
}

fn row(feature: &Feature, hosts: &[Arc<Host>]) -> Vec<Told> {
    let profiles = hosts.iter().filter_map(|host| host.profile.as_ref());
    let answers: Vec<(&Arc<Profile>, Answer)> =
        profiles.map(|profile| (profile, feature.answer(profile))).collect();
    let mut told = Vec::new();
    for alike in answers.chunk_by(|(one, said), (two, also)| one.family == two.family && said == also) {
        let newest = alike.last().and_then(|(profile, _)| {
            let fact = profile.evidence().into_iter().find(|fact| fact.name == feature.fact)?;
            Some(format!("{}: {}", fact.mark, fact.source))
        });
        let source = newest.unwrap_or_default();
        told.extend(alike.iter().map(|(_, answer)| Told { answer: answer.clone(), source: source.clone() }));
    }
    told
}

/// The feature that a fact answers, if any.
pub fn of_fact(fact: &str) -> Option<&'static Feature> {
    FEATURES.iter().find(|feature| feature.fact == fact)
}

const OPENING: &str = "opening";
const TOOLS: &str = "tools";
const CALLS: &str = "calls";
const RESULTS: &str = "results";
const CHANGES: &str = "changes and notifications";
const REQUESTS: &str = "requests of the server";
const LIFE: &str = "life of the process";
const WAKING: &str = "waking an idle model";
const DUTIES: &str = "what the protocol asks of hosts";

macro_rules! features {
    ($( $area:ident $section:ident.$field:ident $title:literal |$profile:pat_param, $fact:ident| $answer:expr; )*) => {
        /// Every feature, in the order of the page.
        pub const FEATURES: &[Feature] = &[$( Feature {
            fact: concat!(stringify!($section), ".", stringify!($field)),
            title: $title,
            area: $area,
            answer: |profile| {
                let ($profile, $fact) = (profile, &profile.$section.$field);
                $answer
            },
        }, )*];
    };
}

// A row: the group, the fact, the feature in one line, and the answer for a value of the fact.
features! {
    OPENING opening.probe "Speaks 2026-07-28, asking `server/discover` first" |p, fact| {
        if !**fact && *p.opening.probe_configurable {
            return plain(fact, (Support::Partly, Some("with a setting".to_owned())));
        }
        truth(fact)
    };
    OPENING lists.follow_cursor "Reads every page of a list" |_, fact| truth(fact);
    OPENING opening.turn_waits_ms "Waits for a slow server before the first turn" |_, fact| {
        let said = match **fact {
            None => yes(true),
            Some(ms) => (Support::Partly, Some(duration(ms))),
        };
        plain(fact, said)
    };
    OPENING names.instructions "Shows the server's instructions to the model" |_, fact| truth(fact);
    OPENING names.description_max "Shows a long tool description whole" |_, fact| {
        let said = match **fact {
            None => yes(true),
            Some(max) => (Support::Partly, Some(format!("{max} characters"))),
        };
        plain(fact, said)
    };
    TOOLS schemas.without_properties "Takes an input schema without `properties`" |_, fact| taken(fact);
    TOOLS schemas.root_union "Takes `anyOf`, `oneOf`, `allOf` at the root of an input schema" |_, fact| taken(fact);
    TOOLS schemas.root_not_object "Takes an input schema whose root is no object" |_, fact| taken(fact);
    TOOLS schemas.references "Takes `$ref` in an input schema" |_, fact| taken(fact);
    TOOLS schemas.type_lists "Takes a list of types in an input schema" |_, fact| taken(fact);
    TOOLS schemas.task_only "Calls a tool that runs as a task only" |_, fact| plain(fact, yes(fact.is_none()));
    CALLS calls.timeout_ms "Lets a call take two minutes without a setting" |_, fact| {
        let limit_ms = **fact;
        plain(fact, (yes(limit_ms > 120_000).0, Some(duration(limit_ms))))
    };
    CALLS calls.progress_extends "Progress keeps a long call alive" |_, fact| truth(fact);
    CALLS wire.progress_tokens "Sends a progress token with every call"
        |_, fact| plain(fact, yes(**fact != ProgressTokens::None));
    CALLS calls.parallel "Runs several calls at the same time" |_, fact| {
        let said = match **fact {
            Parallel::All => yes(true),
            Parallel::ReadOnly => (Support::Partly, Some("tools with readOnlyHint".to_owned())),
            Parallel::Serial => yes(false),
        };
        plain(fact, said)
    };
    CALLS calls.interrupt_reason "Tells the server when the user interrupts"
        |_, fact| plain(fact, yes(fact.is_some()));
    RESULTS texts.structured "Shows `structuredContent` to the model" |_, fact| {
        let said = match **fact {
            Structured::Appended => (Support::Yes, Some("after the text".to_owned())),
            Structured::Replaces => (Support::Partly, Some("in place of the text, which is lost".to_owned())),
            Structured::WhenAlone => (Support::Partly, Some("only without text".to_owned())),
            Structured::Ignored => yes(false),
        };
        plain(fact, said)
    };
    RESULTS texts.whole_max "Shows 20,000 characters of a result whole" |p, fact| {
        let max = **fact;
        let unit = if *p.texts.size_unit == fake_hosts::SizeUnit::Bytes { "bytes" } else { "characters" };
        plain(fact, (yes(max >= 20_000).0, Some(format!("up to {max} {unit}"))))
    };
    RESULTS texts.error_blocks_max "Shows every text block of an error" |_, fact| plain(fact, yes(fact.is_none()));
    RESULTS texts.resource_link "Shows a resource link to the model" |_, fact| shown(fact);
    RESULTS texts.embedded_text "Shows an embedded text resource" |_, fact| shown(fact);
    RESULTS texts.image "Shows an image, or tells of it" |_, fact| shown(fact);
    RESULTS texts.audio "Shows audio, or tells of it" |_, fact| shown(fact);
    CHANGES notifications.tools_list_changed "Lists changed tools again" |_, fact| changed(fact);
    CHANGES notifications.prompts_list_changed "Lists changed prompts again" |_, fact| changed(fact);
    CHANGES notifications.resources_list_changed "Lists changed resources again" |_, fact| changed(fact);
    CHANGES channel.delivered "Brings a channel notification to the model" |_, fact| per_mode(fact, |one| yes(*one));
    CHANGES names.resources "Lets the model or the user read resources" |_, fact| truth(fact);
    CHANGES names.prompts "Lets the user use prompts" |_, fact| truth(fact);
    REQUESTS requests.sampling "Answers `sampling/createMessage`" |_, fact| asked(fact);
    REQUESTS requests.elicitation "Asks the user what the server elicits" |_, fact| asked(fact);
    REQUESTS requests.roots "Tells its roots" |_, fact| {
        let said = match **fact {
            OnRoots::WorkingDirectory | OnRoots::NamedWorkingDirectory => yes(true),
            OnRoots::Empty => (Support::Partly, Some("an empty list".to_owned())),
            OnRoots::NoSuchMethod => yes(false),
        };
        plain(fact, said)
    };
    LIFE life.restart "Restarts a server that has exited" |_, fact| {
        per_mode(fact, |one| match one {
            Restart::Never => yes(false),
            Restart::NextCall | Restart::NextCallAndLists => {
                (Support::Yes, Some("at the next call".to_owned()))
            }
        })
    };
    DUTIES life.shutdown "Ends a server by closing stdin, SIGTERM, SIGKILL, in peace"
        |_, fact| plain(fact, ends(fact));
    DUTIES calls.timeout_reason "Cancels a call whose limit is over" |_, fact| plain(fact, yes(!fact.is_empty()));
    DUTIES lists.undeclared "Lists only what the server declared" |_, fact| {
        let asked: Vec<&str> = fact.iter().map(|list| list.capability()).collect();
        let note = (!asked.is_empty()).then(|| format!("also {}", asked.join(", ")));
        plain(fact, (yes(asked.is_empty()).0, note))
    };
    DUTIES identity.accepted_versions "Leaves a server whose version it does not know" |_, fact| {
        let any = fact.iter().any(|version| version == "*");
        let note = any.then(|| "takes any version".to_owned());
        plain(fact, (yes(!any).0, note))
    };
    DUTIES modern.answers_ping "Writes no responses without a session" |p, fact| {
        let note = (!speaks_modern(p)).then(|| "has no connections without one".to_owned());
        plain(fact, (yes(!**fact).0, note))
    };
    WAKING calls.background_after_ms "A long call goes to the background, and its result wakes"
        |_, fact| per_mode(fact, |one| (yes(one.is_some()).0, one.map(after)));
    WAKING shell.wakes "The end of a background shell wakes" |p, fact| {
        let needs = p.shell.setting.value.clone().filter(|_| *Mode::Tui.of(fact));
        with_setting(per_mode(fact, |one| yes(*one)), needs)
    };
    WAKING hooks.turn_end "A hook at the end of a turn begins another"
        |p, fact| plain(fact, yes(fact.is_some() && *Mode::Tui.of(&p.hooks.run)));
    WAKING hooks.after_tool "A hook adds to a tool's result"
        |p, fact| plain(fact, yes(fact.is_some() && *Mode::Tui.of(&p.hooks.run)));
    WAKING wake_up.wakes "Something from outside begins a turn" |p, fact| {
        let needs = p.wake_up.setting.value.clone().filter(|_| *p.wake_up.kind != WakeUpKind::None);
        with_setting(per_mode(fact, |one| yes(*one)), needs)
    };
    WAKING tasks.wakes "The end of an MCP task wakes" |p, fact| {
        let needs = p.tasks.setting.value.clone().filter(|_| *Mode::Tui.of(fact));
        with_setting(per_mode(fact, |one| yes(*one)), needs)
    };
}

/// An answer in one word, and what it leaves out.
type Said = (Support, Option<String>);

fn yes(does: bool) -> Said {
    (if does { Support::Yes } else { Support::No }, None)
}

/// Whether a host can open a connection without a session, as 2026-07-28 has them.
pub(crate) fn speaks_modern(profile: &Profile) -> bool {
    let opening = &profile.opening;
    *opening.probe || *opening.probe_configurable || *opening.modern_by_initialize
}

/// Shortest time between two steps of an end that lets a server end by itself, in milliseconds.
const PATIENCE_MS: u64 = 100;

/// Whether the host ends a server by the steps of the specification, in their order and with time between
/// them.
fn ends(steps: &[StopStep]) -> Said {
    let wanted = [Stop::CloseStdin, Stop::Term, Stop::Kill];
    let in_order = steps.iter().map(|step| step.how).eq(wanted.into_iter().take(steps.len()));
    let patient = steps.windows(2).all(|pair| pair[0].after_ms + PATIENCE_MS <= pair[1].after_ms);
    let support = match (in_order && patient && !steps.is_empty(), steps.len() == wanted.len()) {
        (true, true) => Support::Yes,
        (true, false) => Support::Partly,
        (false, _) => Support::No,
    };
    (support, Some(told_end(steps)))
}

/// `stdin closed, SIGTERM after 2000 ms`.
pub(crate) fn told_end(steps: &[StopStep]) -> String {
    let told = steps.iter().map(|step| {
        let how = match step.how {
            Stop::CloseStdin => "stdin closed",
            Stop::Int => "SIGINT",
            Stop::Term => "SIGTERM",
            Stop::Kill => "SIGKILL",
        };
        if step.after_ms == 0 { how.to_owned() } else { format!("{how} after {} ms", step.after_ms) }
    });
    told.collect::<Vec<_>>().join(", ")
}

/// The answer of a fact that is the same in every mode.
fn plain<T>(fact: &Fact<T>, said: Said) -> Answer {
    if fact.mark == Mark::Unknown {
        return Answer { support: Support::Unknown, note: None };
    }
    let guessed = (fact.mark == Mark::Guess).then(|| "guessed".to_owned());
    let notes: Vec<String> = said.1.into_iter().chain(guessed).collect();
    Answer { support: said.0, note: (!notes.is_empty()).then(|| notes.join("; ")) }
}

fn truth(fact: &Fact<bool>) -> Answer {
    plain(fact, yes(**fact))
}

/// The answer of a fact that may differ by mode.
fn per_mode<T>(fact: &Fact<PerMode<T>>, say: impl Fn(&T) -> Said) -> Answer {
    let (tui, print) = (say(&fact.tui), say(&fact.print));
    let told = |(support, note): &Said| {
        note.as_ref().map_or_else(|| support.word().to_owned(), |note| format!("{}, {note}", support.word()))
    };
    let said = match fact.unknown_in {
        Some(Mode::Tui) => (print.0, Some(format!("headless {}; in the terminal unknown", told(&print)))),
        Some(Mode::Print) => (tui.0, Some(format!("in the terminal {}; headless unknown", told(&tui)))),
        None if tui == print => tui,
        None => {
            let support = if tui.0 == print.0 { tui.0 } else { Support::Partly };
            (support, Some(format!("in the terminal {}; headless {}", told(&tui), told(&print))))
        }
    };
    plain(fact, said)
}

fn taken(fact: &Fact<Fate>) -> Answer {
    plain(fact, yes(**fact == Fate::Taken))
}

/// A template shows a part of what it stands for.
fn shown(fact: &Fact<String>) -> Answer {
    plain(fact, yes(!fact.is_empty()))
}

fn changed(fact: &Fact<PerMode<ListChanged>>) -> Answer {
    per_mode(fact, |one| match one {
        ListChanged::Drop => yes(false),
        ListChanged::Now => yes(true),
        ListChanged::NextStep => (Support::Yes, Some("before the next model request".to_owned())),
    })
}

fn asked(fact: &Fact<PerMode<OnAsk>>) -> Answer {
    per_mode(fact, |one| match one {
        OnAsk::Ask => yes(true),
        OnAsk::NoSuchMethod => yes(false),
        OnAsk::Silent => (Support::No, Some("never answered".to_owned())),
        OnAsk::Answer(action) => (Support::No, Some(format!("{action} at once"))),
    })
}

fn with_setting(answer: Answer, needs: Option<String>) -> Answer {
    let Some(needs) = needs.filter(|_| answer.support != Support::Unknown) else { return answer };
    let note = answer.note.map_or_else(|| format!("with {needs}"), |note| format!("{note}; with {needs}"));
    Answer { note: Some(note), ..answer }
}

fn after(ms: u64) -> String {
    format!("after {}", duration(ms))
}

fn duration(ms: u64) -> String {
    const SECOND_MS: u64 = 1000;
    const HOUR_MS: u64 = 3_600_000;
    if ms >= 2 * HOUR_MS { format!("{} h", ms / HOUR_MS) } else { format!("{} s", ms / SECOND_MS) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use rstest::rstest;

    #[test]
    fn every_feature_is_a_fact_of_its_own() {
        let profile = fake_hosts::profile("claude-code@2.1.330").unwrap();
        let facts: BTreeSet<String> = profile.evidence().into_iter().map(|fact| fact.name).collect();
        let names: BTreeSet<&str> = FEATURES.iter().map(|feature| feature.fact).collect();
        assert_eq!(names.len(), FEATURES.len(), "a fact answers two features");
        for name in names {
            assert!(facts.contains(name), "{name}");
        }
    }

    #[test]
    fn neighbours_that_answer_the_same_share_their_source() {
        let hosts: Vec<_> =
            crate::host::all().unwrap().iter().filter(|host| host.family == "copilot-cli").cloned().collect();
        let table = table(&hosts);
        let (_, row) = table.iter().find(|(feature, _)| feature.fact == "texts.structured").unwrap();
        assert_eq!(row.len(), hosts.len());
        let of = |id: &str| &row[hosts.iter().position(|host| host.id == id).unwrap()];
        assert_eq!(of("copilot-cli@0.0.384").answer.support, Support::No);
        assert_eq!(of("copilot-cli@0.0.401"), of("copilot-cli@1.0.50"));
        assert_eq!(of("copilot-cli@1.0.60"), of("copilot-cli@1.0.102"));
        assert!(of("copilot-cli@1.0.102").source.starts_with("observed: "));
    }

    #[rstest]
    #[case("calls.progress_extends", "copilot-cli@1.0.102", Support::Yes, None)]
    #[case("calls.progress_extends", "copilot-cli@seed", Support::No, None)]
    #[case("calls.timeout_ms", "opencode@1.18.33", Support::No, Some("60 s"))]
    #[case("calls.timeout_ms", "claude-code@2.0.73", Support::Yes, Some("27 h"))]
    #[case("wake_up.wakes", "copilot-cli@1.0.60", Support::Unknown, None)]
    #[case(
        "requests.sampling",
        "copilot-cli@1.0.102",
        Support::Partly,
        Some("in the terminal yes; headless no, never answered")
    )]
    #[case(
        "requests.elicitation",
        "copilot-cli@1.0.50",
        Support::No,
        Some("headless no, never answered; in the terminal unknown")
    )]
    #[case("opening.probe", "claude-code@2.1.274", Support::Partly, Some("with a setting"))]
    #[case(
        "life.shutdown",
        "claude-code@2.1.330",
        Support::No,
        Some("SIGINT, SIGTERM after 100 ms, SIGKILL after 600 ms")
    )]
    #[case(
        "life.shutdown",
        "codex@0.169.0",
        Support::No,
        Some("SIGTERM, stdin closed, SIGKILL after 2000 ms")
    )]
    #[case("life.shutdown", "opencode@1.18.33", Support::Partly, Some("stdin closed, SIGTERM after 2000 ms"))]
    #[case("lists.undeclared", "qwen-code@0.24.4", Support::No, Some("also prompts, resources"))]
    #[case("identity.accepted_versions", "gemini-cli@0.61.0", Support::Yes, None)]
    #[case("identity.accepted_versions", "codex@0.169.0", Support::No, Some("takes any version"))]
    fn an_answer_says_what_the_profile_states(
        #[case] fact: &str,
        #[case] host: &str,
        #[case] support: Support,
        #[case] note: Option<&str>,
    ) {
        let profile = fake_hosts::profile(host).unwrap();
        let answer = of_fact(fact).unwrap().answer(&profile);
        assert_eq!((answer.support, answer.note.as_deref()), (support, note));
    }
}
