//! The era without a session: every message of the server belongs to a request or a listen stream of the
//! host. It never judges messages of a session.

use serde_json::Value;

use super::requests::{Id, Open, Requests};
use crate::down::down;
use crate::rules;
use crate::verdict::Findings;

/// The member of `_meta` with the id of a listen request.
const TAG: &[&str] = &["params", "_meta", "io.modelcontextprotocol/subscriptionId"];
const RESULT_TAG: &[&str] = &["result", "_meta", "io.modelcontextprotocol/subscriptionId"];

/// The id of the listen request to which a notification says it belongs.
pub(crate) fn tag(message: &Value) -> Option<&Value> {
    down(message, TAG)
}

/// Judges a notification that names a listen stream, or whose method needs one.
pub(crate) fn on_stream(
    host: &mut Requests,
    message: &Value,
    method: &str,
    races: bool,
    at: &str,
    found: &mut Findings,
) {
    let id = tag(message).and_then(Id::of);
    let open = id.as_ref().and_then(|id| host.get_mut(id));
    let Some((stream, cancelled)) = open.and_then(|open| Some((open.stream.as_mut()?, open.cancelled)))
    else {
        let said = if id.is_some() { "names no open listen request" } else { "is missing" };
        found.breaks(
            &rules::STREAM_TAG,
            (at, "/params/_meta"),
            format!("`io.modelcontextprotocol/subscriptionId` {said}"),
        );
        return;
    };
    if cancelled && !races {
        found.breaks(&rules::AFTER_CANCEL, (at, ""), "the listen request was cancelled");
    }
    let params = &message["params"];
    if method == "notifications/subscriptions/acknowledged" {
        let promised = &params["notifications"];
        if stream.promised.is_some() {
            found.breaks(&rules::ACKNOWLEDGE_FIRST, (at, ""), "the stream is acknowledged already");
        }
        if !within(promised, &stream.asked) {
            found.breaks(
                &rules::NOT_ASKED_FOR,
                (at, "/params/notifications"),
                "acknowledges more than was asked for",
            );
        }
        stream.promised = Some(promised.clone());
        return;
    }
    let Some(promised) = &stream.promised else {
        found.breaks(&rules::ACKNOWLEDGE_FIRST, (at, ""), "the stream is not acknowledged yet");
        return;
    };
    let flag = |name: &str| promised[name].as_bool() == Some(true);
    let wanted = match method {
        "notifications/tools/list_changed" => flag("toolsListChanged"),
        "notifications/prompts/list_changed" => flag("promptsListChanged"),
        "notifications/resources/list_changed" => flag("resourcesListChanged"),
        "notifications/resources/updated" => {
            promised["resourceSubscriptions"].as_array().is_some_and(|uris| uris.contains(&params["uri"]))
        }
        // Members that an extension adds to the filter are not checked.
        _ => true,
    };
    if !wanted {
        found.breaks(&rules::NOT_ASKED_FOR, (at, ""), format!("the stream did not promise `{method}`"));
    }
}

/// Whether a promised filter stays within the requested one.
fn within(promised: &Value, asked: &Value) -> bool {
    let Some(promised) = promised.as_object() else { return true };
    promised.iter().all(|(name, value)| match value {
        Value::Bool(true) => asked[name.as_str()].as_bool() == Some(true),
        Value::Array(items) => {
            let wanted = asked[name.as_str()].as_array();
            items.iter().all(|item| wanted.is_some_and(|wanted| wanted.contains(item)))
        }
        _ => true,
    })
}

/// Judges an answer in this era.
pub(crate) fn answer(open: &Open, id: &Id, message: &Value, at: &str, found: &mut Findings) {
    let Some(result) = message.get("result") else { return };
    let method = open.asked.method.as_str();
    if open.stream.is_some() && down(message, RESULT_TAG).and_then(Id::of).as_ref() != Some(id) {
        found.breaks(
            &rules::STREAM_TAG,
            (at, "/result/_meta"),
            "`io.modelcontextprotocol/subscriptionId` is not the id that is answered",
        );
    }
    if result.get("resultType").and_then(Value::as_str) != Some("input_required") {
        return;
    }
    if !matches!(method, "tools/call" | "prompts/get" | "resources/read") {
        found.breaks(
            &rules::INPUT_REQUIRED_PLACE,
            (at, "/result/resultType"),
            format!("`{method}` can't be answered by asking back"),
        );
    }
    let asks = result.get("inputRequests").and_then(Value::as_object);
    for (name, ask) in asks.into_iter().flatten() {
        if let Some(lack) = ask["method"].as_str().and_then(|method| open.answers.lack(method)) {
            found.breaks(
                &rules::UNDECLARED_CAPABILITY,
                (at, &format!("/result/inputRequests/{name}")),
                format!("needs the capability `{lack}`, which the request did not declare"),
            );
        }
    }
}
