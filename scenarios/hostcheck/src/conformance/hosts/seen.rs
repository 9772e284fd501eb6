//! What happened in a conversation with a fake host, and the checks that it answers.
//! A check must never know how any host behaves: the profile alone tells that.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use fake_hosts::{
    Fate, Mark, Outcome as CallOutcome, Profile, SchemaFeature, SizeUnit, Stop, StopStep, cut_description,
    is_task_only, names_its_server, schema_features, shown_name,
};
use reports::event::{Lane, WireLine};
use serde_json::Value;

use crate::conformance::blame::{Blame, Known};
use crate::conformance::busy;
use crate::conformance::check::ends_the_server;
use crate::conformance::discover::{Discovered, Speaks};
use crate::conformance::meeting::{CALL_WITHIN, EXIT_WITHIN, Met, RESTS};
use crate::conformance::outcome::{self, Observed, Outcome};
use crate::conformance::session::Reply;
use crate::support::told_end;

/// The condition under which a check can be answered.
enum About {
    /// Always.
    Opening,
    /// The server has opened.
    Open,
    /// The server has opened and has tools.
    Tools,
    /// The server has opened and runs as a process of this program.
    Process,
}

type Judge = fn(&Seen<'_>) -> Outcome;

/// The checks that a conversation with a host answers.
const TABLE: [(&str, About, Judge); 13] = [
    ("host.opens", About::Opening, |seen| seen.opens()),
    ("host.tools", About::Tools, |seen| seen.tools()),
    ("host.pages", About::Tools, |seen| seen.pages()),
    ("host.names", About::Tools, |seen| seen.names()),
    ("host.names-distinct", About::Tools, |seen| seen.distinct_names()),
    ("host.descriptions", About::Open, |seen| seen.descriptions()),
    ("host.schemas", About::Tools, |seen| schemas_of(seen.profile, seen.items(), seen.met)),
    ("host.task-tools", About::Tools, |seen| task_tools(seen.profile, seen.items(), seen.met)),
    ("host.call", About::Open, |seen| seen.call()),
    ("host.result", About::Open, |seen| seen.result()),
    ("host.requests", About::Open, |seen| seen.requests()),
    ("host.lines", About::Open, |seen| seen.lines()),
    ("host.end", About::Process, |seen| seen.ends()),
];

/// The names of these checks.
pub(crate) fn checks() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(name, ..)| *name)
}

/// The checks whose answer depends on what the host does with the lines of the server.
const OF_LINES: [&str; 6] =
    ["host.opens", "host.tools", "host.pages", "host.call", "host.result", "host.lines"];

/// The checks whose answer can depend on how busy the machine is.
const OF_TIME: [&str; 4] = ["host.opens", "host.tools", "host.call", "host.end"];

/// A host that kills sooner than this leaves a server no time to end, in milliseconds.
const KILL_AFTER_MS_MIN: u64 = 500;
/// How the reason of a host begins that gave a server up for its version, and for its end.
const REFUSED_VERSION: &str = "protocol version ";
const ENDED: &str = "the server ended during the ";
/// How the reason of a host ends that gave a server up for its list.
const LIST_TOO_SLOW: &str = "was not answered in time";
/// How the reasons of a host end that waited in vain for the server to open.
const TOO_SLOW: [&str; 2] = ["in time", "the probe got no answer"];
/// What is told where nothing is known of the tools of a server that declares them.
pub(super) const NO_LIST: &str = "`tools/list` has no result";
/// Why nothing is told of what comes after a call that is no longer waited for.
const STILL_RAN: &str = "a call still ran when the host ended";
/// The most errors of one kind that are shown.
const SHOWN: usize = 3;

impl Met {
    fn fail(
        &self,
        message: impl Into<String>,
        expected: &str,
        observed: &(impl outcome::Seen + ?Sized),
    ) -> Outcome {
        self.record.failed(message, expected, observed)
    }

    fn expect(
        &self,
        holds: bool,
        message: &str,
        expected: &str,
        observed: &(impl outcome::Seen + ?Sized),
    ) -> Outcome {
        if holds { Outcome::Passed } else { self.fail(message, expected, observed) }
    }
}

