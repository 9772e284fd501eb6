//! From the first message to an open session, and what the server promises in it. No tool is called here.

use schemas::Version;
use serde_json::{Value, json};

use super::probe::probes;
use super::prompts::{METHOD_NOT_FOUND, NO_PROMPT, expect_invalid};
use super::resources::{NOWHERE, is_unknown};
use crate::conformance::lab::{Lab, Trouble};
use crate::conformance::outcome::Observed;
use crate::conformance::session::{ANSWER_WITHIN, Reply, START_WITHIN, initialize_params};

probes! {
    "initialize" ["initialize.answered", "initialize.same-version", "initialize.ready"]
        Legacy Nothing InTurn |lab| initialize(lab);
    "initialize with an unknown version" ["initialize.other-version", "initialize.latest-version"]
        Legacy Nothing Begins |lab| unknown_version(lab);
    "initialize with a version that has none" ["initialize.never-modern"] Legacy Nothing Rare |lab| never_modern(lab);
    "ping" ["ping.answered", "ping.empty"] Legacy Nothing InTurn |lab| ping(lab);
    "declared capabilities"
        ["capabilities.served", "capabilities.undeclared", "tools.declared", "resources.declared",
         "prompts.declared"]
        Both Nothing InTurn |lab| capabilities(lab);
    "an unknown log level" ["logging.invalid-level"] Both Nothing InTurn |lab| log_level(lab);
}

async fn initialize(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = match lab.open().await {
        Ok(session) => session,
        Err(Trouble(said)) => {
            lab.fail("initialize.answered", "`initialize` is not answered with a result", "a result", &said);
            return Ok(());
        }
    };
    let result = session.opening.clone();
    let said = format!("result {result}");
    let whole = result.get("capabilities").is_some_and(Value::is_object)
        && result.pointer("/serverInfo/name").is_some_and(Value::is_string);
    let message = "the answer to `initialize` lacks capabilities or serverInfo";
    lab.expect("initialize.answered", whole, message, "capabilities and serverInfo", &said);
    let version = lab.version.as_str();
    let message = "the server speaks this version and answers with another one";
    lab.expect("initialize.same-version", result["protocolVersion"] == version, message, version, &said);
    let alive = session.is_alive().await;
    let message = "the session does not answer after `notifications/initialized`";
    lab.expect("initialize.ready", alive, message, "an answer to ping", "none");
    Ok(())
}

/// Versions that there are not: older and newer than all. A server may compare versions as texts.
const NO_VERSIONS: [&str; 2] = ["1999-01-01", "2099-01-01"];

async fn unknown_version(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.fresh()?;
    let reply = session.ask_within("initialize", initialize_params(NO_VERSIONS[1]), START_WITHIN).await;
    let result = reply.result().cloned().unwrap_or_default();
    let named = result.get("protocolVersion").and_then(Value::as_str);
    let Some(named) = named.filter(|named| *named != NO_VERSIONS[1]) else {
        let message = "an unknown version is not answered with one that the server supports";
        let expected = "a result with another protocolVersion";
        lab.fail("initialize.other-version", message, expected, &named_in(&reply));
        lab.skip("initialize.latest-version", "no other version was named");
        return Ok(());
    };
    if named.parse().is_ok_and(|version| lab.found.speaks(version).is_some()) {
        lab.pass("initialize.other-version");
        if named == lab.version.as_str() {
            // A host that supports the version goes on with it.
            session.notify("notifications/initialized", None);
            session.opened(&result);
        }
    } else {
        // Only a request in that version shows whether the server supports it.
        let mut again = lab.fresh()?;
        let reply = again.ask_within("initialize", initialize_params(named), START_WITHIN).await;
        let kept = reply.result().is_some_and(|result| result["protocolVersion"] == named);
        let message = "the version that the server names is refused when it is asked for";
        lab.expect("initialize.other-version", kept, message, named, &reply.say());
    }
    drop(session);
    let mut older = lab.fresh()?;
    let reply = older.ask_within("initialize", initialize_params(NO_VERSIONS[0]), START_WITHIN).await;
    let of_older = reply.result().and_then(|result| result["protocolVersion"].as_str());
    let message = "an unknown version that is older is not answered with one that the server supports";
    let expected = "a result with another protocolVersion";
    let is_other = of_older.is_some_and(|version| version != NO_VERSIONS[0]);
    lab.expect("initialize.other-version", is_other, message, expected, &named_in(&reply));
    let check = "initialize.latest-version";
    if let Some(newest) = lab.found.newest_legacy().map(Version::as_str) {
        let message = "the version offered is not the newest that the server supports";
        // Dates in this form sort as texts.
        lab.expect(check, named >= newest, message, newest, named);
    } else {
        lab.skip(check, "the server speaks no version that opens with `initialize`");
    }
    Ok(())
}

/// The version that an answer to `initialize` names, or what came in its place.
fn named_in(reply: &Reply) -> Observed {
    let named = reply.result().and_then(|result| result["protocolVersion"].as_str());
    named.map_or_else(|| reply.say(), |named| Observed::telling(format!("protocolVersion {named}")))
}

