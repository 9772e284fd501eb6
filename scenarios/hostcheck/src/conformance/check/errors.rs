//! The answers of a server to unknown methods and to messages that are no requests. A refusal is judged by
//! its code and its id, never by its text.

use serde_json::{Value, json};

use super::probe::probes;
use crate::conformance::lab::{Lab, Trouble};
use crate::conformance::session::{ANSWER_WITHIN, Reply, Session};

probes! {
    "errors: unknown things" ["errors.answered", "errors.unknown-method", "errors.ids", "errors.invalid-cursor"]
        Both Nothing |lab| unknown(lab);
    "errors: notifications" ["errors.notification-unanswered", "errors.notification-survived"] Both Nothing Rough |lab| notifications(lab);
    "errors: no request" ["errors.no-method", "errors.batch"] Both Pipes Rough |lab| no_request(lab);
}

async fn unknown(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open().await?;
    let from = session.wire.received.len();
    let reply = session.ask("hostcheck/no-such-method", json!({})).await;
    // An answer with another id is one all the same.
    let is_answered = reply.is_answer() || session.later(from).any(|one| one.get("method").is_none());
    let message = format!("an unknown method {}", reply.instead_of_the_code("the one for it"));
    if is_answered {
        lab.pass("errors.answered");
        let refused = reply.code() == Some(-32601);
        lab.expect("errors.unknown-method", refused, &message, "error -32601", &reply.say());
    } else {
        lab.fail("errors.answered", message, "a result or an error", &reply.say());
        lab.skip("errors.unknown-method", "the request is not answered, which `messages.one-answer` tells");
        // What such a server does with later requests on this connection is no fault of its own.
        session.retire();
        session = lab.open().await?;
    }
    for id in [json!("hostcheck-text-id"), json!("7"), json!(9_007_199_254_740_991_i64)] {
        let from = session.wire.received.len();
        let request = session.request(&id, session.sign_of_life(), json!({}));
        session.wire.send(&request);
        let reply = session.answer_to(&id, from, ANSWER_WITHIN).await;
        let later: Vec<_> = session.wire.received[from..].iter().map(|line| line.text.clone()).collect();
        let message = format!("a request with the id {id} is not answered with the same id");
        let expected = format!("an answer with the id {id}");
        lab.expect("errors.ids", reply.is_answer(), &message, &expected, &later.join("\n"));
        if reply == Reply::Gone {
            return Ok(());
        }
    }
    if lab.found.lists_nothing(lab.version) {
        lab.skip("errors.invalid-cursor", "`tools/list` has no result without a cursor either");
    } else if session.declares("tools") {
        for cursor in NO_SUCH_CURSORS {
            let reply = session.ask("tools/list", json!({"cursor": cursor})).await;
            let message = "a cursor that the server never gave is not refused as invalid";
            let refused = reply.code() == Some(-32602);
            lab.expect("errors.invalid-cursor", refused, message, "error -32602", &reply.say());
            if !refused {
                break;
            }
        }
    } else {
        lab.skip("errors.invalid-cursor", "the server declares no tools to list");
    }
    Ok(())
}

/// Cursors that no server gives. A server whose cursors are base64 refuses the first one for its letters alone, and may
/// take the second one for the name of a tool from which the list goes on.
const NO_SUCH_CURSORS: [&str; 2] = ["hostcheck-no-such-cursor", "aG9zdGNoZWNrLW5vLXN1Y2gtY3Vyc29y"];

/// What is told of a server that ends at whatever notification, so that all questions with one tell it in the same words.
pub(super) const ENDS_AT_A_NOTIFICATION: &str = "a notification that the server does not expect ends it";
/// What is right after a notification.
pub(super) const GOES_ON: &str = "an answer to the next request";

/// Sends a notification that no server knows, and asks for a sign of life.
pub(super) async fn unknown_notification(session: &mut Session) -> Reply {
    let from = session.wire.received.len();
    session.notify("notifications/hostcheck/no-such-notification", Some(json!({"a": 1})));
    let id = session.start_sign_of_life();
    session.answer_to(&id, from, ANSWER_WITHIN).await
}

async fn notifications(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "errors.notification-unanswered";
    let mut session = lab.open_rough().await?;
    let from = session.wire.received.len();
    let sign = unknown_notification(&mut session).await;
    let message = match sign {
        Reply::Gone => ENDS_AT_A_NOTIFICATION,
        _ => "the server does not answer after an unknown notification",
    };
    let said = session.say(&sign);
    lab.expect("errors.notification-survived", sign.is_answer(), message, GOES_ON, &said);
    let stray = answers_to_nothing(&session, from);
    lab.expect(check, stray.is_empty(), "a notification is answered", "nothing", &stray.join("\n"));
    if !sign.is_answer() {
        return Ok(());
    }
    let from = session.wire.received.len();
    let sign = request_without_an_id(&mut session).await;
    let said = session.say(&sign);
    let message = "the server does not answer after a notification that has the method of a request";
    lab.expect("errors.notification-survived", sign.is_answer(), message, GOES_ON, &said);
    let stray = answers_to_nothing(&session, from);
    let message = "a message without an id, which is a notification, is answered for its method";
    lab.expect(check, stray.is_empty(), message, "nothing", &stray.join("\n"));
    Ok(())
}

/// Sends a notification that has the method of a request, and asks for a sign of life.
async fn request_without_an_id(session: &mut Session) -> Reply {
    let from = session.wire.received.len();
    let params = session.params(json!({}));
    session.notify(session.sign_of_life(), Some(params));
    let id = session.start_sign_of_life();
    session.answer_to(&id, from, ANSWER_WITHIN).await
}

/// What came from this line on and answers no request of this connection. A second answer to one of them is none of it.
fn answers_to_nothing(session: &Session, from: usize) -> Vec<String> {
    let is_stray =
        |message: &&Value| message.get("method").is_none() && !session.has_asked(message.get("id"));
    session.later(from).filter(is_stray).map(Value::to_string).collect()
}

async fn no_request(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open_rough().await?;
    session.wire.send(&json!({"jsonrpc": "2.0", "id": 7_001}));
    let method = session.sign_of_life();
    let reply = session.ask(method, json!({})).await;
    let message = "the server does not answer after a message without a method";
    lab.expect("errors.no-method", reply.is_answer(), message, "an answer", &reply.say());
    if !reply.is_answer() {
        session = lab.open_rough().await?;
    }
    let one = session.request(&json!(7_002), session.sign_of_life(), json!({}));
    session.wire.send(&json!([one]));
    let method = session.sign_of_life();
    let reply = session.ask(method, json!({})).await;
    let message = "the server does not answer after a batch, which this version does not have";
    lab.expect("errors.batch", reply.is_answer(), message, "an answer", &reply.say());
    Ok(())
}