/// What happened in a conversation with a host.
pub(super) struct Seen<'a> {
    pub(super) profile: &'a Profile,
    pub(super) server: &'a str,
    pub(super) found: &'a Discovered,
    pub(super) met: &'a Met,
    /// The tool to call if there was one, otherwise the reason.
    pub(super) tool: Result<&'a str, &'a Outcome>,
}

impl Seen<'_> {
    /// The outcome of a check, or why it can't be answered. What a host does with a line that breaks the protocol is its
    /// own affair: such a conversation proves nothing, unless a fact tells of it.
    pub(super) fn check(&self, name: &str) -> Outcome {
        let outcome = self.observed(name);
        match self.unproven(name) {
            Some(blame)
                if OF_LINES.contains(&name) && matches!(outcome, Outcome::Passed | Outcome::Failed(_)) =>
            {
                let (rule, message) = (blame.rule, &blame.message);
                if let Some(fact) = blame.missing {
                    return Outcome::Unknown(format!("not known of this host: `{fact}` ({rule}: {message})"));
                }
                let what =
                    "a line of the server breaks the protocol, and no fact tells what this host does with it";
                Outcome::Unknown(format!("{what}: {rule}: {message}"))
            }
            _ => outcome,
        }
    }

    /// Whether a check failed whose answer can depend on how busy the machine is.
    pub(super) fn is_late(&self) -> bool {
        OF_TIME.iter().any(|check| matches!(self.check(check), Outcome::Failed(_)))
    }

    fn observed(&self, name: &str) -> Outcome {
        let Some((_, about, judge)) = TABLE.iter().find(|(known, ..)| *known == name) else {
            return Outcome::CouldNotRun(format!("no check is named {name}"));
        };
        let opened = self.met.ready && self.met.failed.is_none();
        match about {
            About::Process if !self.met.has_process => {
                Outcome::NotApplicable("about a process; this server is not one of ours".to_owned())
            }
            About::Opening => judge(self),
            _ if !opened => Outcome::CouldNotRun("the host does not open the server".to_owned()),
            About::Tools if self.items().is_empty() => match self.found.newest() {
                // What is refused here is refused to a host; an answer that did not come may come there.
                Some(Speaks { no_list: Some(refused @ Reply::Error(_)), .. }) if name == "host.tools" => {
                    let message = format!("no tool reaches the model: {NO_LIST}");
                    self.met.expect(false, &message, "a list of tools", &refused.say().text)
                }
                Some(Speaks { no_list: Some(_), .. }) => Outcome::CouldNotRun(NO_LIST.to_owned()),
                Some(_) => Outcome::NotApplicable("the server lists no tools".to_owned()),
                None => Outcome::CouldNotRun("the server could not be asked for its tools".to_owned()),
            },
            _ => judge(self),
        }
    }

    /// A rule that a line broke without a fact about what this host then does, as far as a check depends on it.
    fn unproven(&self, check: &str) -> Option<&Blame> {
        let moments = &self.met.moments;
        let decided = match check {
            "host.opens" => moments.opened,
            "host.tools" | "host.pages" => moments.listed,
            "host.call" | "host.result" => moments.called,
            _ => None,
        };
        let last = decided.or(moments.ended).unwrap_or(usize::MAX);
        let unproven =
            self.met.blames.iter().filter(|(one, known)| *known == Known::Not && one.place <= last);
        unproven.map(|(one, _)| one).find(|one| {
            let of_a_tool =
                one.missing.is_some_and(|fact| fact.starts_with("schemas.") && fact != "schemas.server_info");
            self.is_bound_by(one.rule) && !(of_a_tool && check == "host.opens")
        })
    }

    /// Some codes of errors are reserved by a version that a server with sessions only does not speak.
    fn is_bound_by(&self, rule: &str) -> bool {
        rule != "reserved-error-code" || self.found.speaks(schemas::Version::V2026_07_28).is_some()
    }

    fn items(&self) -> &[Value] {
        self.found.newest().map_or(&[], |speaks| &speaks.tools.items)
    }

    /// The name by which the model sees a tool.
    fn shown(&self, tool: &str) -> Option<String> {
        shown_name(&self.profile.names, self.server, tool)
    }

    /// Whether nothing failed but by limits of the host that a busy machine may use up, for a server that opens in this time
    /// while nothing else runs.
    pub(super) fn only_wanted_time(&self, alone_ms: Option<u64>) -> bool {
        let met = self.met;
        let failed = OF_TIME.iter().filter(|check| matches!(self.check(check), Outcome::Failed(_)));
        failed.copied().all(|check| match check {
            "host.end" => true,
            "host.tools" => met.notes.iter().any(|note| note.ends_with(LIST_TOO_SLOW)),
            "host.opens" => {
                let in_vain =
                    met.failed.as_ref().is_none_or(|why| TOO_SLOW.iter().any(|end| why.ends_with(end)));
                let opening = &self.profile.opening;
                let probe_ms = opening.probe_timeout_ms.saturating_sub(*opening.probe_margin_ms);
                // What a server refuses after an unanswered probe it may refuse because of the probe.
                let gave_probe_up = *opening.probe && met.failed_ms.is_some_and(|at_ms| at_ms >= probe_ms);
                let waited_ms = if in_vain { met.failed_ms } else { Some(probe_ms) };
                let times = waited_ms.zip(alone_ms);
                (in_vain || gave_probe_up)
                    && times.is_none_or(|(waited, alone)| busy::may_explain(waited, alone))
            }
            _ => false,
        })
    }

    fn opens(&self) -> Outcome {
        let met = self.met;
        let opened = met.ready && met.failed.is_none();
        let mut why = met.failed.clone().unwrap_or_else(|| "the server did not open in time".to_owned());
        let (refused, ended) = (why.starts_with(REFUSED_VERSION), why.starts_with(ENDED));
        let begins_by_probe = ended && *self.profile.opening.probe;
        if begins_by_probe {
            let by = if why.ends_with("probe") { " by" } else { ", which begins with" };
            let _ = write!(why, "{by} `server/discover`");
        }
        if let Some(broken) = met.record.broken.first() {
            why = format!("{why}; a line that hosts may drop was {}: {}", broken.rule, broken.message);
        }
        let unknown = self.profile.schemas.server_info.mark == Mark::Unknown && lacks_server_info(self.found);
        if opened && unknown {
            return not_known("schemas.server_info");
        }
        if !opened && let Some(unknown) = self.not_waited_out() {
            return unknown;
        }
        let facts = &self.profile.opening;
        if refused {
            let (host, accepted) =
                (&self.profile.identity, self.profile.identity.accepted_versions.join(", "));
            let _ = write!(why, "; this host offers {}", *host.protocol_version);
            let message = format!("the host gives the server up: {why}");
            let expected =
                format!("an answer with the version that the host offers, or with one of {accepted}");
            return met.expect(opened, &message, &expected, &last_server_line(met));
        }
        if begins_by_probe {
            let message = format!("the host gives the server up: {why}");
            let expected = "error -32601 for a method that the server does not know, and an open server";
            return met.expect(opened, &message, expected, &last_server_line(met));
        }
        if let Some(alone_ms) = self.found.opened_ms.filter(|_| !opened && !ended) {
            let _ = write!(why, "; asked alone it answered after {}", seconds(alone_ms));
            if *facts.probe && facts.probe_timeout_ms.mark != Mark::Unknown {
                let _ =
                    write!(why, "; this host gives its probe up after {}", seconds(*facts.probe_timeout_ms));
            }
            if facts.start_timeout_ms.mark != Mark::Unknown {
                let _ = write!(why, "; it waits {} for the server to open", seconds(*facts.start_timeout_ms));
            }
        }
        let message = format!("the host gives the server up: {why}");
        met.expect(opened, &message, "an open server", &last_server_line(met))
    }

    /// That this host gives the server up is not known: it still waited when this program stopped waiting, or it gave up
    /// by a limit that no recording shows.
    fn not_waited_out(&self) -> Option<Outcome> {
        match &self.met.failed {
            // A fact tells that it drops what the server wrote, so that it would wait in vain.
            None if self.met.blames.cost_something() => None,
            None => {
                let why = "this host still waits for the server, and how long it does so is not told here";
                Some(Outcome::Unknown(why.to_owned()))
            }
            Some(reason) => {
                let by_list = reason.ends_with(LIST_TOO_SLOW);
                let known =
                    !matches!(self.profile.lists.timeout_drops_server.mark, Mark::Unknown | Mark::Guess);
                (by_list && !known).then(|| not_known("lists.timeout_drops_server"))
            }
        }
    }

    fn tools(&self) -> Outcome {
        let (met, items) = (self.met, self.items());
        let told = met.tools_text.clone().unwrap_or_default();
        let names = items.iter().filter_map(|tool| self.shown(text(tool, "name")));
        let missing: Vec<String> = names.filter(|name| !told.contains(name.as_str())).collect();
        // MCP itself does not allow it, so a host may refuse all tools because of one.
        let untyped = |tool| schema_features(tool).contains(&SchemaFeature::RootNotObject);
        let unknown = self.profile.schemas.root_not_object.mark == Mark::Unknown;
        if missing.is_empty() && unknown && items.iter().any(untyped) {
            return not_known("schemas.root_not_object");
        }
        let message = format!("{} of {} tools do not reach the model", missing.len(), items.len());
        let seen = format!("missing: {}\n{}", missing.join(", "), met.notes.join("\n"));
        met.expect(missing.is_empty(), &message, "every tool", &seen)
    }

    fn pages(&self) -> Outcome {
        let pages = self.found.newest().map_or(0, |speaks| speaks.tools.pages);
        let message = format!("the tools come in {pages} pages, and this host asks for the first only");
        let read = pages < 2 || *self.profile.lists.follow_cursor;
        self.met.expect(read, &message, "all tools on the first page", "")
    }

    fn names(&self) -> Outcome {
        let names = self.items().iter().map(|tool| text(tool, "name"));
        let left: Vec<_> = names.filter(|name| self.shown(name).is_none()).collect();
        let max = *self.profile.names.max;
        let message = format!("the host leaves out tools whose name has more than {max} characters");
        self.met.expect(left.is_empty(), &message, "shorter names", &left.join(", "))
    }

    fn distinct_names(&self) -> Outcome {
        let mut shown: BTreeMap<String, Vec<&str>> = BTreeMap::new();
        for name in self.items().iter().map(|tool| text(tool, "name")) {
            if let Some(as_shown) = self.shown(name) {
                shown.entry(as_shown).or_default().push(name);
            }
        }
        let same = shown.into_iter().filter(|(_, names)| names.len() > 1);
        let same: Vec<_> =
            same.map(|(shown, names)| format!("{} are all shown as `{shown}`", names.join(", "))).collect();
        self.met.expect(
            same.is_empty(),
            "several tools have one name for the model",
            "names that differ, and stay different",
            &same.join("\n"),
        )
    }

    fn descriptions(&self) -> Outcome {
        let names = &self.profile.names;
        let is_cut = |text: &str| cut_description(names, text) != text;
        let of_tools = self.items().iter().filter(|tool| is_cut(text(tool, "description")));
        let of_tools = of_tools.map(|tool| (format!("`{}`", text(tool, "name")), text(tool, "description")));
        let mut cut: Vec<(String, &str)> = of_tools.collect();
        let opening = self.found.newest().map(|speaks| text(&speaks.opening, "instructions"));
        if let Some(instructions) = opening.filter(|text| *names.instructions && is_cut(text)) {
            cut.push(("the instructions".to_owned(), instructions));
        }
        let long = cut.iter().map(|(what, text)| format!("{what} has {}", text.chars().count()));
        let long = long.collect::<Vec<_>>().join(", ");
        let max = names.description_max.unwrap_or_default();
        let seen = Observed::telling(format!("too long: the host shows {max} characters; {long}"));
        let message = "the host cuts descriptions of tools that are longer than its limit";
        self.met.expect(cut.is_empty(), message, "texts that fit the limit", &seen)
    }

    /// Whether the server still worked on the call when it was no longer waited for. A host that drops an answer, as a fact
    /// tells, waits in vain.
    fn outlasted(&self) -> bool {
        self.met.call_still_ran && !self.met.blames.cost_something()
    }

    fn call(&self) -> Outcome {
        let met = self.met;
        match (self.tool, &met.call) {
            (Err(none), _) => none.clone(),
            (Ok(tool), _) if self.outlasted() => {
                let waited = CALL_WITHIN.as_secs();
                Outcome::Unknown(format!(
                    "a call of `{tool}` still ran after {waited} s, and this host waits longer"
                ))
            }
            (Ok(_), None) => met.fail("a call got no outcome", "a result", &last_server_line(met)),
            (Ok(tool), Some((_, outcome, raw))) => {
                // Also the server's own error is an answer, and the host tells the model of it: a service may be away. A result
                // that the host refuses is none.
                let is_error = |raw: &Value| {
                    raw.get("isError") == Some(&Value::Bool(true))
                        || raw.get("code").is_some_and(Value::is_i64)
                };
                let answered = matches!(outcome, CallOutcome::Result | CallOutcome::Backgrounded)
                    || raw.as_ref().is_some_and(is_error);
                let said = raw.as_ref().map(Value::to_string).unwrap_or_default();
                let message = match outcome {
                    CallOutcome::TimedOut => "the host stops waiting for a call".to_owned(),
                    // A host may learn first that stdout was closed.
                    _ if met.ended_by_itself => ends_the_server(tool),
                    _ if raw.is_some() => "the host refuses the result of a call".to_owned(),
                    _ => "a call brings no answer of the server".to_owned(),
                };
                if met.rested && !answered && raw.is_none() {
                    // Other calls may be answered, and the silence may be why this one is not.
                    let silence = format!("it came after {} s without a message", RESTS.as_secs());
                    return met.fail(&message, "an answer", &Observed::telling(silence));
                }
                met.expect(answered, &message, "an answer", &said)
            }
        }
    }

    fn result(&self) -> Outcome {
        let texts = &self.profile.texts;
        match (self.tool, self.met.call.as_ref().and_then(|(_, _, raw)| raw.as_ref())) {
            (Err(none), _) => none.clone(),
            (Ok(_), _) if self.outlasted() => Outcome::CouldNotRun(STILL_RAN.to_owned()),
            (Ok(_), None) => Outcome::CouldNotRun("the call brought no result".to_owned()),
            (Ok(_), Some(raw)) => {
                let (size, max) = (size_of(raw, *texts.size_unit), *texts.whole_max);
                let message = format!("the host shows results of up to {max} {}", unit(*texts.size_unit));
                let seen = format!("the result has {size}");
                self.met.expect(size <= max, &message, "a result that is shown whole", &seen)
            }
        }
    }

    fn requests(&self) -> Outcome {
        let refused = &self.met.refused;
        let shown = refused[..refused.len().min(SHOWN)].join("\n");
        let message = "the server asks what this host does not know";
        self.met.expect(refused.is_empty(), message, "no such request", &shown)
    }

    /// Whether the server keeps to the protocol as far as this host minds; see [`check`](Self::check).
    fn lines(&self) -> Outcome {
        let costs = self.met.blames.iter().filter(|(_, known)| *known == Known::Costs).map(|(one, _)| one);
        let costs = costs.filter(|one| self.is_bound_by(one.rule)).take(SHOWN);
        let broken: Vec<String> =
            costs.map(|one| format!("{}: {}\n{}", one.rule, one.message, one.line)).collect();
        let observed = broken.join("\n");
        let message = "lines of the server break the protocol, and cost something in this host";
        self.met.expect(broken.is_empty(), message, "valid lines", &observed)
    }

    fn ends(&self) -> Outcome {
        let met = self.met;
        let kill = self.profile.life.shutdown.iter().find(|step| step.how == Stop::Kill);
        if let Some(step) = kill.filter(|step| step.after_ms < KILL_AFTER_MS_MIN) {
            let after_ms = step.after_ms;
            return Outcome::Unsupported(format!(
                "this host kills every server {after_ms} ms after it is done"
            ));
        }
        let ended = (!met.killed || met.code.is_some()) && !met.left_running;
        if !ended && self.outlasted() {
            return Outcome::CouldNotRun(STILL_RAN.to_owned());
        }
        let steps = &self.profile.life.shutdown;
        let then = match kill {
            Some(kill) => format!("it had to be killed after {} ms", kill.after_ms),
            None => format!("it still ran {} s later", EXIT_WITHIN.as_secs()),
        };
        // A server that ends at once when it is idle may be kept by what a call began.
        let called = self.tool.ok().filter(|_| met.call.is_some());
        let after = called.map(|tool| format!("after a call of {tool} ")).unwrap_or_default();
        let asked: Vec<StopStep> = steps.iter().filter(|step| step.how != Stop::Kill).copied().collect();
        let seen = Observed::telling(format!("{after}the host did this: {}; {then}", told_end(&asked)));
        let message = "the server does not end by what the host does, short of force";
        met.expect(ended, message, "an end of its own accord", &seen)
    }
}

