//! Prompts and completion: listing, getting, the mistakes that the specification names. Arguments of a prompt are any
//! text, so a refusal of a text that was made up is no fault.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::probe::probes;
use crate::conformance::lab::{Lab, Trouble};
use crate::conformance::lent::Lent;
use crate::conformance::session::{Listed, Reply};

/// The most prompts that are got.
const GOT_MAX: usize = 6;
/// The most arguments and variables that are completed.
const COMPLETED_MAX: usize = 6;
/// The most values of one completion.
const VALUES_MAX: usize = 100;
/// A prompt that no server has.
pub(super) const NO_PROMPT: &str = "hostcheck-no-such-prompt";
pub(super) const METHOD_NOT_FOUND: i64 = -32601;
const INVALID_PARAMS: i64 = -32602;

probes! {
    "prompts: the list" ["prompts.list", "prompts.unique", "prompts.get"] Both Nothing |lab| list(lab);
    "prompts: another connection" ["prompts.same-everywhere"] Modern Nothing Rare |lab| same_everywhere(lab);
    "prompts: mistakes" ["prompts.unknown", "prompts.missing-argument"] Both Nothing |lab| mistakes(lab);
    "completion" ["completion.complete", "completion.at-most-100", "completion.unknown"]
        Both Nothing |lab| completion(lab);
}

async fn list(lab: &mut Lab) -> Result<(), Trouble> {
    const ALL: [&str; 3] = ["prompts.list", "prompts.unique", "prompts.get"];
    let Some(mut session) = open(lab, "prompts", &ALL).await? else { return Ok(()) };
    let listed = match session.list("prompts/list", "prompts").await {
        Ok(listed) => listed,
        Err(no_page) => {
            let message = no_page.message("prompts", "prompts/list");
            lab.fail("prompts.list", message, "a result", &no_page.reply.say());
            lab.skip_all(&ALL[1..], "`prompts/list` has no result");
            return Ok(());
        }
    };
    lab.pass("prompts.list");
    let names = listed.names("name");
    let unique: BTreeSet<&String> = names.iter().collect();
    let message = "two prompts have the same name";
    lab.expect("prompts.unique", unique.len() == names.len(), message, "unique names", &format!("{names:?}"));
    if listed.items.is_empty() {
        lab.skip("prompts.get", "the server lists no prompts");
    }
    for prompt in listed.items.iter().take(GOT_MAX) {
        let Some(name) = prompt.get("name").and_then(Value::as_str) else { continue };
        let arguments: Map<String, Value> =
            required(prompt).map(|name| (name.to_owned(), json!("hello"))).collect();
        let is_plain = arguments.is_empty();
        let params =
            if is_plain { json!({"name": name}) } else { json!({"name": name, "arguments": arguments}) };
        let mut reply = session.ask("prompts/get", params).await;
        if is_plain && reply.code() == Some(INVALID_PARAMS) {
            // Some SDKs want an empty object where a prompt has arguments and needs none.
            let empty = session.ask("prompts/get", json!({"name": name, "arguments": {}})).await;
            reply = if empty.result().is_some() { empty } else { reply };
        }
        let known = match reply.code() {
            Some(METHOD_NOT_FOUND) => false,
            // Only where nothing was made up does this code say that the prompt itself is not known.
            Some(INVALID_PARAMS) => !is_plain,
            _ => reply.is_answer(),
        };
        let message = if reply.is_answer() {
            format!("the prompt `{name}` is listed, and `prompts/get` refuses it")
        } else {
            format!("`prompts/get` of the listed prompt `{name}` is not answered")
        };
        lab.expect("prompts.get", known, &message, "the messages of the prompt", &reply.say());
        if reply == Reply::Gone {
            break;
        }
    }
    Ok(())
}

