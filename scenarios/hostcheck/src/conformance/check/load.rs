//! Many calls on one connection, and a ping beside a call. Only tools that say that they only read are called often.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::cancellation::NO_LONG_CALL;
use super::probe::probes;
use super::tools;
use crate::conformance::lab::{Lab, Trouble};
use crate::conformance::lent::Lent;
use crate::conformance::outcome::{Observed, Outcome};
use crate::conformance::session::{ANSWER_WITHIN, GRACE, Reply};

/// Calls of a tool that says that it stays on this machine.
const CALLS_MAX: usize = 50;
/// Calls of any other tool, which may ask a service that counts them.
const FEW_CALLS_MAX: usize = 12;
/// A ping that is answered so much later, just after the call, was held for it.
const HELD_FOR: Duration = Duration::from_secs(1);
/// Time after which no further call is begun.
const SOAK_WITHIN: Duration = Duration::from_secs(5);

probes! {
    "tools: many calls" ["tools.soak"] Both Nothing |lab| soak(lab);
    "ping: while a call runs" ["ping.during-call"] Legacy Nothing |lab| ping_beside_a_call(lab);
}

/// Whether the tool says this of itself.
fn says(tool: &Value, hint: &str, wanted: bool) -> bool {
    tool.pointer(&format!("/annotations/{hint}")) == Some(&Value::Bool(wanted))
}

async fn soak(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "tools.soak";
    let Some((mut session, mut callable)) = open(lab, check).await? else { return Ok(()) };
    // A tool that stays on this machine can be called the most.
    callable.sort_by_key(|(name, tool, _)| (lab.is_slow(name), !says(tool, "openWorldHint", false)));
    let (name, tool, arguments) = callable.swap_remove(0);
    let harmless = says(&tool, "readOnlyHint", true) && says(&tool, "openWorldHint", false);
    let calls = if harmless { CALLS_MAX } else { FEW_CALLS_MAX };
    let until = Instant::now() + SOAK_WITHIN;
    let params = json!({"name": name, "arguments": arguments});
    if lab.is_slow(&name) || lab.has_no_time_for(&name) {
        lab.tell(check, lab.too_slow(&name));
        return Ok(());
    }
    let mut made = 0;
    while made < calls && Instant::now() < until {
        let reply = if made == 0 {
            lab.call(&mut session, &name, params.clone()).await
        } else {
            session.ask("tools/call", params.clone()).await
        };
        made += 1;
        if made == 1 && reply == Reply::Silent {
            session.retire();
            lab.tell(check, lab.too_slow(&name));
            return Ok(());
        }
        if made == 1 && lab.is_slow(&name) {
            lab.tell(check, lab.too_slow(&name));
            return Ok(());
        }
        if reply.is_answer() {
            continue;
        }
        let message = format!("call {made} of `{name}` on one connection is not answered");
        let message = tools::no_answer(&name, &reply, message);
        lab.fail(check, message, "an answer to every call", &reply.say());
        return Ok(());
    }
    session.wire.run_for(GRACE).await;
    let stray = session.wire.received.iter().find(|line| !is_message(line.message.as_ref()));
    let observed = stray.map(|line| line.text.clone()).unwrap_or_default();
    let message = format!("after several calls of `{name}` a line on standard output is no message");
    lab.expect(check, stray.is_none(), &message, "messages only", &observed);
    Ok(())
}

fn is_message(message: Option<&Value>) -> bool {
    message.is_some_and(|message| message.is_array() || message.get("jsonrpc").is_some())
}

type Callable = Vec<(String, Value, Value)>;

/// A connection, and the tools that may be called; where there are none, the outcome is told.
async fn open(lab: &mut Lab, check: &'static str) -> Result<Option<(Lent, Callable)>, Trouble> {
    if lab.declares("tools") == Some(false) {
        lab.skip(check, "the server declares no tools");
        return Ok(None);
    }
    let mut session = lab.open().await?;
    let tools = session.list("tools/list", "tools").await.unwrap_or_default();
    let callable = tools::callable(lab, &tools);
    if callable.is_empty() {
        lab.tell(check, tools::none_to_call(lab, &tools));
        return Ok(None);
    }
    Ok(Some((session, callable)))
}

async fn ping_beside_a_call(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "ping.during-call";
    let lasts = lab.wishes.long_call.is_some();
    let (mut session, name, arguments) = if let Some((name, arguments)) = lab.wishes.long_call.clone() {
        (lab.open().await?, name, arguments)
    } else {
        let Some((session, mut callable)) = open(lab, check).await? else { return Ok(()) };
        let (name, _, arguments) = callable.swap_remove(0);
        (session, name, arguments)
    };
    let from = session.wire.received.len();
    let began = Instant::now();
    let call = session.start("tools/call", json!({"name": name, "arguments": arguments}));
    let ping = session.start("ping", json!({}));
    let reply = session.answer_to(&ping, from, ANSWER_WITHIN).await;
    let took = began.elapsed();
    let is_open = session.answer_to(&call, from, Duration::ZERO).await == Reply::Silent;
    if is_open {
        session.cancel(&call, "the question is answered");
        session.retire();
    }
    if !reply.is_answer() {
        let message = format!("`ping` is not answered while a call of `{name}` runs");
        let message = tools::no_answer(&name, &reply, message);
        lab.fail(check, message, "an answer to the ping", &reply.say());
    } else if lasts && is_open {
        lab.pass(check);
    } else if lasts && took >= HELD_FOR {
        let message = format!("`ping` is answered only when a call of `{name}` has ended");
        let after = Observed::telling(format!("after {:.1} s", took.as_secs_f64()));
        lab.fail(check, message, "an answer to the ping while the call runs", &after);
    } else {
        // Both were answered at once, which says nothing of a call that runs.
        if lasts {
            lab.tell(check, Outcome::CouldNotRun(format!("`{name}` does not last")));
        } else {
            lab.skip(check, NO_LONG_CALL);
        }
    }
    Ok(())
}