/// `2.9 s`.
fn seconds(ms: u64) -> String {
    format!("{}.{} s", ms / 1_000, ms % 1_000 / 100)
}

fn text<'a>(object: &'a Value, member: &str) -> &'a str {
    object.get(member).and_then(Value::as_str).unwrap_or_default()
}

fn not_known(fact: &str) -> Outcome {
    Outcome::Unknown(format!("not known of this host: `{fact}`"))
}

/// Whether the newest answer to `initialize` lacks a required member; `server/discover` has no such member.
fn lacks_server_info(found: &Discovered) -> bool {
    let opening = found.newest().map(|speaks| &speaks.opening);
    opening.is_some_and(|opening| opening.get("protocolVersion").is_some() && !names_its_server(opening))
}

/// Whether the host leaves out tools because of their input schemas.
fn schemas_of(profile: &Profile, items: &[Value], met: &Met) -> Outcome {
    let mut dropped = Vec::new();
    let mut refused = false;
    let mut unseen: BTreeMap<&str, &str> = BTreeMap::new();
    for tool in items {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        for feature in schema_features(tool) {
            let (fact, fact_name) = feature.fact(&profile.schemas);
            if fact.mark == Mark::Unknown {
                unseen.entry(fact_name).or_insert(name);
            } else if **fact != Fate::Taken {
                refused |= **fact == Fate::Refused;
                dropped.push(format!("`{name}` has {}", feature.words()));
            }
        }
    }
    if !dropped.is_empty() {
        let message = if refused {
            "the host refuses the whole list of tools for an input schema"
        } else {
            "the host leaves out tools for their input schemas"
        };
        return met.fail(message, "schemas that this host takes", &dropped.join("\n"));
    }
    if unseen.is_empty() {
        return Outcome::Passed;
    }
    let unseen: Vec<String> =
        unseen.into_iter().map(|(fact, tool)| format!("`{fact}` (as in `{tool}`)")).collect();
    Outcome::Unknown(format!("not known of this host: {}", unseen.join(", ")))
}

