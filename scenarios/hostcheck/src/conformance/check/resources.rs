//! Resources: listing, reading, subscribing. Only resources that the server lists are read, and one address
//! that no server has.

use base64::Engine as _;
use serde_json::{Value, json};

use super::probe::probes;
use super::prompts::METHOD_NOT_FOUND;
use crate::conformance::lab::{Lab, Trouble};
use crate::conformance::outcome::Outcome;
use crate::conformance::session::Reply;

/// Most resources that are tried for a subscription.
const SUBSCRIBED_MAX: usize = 8;
/// The most resources that are read.
const READ_MAX: usize = 6;
/// Codes by which a server says that it does not have a resource, or does not serve any.
const NOT_SERVED: [i64; 3] = [-32601, -32602, -32002];
/// An address that no server has.
pub(super) const NOWHERE: &str = "hostcheck://no-such-resource/1";

probes! {
    "resources: the list"
        ["resources.list", "resources.uris", "resources.read", "resources.base64", "resources.templates"]
        Both Nothing |lab| list(lab);
    "resources: an unknown one" ["resources.not-found", "resources.not-found-code"]
        Both Nothing |lab| not_found(lab);
    "resources: another connection" ["resources.same-everywhere"] Modern Nothing Rare |lab| same_everywhere(lab);
    "resources: subscribe" ["resources.subscribe"] Legacy Nothing |lab| subscribe(lab);
}

async fn list(lab: &mut Lab) -> Result<(), Trouble> {
    const ALL: [&str; 5] =
        ["resources.list", "resources.uris", "resources.read", "resources.base64", "resources.templates"];
    let Some(mut session) = lab.open_with("resources", &ALL).await? else { return Ok(()) };
    let listed = match session.list("resources/list", "resources").await {
        Ok(listed) => listed,
        Err(no_page) => {
            let message = no_page.message("resources", "resources/list");
            lab.fail("resources.list", message, "a result", &no_page.reply.say());
            lab.skip_all(&ALL[1..], "`resources/list` has no result");
            return Ok(());
        }
    };
    lab.pass("resources.list");
    let uris = listed.names("uri");
    let odd: Vec<_> = uris.iter().filter(|uri| url::Url::parse(uri).is_err()).collect();
    let message = "an address is no URI";
    lab.expect("resources.uris", odd.is_empty(), message, "absolute URIs", &format!("{odd:?}"));
    let (mut blobs, mut is_read, mut away) = (false, false, None);
    for uri in uris.iter().take(READ_MAX) {
        let reply = session.ask("resources/read", json!({"uri": uri})).await;
        let contents = reply.result().and_then(|result| result.get("contents")).and_then(Value::as_array);
        let there = contents.is_some_and(|contents| !contents.is_empty());
        is_read |= there;
        match reply.code() {
            // The specification has this code for it: what the resource is read from may not be there.
            Some(code) if !NOT_SERVED.contains(&code) => away = Some(format!("{uri}: {}", reply.say())),
            _ => {
                let message = format!("{uri} is listed and can't be read");
                lab.expect("resources.read", there, &message, "contents", &reply.say());
            }
        }
        for blob in contents.into_iter().flatten().filter_map(|content| content.get("blob")) {
            blobs = true;
            let decodes = |text| base64::engine::general_purpose::STANDARD.decode(text).is_ok();
            let good = blob.as_str().is_some_and(decodes);
            let message = format!("a blob of {uri} is not base64");
            lab.expect("resources.base64", good, &message, "base64 with padding", &blob.to_string());
        }
    }
    if uris.is_empty() {
        lab.skip("resources.read", "the server lists no resources");
    }
    if let Some(why) = away.filter(|_| !is_read) {
        let why = format!("no resource could be read, perhaps for want of what it is read from: {why}");
        lab.tell("resources.read", Outcome::CouldNotRun(why));
    }
    if !blobs {
        lab.skip("resources.base64", "no resource that was read is binary");
    }
    let reply = session.ask("resources/templates/list", json!({})).await;
    let fine = reply.result().is_some() || reply.code() == Some(-32601);
    let message = "`resources/templates/list` has neither a result nor the error for an unknown method";
    lab.expect("resources.templates", fine, message, "a result, or error -32601", &reply.say());
    Ok(())
}

