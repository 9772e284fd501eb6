//! Facts of the opening, the lists, the stream of changes and the end of a process.

use serde_json::{Value, json};

use super::claim::{Claims, rounded_ms};
use super::claims_wire::is_modern;
use super::opening::Opening;
use super::session::{Said, Session};
use super::tracer::LIST_DELAY_MS;
use crate::tap::What;

const LISTS: [(&str, &str); 4] = [
    ("tools/list", "tools"),
    ("prompts/list", "prompts"),
    ("resources/list", "resources"),
    ("resources/templates/list", "resource_templates"),
];
/// Versions that must be tried, one session each, before the list of accepted versions is complete.
const VERSIONS: [&str; 7] =
    ["2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01"];
/// After the last retry of a refused stream the log must be quiet for this many times the last wait.
const RETRY_OVER: u64 = 3;
/// Times of the steps of an end are rounded to this many milliseconds within its first second, when the probe
/// reports often that it still runs.
const STEP_MS: u64 = 10;
const LATE_STEP_MS: u64 = 50;
/// Lists that are requested within this time of the first belong to the opening, in milliseconds.
const OPENING_MS: u64 = 1_000;

pub(super) fn draw(sessions: &[Session], claims: &mut Claims) {
    for (place, session) in sessions.iter().enumerate() {
        let next = sessions.get(place + 1).filter(|next| next.proc == session.proc + 1 && next.proc > 1);
        first_message(session, claims);
        match &session.opening {
            Opening::Legacy | Opening::Modern if session.proc == 1 => {
                lists(session, claims);
                stream(session, claims);
            }
            Opening::NoCapabilities => undeclared(session, claims),
            Opening::ProbeSilent => probe_silence(session, claims),
            Opening::ProbeExit => probe_exit(next, claims),
            Opening::InitializeSilent => start_timeout(session, claims),
            Opening::ModernRefuseListen => retries(session, claims),
            _ => {}
        }
        end(session, claims);
        restart(session, next, claims);
    }
    versions(sessions, claims);
}

fn first_message(session: &Session, claims: &mut Claims) {
    // A process that replaced another may skip the probe.
    if let Some(said) = session.said.iter().find(|said| said.by_host).filter(|_| session.proc == 1) {
        let probes = said.method() == Some("server/discover");
        claims.add("opening.probe", json!(probes), session.at(said.number));
    }
}

/// The first lists, before any call.
fn lists(session: &Session, claims: &mut Claims) {
    let until_ms = session.first_call_ms();
    let mut first: Vec<(&str, &Said)> = Vec::new();
    for said in session.said.iter().filter(|said| said.by_host && said.ms <= until_ms) {
        let kind = LISTS.iter().find(|(method, _)| said.method() == Some(method));
        let Some((_, kind)) = kind.filter(|_| said.params().get("cursor").is_none()) else { continue };
        // Some hosts request one list twice at once; a later request has another reason.
        let opens = first.first().is_none_or(|(_, one)| said.ms <= one.ms + OPENING_MS);
        if opens || !first.iter().any(|(known, _)| known == kind) {
            first.push((kind, said));
        }
    }
    let Some((_, asked)) = first.first().copied() else { return };
    let at = session.at(asked.number);
    let order: Vec<&str> = first.iter().map(|(kind, _)| *kind).collect();
    if session.is_modern() {
        claims.add("lists.modern_order", order.into(), at);
    } else {
        claims.add_mode("lists.order", session.mode, order.into(), at);
        let fetched = session.asked("prompts/get").find(|said| said.ms <= until_ms);
        let at = session.at(fetched.unwrap_or(asked).number);
        claims.add_mode("lists.fetch_prompts", session.mode, json!(fetched.is_some()), at);
    }
    if let [(_, one), (_, other), ..] = first.as_slice()
        && !session.is_modern()
    {
        let waited = session.answer_to(one).is_some_and(|answer| answer.number < other.number);
        claims.add("lists.one_by_one", json!(waited), session.at(other.number));
    }
    let pages = session.asked("tools/list").filter(|said| said.ms <= until_ms);
    let followed = pages.filter(|said| said.params().get("cursor").is_some()).last();
    // A host that requests no second page had time for it once a tool was called, if there was one.
    if session.opening != Opening::OnePage && (followed.is_some() || until_ms < u64::MAX) {
        let at = session.at(followed.unwrap_or(asked).number);
        claims.add("lists.follow_cursor", json!(followed.is_some()), at);
    }
}

fn undeclared(session: &Session, claims: &mut Claims) {
    let Some(opened) = session.told("notifications/initialized").next() else { return };
    let asked = |method: &str| session.asked(method).next().is_some();
    let kinds: Vec<&str> = LISTS.iter().filter(|(method, _)| asked(method)).map(|(_, kind)| *kind).collect();
    claims.add("lists.undeclared", kinds.into(), session.at(opened.number));
}

