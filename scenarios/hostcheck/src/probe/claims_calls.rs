//! Facts about calls, notifications and texts: limits, cancellations, order, list changes, texts that the
//! model saw.

use serde_json::{Value, json};

use super::claim::{Claims, rounded_ms};
use super::opening::Opening;
use super::session::{Call, Said, Session};

/// If the second call comes this soon after the answer to the first, it had waited for it, in milliseconds.
const QUEUED_MS: u64 = 300;
/// A list that is requested within this time counts as requested at once, in milliseconds.
const NOW_MS: u64 = 2_000;
/// If a call blocks for this long, the host does not move it to the background, in milliseconds.
const BLOCKED_MS: u64 = 190_000;
/// A host that cancels answered calls does so within this time, in milliseconds.
const ABORT_MS_MAX: u64 = 5_000;
/// Number of answered calls without a cancellation that show that the host never cancels them.
const ANSWERED_MIN: usize = 5;

pub(super) fn draw(sessions: &[Session], claims: &mut Claims) {
    for session in sessions {
        parallel(session, claims);
        limits(session, claims);
        background(session, claims);
        cancels(session, claims);
        changes(session, claims);
        heard(session, claims);
        uses(session, claims);
    }
    needs_declaration(sessions, claims);
}

/// Whether the calls of one step ran in parallel.
fn parallel(session: &Session, claims: &mut Claims) {
    let pair = |one: &str, other: &str| -> Option<(bool, u64)> {
        let (one, other) = (*session.calls(one).first()?, *session.calls(other).first()?);
        let (first, second) = if one.asked.number < other.asked.number { (one, other) } else { (other, one) };
        let answered = first.answered?;
        if second.asked.number < answered.number {
            return Some((true, second.asked.number));
        }
        let queued = second.asked.ms.saturating_sub(answered.ms) < QUEUED_MS;
        queued.then_some((false, second.asked.number))
    };
    let (Some((reads, at)), Some((writes, at_too))) = (pair("read_a", "read_b"), pair("write_a", "write_b"))
    else {
        return;
    };
    let rule = match (reads, writes) {
        (true, true) => "all",
        (true, false) => "read_only",
        (false, false) => "serial",
        (false, true) => {
            return claims
                .hint("calls.parallel", "calls that write ran together, calls that read did not".to_owned());
        }
    };
    claims.add("calls.parallel", json!(rule), format!("{}, {}", session.at(at), session.at(at_too)));
}

/// Whether the call asked for progress.
fn progresses(call: &Call<'_>) -> bool {
    let params = call.asked.params();
    let seconds = params.pointer("/arguments/progress_every_s").and_then(Value::as_f64);
    seconds.is_some_and(|seconds| seconds > 0.0) && params.pointer("/_meta/progressToken").is_some()
}

fn took_ms(call: &Call<'_>, end: &Said) -> u64 {
    end.ms.saturating_sub(call.asked.ms)
}

/// Time limits of calls, and whether progress extends them.
fn limits(session: &Session, claims: &mut Claims) {
    let calls = session.calls("long_call");
    let (with, without): (Vec<&Call<'_>>, Vec<&Call<'_>>) = calls.iter().partition(|call| progresses(call));
    let cut =
        without.iter().filter(|call| call.answered.is_none()).find_map(|call| Some((call, call.cancelled?)));
    let Some((call, cancel)) = cut else {
        let longest = without
            .iter()
            .filter_map(|call| Some((took_ms(call, call.answered?), call)))
            .max_by_key(|(ms, _)| *ms);
        if let Some((ms, call)) = longest {
            claims.hint(
                "calls.timeout_ms",
                format!(
                    "more than {ms} ms: a call was answered after that ({})",
                    session.at(call.asked.number)
                ),
            );
        }
        return;
    };
    let limit_ms = rounded_ms(took_ms(call, cancel));
    let at = session.at(cancel.number);
    claims.add("calls.timeout_ms", json!(limit_ms), at.clone());
    if let Some(reason) = cancel.params().get("reason") {
        claims.add("calls.timeout_reason", reason.clone(), at);
    }
    for call in with {
        match (call.answered, call.cancelled) {
            (Some(answer), _) if took_ms(call, answer) > limit_ms + NOW_MS => {
                claims.add("calls.progress_extends", json!(true), session.at(answer.number));
            }
            (None, Some(cancel)) if took_ms(call, cancel) <= limit_ms + NOW_MS => {
                claims.add("calls.progress_extends", json!(false), session.at(cancel.number));
            }
            _ => {}
        }
    }
}