async fn not_found(lab: &mut Lab) -> Result<(), Trouble> {
    const ALL: [&str; 2] = ["resources.not-found", "resources.not-found-code"];
    let Some(mut session) = lab.open_with("resources", &ALL).await? else { return Ok(()) };
    let reply = session.ask("resources/read", json!({"uri": NOWHERE})).await;
    let message = "an unknown resource is answered without an error";
    lab.expect("resources.not-found", reply.code().is_some(), message, "an error", &reply.say());
    let wanted: i64 = if lab.version.is_modern() { -32602 } else { -32002 };
    let message = format!("an unknown resource {}", reply.instead_of_the_code("the version's"));
    let expected = format!("error {wanted}");
    lab.expect(ALL[1], reply.code() == Some(wanted), &message, &expected, &reply.say());
    Ok(())
}

/// Whether a method is refused as unknown. Some servers have this code also for a name that they do not know, and repeat it.
pub(super) fn is_unknown(reply: &Reply, name: &str) -> bool {
    let named = matches!(reply, Reply::Error(error) if error.to_string().contains(name));
    reply.code() == Some(METHOD_NOT_FOUND) && !named
}

async fn same_everywhere(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "resources.same-everywhere";
    let mut sets = Vec::new();
    for _ in 0..2 {
        let Some(mut session) = lab.open_with("resources", &[check]).await? else { return Ok(()) };
        let mut uris = session.names("resources/list", "resources", "uri").await;
        uris.sort();
        sets.push(uris);
    }
    let message = "the resources differ by connection";
    lab.expect(check, sets[0] == sets[1], message, "the same set", &format!("{sets:?}"));
    Ok(())
}

async fn subscribe(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "resources.subscribe";
    let mut session = lab.open().await?;
    if session.capabilities.pointer("/resources/subscribe") != Some(&Value::Bool(true)) {
        lab.skip(check, "the server declares no subscriptions to resources");
        return Ok(());
    }
    let uris = session.names("resources/list", "resources", "uri").await;
    if uris.is_empty() {
        let reply = session.ask("resources/subscribe", json!({"uri": NOWHERE})).await;
        if is_unknown(&reply, NOWHERE) {
            let message = "subscriptions are declared, and `resources/subscribe` is an unknown method";
            lab.fail(check, message, "a result, or a refusal of what there is not", &reply.say());
        } else {
            lab.skip(check, "the server lists no resources");
        }
        return Ok(());
    }
    let mut told = Vec::new();
    for uri in uris.iter().take(SUBSCRIBED_MAX) {
        let reply = session.ask("resources/subscribe", json!({"uri": uri})).await;
        if reply.result().is_some() {
            lab.pass(check);
            let reply = session.ask("resources/unsubscribe", json!({"uri": uri})).await;
            let message = "subscriptions are declared, and `resources/unsubscribe` has no result";
            lab.expect(check, reply.result().is_some(), message, "{}", &reply.say());
            return Ok(());
        }
        told.push(reply);
    }
    // What is refused may be one resource and not the others; an unknown method is neither.
    let knows_none = told.iter().any(|reply| reply.code() == Some(METHOD_NOT_FOUND));
    let templates = session.names("resources/templates/list", "resourceTemplates", "uriTemplate").await;
    if !knows_none && (uris.len() > told.len() || !templates.is_empty()) {
        let why =
            "no listed resource that was tried can be subscribed to; whether another one can is not known";
        lab.tell(check, Outcome::CouldNotRun(why.to_owned()));
        return Ok(());
    }
    let message =
        "subscriptions are declared, and `resources/subscribe` has no result for any listed resource";
    lab.fail(check, message, "{}", &told[0].say());
    Ok(())
}
