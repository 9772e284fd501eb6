//! The era without a session: every request carries its version and capabilities. Nothing here opens a
//! session.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::openings::first_request;
use super::probe::probes;
use crate::conformance::lab::{Lab, Trouble};
use crate::conformance::session::{
    ANSWER_WITHIN, META_CAPABILITIES, META_CLIENT, META_VERSION, Reply, START_WITHIN, client_info,
    modern_meta,
};

probes! {
    "discover" ["discover.complete", "discover.server-info", "results.typed"] Modern Nothing InTurn |lab| discover(lab);
    "an unknown version" ["version.refused", "version.supported-named", "version.retry"]
        Modern Nothing Begins |lab| unknown_version(lab);
    "incomplete _meta" ["meta.missing"] Modern Nothing InTurn Rough |lab| incomplete(lab);
    "no clientInfo" ["meta.no-client-info"] Modern Nothing InTurn |lab| no_client_info(lab);
    "no _meta" ["meta.no-memory", "meta.answered"] Modern Nothing InTurn Rough |lab| without_meta(lab);
}

async fn discover(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open().await?;
    let reply = session.ask("server/discover", json!({})).await;
    let offered = reply.result().and_then(|result| result.get("supportedVersions")).and_then(Value::as_array);
    let names = offered.is_some_and(|versions| versions.iter().any(|one| one == lab.version.as_str()));
    let message = "`server/discover` does not offer the version that it is asked in";
    lab.expect("discover.complete", names, message, lab.version.as_str(), &reply.say());
    let typed = reply.result().is_some_and(|result| result.get("resultType").is_some_and(Value::is_string));
    lab.expect("results.typed", typed, "a result does not say its type", "resultType", &reply.say());
    let told = reply.result().is_some_and(|result| {
        result.pointer("/_meta/io.modelcontextprotocol~1serverInfo/name").is_some_and(Value::is_string)
    });
    let message = "the result does not say who the server is";
    let expected = "_meta[\"io.modelcontextprotocol/serverInfo\"]";
    lab.expect("discover.server-info", told, message, expected, &reply.say());
    Ok(())
}

async fn unknown_version(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.rough()?;
    let params = json!({"_meta": modern_meta("2099-01-01")});
    let reply = session.ask_bare("server/discover", params, START_WITHIN).await;
    let message = "an unknown version is not refused with the code for it";
    lab.expect("version.refused", reply.code() == Some(-32022), message, "error -32022", &reply.say());
    let supported = match &reply {
        Reply::Error(error) => error.pointer("/data/supported").and_then(Value::as_array).cloned(),
        _ => None,
    };
    let Some(supported) = supported.filter(|versions| !versions.is_empty()) else {
        let message = "the refusal names no supported versions";
        lab.fail("version.supported-named", message, "data.supported", &reply.say());
        lab.skip("version.retry", "no version was named to try again with");
        return Ok(());
    };
    lab.pass("version.supported-named");
    let modern = supported.iter().filter_map(Value::as_str).find(|version| *version >= "2026-07-28");
    let Some(version) = modern.map(str::to_owned) else {
        lab.skip("version.retry", "only versions that open with `initialize` are named");
        return Ok(());
    };
    let params = json!({"_meta": modern_meta(&version)});
    let again = session.ask_bare("server/discover", params, ANSWER_WITHIN).await;
    let message = "a version that the refusal named is refused when it is used";
    lab.expect("version.retry", again.result().is_some(), message, "a result", &again.say());
    if let Some(result) = again.result().filter(|_| version == lab.version.as_str()) {
        session.opened(result);
    }
    Ok(())
}

async fn incomplete(lab: &mut Lab) -> Result<(), Trouble> {
    let version = lab.version.as_str();
    let no_capabilities = json!({META_VERSION: version, META_CLIENT: client_info()});
    let no_version = json!({META_CAPABILITIES: {}, META_CLIENT: client_info()});
    let mut session = lab.open_rough().await?;
    let incomplete = [(no_capabilities, "clientCapabilities"), (no_version, "protocolVersion")];
    // What a server is and what it serves may be answered in different places of it.
    let methods = BTreeSet::from(["server/discover", first_request(lab)]);
    // One without a version is the last: a server of both eras may go on by the older one afterwards.
    let all = incomplete.iter().flat_map(|one| methods.iter().map(move |method| (*method, one)));
    for (method, (meta, missing)) in all {
        // Without a version it may be a request of the older era, which a server of both serves or refuses by that era's rules.
        let may_be_older = *missing == "protocolVersion" && lab.found.is_of_both_eras();
        if may_be_older && method != "server/discover" {
            continue;
        }
        // After a complete request: a server of both eras may take one without a version as the beginning of the older one.
        let reply = session.ask_bare(method, json!({"_meta": meta}), ANSWER_WITHIN).await;
        let message = format!("`{method}` without {missing} in its _meta is not refused as invalid");
        let refused = reply.code() == Some(-32602) || (may_be_older && reply.code().is_some());
        lab.expect("meta.missing", refused, &message, "error -32602", &reply.say());
    }
    Ok(())
}

/// Asks without `_meta` on a connection that has seen a complete request, and on one that has not.
async fn without_meta(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open_rough().await?;
    let method = first_request(lab);
    let reply = session.ask_bare(method, json!({}), ANSWER_WITHIN).await;
    let message = format!("`{method}` without _meta is not answered");
    lab.expect("meta.answered", reply.is_answer(), &message, "an error", &reply.say());
    if reply.result().is_some() {
        // What is served to everybody is no memory of an earlier request.
        let alone = lab.rough()?.ask_bare(method, json!({}), START_WITHIN).await;
        let message = format!("`{method}` without _meta is served from what an earlier request said");
        lab.expect("meta.no-memory", alone.result().is_some(), &message, "an error", &reply.say());
    } else {
        lab.pass("meta.no-memory");
    }
    Ok(())
}

async fn no_client_info(lab: &mut Lab) -> Result<(), Trouble> {
    let mut session = lab.open().await?;
    let meta = json!({META_VERSION: lab.version.as_str(), META_CAPABILITIES: {}});
    let reply = session.ask_bare("server/discover", json!({"_meta": meta}), ANSWER_WITHIN).await;
    let message = "a request without clientInfo, which is optional, is refused";
    lab.expect("meta.no-client-info", reply.result().is_some(), message, "a result", &reply.say());
    Ok(())
}