/// Whether the host calls tools that run as tasks only.
fn task_tools(profile: &Profile, items: &[Value], met: &Met) -> Outcome {
    let names = items.iter().filter(|tool| is_task_only(tool));
    let names: Vec<&str> = names.filter_map(|tool| tool.get("name")?.as_str()).collect();
    let fact = &profile.schemas.task_only;
    match (names.is_empty(), fact.mark == Mark::Unknown, &fact.value) {
        (true, ..) => Outcome::NotApplicable("no tool runs as a task only".to_owned()),
        (false, true, _) => not_known("schemas.task_only"),
        (false, false, None) => Outcome::Passed,
        (false, false, Some(_)) => {
            let message = "the host sends no call of a tool that runs as a task only";
            met.fail(message, "tools that can be called plainly too", &names.join(", "))
        }
    }
}

fn size_of(raw: &Value, unit: SizeUnit) -> u64 {
    let blocks = raw.get("content").and_then(Value::as_array).into_iter().flatten();
    let texts = blocks.filter_map(|block| block.get("text").and_then(Value::as_str));
    let sizes = texts.map(|text| match unit {
        SizeUnit::Characters => text.chars().count(),
        SizeUnit::Bytes => text.len(),
    });
    sizes.sum::<usize>() as u64
}

fn unit(unit: SizeUnit) -> &'static str {
    match unit {
        SizeUnit::Characters => "characters",
        SizeUnit::Bytes => "bytes",
    }
}

fn last_server_line(met: &Met) -> String {
    let lines = met.record.transcript.iter().rev();
    lines
        .clone()
        .find(|line| line.lane == Lane::ServerToHost)
        .map_or_else(|| "the server wrote nothing".to_owned(), |line: &WireLine| line.text.clone())
}
