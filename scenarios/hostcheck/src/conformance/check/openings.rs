//! The openings of real hosts, and whether the server copes with them. Each opening has a process of its own,
//! which other questions may use once the connection has shown that it works.

use schemas::Version;
use serde_json::{Value, json};

use super::probe::probes;
use crate::conformance::lab::{Lab, Trouble};
use crate::conformance::session::{
    ANSWER_WITHIN, GRACE, Reply, SILENCE_AFTER, START_WITHIN, Session, initialize_params, modern_meta,
};

probes! {
    "opening: ping first" ["opening.ping-first"] Legacy Pipes Rare |lab| ping_first(lab);
    "opening: discover, then initialize" ["opening.discover-first"]
        Legacy Pipes |lab| discover_first(lab, true, "opening.discover-first");
    "opening: discover without _meta, then initialize" ["opening.discover-bare"]
        Legacy Pipes Rare |lab| discover_first(lab, false, "opening.discover-bare");
    "opening: discover given up, then initialize" ["opening.discover-given-up"]
        Legacy Pipes Begins |lab| discover_given_up(lab);
    "opening: discover before initialized" ["opening.discover-between"] Legacy Pipes Rare |lab| discover_between(lab);
    "opening: initialize twice" ["opening.initialize-twice"] Legacy Pipes Rare |lab| initialize_twice(lab);
    "opening: both eras on one connection" ["opening.both-eras"] Legacy Pipes Rare |lab| both_eras(lab);
    "opening: a request without a probe" ["opening.no-probe"] Modern Nothing Begins |lab| no_probe(lab);
    "opening: discover" ["opening.discover"] Modern Nothing InTurn |lab| discover(lab);
    "opening: initialize after a request" ["opening.initialize-late"] Modern Pipes Rare |lab| initialize_late(lab);
}

/// Why a server that answers the probe needs no fallback.
const ANSWERS_DISCOVER: &str =
    "the server answers `server/discover` with a result, so hosts go on without `initialize`";

/// What is wrong where the server ends on the probe.
const ENDS: &str = "the server ends on `server/discover`, which hosts ask first";
const SURVIVES: &str = "an error, or silence";

/// Sends `initialize` after other messages, and checks whether the session then works.
async fn then_initialize(lab: &mut Lab, session: &mut Session, check: &'static str, after: &str) {
    let reply = session.ask_within("initialize", initialize_params(lab.version.as_str()), START_WITHIN).await;
    after_initialize(lab, session, check, &reply, after).await;
}

async fn after_initialize(
    lab: &mut Lab,
    session: &mut Session,
    check: &'static str,
    reply: &Reply,
    after: &str,
) {
    if reply.result().is_none() {
        let message = format!("`initialize` has no result after {after}");
        lab.fail(check, message, "a result", &session.say(reply));
        return;
    }
    initialized(lab, session, check, reply, after).await;
}

/// Ends the handshake that was answered by this, and checks whether the session then works.
async fn initialized(lab: &mut Lab, session: &mut Session, check: &'static str, reply: &Reply, after: &str) {
    session.notify("notifications/initialized", None);
    let alive = session.is_alive().await;
    let message = format!("the session does not answer after {after}, then `initialize`");
    lab.expect(check, alive, &message, "an answer to ping", &reply.say());
    if let Some(result) = reply.result().filter(|_| alive) {
        session.opened(result);
    }
}

async fn ping_first(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.fresh()?;
    let reply = session.ask_within("ping", json!({}), START_WITHIN).await;
    if reply.result().is_none() {
        lab.fail(
            "opening.ping-first",
            "`ping` before `initialize` has no result",
            "{}",
            &session.say(&reply),
        );
        return Ok(());
    }
    then_initialize(lab, &mut session, "opening.ping-first", "a ping").await;
    Ok(())
}

