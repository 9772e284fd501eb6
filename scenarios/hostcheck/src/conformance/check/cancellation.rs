//! Cancellations: of a running request, of a finished one, of one that was never sent. A cancellation is a
//! notification, so the server must not answer it.

use std::time::Duration;

use serde_json::{Value, json};

use super::errors::{ENDS_AT_A_NOTIFICATION, GOES_ON, unknown_notification};
use super::probe::probes;
use super::tools;
use crate::conformance::lab::{Lab, Trouble};
use crate::conformance::outcome::Outcome;
use crate::conformance::session::{ANSWER_WITHIN, GRACE, Reply, Session};

/// Time for which a long call runs before it is cancelled.
const BEFORE_CANCEL: Duration = Duration::from_millis(200);
/// Time limit of the same call without a cancellation. Until it ends, the missing answer of the cancelled
/// call proves nothing.
pub(super) const LONG_WITHIN: Duration = Duration::from_secs(60);
/// Why nothing can be asked that needs a call that lasts.
pub(crate) const NO_LONG_CALL: &str = "no call that lasts is known; name one with --long-call";
/// How much longer the cancelled call is watched after the other one was answered.
const LATER: Duration = Duration::from_secs(2);

probes! {
    "cancel: nothing that runs" ["cancel.unknown", "cancel.finished", "cancel.malformed"]
        Both Pipes Rough |lab| nothing_that_runs(lab);
    "cancel: in the same moment" ["cancel.race"] Both Pipes |lab| race(lab);
    "cancel: a call that lasts" ["cancel.long"] Both Pipes Late |lab| long(lab);
}

/// Sends a cancellation. Gives the answer to a request after it, and the messages for which there was no request.
async fn after(session: &mut Session, params: Option<Value>) -> (Reply, Vec<String>) {
    let about = params.as_ref().and_then(|params| params.get("requestId")).cloned();
    let from = session.wire.received.len();
    session.notify("notifications/cancelled", params);
    let id = session.start_sign_of_life();
    let sign = session.answer_to(&id, from, ANSWER_WITHIN).await;
    let stray = session
        .later(from)
        .filter(|message| message.get("method").is_none())
        // A second answer to another request is no answer to this notification.
        .filter(|message| !session.has_asked(message.get("id")) || message.get("id") == about.as_ref())
        .map(Value::to_string)
        .collect();
    (sign, stray)
}

async fn nothing_that_runs(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open_rough().await?;
    let finished = session.start_sign_of_life();
    session.answer_to(&finished, 0, ANSWER_WITHIN).await;
    let tries = [
        (
            "cancel.unknown",
            Some(json!({"requestId": "hostcheck-never-sent", "reason": "test"})),
            "of a request that never was",
        ),
        (
            "cancel.finished",
            Some(json!({"requestId": finished, "reason": "test"})),
            "of a request that is answered",
        ),
        ("cancel.malformed", Some(json!({"requestId": {"not": "an id"}})), "whose requestId is no id"),
        ("cancel.malformed", None, "without params"),
    ];
    let mut at_any = None;
    for (check, params, what) in tries {
        let (sign, stray) = after(&mut session, params).await;
        let said = session.say(&sign);
        if sign == Reply::Gone && at_any.is_none() {
            at_any = Some(ends_at_any_notification(lab).await?);
        }
        let message = if sign == Reply::Gone && at_any == Some(true) {
            ENDS_AT_A_NOTIFICATION.to_owned()
        } else if sign == Reply::Gone {
            format!("a cancellation {what} ends the server")
        } else {
            format!("the server does not answer after a cancellation {what}")
        };
        lab.expect(check, sign.is_answer(), &message, GOES_ON, &said);
        let message = format!("a cancellation {what} is answered");
        lab.expect(check, stray.is_empty(), &message, "nothing", &stray.join("\n"));
        if !sign.is_answer() {
            session = lab.open_rough().await?;
        }
    }
    Ok(())
}

/// Whether a notification that is no cancellation ends the server too.
async fn ends_at_any_notification(lab: &Lab) -> Result<bool, Trouble> {
    let mut session = lab.rough()?;
    session.open().await;
    Ok(unknown_notification(&mut session).await == Reply::Gone)
}