/// The stream of changes of the newer era.
fn stream(session: &Session, claims: &mut Claims) {
    if session.opening != Opening::Modern || !session.is_modern() {
        return;
    }
    let Some(listen) = session.asked("subscriptions/listen").next() else {
        let said = session.said.iter().find(|said| said.by_host && is_modern(said));
        return claims.add("modern.listen", json!(false), session.at(said.map_or(0, |said| said.number)));
    };
    claims.add("modern.listen", json!(true), session.at(listen.number));
    let Some(acknowledged) = session.sent("notifications/subscriptions/acknowledged").next() else { return };
    if let Some(list) = session.said.iter().find(|said| said.by_host && said.method() == Some("tools/list")) {
        let waits = list.number > acknowledged.number;
        claims.add("modern.lists_wait_for_listen", json!(waits), session.at(list.number));
    }
    let again = session.asked("server/discover").find(|said| said.number > acknowledged.number);
    let at = session.at(again.unwrap_or(acknowledged).number);
    claims.add("modern.discover_after_acknowledgement", json!(again.is_some()), at);
    let stray = session.sent("notifications/message").find(|said| said.params().pointer("/_meta").is_some());
    if let Some(stray) = stray {
        strict(session, listen, stray, claims);
    } else if let Some(end) = session.end() {
        let cancelled = session.cancel_of(listen);
        let at = session.at(cancelled.map_or(end.number, |said| said.number));
        claims.add("modern.cancel_listen_at_exit", json!(cancelled.is_some()), at);
    }
}

/// The effect of a notification that the stream did not request.
fn strict(session: &Session, listen: &Said, stray: &Said, claims: &mut Claims) {
    let cancel = session.cancel_of(listen).filter(|said| said.ms < stray.ms + 2_000);
    let at = session.at(cancel.unwrap_or(stray).number);
    claims.add("modern.strict_stream", json!(cancel.is_some()), at.clone());
    if let Some(cancel) = cancel {
        if let Some(reason) = cancel.params().get("reason") {
            claims.add("modern.strict_stream_reason", reason.clone(), at);
        }
    } else if let (Some(end), None) = (session.end(), session.cancel_of(listen)) {
        claims.add("modern.cancel_listen_at_exit", json!(false), session.at(end.number));
    }
    let last = session.asked("subscriptions/listen").last();
    if let Some(last) = last.filter(|last| cancel.is_some() && last.number > stray.number)
        && let Some(end) = session.end()
    {
        let cancelled = session.cancel_of(last).filter(|said| said.ms + 2_000 > end.ms);
        claims.add("modern.cancel_listen_at_exit", json!(cancelled.is_some()), session.at(end.number));
    }
}

/// When the host requests a refused stream again.
fn retries(session: &Session, claims: &mut Claims) {
    let asked: Vec<&Said> = session.asked("subscriptions/listen").collect();
    let Some(first) = asked.first() else { return };
    let waits: Vec<u64> =
        asked.windows(2).map(|pair| rounded_ms(pair[1].ms.saturating_sub(pair[0].ms))).collect();
    let last_ms = asked.last().map_or(0, |said| said.ms);
    let quiet_ms = session.last_ms().saturating_sub(last_ms);
    let enough_ms = waits.last().map_or(10_000, |wait| wait * RETRY_OVER);
    if quiet_ms >= enough_ms {
        claims.add("modern.listen_retry_ms", waits.into(), session.at(first.number));
    } else {
        claims.hint(
            "modern.listen_retry_ms",
            format!("waits so far {waits:?}; the log ended {quiet_ms} ms after the last"),
        );
    }
}

fn probe_silence(session: &Session, claims: &mut Claims) {
    let Some(probe) = session.asked("server/discover").next() else { return };
    let next = session.asked("initialize").next();
    if let Some(said) = next {
        claims.add("opening.probe_silence", json!("initialize"), session.at(said.number));
        let waited_ms = said.ms.saturating_sub(probe.ms);
        let words = format!(
            "initialize came {waited_ms} ms after the unanswered probe ({})",
            session.at(said.number)
        );
        for fact in ["opening.probe_timeout_ms", "opening.probe_margin_ms", "opening.probe_share"] {
            claims.hint(fact, format!("{words}; limit, margin and share can't be told apart"));
        }
    } else if let Some(end) = session.end() {
        claims.add("opening.probe_silence", json!("fail"), session.at(end.number));
    }
}

fn probe_exit(next: Option<&Session>, claims: &mut Claims) {
    let first = next.and_then(|next| Some((next, next.said.iter().find(|said| said.by_host)?)));
    if let Some((next, said)) = first
        && said.method() == Some("initialize")
    {
        claims.add("opening.probe_exit", json!("respawn_without_probe"), next.at(said.number));
    } else {
        claims.hint(
            "opening.probe_exit",
            "no second process followed; whether one would have is not seen".to_owned(),
        );
    }
}

