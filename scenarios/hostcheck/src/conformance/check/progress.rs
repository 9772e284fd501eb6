//! Progress of calls for which the host requested it. These probes only request progress with both kinds of
//! token; the wire validator judges the notifications.

use serde_json::json;

use super::cancellation::LONG_WITHIN;
use super::probe::probes;
use super::tools;
use crate::conformance::lab::{Lab, Trouble};
use crate::conformance::session::{GRACE, Reply};

probes! {
    "progress" ["progress.token-forms"] Both Nothing |lab| progress(lab);
}

async fn progress(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "progress.token-forms";
    let mut session = lab.open().await?;
    let tools = session.list("tools/list", "tools").await.unwrap_or_default();
    let mut callable = tools::callable(lab, &tools);
    callable.sort_by_key(|(name, ..)| lab.is_slow(name));
    let Some((name, _, arguments)) = callable.into_iter().next() else {
        lab.tell(check, tools::none_to_call(lab, &tools));
        return Ok(());
    };
    if lab.has_no_time_for(&name) {
        lab.tell(check, lab.too_slow(&name));
        return Ok(());
    }
    for token in [json!("hostcheck-token"), json!(4_711)] {
        let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": token}});
        let mut reply = lab.call(&mut session, &name, params.clone()).await;
        if reply == Reply::Silent {
            // Without a token the same call may last as long.
            let plain = json!({"name": name, "arguments": arguments});
            if lab.call(&mut session, &name, plain).await == Reply::Silent {
                session.retire();
                lab.tell(check, lab.too_slow(&name));
                return Ok(());
            }
            // One that lasts about as long as it is waited for was a moment quicker that time, perhaps.
            reply = session.ask("tools/call", params).await;
        }
        let message = format!("`{name}` with the progress token {token} is not answered");
        let message = tools::no_answer(&name, &reply, message);
        lab.expect(check, reply.is_answer(), &message, "an answer", &reply.say());
    }
    if let Some((name, arguments)) = lab.wishes.long_call.clone() {
        let from = session.wire.received.len();
        let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": 4_712}});
        let id = session.start("tools/call", params);
        if session.answer_to(&id, from, LONG_WITHIN).await == Reply::Silent {
            session.cancel(&id, "enough");
        }
    }
    // Progress that comes after the last answer belongs to no request.
    session.is_alive().await;
    session.wire.run_for(GRACE).await;
    Ok(())
}