async fn discover_first(lab: &mut Lab, with_meta: bool, check: &'static str) -> Result<(), Trouble> {
    // Hosts open a server that answers the probe in that era. Whether it also takes `initialize` then is asked by `--full`.
    if lab.wishes.quick && lab.found.speaks(Version::V2026_07_28).is_some() {
        lab.skip(check, ANSWERS_DISCOVER);
        return Ok(());
    }
    let mut session = lab.rough()?;
    let id = session.new_id();
    let mut request = json!({"jsonrpc": "2.0", "id": id, "method": "server/discover"});
    if with_meta {
        request["params"] = json!({"_meta": modern_meta("2026-07-28")});
    }
    let from = session.wire.received.len();
    session.wire.send(&request);
    // A server of that era answers, however slow its start is; another one may be silent.
    let answers = lab.found.speaks(Version::V2026_07_28).is_some();
    let limit = if answers { START_WITHIN } else { lab.found.silent_after() };
    let reply = session.answer_to(&id, from, limit).await;
    if reply == Reply::Gone {
        lab.fail(check, ENDS, SURVIVES, &session.say(&reply));
        return Ok(());
    }
    if reply.result().is_none() {
        then_initialize(lab, &mut session, check, "a `server/discover` without a result").await;
        return Ok(());
    }
    // A host that has a result goes on in that era and never falls back, so the server may refuse `initialize` now.
    let opened =
        session.ask_within("initialize", initialize_params(lab.version.as_str()), START_WITHIN).await;
    match &opened {
        Reply::Result(_) => {
            initialized(lab, &mut session, check, &opened, "a `server/discover` that it answered").await;
        }
        Reply::Error(_) => lab.skip(check, ANSWERS_DISCOVER),
        other => {
            let message = "after an answered `server/discover` the server is silent to `initialize`";
            lab.fail(check, message, "a result, or an error", &other.say());
        }
    }
    Ok(())
}

async fn discover_given_up(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.rough()?;
    let (id, from) = (session.new_id(), session.wire.received.len());
    let params = json!({"_meta": modern_meta("2026-07-28")});
    session.wire.send(&json!({"jsonrpc": "2.0", "id": id, "method": "server/discover", "params": params}));
    // Where the probe and its cancellation are read at the same time, it is chance in some servers whether the probe still
    // changes what comes after it. So the server has the time to answer it first.
    session.answer_to(&id, from, lab.found.slowest_start() + GRACE).await;
    session.cancel(&id, "no answer in time");
    let check = "opening.discover-given-up";
    let reply = session.ask_within("initialize", initialize_params(lab.version.as_str()), START_WITHIN).await;
    if reply == Reply::Gone && ends_on_discover(lab).await? {
        lab.fail(check, ENDS, SURVIVES, &session.say(&reply));
        return Ok(());
    }
    let after = "a `server/discover` that was cancelled";
    after_initialize(lab, &mut session, check, &reply, after).await;
    Ok(())
}

/// Whether the probe alone ends the server, so that what follows it is no cause.
async fn ends_on_discover(lab: &mut Lab) -> Result<bool, Trouble> {
    let mut session = lab.rough()?;
    let params = json!({"_meta": modern_meta("2026-07-28")});
    Ok(session.ask_bare("server/discover", params, lab.found.silent_after()).await == Reply::Gone)
}

async fn discover_between(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "opening.discover-between";
    let mut session = lab.rough()?;
    let reply = session.ask_within("initialize", initialize_params(lab.version.as_str()), START_WITHIN).await;
    if reply.result().is_none() {
        return Err(Trouble(format!("`initialize` failed: {}", reply.say())));
    }
    let params = json!({"_meta": modern_meta("2026-07-28")});
    session.ask_bare("server/discover", params, SILENCE_AFTER).await;
    session.notify("notifications/initialized", None);
    let alive = session.is_alive().await;
    let message =
        "the session does not answer after a `server/discover` between `initialize` and `initialized`";
    lab.expect(check, alive, message, "an answer to ping", &reply.say());
    Ok(())
}