/// When a call goes to the background and the model continues.
fn background(session: &Session, claims: &mut Claims) {
    for call in session.calls("long_call") {
        let end = call.answered.or(call.cancelled).map_or(u64::MAX, |end| end.number);
        let next = session.asked("tools/call").find(|said| {
            said.number > call.asked.number && said.number < end && said.ms >= call.asked.ms + NOW_MS
        });
        if let Some(next) = next {
            let after_ms = next.ms.saturating_sub(call.asked.ms);
            // A model takes its time to act; the host's limit is a whole second before that.
            let whole_ms = after_ms / 1_000 * 1_000;
            let evidence = format!("{}, {after_ms} ms after its call", session.at(next.number));
            return claims.add_mode("calls.background_after_ms", session.mode, json!(whole_ms), evidence);
        }
    }
    let blocked = session.calls("long_call").into_iter().find_map(|call| {
        let end = call.answered.filter(|end| took_ms(&call, end) >= BLOCKED_MS)?;
        let later = session.asked("tools/call").find(|said| said.number > end.number)?;
        Some((took_ms(&call, end), later.number))
    });
    if let Some((ms, number)) = blocked {
        let evidence = format!("{}, after a call that blocked for {ms} ms", session.at(number));
        claims.add_mode("calls.background_after_ms", session.mode, Value::Null, evidence);
    }
}

/// Cancellations by the user, by the end of the host, and of answered calls.
fn cancels(session: &Session, claims: &mut Claims) {
    if let Some(call) = session.calls("interrupt_me").first().filter(|call| call.answered.is_none()) {
        let later = session.asked("tools/call").find(|said| said.number > call.asked.number);
        match (call.cancelled, later) {
            (Some(cancel), _) if session.end().is_none_or(|end| cancel.ms + NOW_MS < end.ms) => {
                let reason = cancel.params().get("reason").cloned().unwrap_or_default();
                claims.add("calls.interrupt_reason", reason, session.at(cancel.number));
            }
            (None, Some(later)) => {
                claims.add("calls.interrupt_reason", Value::Null, session.at(later.number));
            }
            _ => {}
        }
    }
    if let (Some(call), Some(end)) = (session.calls("hold").first(), session.end()) {
        let at = session.at(call.cancelled.map_or(end.number, |cancel| cancel.number));
        claims.add("calls.cancel_at_exit", json!(call.cancelled.is_some()), at);
    }
    let answered: Vec<(Call<'_>, &Said)> =
        session.calls("").into_iter().filter_map(|call| Some((call, call.answered?))).collect();
    let aborted = answered.iter().find_map(|(call, answer)| {
        let cancel = call.cancelled.filter(|cancel| cancel.number > answer.number)?;
        let after_ms = cancel.ms.saturating_sub(answer.ms);
        (after_ms <= ABORT_MS_MAX).then_some((after_ms, cancel))
    });
    match aborted {
        Some((after_ms, cancel)) => {
            claims.add("calls.abort_after_ms", json!(rounded_ms(after_ms)), session.at(cancel.number));
        }
        None if answered.len() >= ANSWERED_MIN => {
            let (_, last) = answered[answered.len() - 1];
            let evidence = format!(
                "{}: none of {} answered calls was cancelled",
                session.at(last.number),
                answered.len()
            );
            claims.add("calls.abort_after_ms", Value::Null, evidence);
        }
        None => {}
    }
}

/// The lists that the host requested after a change.
fn asked_after<'a>(session: &'a Session, fired: &Said, methods: &[&str]) -> Vec<&'a Said> {
    let next_fire = session
        .said
        .iter()
        .find(|said| {
            !said.by_host
                && said.number > fired.number
                && said.method() == fired.method()
                && said.ms > fired.ms + NOW_MS
        })
        .map_or(u64::MAX, |said| said.number);
    let is_list = |said: &&Said| {
        said.by_host
            && said.number > fired.number
            && said.number < next_fire
            && said.params().get("cursor").is_none()
            && said.method().is_some_and(|method| methods.contains(&method))
    };
    session.said.iter().filter(is_list).collect()
}

