//! Whether a stranger's server would work in a host: the fake host is connected to it and tells what it met.
//! The host is played by its profile alone; nothing here knows how any host behaves.

use std::collections::BTreeMap;
use std::sync::Arc;

use fake_hosts::{
    Fate, Mark, Outcome as CallOutcome, Profile, SchemaFeature, SizeUnit, Stop, cut_description,
    is_task_only, names_its_server, schema_features, shown_name,
};
use reports::event::{Lane, WireLine};
use serde_json::Value;

use super::arguments;
use super::discover::Discovered;
use super::lab::Wishes;
use super::meeting::{Met, meet};
use super::outcome::{Evidence, Outcome};
use super::protocol::Judged;
use super::row::{HOSTS, Placed};
use super::target::Target;

/// What a conversation with a host answers.
pub(crate) const CHECKS: [&str; 13] = [
    "host.opens",
    "host.tools",
    "host.pages",
    "host.names",
    "host.names-distinct",
    "host.descriptions",
    "host.schemas",
    "host.task-tools",
    "host.call",
    "host.result",
    "host.requests",
    "host.lines",
    "host.end",
];
/// A host that kills sooner than this leaves no server the time to end, in milliseconds.
const KILL_AFTER_MS_MIN: u64 = 500;
/// Errors of one kind that are shown.
const SHOWN: usize = 3;

/// Connects one host and judges what it met.
pub(crate) async fn judge(
    profile: &Arc<Profile>,
    server_name: &str,
    target: &Target,
    wishes: &Wishes,
    found: &Discovered,
    rows: &[Placed],
) -> Vec<Judged> {
    let rows = || rows.iter().filter(|placed| placed.row.r#in.contains_key(HOSTS));
    if let Some(reason) = &found.dead {
        // Each host would wait its own time for what never comes.
        return rows().map(|placed| unmet(placed, profile, reason)).collect();
    }
    let tool = pick_tool(wishes, found);
    let met = meet(profile, server_name, target, wishes, tool.as_ref().ok()).await;
    let transcript = met.record.transcript.clone();
    rows()
        .map(|placed| {
            let mut outcome: Option<Outcome> = None;
            for check in &placed.row.checks {
                let one = check_of(check, profile, server_name, found, &met, tool.as_ref().map(|_| ()));
                outcome = Some(match outcome.take() {
                    Some(before) => before.and(one),
                    None => one,
                });
            }
            let outcome = outcome.unwrap_or_else(|| Outcome::CouldNotRun("the row has no check".to_owned()));
            let failed = matches!(outcome, Outcome::Failed(_));
            Judged {
                row: placed.row.id.clone(),
                column: profile.id.clone(),
                outcome,
                transcript: if failed { transcript.clone() } else { Vec::new() },
                session: BTreeMap::new(),
            }
        })
        .collect()
}

/// A row of a server that no host could meet.
fn unmet(placed: &Placed, profile: &Profile, reason: &str) -> Judged {
    Judged {
        row: placed.row.id.clone(),
        column: profile.id.clone(),
        outcome: Outcome::CouldNotRun(reason.to_owned()),
        transcript: Vec::new(),
        session: BTreeMap::new(),
    }
}

/// The call that the model makes: the tool and its arguments; why there is none.
fn pick_tool(wishes: &Wishes, found: &Discovered) -> Result<(String, Value), Outcome> {
    let Some(speaks) = found.newest() else {
        return Err(Outcome::CouldNotRun("the server could not be asked for its tools".to_owned()));
    };
    let lasts = wishes.long_call.as_ref().map(|(name, _)| name.as_str());
    let may = |tool: &&Value| {
        tool.get("name").and_then(Value::as_str) != lasts
            && (wishes.call_all_tools
                || tool.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true)))
    };
    let made = speaks.tools.items.iter().filter(may).find_map(|tool| {
        let arguments = arguments::make(tool.get("inputSchema")?, wishes.seed).ok()?;
        Some((tool.get("name")?.as_str()?.to_owned(), arguments))
    });
    made.ok_or_else(|| super::check::none_callable(&speaks.tools))
}

impl Met {
    fn fail(&self, message: impl Into<String>, expected: &str, observed: &str) -> Outcome {
        let observed = self.record.excerpt(observed, 1_500);
        Outcome::Failed(vec![Evidence {
            message: message.into(),
            expected: Some(expected.to_owned()),
            observed: (!observed.is_empty()).then_some(observed),
            at_ms: 0,
        }])
    }