fn start_timeout(session: &Session, claims: &mut Claims) {
    let (Some(asked), Some(end)) = (session.asked("initialize").next(), session.end()) else { return };
    let how = if end.what == What::HostClosedStdin { "close_stdin" } else { "shutdown" };
    claims.add("opening.on_start_timeout", json!(how), session.at(end.number));
    let words = format!(
        "the host gave up {} ms after the start and {} ms after initialize ({})",
        end.ms,
        end.ms.saturating_sub(asked.ms),
        session.at(end.number)
    );
    for fact in ["opening.start_timeout_ms", "opening.start_clock"] {
        claims.hint(fact, words.clone());
    }
}

/// The versions that the host accepts in the answer to `initialize`.
fn versions(sessions: &[Session], claims: &mut Claims) {
    let mut accepted: Vec<&str> = Vec::new();
    let mut tried = 0;
    let mut evidence = Vec::new();
    for version in VERSIONS {
        let session = sessions.iter().find(|one| one.opening == Opening::Version(version.to_owned()));
        let Some(session) = session else { continue };
        let Some(asked) = session.asked("initialize").next() else { continue };
        tried += 1;
        evidence.push(session.at(asked.number));
        if let Some(said) = session.told("notifications/initialized").next() {
            accepted.push(version);
            if version == "2026-07-28" {
                let later =
                    session.said.iter().find(|one| one.by_host && one.number > said.number && is_modern(one));
                let at = session.at(later.unwrap_or(said).number);
                claims.add("opening.modern_by_initialize", json!(later.is_some()), at);
            }
        } else if let Some(end) = session.end() {
            let how = if end.what == What::HostClosedStdin { "close_stdin" } else { "shutdown" };
            claims.add("opening.on_refused_version", json!(how), session.at(end.number));
            if version == "2026-07-28" {
                claims.add("opening.modern_by_initialize", json!(false), session.at(end.number));
            }
        }
    }
    let evidence = evidence.join(", ");
    if accepted.contains(&"1999-01-01") {
        claims.add("identity.accepted_versions", json!(["*"]), evidence);
    } else if tried == VERSIONS.len() {
        claims.add("identity.accepted_versions", accepted.into(), evidence);
    } else if tried > 0 {
        let words =
            format!("{tried} of {} versions were tried ({evidence}); accepted: {accepted:?}", VERSIONS.len());
        claims.hint("identity.accepted_versions", words);
    }
}

/// How the host ends a process that does not end by itself.
fn end(session: &Session, claims: &mut Claims) {
    let (Opening::Legacy | Opening::Modern, Some(first)) = (&session.opening, session.end()) else { return };
    let opened = session.asked("tools/list").next().is_some();
    if !opened {
        return;
    }
    let mut steps: Vec<(u64, &str)> = Vec::new();
    for one in session.happened.iter().filter(|one| one.number >= first.number) {
        let how = match (one.what, one.detail.as_str()) {
            (What::HostClosedStdin, _) => "close_stdin",
            (What::Signal, "SIGINT") => "int",
            (What::Signal, "SIGTERM") => "term",
            _ => continue,
        };
        steps.push((one.ms - first.ms, how));
    }
    let last = session.happened.last().map_or(first.ms, |one| one.ms);
    let watched_ms = last - first.ms;
    let left_alone = watched_ms + 1_000 >= super::tracer::LINGER_MS;
    if left_alone {
        let words = format!(
            "after {steps:?} the process was left alone for {watched_ms} ms ({})",
            session.at(first.number)
        );
        return claims.hint("life.shutdown", words);
    }
    // The log breaks off, and only a kill ends the probe before its time. The end of stdin comes with it.
    let often = watched_ms <= super::tracer::ALIVE_OFTEN_MS;
    let killed_ms = watched_ms + if often { super::tracer::ALIVE_MS } else { super::tracer::ALIVE_LATER_MS };
    steps
        .retain(|(after_ms, how)| *how != "close_stdin" || *after_ms + STEP_MS < killed_ms || *after_ms == 0);
    steps.push((killed_ms, "kill"));
    let told = |after_ms: u64| {
        let step_ms = if after_ms <= super::tracer::ALIVE_OFTEN_MS { STEP_MS } else { LATE_STEP_MS };
        (after_ms + step_ms / 2) / step_ms * step_ms
    };
    let steps: Vec<Value> =
        steps.iter().map(|(after_ms, how)| json!({"after_ms": told(*after_ms), "how": how})).collect();
    claims.add("life.shutdown", steps.into(), session.at(first.number));
}

/// Whether the host restarted an exited process, and its first request then.
fn restart(session: &Session, next: Option<&Session>, claims: &mut Claims) {
    let Some(exit) = session.calls("exit").first().copied() else { return };
    let Some(next) = next else {
        let words = format!(
            "no process followed the exit at {}; the user must say whether a call was tried",
            session.at(exit.asked.number)
        );
        return claims.hint("life.restart", words);
    };
    let Some(call) = next.asked("tools/call").next() else { return };
    let listed =
        next.asked("tools/list").any(|said| said.ms + LIST_DELAY_MS <= call.ms || said.number < call.number);
    let rule = if listed { "next_call_and_lists" } else { "next_call" };
    claims.add_mode("life.restart", session.mode, json!(rule), next.at(call.number));
}