async fn never_modern(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.fresh()?;
    let reply = session.ask_within("initialize", initialize_params("2026-07-28"), START_WITHIN).await;
    let named = reply.result().map(|result| &result["protocolVersion"]);
    let agrees = named.is_some_and(|version| version == "2026-07-28");
    let message = if agrees {
        "`initialize` agrees on 2026-07-28, which has no `initialize`"
    } else {
        "`initialize` with 2026-07-28 is not answered with a version that the server opens"
    };
    let is_older = !agrees && named.is_some_and(Value::is_string);
    lab.expect("initialize.never-modern", is_older, message, "an older version", &reply.say());
    Ok(())
}

async fn ping(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open().await?;
    let reply = session.ask("ping", json!({})).await;
    let message = "`ping` is not answered with a result";
    lab.expect("ping.answered", reply.result().is_some(), message, "{}", &reply.say());
    let Some(result) = reply.result() else {
        lab.skip("ping.empty", "`ping` has no result");
        return Ok(());
    };
    let empty = result.as_object().is_some_and(|members| members.keys().all(|key| key == "_meta"));
    lab.expect("ping.empty", empty, "the answer to `ping` is not empty", "{}", &reply.say());
    Ok(())
}

/// A request that shows whether the server has a capability: capability, method, the member with its items.
const ASKED: [(&str, &str, &str); 3] = [
    ("tools", "tools/list", "tools"),
    ("prompts", "prompts/list", "prompts"),
    ("resources", "resources/list", "resources"),
];

/// A request for what no server has, which shows whether a method of a capability is there: capability, method, the member
/// that names it, and its name. The lists may be empty, so that nothing else asks for them.
const ASKED_FOR: [(&str, &str, &str, &str); 2] =
    [("prompts", "prompts/get", "name", NO_PROMPT), ("resources", "resources/read", "uri", NOWHERE)];

async fn capabilities(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open().await?;
    let mut undeclared = false;
    let mut served = false;
    for (capability, method, member) in ASKED {
        let declared = session.declares(capability);
        // Not every server answers what it does not offer.
        let within = if declared { ANSWER_WITHIN } else { lab.found.silent_after() };
        let reply = session.ask_within(method, json!({}), within).await;
        if declared {
            served = true;
            let message = format!("`{capability}` is declared, and `{method}` has no result");
            lab.expect("capabilities.served", reply.result().is_some(), &message, "a result", &reply.say());
        } else {
            undeclared = true;
            let what = if reply.result().is_some() { "has a result" } else { "is not answered" };
            let message = format!("`{capability}` is not declared, and `{method}` {what}");
            let refused = reply.code().is_some();
            lab.expect("capabilities.undeclared", refused, &message, "error -32601", &reply.say());
        }
        let check = match capability {
            "tools" => "tools.declared",
            "resources" => "resources.declared",
            _ => "prompts.declared",
        };
        let items = reply.result().and_then(|result| result.get(member)).and_then(Value::as_array);
        let message = format!("the server has {member} and does not declare `{capability}`");
        let told = declared || items.is_none_or(Vec::is_empty);
        lab.expect(check, told, &message, "the capability", &reply.say());
    }
    if session.declares("logging") && !lab.version.is_modern() {
        served = true;
        let reply = session.ask("logging/setLevel", json!({"level": "error"})).await;
        let message = "`logging` is declared, and `logging/setLevel` has no result";
        lab.expect("capabilities.served", reply.result().is_some(), message, "{}", &reply.say());
    }
    if session.declares("completions") {
        served = true;
        let of = json!({"type": "ref/prompt", "name": NO_PROMPT});
        let params = json!({"ref": of, "argument": {"name": "a", "value": ""}});
        let reply = session.ask("completion/complete", params).await;
        let known = reply.is_answer() && reply.code() != Some(METHOD_NOT_FOUND);
        let message = "`completions` is declared, and `completion/complete` is an unknown method";
        let expected = "a result, or a refusal of the params";
        lab.expect("capabilities.served", known, message, expected, &reply.say());
    }
    for (capability, method, member, name) in ASKED_FOR {
        if session.declares(capability) {
            let reply = session.ask(method, json!({member: name})).await;
            let message = format!("`{capability}` is declared, and `{method}` is an unknown method");
            let expected = "a refusal of what there is not";
            lab.expect("capabilities.served", !is_unknown(&reply, name), &message, expected, &reply.say());
        }
    }
    if !served {
        let why = "the server declares no tools, prompts, resources, logging or completions";
        lab.skip("capabilities.served", why);
    }
    if !undeclared {
        lab.skip("capabilities.undeclared", "the server declares tools, prompts and resources");
    }
    Ok(())
}

/// A level that the specification does not have.
const NO_LEVEL: &str = "hostcheck-no-such-level";
/// The member with the level of one request.
const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

async fn log_level(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "logging.invalid-level";
    let Some(mut session) = lab.open_with("logging", &[check]).await? else { return Ok(()) };
    let reply = if lab.version.is_modern() {
        // An SDK may answer `server/discover` without a look at the rest of its `_meta`.
        let method = if session.declares("tools") { "tools/list" } else { session.sign_of_life() };
        session.ask(method, json!({"_meta": {META_LOG_LEVEL: NO_LEVEL}})).await
    } else {
        session.ask("logging/setLevel", json!({"level": NO_LEVEL})).await
    };
    expect_invalid(lab, check, "an unknown log level", &reply);
    Ok(())
}