    fn expect(&self, holds: bool, message: &str, expected: &str, observed: &str) -> Outcome {
        if holds { Outcome::Passed } else { self.fail(message, expected, observed) }
    }
}

fn check_of(
    check: &str,
    profile: &Profile,
    server: &str,
    found: &Discovered,
    met: &Met,
    tool: Result<(), &Outcome>,
) -> Outcome {
    if check == "host.end" && !met.has_process {
        return Outcome::NotApplicable("about a process; this server is not one of ours".to_owned());
    }
    let opened = met.ready && met.failed.is_none();
    if check == "host.opens" {
        let mut why = met.failed.clone().unwrap_or_else(|| "the server did not open in time".to_owned());
        if let Some(broken) = met.record.broken.first() {
            why = format!("{why}; a line that hosts may drop was {}: {}", broken.rule, broken.message);
        }
        let unknown = profile.schemas.server_info.mark == Mark::Unknown && lacks_server_info(found);
        if opened && unknown {
            return not_known("schemas.server_info");
        }
        return met.expect(
            opened,
            &format!("the host gives the server up: {why}"),
            "an open server",
            &last_server_line(met),
        );
    }
    if !opened {
        return Outcome::CouldNotRun("the host does not open the server".to_owned());
    }
    let tools = found.newest().map(|speaks| &speaks.tools);
    let items: &[Value] = tools.map_or(&[], |tools| &tools.items);
    let text =
        |tool: &Value, member: &str| tool.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
    let about_tools =
        ["host.tools", "host.pages", "host.names", "host.names-distinct", "host.schemas", "host.task-tools"];
    if items.is_empty() && about_tools.contains(&check) {
        return match tools {
            Some(_) => Outcome::NotApplicable("the server lists no tools".to_owned()),
            None => Outcome::CouldNotRun("the server could not be asked for its tools".to_owned()),
        };
    }
    match check {
        "host.tools" => {
            let told = met.tools_text.clone().unwrap_or_default();
            let missing: Vec<String> = items
                .iter()
                .filter_map(|tool| shown_name(&profile.names, server, &text(tool, "name")))
                .filter(|name| !told.contains(name.as_str()))
                .collect();
            // Not even MCP allows it, so a host may refuse all tools for one.
            let untyped = |tool| schema_features(tool).contains(&SchemaFeature::RootNotObject);
            let unknown = profile.schemas.root_not_object.mark == Mark::Unknown;
            if missing.is_empty() && unknown && items.iter().any(untyped) {
                return not_known("schemas.root_not_object");
            }
            let message = format!("{} of {} tools do not reach the model", missing.len(), items.len());
            let why: Vec<&str> = met.notes.iter().map(String::as_str).collect();
            met.expect(
                missing.is_empty(),
                &message,
                "every tool",
                &format!("missing: {}\n{}", missing.join(", "), why.join("\n")),
            )
        }
        "host.pages" => {
            let pages = tools.map_or(0, |tools| tools.pages);
            let message = format!("the tools come in {pages} pages, and this host asks for the first only");
            met.expect(pages < 2 || *profile.lists.follow_cursor, &message, "all tools on the first page", "")
        }
        "host.names" => {
            let names = items.iter().map(|tool| text(tool, "name"));
            let left: Vec<_> =
                names.filter(|name| shown_name(&profile.names, server, name).is_none()).collect();
            let message = format!(
                "the host leaves out tools whose name has more than {} characters",
                *profile.names.max
            );
            met.expect(left.is_empty(), &message, "shorter names", &left.join(", "))
        }
        "host.names-distinct" => {
            let mut shown: BTreeMap<String, Vec<String>> = BTreeMap::new();
            for tool in items {
                let name = text(tool, "name");
                if let Some(as_shown) = shown_name(&profile.names, server, &name) {
                    shown.entry(as_shown).or_default().push(name);
                }
            }
            let same: Vec<_> = shown
                .into_iter()
                .filter(|(_, names)| names.len() > 1)
                .map(|(shown, names)| format!("{} are all shown as `{shown}`", names.join(", ")))
                .collect();
            met.expect(
                same.is_empty(),
                "several tools have one name for the model",
                "names that differ, and stay different",
                &same.join("\n"),
            )
        }
        "host.descriptions" => {
            let mut cut: Vec<String> = items
                .iter()
                .filter(|tool| {
                    cut_description(&profile.names, &text(tool, "description")) != text(tool, "description")
                })
                .map(|tool| text(tool, "name"))
                .collect();
            let instructions =
                found.newest().map(|speaks| text(&speaks.opening, "instructions")).unwrap_or_default();
            if *profile.names.instructions && cut_description(&profile.names, &instructions) != instructions {
                cut.push("the instructions".to_owned());
            }
            met.expect(
                cut.is_empty(),
                "the host cuts descriptions",
                "texts that fit its limit",
                &cut.join(", "),
            )
        }
        "host.schemas" => schemas_of(profile, items, met),
        "host.task-tools" => task_tools(profile, items, met),
        "host.call" => match (tool, &met.call) {
            (Err(none), _) => none.clone(),
            (Ok(()), None) => met.fail("a call got no outcome", "a result", &last_server_line(met)),
            (Ok(()), Some((_, outcome, raw))) => {
                let answered = matches!(outcome, CallOutcome::Result | CallOutcome::Backgrounded)
                    || raw.as_ref().is_some_and(|raw| raw.get("content").is_some());
                let said = raw.as_ref().map(Value::to_string).unwrap_or_default();
                met.expect(answered, &format!("a call ends with {outcome:?}"), "a result", &said)
            }
        },
        "host.result" => match (tool, met.call.as_ref().and_then(|(_, _, raw)| raw.as_ref())) {
            (Err(none), _) => none.clone(),
            (Ok(()), None) => Outcome::CouldNotRun("the call brought no result".to_owned()),
            (Ok(()), Some(raw)) => {
                let size = size_of(raw, *profile.texts.size_unit);
                let max = *profile.texts.whole_max;
                let message =
                    format!("the host shows results of up to {max} {}", unit(*profile.texts.size_unit));
                met.expect(
                    size <= max,
                    &message,
                    "a result that is shown whole",
                    &format!("the result has {size}"),
                )
            }
        },
        "host.requests" => {
            let shown: Vec<&str> = met.refused.iter().take(SHOWN).map(String::as_str).collect();
            met.expect(
                met.refused.is_empty(),
                "the server asks what this host does not know",
                "no such request",
                &shown.join("\n"),
            )
        }
        "host.lines" => {
            // Codes are reserved by the version that a session-only server refuses to speak.
            let bound = |rule: &str| {
                rule != "reserved-error-code" || found.speaks(schemas::Version::V2026_07_28).is_some()
            };
            let broken: Vec<String> = met
                .record
                .broken
                .iter()
                .filter(|one| bound(one.rule))
                .take(SHOWN)
                .map(|one| format!("{}: {}\n{}", one.rule, one.message, one.line))
                .collect();
            met.expect(
                broken.is_empty(),
                "lines of the server break the protocol in this host's conversation",
                "valid lines",
                &broken.join("\n"),
            )
        }
        _ => {
            let kill = profile.life.shutdown.iter().find(|step| step.how == Stop::Kill);
            if let Some(step) = kill.filter(|step| step.after_ms < KILL_AFTER_MS_MIN) {
                return Outcome::Unsupported(format!(
                    "this host kills every server {} ms after it is done",
                    step.after_ms
                ));
            }
            let message = "the server does not end by what this host does, short of SIGKILL";
            met.expect(
                (!met.killed || met.code.is_some()) && !met.left_running,
                message,
                "an end before SIGKILL",
                &last_events(met),
            )
        }
    }
}

fn not_known(fact: &str) -> Outcome {
    Outcome::Unknown(format!("not known of this host: `{fact}`"))
}

/// Whether the newest answer to `initialize` lacks what MCP wants of it; `server/discover` has no such member.
fn lacks_server_info(found: &Discovered) -> bool {
    let opening = found.newest().map(|speaks| &speaks.opening);
    opening.is_some_and(|opening| opening.get("protocolVersion").is_some() && !names_its_server(opening))
}

/// Whether the host leaves tools out for their input schemas.
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

fn last_events(met: &Met) -> String {
    let events =
        met.record.transcript.iter().filter(|line| line.lane == Lane::Event).map(|line| line.text.as_str());
    let events: Vec<&str> = events.collect();
    events[events.len().saturating_sub(4)..].join("\n")
}
