//! Listen streams of the newer era: acknowledgement, ids, cancellation, the end. A server that declares
//! nothing to listen to is not asked.

use fake_hosts::Signal;
use serde_json::{Map, Value, json};

use super::probe::probes;
use crate::conformance::lab::{Lab, Trouble};
use crate::conformance::lent::Lent;
use crate::conformance::outcome::{Observed, Seen as _};
use crate::conformance::session::{ANSWER_WITHIN, GRACE, Session};

const ACKNOWLEDGED: &str = "notifications/subscriptions/acknowledged";
const SUBSCRIPTION: &str = "/params/_meta/io.modelcontextprotocol~1subscriptionId";

probes! {
    "listen" ["listen.acknowledged", "listen.first", "listen.filter", "listen.two"]
        Modern Nothing |lab| listen(lab);
    "listen: cancelled" ["listen.cancelled"] Modern Pipes |lab| cancelled(lab);
    "listen: the end" ["listen.graceful-end", "listen.again"] Modern Pipes Late |lab| ended(lab);
}

/// A filter for everything that the server offers to listen to; `None` where it offers nothing.
fn filter(session: &Session) -> Option<Value> {
    let mut filter = Map::new();
    for (capability, member) in [
        ("tools", "toolsListChanged"),
        ("prompts", "promptsListChanged"),
        ("resources", "resourcesListChanged"),
    ] {
        if session.capabilities.pointer(&format!("/{capability}/listChanged")) == Some(&Value::Bool(true)) {
            filter.insert(member.to_owned(), json!(true));
        }
    }
    if session.capabilities.pointer("/resources/subscribe") == Some(&Value::Bool(true)) {
        filter.insert("resourceSubscriptions".to_owned(), json!([]));
    }
    (!filter.is_empty()).then_some(Value::Object(filter))
}

/// The filter with the addresses of resources, where the server offers to listen to these.
async fn filled(session: &mut Session) -> Option<Value> {
    let mut wanted = filter(session)?;
    if wanted.get("resourceSubscriptions").is_some() {
        let uris = session.names("resources/list", "resources", "uri").await;
        wanted["resourceSubscriptions"] = json!(uris.into_iter().take(1).collect::<Vec<_>>());
    }
    Some(wanted)
}

fn is_tagged(message: &Value, id: &Value) -> bool {
    message.pointer(SUBSCRIPTION) == Some(id)
}

