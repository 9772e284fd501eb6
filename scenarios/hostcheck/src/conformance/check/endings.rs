//! The end of a server, and what it must survive before: a closed stdin, signals, a host that does not read.
//! Every server that is started here is ended here.

use std::collections::BTreeSet;
use std::time::Duration;

use fake_hosts::Signal;
use serde_json::{Value, json};

use super::probe::{Era, Needs, Probe, probes};
use super::tools;
use crate::conformance::busy;
use crate::conformance::lab::{Lab, Trouble};
use crate::conformance::session::{ANSWER_WITHIN, Reply, Session};
use crate::conformance::wire::Wire;

/// Time limit for the end of a server that was told to end; no host waits longer before it uses force.
const EXIT_WITHIN: Duration = Duration::from_secs(4);
/// Time limit of the last lines of a connection that is closed after its questions.
const LAST_LINES_WITHIN: Duration = Duration::from_secs(2);
/// How many times slower a machine may be for that limit.
const SLOWER_MAX: f64 = 4.0;
/// Time for which a server is left alone before a signal: one that still works on its start may end by chance.
const SETTLES: Duration = Duration::from_millis(500);
/// Time for which a host does not read.
const NOT_READING: Duration = Duration::from_millis(300);
/// Bytes of answers that are requested meanwhile: several times the size of a pipe's buffer.
const ANSWER_BYTES: usize = 512 * 1024;
/// Most requests for them.
const REQUESTS_MAX: usize = 4_000;
/// Requests of a host that never reads stderr.
const UNREAD_REQUESTS: usize = 1_000;
/// Time limit of all these requests.
const ALL_WITHIN: Duration = Duration::from_secs(60);

probes! {
    "end: stdin is closed" ["end.eof", "end.shutdown"] Both Process InTurn |lab| eof(lab);
    "end: stdin is closed after half a line" ["end.half-line"] Both Process Rare |lab| half_line(lab);
    "end: stdin is closed with a call open" ["end.open-call"] Both Process Rare |lab| open_call(lab);
    "end: SIGINT" ["end.sigint"] Both Process |lab| signalled(lab, Signal::Int, "end.sigint");
    "end: SIGTERM" ["end.sigterm"] Both Process InTurn |lab| signalled(lab, Signal::Term, "end.sigterm");
    "end: SIGKILL, then anew" ["end.restart"] Both Process Rare |lab| restart(lab);
    "end: stdout is closed" ["end.stdout-closed"] Both Process Rare |lab| stdout_closed(lab);
    "a slow reader" ["output.slow-reader"] Both Pipes Rare |lab| slow_reader(lab);
    "unread stderr" ["output.stderr-unread"] Both Process Rare |lab| stderr_unread(lab);
}

/// Waits for the end of the process. The limit leaves room for a machine that is some times slower; on a busier one it is
/// longer, since the server waits for a processor.
async fn exits(session: &mut Session) -> bool {
    let mut ends = async |limit| session.wire.run_until(limit, |wire| wire.ended().is_some()).await;
    ends(EXIT_WITHIN).await || {
        let more = EXIT_WITHIN.mul_f64((busy::slowdown() / SLOWER_MAX - 1.0).max(0.0));
        !more.is_zero() && ends(more).await
    }
}

/// Closes a connection that questions shared, for what the server writes at its end. It answers no check of its own.
pub(crate) static FAREWELL: Probe = Probe {
    name: "the end of a connection",
    checks: &[],
    era: Era::Both,
    needs: Needs::Pipes,
    rough: false,
    rare: false,
    in_turn: true,
    begins: false,
    late: true,
    run: |lab| Box::pin(farewell(lab)),
};

async fn farewell(lab: &mut Lab) -> Result<(), Trouble> {
    let Some(mut session) = lab.last() else { return Ok(()) };
    session.wire.close_input();
    session.wire.run_until(LAST_LINES_WITHIN, Wire::is_silent_for_good).await;
    Ok(())
}

const IN_TIME: &str = "the end of the process within 4 s";

async fn eof(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open_to_end().await?;
    session.wire.close_input();
    let ended = exits(&mut session).await;
    lab.expect("end.eof", ended, "the server still runs after its stdin was closed", IN_TIME, "it runs");
    if !ended && cfg!(unix) {
        session.wire.signal(Signal::Term);
    }
    let ended = ended || exits(&mut session).await;
    let message = "the server still runs after its stdin was closed and SIGTERM was sent";
    lab.expect("end.shutdown", ended, message, IN_TIME, "it runs");
    Ok(())
}

async fn half_line(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open_rough().await?;
    let id = session.new_id();
    let whole = session.request(&id, session.sign_of_life(), json!({})).to_string().into_bytes();
    let from = session.wire.received.len();
    session.wire.send_bytes(&whole[..whole.len() / 2]);
    session.wire.close_input();
    let ended = exits(&mut session).await;
    let message = "the server still runs after its stdin was closed in the middle of a line";
    lab.expect("end.half-line", ended, message, IN_TIME, "it runs");
    let answered = session.answer_to(&id, from, Duration::from_millis(1)).await;
    let message = "half a request is answered as if it were whole";
    lab.expect("end.half-line", answered.result().is_none(), message, "no result", &answered.say());
    Ok(())
}