/// A request that takes the server a moment, where it has one.
async fn request(lab: &Lab, session: &mut Session) -> (String, Value) {
    let tools = session.list("tools/list", "tools").await.unwrap_or_default();
    match tools::callable(lab, &tools).into_iter().next() {
        Some((name, _, arguments)) => {
            ("tools/call".to_owned(), json!({"name": name, "arguments": arguments}))
        }
        None => (session.sign_of_life().to_owned(), json!({})),
    }
}

async fn race(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open().await?;
    let (method, params) = request(lab, &mut session).await;
    let from = session.wire.received.len();
    let id = session.start(&method, params);
    session.cancel(&id, "changed my mind");
    let next = session.start_sign_of_life();
    let sign = session.answer_to(&next, from, ANSWER_WITHIN).await;
    session.wire.run_for(GRACE).await;
    let answers_to = |id: &Value| -> Vec<String> {
        let is_answer = |message: &&Value| message.get("id") == Some(id) && message.get("method").is_none();
        session.later(from).filter(is_answer).map(Value::to_string).collect()
    };
    let (answers, others) = (answers_to(&id), answers_to(&next));
    let alive = !others.is_empty();
    let message = match sign {
        Reply::Gone => format!("the server ends when `{method}` is cancelled at once"),
        _ => format!("the server does not answer after `{method}` was cancelled at once"),
    };
    lab.expect("cancel.race", alive, &message, GOES_ON, &session.say(&sign));
    // A server that answers every request twice does not do so because of a cancellation.
    let once = answers.len() <= 1 || others.len() > 1;
    let message = "a cancelled request is answered twice";
    lab.expect("cancel.race", once, message, "at most one answer", &answers.join("\n"));
    Ok(())
}

async fn long(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "cancel.long";
    let Some((name, arguments)) = lab.wishes.long_call.clone() else {
        lab.skip(check, NO_LONG_CALL);
        return Ok(());
    };
    let call = json!({"name": name, "arguments": arguments});
    // The same call without a cancellation shows when an answer would have come.
    let mut other = lab.open().await?;
    let mut session = lab.open().await?;
    compare(lab, check, (&name, call), &mut session, &mut other).await;
    session.retire();
    other.retire();
    Ok(())
}

/// Cancels the call on the one connection, and not on the other.
async fn compare(
    lab: &mut Lab,
    check: &'static str,
    (name, call): (&str, Value),
    session: &mut Session,
    other: &mut Session,
) {
    let other_from = other.wire.received.len();
    let other_id = other.start("tools/call", call.clone());
    other.wire.run_until(BEFORE_CANCEL, super::super::wire::Wire::is_written).await;
    let id = session.start("tools/call", call);
    session.wire.run_for(BEFORE_CANCEL).await;
    let answered = |session: &Session| {
        let is_answer = |message: &&Value| message.get("id") == Some(&id) && message.get("method").is_none();
        session.later(0).find(is_answer).map(Value::to_string)
    };
    if let Some(early) = answered(session) {
        lab.tell(check, Outcome::CouldNotRun(format!("`{name}` does not last: {early}")));
        return;
    }
    session.cancel(&id, "changed my mind");
    let alive = session.is_alive().await;
    session.wire.run_for(GRACE).await;
    let mut ends = true;
    if answered(session).is_none() {
        ends = other.answer_to(&other_id, other_from, LONG_WITHIN).await.is_answer();
        session.wire.run_for(if ends { LATER } else { GRACE }).await;
    }
    if let Some(answer) = answered(session) {
        let message = "a call is answered although it was cancelled";
        lab.fail(check, message, "nothing more for the call", &answer);
    } else if !alive {
        let within = ANSWER_WITHIN.as_secs();
        let message = format!("a request after a cancelled call is not answered within {within} s");
        lab.fail(check, message, GOES_ON, "none");
    } else if ends {
        lab.pass(check);
    } else {
        let within = LONG_WITHIN.as_secs();
        let why = format!("`{name}` that is not cancelled is not answered within {within} s either");
        lab.tell(
            check,
            Outcome::CouldNotRun(format!("{why}; name a call with --long-call that ends sooner")),
        );
    }
}