/// An open session with the filter to listen by. Where the server offers nothing, none of these checks applies.
async fn listening(lab: &mut Lab, checks: &[&'static str]) -> Result<Option<(Lent, Value)>, Trouble> {
    let mut session = lab.open().await?;
    if let Some(wanted) = filled(&mut session).await {
        return Ok(Some((session, wanted)));
    }
    lab.skip_all(checks, "the server declares nothing to listen to");
    Ok(None)
}

/// Opens a stream. A resource that is listed need not be one that can be listened to, so a stream that is refused is asked
/// for once more without resources; that is what is wanted then.
async fn open_first(session: &mut Session, wanted: &mut Value) -> (Value, Option<Value>) {
    let opened = open_stream(session, wanted).await;
    let names_resources = wanted["resourceSubscriptions"].as_array().is_some_and(|uris| !uris.is_empty());
    if !names_resources || !opened.1.as_ref().is_some_and(is_refusal) {
        return opened;
    }
    wanted["resourceSubscriptions"] = json!([]);
    open_stream(session, wanted).await
}

/// Opens a stream and waits for the first message about it.
async fn open_stream(session: &mut Session, wanted: &Value) -> (Value, Option<Value>) {
    let from = session.wire.received.len();
    let id = session.start("subscriptions/listen", json!({"notifications": wanted}));
    let about = |message: &Value| is_tagged(message, &id) || message.get("id") == Some(&id);
    let first = session.wire.next_where(from, ANSWER_WITHIN, about).await;
    (id, first)
}

fn acknowledges(message: &Value) -> bool {
    message.get("method").and_then(Value::as_str) == Some(ACKNOWLEDGED)
}

fn is_refusal(message: &Value) -> bool {
    message.get("error").is_some()
}

fn said(first: Option<&Value>) -> Observed {
    match first {
        Some(refusal) if is_refusal(refusal) => Observed::telling(refusal.to_string()),
        Some(message) => message.to_string().observed(),
        None => "nothing about the stream".observed(),
    }
}

async fn listen(lab: &mut Lab) -> Result<(), Trouble> {
    const ALL: [&str; 4] = ["listen.acknowledged", "listen.first", "listen.filter", "listen.two"];
    let Some((mut session, mut wanted)) = listening(lab, &ALL).await? else { return Ok(()) };
    let (id, first) = open_first(&mut session, &mut wanted).await;
    let said = said(first.as_ref());
    let acknowledged = session.later(0).any(acknowledges);
    let message = "the stream is not acknowledged";
    lab.expect("listen.acknowledged", acknowledged, message, ACKNOWLEDGED, &said);
    if !acknowledged {
        lab.skip_all(&ALL[1..], "no stream is acknowledged, which `subscriptions.acknowledged` tells");
        return Ok(());
    }
    let by_id = first.as_ref().is_some_and(|message| acknowledges(message) && is_tagged(message, &id));
    let message = "the first message of the stream is not its acknowledgement with the id of the request";
    lab.expect("listen.first", by_id, message, &format!("{ACKNOWLEDGED} with subscriptionId"), &said);
    let promised = session.later(0).find(|message| acknowledges(message));
    let promised = promised.and_then(|message| message.pointer("/params/notifications")?.as_object());
    let more = promised.is_none_or(|promised| {
        promised.iter().any(|(name, value)| *value != json!(false) && wanted.get(name).is_none())
    });
    let message = "the acknowledgement promises what was not asked for";
    lab.expect("listen.filter", !more, message, &wanted.to_string(), &said);
    let (second, first) = open_stream(&mut session, &wanted).await;
    let said = self::said(first.as_ref());
    let own = first.as_ref().is_some_and(|message| acknowledges(message) && is_tagged(message, &second));
    let message = "a second stream beside the first is not acknowledged by its own id";
    lab.expect("listen.two", own, message, "an acknowledgement", &said);
    Ok(())
}

async fn cancelled(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "listen.cancelled";
    let Some((mut session, mut wanted)) = listening(lab, &[check]).await? else { return Ok(()) };
    let (id, first) = open_first(&mut session, &mut wanted).await;
    if !first.as_ref().is_some_and(acknowledges) {
        lab.skip(check, "no stream could be opened");
        return Ok(());
    }
    // Messages that the server sends right after it opened the stream must arrive before the cancellation.
    session.is_alive().await;
    session.wire.run_for(GRACE).await;
    let from = session.wire.received.len();
    session.cancel(&id, "enough");
    let next = session.start_sign_of_life();
    let alive = session.answer_to(&next, from, ANSWER_WITHIN).await.is_answer();
    session.wire.run_for(GRACE).await;
    // The server may have written what came before the next answer before it read the cancellation. An answer
    // to the stream itself does not count as that: it would mean that the stream ended at the same moment by
    // chance.
    let read = session.later(from).position(|message| message.get("id") == Some(&next)).unwrap_or(usize::MAX);
    let about: Vec<String> = session
        .later(from)
        .enumerate()
        .filter(|(place, message)| {
            (*place > read && is_tagged(message, &id)) || message.get("id") == Some(&id)
        })
        .map(|(_, message)| message.to_string())
        .collect();
    lab.expect(check, alive, "the server does not answer after a stream was cancelled", "an answer", "none");
    let message = "something is sent for a stream after it was cancelled";
    let said = Observed::telling(about.join("\n"));
    lab.expect(check, about.is_empty(), message, "nothing more for the stream", &said);
    Ok(())
}

async fn ended(lab: &mut Lab) -> Result<(), Trouble> {
    const ALL: [&str; 2] = ["listen.graceful-end", "listen.again"];
    let Some((mut session, mut wanted)) = listening(lab, &ALL).await? else { return Ok(()) };
    let (id, first) = open_first(&mut session, &mut wanted).await;
    if !first.as_ref().is_some_and(acknowledges) {
        lab.skip_all(&ALL, "no stream could be opened");
        return Ok(());
    }
    let from = session.wire.received.len();
    // Only an end that is the server's own has to be told; a host that closes stdin has ended the stream itself.
    let by_signal = lab.target.has_process() && cfg!(unix);
    if by_signal {
        session.wire.signal(Signal::Term);
    } else {
        session.wire.close_input();
    }
    let reply = session.answer_to(&id, from, ANSWER_WITHIN).await;
    session.wire.close_input();
    let message = if by_signal {
        "the server ends after SIGTERM with an open stream and does not answer its request"
    } else {
        "the server ends with an open stream and does not answer its request"
    };
    let answered = reply.result().is_some();
    lab.expect("listen.graceful-end", answered, message, "an empty result for the stream", &reply.say());
    drop(session);
    let mut session = lab.open().await?;
    let (_, first) = open_stream(&mut session, &wanted).await;
    let opened = first.as_ref().is_some_and(acknowledges);
    let message = "after the connection was lost, a stream can't be opened anew";
    lab.expect("listen.again", opened, message, "an acknowledgement", &said(first.as_ref()));
    Ok(())
}