async fn open_call(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open().await?;
    let tools = session.list("tools/list", "tools").await.unwrap_or_default();
    let known = lab.wishes.long_call.clone();
    let any = tools::callable(lab, &tools).into_iter().next().map(|(name, _, arguments)| (name, arguments));
    match known.or(any) {
        Some((name, arguments)) => session.start("tools/call", json!({"name": name, "arguments": arguments})),
        None => session.start_sign_of_life(),
    };
    session.wire.run_until(ANSWER_WITHIN, Wire::is_written).await;
    session.wire.close_input();
    let ended = exits(&mut session).await;
    let message = "the server still runs after its stdin was closed with a call open";
    lab.expect("end.open-call", ended, message, IN_TIME, "it runs");
    Ok(())
}

async fn signalled(lab: &mut Lab, signal: Signal, check: &'static str) -> Result<(), Trouble> {
    if !cfg!(unix) {
        lab.skip(check, "this system has no signals");
        return Ok(());
    }
    let mut session = lab.open_to_end().await?;
    session.is_alive().await;
    session.wire.run_for(SETTLES.mul_f64(busy::slowdown())).await;
    session.wire.signal(signal);
    let ended = exits(&mut session).await;
    let who = match signal {
        Signal::Int => "which Claude Code sends first",
        _ => "which Claude Code, Codex, Copilot CLI and Gemini CLI send",
    };
    let message = format!("the server still runs after {}, {who}", signal.name());
    lab.expect(check, ended, &message, IN_TIME, "it runs");
    Ok(())
}

async fn restart(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open().await?;
    session.wire.signal(Signal::Kill);
    exits(&mut session).await;
    drop(session);
    let mut session = lab.fresh()?;
    let reply = session.open().await;
    let message = "after it was killed, the server does not open again";
    lab.expect("end.restart", reply.result().is_some(), message, "the handshake, as before", &reply.say());
    Ok(())
}

async fn stdout_closed(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open_rough().await?;
    session.wire.close_output();
    for _ in 0..3 {
        session.start_sign_of_life();
    }
    session.wire.run_for(Duration::from_millis(100)).await;
    session.wire.close_input();
    let ended = exits(&mut session).await;
    let message = "the server still runs after both its stdout and its stdin were closed";
    lab.expect("end.stdout-closed", ended, message, IN_TIME, "it runs");
    Ok(())
}

async fn slow_reader(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "output.slow-reader";
    let mut session = lab.open_rough().await?;
    let method = if session.declares("tools") { "tools/list" } else { session.sign_of_life() };
    let from = session.wire.received.len();
    session.ask(method, json!({})).await;
    let size = session.wire.received.get(from).map_or(1, |line| line.text.len()).max(1);
    let requests = (ANSWER_BYTES / size).clamp(8, REQUESTS_MAX);
    session.wire.set_reading(false);
    let ids: Vec<_> = (0..requests).map(|_| session.start(method, json!({}))).collect();
    session.wire.run_for(NOT_READING).await;
    session.wire.set_reading(true);
    let answers = all_answered(&mut session, &ids).await;
    let message = "a host that did not read for a moment does not get every answer";
    let said = format!("{answers} of {}", ids.len());
    lab.expect(check, answers == ids.len(), message, "an answer to each request", &said);
    Ok(())
}

/// The number of these requests that are answered, once all are or the time is up.
async fn all_answered(session: &mut Session, ids: &[Value]) -> usize {
    let wanted = ids.len();
    let ids: BTreeSet<i64> = ids.iter().filter_map(Value::as_i64).collect();
    let from = session.wire.received.len();
    let count = |wire: &Wire| {
        let later = wire.received.iter().skip(from).filter_map(|line| line.message.as_ref());
        let answers = later.filter(|message| message.get("method").is_none());
        let answered: BTreeSet<i64> =
            answers.filter_map(|message| message.get("id")?.as_i64()).filter(|id| ids.contains(id)).collect();
        answered.len()
    };
    let enough = |wire: &Wire| {
        wire.is_silent_for_good() || (wire.received.len() - from >= wanted && count(wire) >= wanted)
    };
    session.wire.run_until(ALL_WITHIN, enough).await;
    count(&session.wire)
}

async fn stderr_unread(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "output.stderr-unread";
    let mut session = match lab.open_with_stderr_unread().await {
        Ok(session) => session,
        Err(trouble) => {
            // If the server does not open for a host that reads stderr either, this check can't tell
            // anything.
            lab.open().await?;
            let message = "the server opens for a host that reads its stderr, and not for one that does not";
            lab.fail(check, message, "the handshake", &trouble.0);
            return Ok(());
        }
    };
    let method = session.sign_of_life();
    let ids: Vec<_> = (0..UNREAD_REQUESTS).map(|_| session.start(method, json!({}))).collect();
    let answers = all_answered(&mut session, &ids).await;
    let message = "a host that never reads stderr does not get every answer";
    let said = format!("{answers} of {UNREAD_REQUESTS}");
    lab.expect(check, answers == UNREAD_REQUESTS, message, "an answer to each request", &said);
    if answers == 0 && session.ask(method, json!({})).await == Reply::Gone {
        lab.fail(check, "the server ends when its stderr is not read", "it goes on", "it ended");
    }
    Ok(())
}