async fn initialize_twice(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "opening.initialize-twice";
    let mut session = lab.open_rough().await?;
    // The server may answer the second `initialize` as it likes, but the session must not change.
    let second = session.ask("initialize", initialize_params(lab.version.as_str())).await;
    let ping = session.ask("ping", json!({})).await;
    if !ping.is_answer() {
        let said = format!("second initialize: {}; ping: {}", second.say(), ping.say());
        lab.fail(check, "after a second `initialize` the session does not answer", "{}", &said);
        return Ok(());
    }
    if session.declares("tools") && !lab.found.lists_nothing(lab.version) {
        let list = session.ask("tools/list", json!({})).await;
        let changed = list.result().is_none_or(|result| result.get("resultType").is_some());
        let message = "after a second `initialize` the session answers by another version's rules";
        lab.expect(check, !changed, message, "tools, as before", &list.say());
    } else {
        lab.pass(check);
    }
    Ok(())
}

async fn both_eras(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "opening.both-eras";
    let mut session = lab.open_rough().await?;
    let params = json!({"_meta": modern_meta("2026-07-28")});
    let modern = session.ask_bare("server/discover", params, SILENCE_AFTER).await;
    let ping = session.ask("ping", json!({})).await;
    let both = lab.found.speaks(Version::V2026_07_28).is_some();
    if !ping.is_answer() {
        let message = "a request of 2026-07-28 ends the session of the same connection";
        lab.fail(check, message, "an answer to ping", &ping.say());
    } else if both && !modern.is_answer() {
        let message = "the server speaks both eras and is silent about one of them";
        lab.fail(check, message, "an answer", &modern.say());
    } else {
        lab.pass(check);
    }
    Ok(())
}

/// A request of the newer era that this server should be able to answer.
pub(super) fn first_request(lab: &Lab) -> &'static str {
    let speaks = lab.found.speaks(lab.version);
    let declared = |name: &str| speaks.is_some_and(|speaks| speaks.capabilities.get(name).is_some());
    // A list that has no result anywhere tells nothing of an opening.
    if declared("tools") && !lab.found.lists_nothing(lab.version) {
        "tools/list"
    } else if declared("resources") {
        "resources/list"
    } else if declared("prompts") {
        "prompts/list"
    } else {
        "server/discover"
    }
}

async fn no_probe(lab: &mut Lab) -> Result<(), Trouble> {
    let method = first_request(lab);
    let mut session = lab.fresh()?;
    let reply = session.ask_within(method, json!({}), START_WITHIN).await;
    let message = format!("`{method}` as the first message has no result");
    lab.expect("opening.no-probe", reply.result().is_some(), &message, "a result", &reply.say());
    if let Some(speaks) = lab.found.speaks(lab.version).filter(|_| reply.result().is_some()) {
        session.opened(&speaks.opening);
    }
    Ok(())
}

async fn discover(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open().await?;
    let method = first_request(lab);
    let reply = session.ask(method, json!({})).await;
    let message = format!("`{method}` after `server/discover` has no result");
    lab.expect("opening.discover", reply.result().is_some(), &message, "a result", &reply.say());
    Ok(())
}

async fn initialize_late(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "opening.initialize-late";
    let mut session = lab.rough()?;
    let reply = session.open().await;
    if reply.result().is_none() {
        return Err(Trouble(format!("`server/discover` failed: {}", reply.say())));
    }
    let legacy = lab.found.newest_legacy();
    let asked = legacy.map_or("2025-11-25", Version::as_str);
    let answer = session.ask_bare("initialize", initialize_params(asked), ANSWER_WITHIN).await;
    if legacy.is_some() {
        // A connection that has begun in the newer era may stay in it. A host that waits must hear so.
        let message = "`initialize` after a request of the newer era is not answered";
        lab.expect(check, answer.is_answer(), message, "a result, or an error", &answer.say());
    } else {
        // An older host can show its user only this error.
        let text = match &answer {
            Reply::Error(error) => error.to_string(),
            _ => String::new(),
        };
        let message = "the error to `initialize` does not name the versions that the server supports";
        let named = text.contains(lab.version.as_str());
        lab.expect(check, named, message, lab.version.as_str(), &answer.say());
    }
    // Whatever the answer was, the newer era goes on.
    let alive = session.ask("server/discover", Value::Object(serde_json::Map::new())).await;
    let message = "the newer era ends with `initialize`";
    lab.expect(check, alive.result().is_some(), message, "a result", &alive.say());
    Ok(())
}