/// A connection to a server that declares the capability. A server that is known not to declare it is not started.
async fn open(lab: &mut Lab, capability: &str, checks: &[&'static str]) -> Result<Option<Lent>, Trouble> {
    if lab.declares(capability) == Some(false) {
        lab.skip_all(checks, format!("the server declares no {capability}"));
        return Ok(None);
    }
    lab.open_with(capability, checks).await
}

/// The names of the arguments that a prompt requires.
fn required(prompt: &Value) -> impl Iterator<Item = &str> {
    arguments(prompt)
        .filter(|argument| argument.get("required") == Some(&Value::Bool(true)))
        .filter_map(|argument| argument.get("name").and_then(Value::as_str))
}

fn arguments(prompt: &Value) -> impl Iterator<Item = &Value> {
    prompt.get("arguments").and_then(Value::as_array).into_iter().flatten()
}

async fn same_everywhere(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "prompts.same-everywhere";
    let mut sets = Vec::new();
    for _ in 0..2 {
        let Some(mut session) = open(lab, "prompts", &[check]).await? else { return Ok(()) };
        let mut names = session.names("prompts/list", "prompts", "name").await;
        names.sort();
        sets.push(names);
    }
    let message = "the prompts differ by connection";
    lab.expect(check, sets[0] == sets[1], message, "the same set", &format!("{sets:?}"));
    Ok(())
}

async fn mistakes(lab: &mut Lab) -> Result<(), Trouble> {
    const ALL: [&str; 2] = ["prompts.unknown", "prompts.missing-argument"];
    let Some(mut session) = open(lab, "prompts", &ALL).await? else { return Ok(()) };
    let reply = session.ask("prompts/get", json!({"name": NO_PROMPT})).await;
    expect_invalid(lab, "prompts.unknown", "an unknown prompt", &reply);
    let prompts = session.list("prompts/list", "prompts").await.unwrap_or_default();
    let demanding = prompts.items.iter().find_map(|prompt| {
        let missing = required(prompt).next()?;
        Some((prompt.get("name")?.as_str()?, missing))
    });
    let Some((name, missing)) = demanding else {
        lab.skip("prompts.missing-argument", "no prompt has an argument that it requires");
        return Ok(());
    };
    let reply = session.ask("prompts/get", json!({"name": name, "arguments": {}})).await;
    let what = format!("`{name}` without its required argument `{missing}`");
    expect_invalid(lab, "prompts.missing-argument", &what, &reply);
    Ok(())
}

/// The check passes if the answer is the error for invalid params.
pub(super) fn expect_invalid(lab: &mut Lab, check: &'static str, what: &str, reply: &Reply) {
    let message = if reply.code() == Some(METHOD_NOT_FOUND) {
        format!("{what} is refused because the method is not known, although the server declares it")
    } else {
        format!("{what} {}", reply.instead_of_the_code("that of invalid params"))
    };
    lab.expect(check, reply.code() == Some(INVALID_PARAMS), &message, "error -32602", &reply.say());
}

async fn completion(lab: &mut Lab) -> Result<(), Trouble> {
    const ALL: [&str; 3] = ["completion.complete", "completion.at-most-100", "completion.unknown"];
    let Some(mut session) = open(lab, "completions", &ALL).await? else { return Ok(()) };
    let mut wanted = Vec::new();
    if session.declares("prompts") {
        let prompts = session.list("prompts/list", "prompts").await.unwrap_or_default();
        wanted.extend(of_prompts(&prompts));
        let of = json!({"type": "ref/prompt", "name": NO_PROMPT});
        let params = json!({"ref": of, "argument": {"name": "a", "value": ""}});
        let reply = session.ask("completion/complete", params).await;
        expect_invalid(lab, "completion.unknown", "the completion for an unknown prompt", &reply);
    } else {
        lab.skip("completion.unknown", "the server declares no prompts");
    }
    if session.declares("resources") {
        let templates =
            session.list("resources/templates/list", "resourceTemplates").await.unwrap_or_default();
        wanted.extend(of_templates(&templates));
    }
    if wanted.is_empty() {
        let why = "no listed prompt has an argument, and no listed template a variable";
        lab.skip_all(&ALL[..2], why);
        return Ok(());
    }
    let mut completed = false;
    for (of, name) in wanted.into_iter().take(COMPLETED_MAX) {
        let place = of.get("name").or_else(|| of.get("uri")).cloned().unwrap_or_default();
        let params = json!({"ref": of, "argument": {"name": name, "value": ""}});
        let reply = session.ask("completion/complete", params).await;
        let values = reply.result().and_then(|result| result.pointer("/completion/values"));
        let values = values.and_then(Value::as_array);
        let message = format!("`{name}` of {place} can't be completed, although `completions` is declared");
        lab.expect("completion.complete", values.is_some(), &message, "completion.values", &reply.say());
        if let Some(values) = values {
            completed = true;
            let message = format!("the completion of `{name}` of {place} has {} values", values.len());
            let few = values.len() <= VALUES_MAX;
            lab.expect("completion.at-most-100", few, &message, "at most 100 values", &reply.say());
        }
        if reply == Reply::Gone {
            break;
        }
    }
    if !completed {
        lab.skip("completion.at-most-100", "no completion has values");
    }
    Ok(())
}

/// The arguments of prompts: what refers to the prompt, and the name of the argument.
fn of_prompts(prompts: &Listed) -> impl Iterator<Item = (Value, String)> {
    prompts.items.iter().flat_map(|prompt| {
        let of = json!({"type": "ref/prompt", "name": prompt.get("name")});
        arguments(prompt)
            .filter_map(|argument| argument.get("name").and_then(Value::as_str))
            .map(move |name| (of.clone(), name.to_owned()))
    })
}

/// The variables of templates: what refers to the template, and the name of the variable.
fn of_templates(templates: &Listed) -> impl Iterator<Item = (Value, String)> {
    templates.names("uriTemplate").into_iter().flat_map(|template| {
        let of = json!({"type": "ref/resource", "uri": template});
        variables(&template).into_iter().map(move |name| (of.clone(), name))
    })
}

/// The names of the variables of a URI template (RFC 6570).
fn variables(template: &str) -> Vec<String> {
    let expressions = template.split('{').skip(1).filter_map(|rest| rest.split_once('}'));
    expressions
        .flat_map(|(expression, _)| {
            expression.trim_start_matches(['+', '#', '.', '/', ';', '?', '&']).split(',')
        })
        .map(|variable| variable.split([':', '*']).next().unwrap_or_default().to_owned())
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    #[rstest]
    #[case("note://{id}", &["id"])]
    #[case("file:///{+path}{?line,column}", &["path", "line", "column"])]
    #[case("a://{list*}/{first:3}", &["list", "first"])]
    #[case("a://plain", &[])]
    #[case("a://{open", &[])]
    fn variables_of_templates_are_found(#[case] template: &str, #[case] wanted: &[&str]) {
        assert_eq!(variables(template), wanted);
    }
}