/// The effect of list changes.
fn changes(session: &Session, claims: &mut Claims) {
    if !matches!(session.opening, Opening::Legacy | Opening::OnePage) || session.is_modern() {
        return;
    }
    let resources = ["resources/list", "resources/templates/list"];
    let kinds: [(&'static str, &str, &[&str]); 3] = [
        ("notifications.tools_list_changed", "tools", &["tools/list"]),
        ("notifications.prompts_list_changed", "prompts", &["prompts/list"]),
        ("notifications.resources_list_changed", "resources", &resources),
    ];
    for (fact, kind, methods) in kinds {
        let Some(fired) = session.sent(&format!("notifications/{kind}/list_changed")).next() else {
            continue;
        };
        let lists = asked_after(session, fired, methods);
        let Some((rule, at)) = reaction(session, fired, lists.first().copied()) else { continue };
        claims.add_mode(fact, session.mode, json!(rule), session.at(at));
        if kind == "resources" {
            let mut kinds: Vec<&str> = Vec::new();
            for list in &lists {
                let kind =
                    if list.method() == Some("resources/list") { "resources" } else { "resource_templates" };
                if !kinds.contains(&kind) {
                    kinds.push(kind);
                }
            }
            if rule != "drop" {
                claims.add("notifications.resources_relist", kinds.into(), session.at(at));
            }
        }
        if kind == "tools" && rule == "now" {
            twice(session, claims);
        }
        if kind == "prompts" && rule == "now" {
            unchanged(session, claims);
        }
    }
}

/// The reaction of a host to one change; `None` if it can't be told.
fn reaction(session: &Session, fired: &Said, list: Option<&Said>) -> Option<(&'static str, u64)> {
    let next_call = session.asked("tools/call").find(|said| said.ms > fired.ms + NOW_MS);
    match (list, next_call) {
        (Some(list), _) if list.ms <= fired.ms + NOW_MS => Some(("now", list.number)),
        (Some(list), Some(call)) if list.number < call.number => Some(("next_step", list.number)),
        (None, Some(call)) => Some(("drop", call.number)),
        _ => None,
    }
}

/// Two changes at once: the time between the requests for the list.
fn twice(session: &Session, claims: &mut Claims) {
    let fired: Vec<&Said> = session.sent("notifications/tools/list_changed").collect();
    let pair = fired.windows(2).find(|pair| pair[1].ms.saturating_sub(pair[0].ms) < 100);
    let Some(pair) = pair else { return };
    let lists = asked_after(session, pair[0], &["tools/list"]);
    if let [one, other, ..] = lists.as_slice() {
        let apart_ms = other.ms.saturating_sub(one.ms);
        let interval_ms = if apart_ms < 100 { 0 } else { rounded_ms(apart_ms) };
        claims.add("notifications.relist_interval_ms", json!(interval_ms), session.at(other.number));
    }
}

/// A notification without a change: whether the host lists once more.
fn unchanged(session: &Session, claims: &mut Claims) {
    let asked = session.calls("change").into_iter().find(|call| {
        call.asked.params().pointer("/arguments/what").and_then(Value::as_str) == Some("unchanged")
    });
    let Some(call) = asked else { return };
    let fired =
        session.sent("notifications/prompts/list_changed").find(|said| said.number > call.asked.number);
    let Some(fired) = fired else { return };
    let lists = asked_after(session, fired, &["prompts/list"]);
    match lists.as_slice() {
        [one] if session.last_ms() > one.ms + ABORT_MS_MAX => {
            claims.add("notifications.unchanged_again_ms", Value::Null, session.at(one.number));
        }
        [one, other, ..] => {
            let answered_ms = session.answer_to(one).map_or(one.ms, |answer| answer.ms);
            let again_ms = rounded_ms(other.ms.saturating_sub(answered_ms));
            claims.add("notifications.unchanged_again_ms", json!(again_ms), session.at(other.number));
        }
        _ => {}
    }
}

/// Whether the host follows a change that was never declared, if it follows a declared one.
fn needs_declaration(sessions: &[Session], claims: &mut Claims) {
    let followed = claims
        .seen
        .iter()
        .any(|claim| claim.fact == "notifications.tools_list_changed" && claim.value != "drop");
    for session in sessions.iter().filter(|session| followed && session.opening == Opening::Quiet) {
        let Some(fired) = session.sent("notifications/tools/list_changed").next() else { continue };
        let lists = asked_after(session, fired, &["tools/list"]);
        if let Some((rule, at)) = reaction(session, fired, lists.first().copied()) {
            claims.add("notifications.needs_declaration", json!(rule == "drop"), session.at(at));
        }
    }
}

/// The texts that the model reports to have seen.
fn heard(session: &Session, claims: &mut Claims) {
    let reports = session.heard();
    let Some((last, _)) = reports.last() else { return };
    let words: Vec<&str> = reports.iter().flat_map(|(_, words)| words.iter().copied()).collect();
    let at = format!("{} (the model's word)", session.at(last.number));
    let heard = |word: &str| words.contains(&word);
    let fired = |method: &str| session.sent(method).any(|said| said.number < last.number);
    if fired("notifications/claude/channel") {
        let delivered = json!(heard("MARK-channel"));
        if session.is_modern() {
            claims.add("channel.modern", delivered, at.clone());
        } else {
            claims.add_mode("channel.delivered", session.mode, delivered, at.clone());
        }
    }
    sizes(session, &words, &at, claims);
    claims.add("names.instructions", json!(heard("MARK-instructions")), at.clone());
    let shown = |tool: &str| session.calls(tool).iter().any(|call| call.answered.is_some());
    if shown("structured") {
        let rule = match (heard("MARK-content"), heard("MARK-structured")) {
            (false, true) => Some("replaces"),
            (true, true) => Some("appended"),
            (true, false) if shown("structured_alone") && heard("MARK-alone") => Some("when_alone"),
            (true, false) if shown("structured_alone") => Some("ignored"),
            _ => None,
        };
        if let Some(rule) = rule {
            claims.add("texts.structured", json!(rule), at);
        }
    }
}

/// The lengths between which a result is no longer shown whole.
fn sizes(session: &Session, words: &[&str], at: &str, claims: &mut Claims) {
    let asked =
        |call: &Call<'_>| call.asked.params().pointer("/arguments/characters").and_then(Value::as_u64);
    let lengths: Vec<u64> =
        session.calls("size").iter().filter(|call| call.answered.is_some()).filter_map(asked).collect();
    let seen = |length: &&u64| words.contains(&format!("MARK-end-{length}").as_str());
    let Some(whole) = lengths.iter().filter(seen).max().copied() else { return };
    let cut = lengths.iter().filter(|length| **length > whole).min().copied();
    claims.sizes = Some((whole, cut));
    let cut = cut.map_or_else(String::new, |cut| format!(", {cut} did not"));
    claims.hint("texts.whole_max", format!("{whole} characters came whole{cut} ({at})"));
}

/// The features that the host used.
fn uses(session: &Session, claims: &mut Claims) {
    if let Some(said) = session.asked("resources/read").next() {
        claims.add("names.resources", json!(true), session.at(said.number));
    }
    // Placeholder arguments are the host's own request in advance; any other use of a prompt is the user's.
    let used = session.asked("prompts/get").find(|said| {
        said.params()
            .pointer("/arguments/who")
            .and_then(Value::as_str)
            .is_some_and(|who| !who.starts_with('$'))
    });
    if let Some(said) = used {
        claims.add("names.prompts", json!(true), session.at(said.number));
    }
}
