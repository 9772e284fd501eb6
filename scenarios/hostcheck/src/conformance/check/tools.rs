//! Tools: listing, schemas, results of calls. Only tools that declare that they only read are called, unless
//! the user allowed the others.

use schemas::Foreign;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::time::Duration;
use tokio::time::Instant;

use super::probe::probes;
use crate::conformance::arguments;
use crate::conformance::http;
use crate::conformance::lab::{Lab, Trouble, Wishes};
use crate::conformance::lent::Lent;
use crate::conformance::outcome::Outcome;
use crate::conformance::session::{Listed, Reply, Session};

/// The most tools that are called; the others are only counted.
const CALLED_MAX: usize = 24;
/// Longest name, in characters.
const NAME_MAX: usize = 128;
/// Codes of protocol errors by which a call asks the host for something: input by an address (2025-11-25), and a
/// capability or another version (2026-07-28).
const ASKS_THE_HOST: [i64; 3] = [-32042, -32021, -32022];
/// The most tools that are waited for in vain: without its network the next one is silent too.
const SILENT_MAX: usize = 2;
/// A tool that answers within this time did not wait for anything.
const AT_ONCE: Duration = Duration::from_millis(300);
/// What is told where tools were not called that do more than read.
const CALLS_OTHERS: &str = "; --call-all-tools calls the others too";
/// The most tools that are named of those without validation, or without arguments that could be made.
const WRONG_MAX: usize = 3;

probes! {
    "tools: the list"
        ["tools.list", "tools.stable-order", "tools.names", "tools.name-length", "tools.unique",
         "tools.input-schemas", "tools.output-schemas", "tools.pages-end", "tools.pages-scope"]
        Both Nothing |lab| list(lab);
    "tools: another connection" ["tools.same-everywhere"] Modern Nothing Late |lab| same_everywhere(lab);
    "tools: calls" ["tools.call", "tools.structured", "tools.structured-text", "tools.embedded", "tools.own-error"]
        Both Nothing |lab| calls(lab);
    "tools: mistakes" ["tools.unknown", "tools.malformed-call", "tools.malformed-code", "tools.bad-arguments",
         "tools.input-error"]
        Both Nothing |lab| mistakes(lab);
}

/// The checks that need the list only.
fn of_the_list() -> &'static [&'static str] {
    PROBES[0].checks
}

/// Whether a tool may be called: it declares that it only reads, or the user allowed all.
pub(crate) fn may_call(wishes: &Wishes, tool: &Value) -> bool {
    wishes.call_all_tools || tool.pointer("/annotations/readOnlyHint") == Some(&Value::Bool(true))
}

/// The tools that may be called, with arguments that fit: name, tool, arguments.
pub(crate) fn callable(lab: &Lab, tools: &Listed) -> Vec<(String, Value, Value)> {
    let lasts = lab.wishes.long_call.as_ref().map(|(name, _)| name.as_str());
    let named = |tool: &&Value| tool.get("name").and_then(Value::as_str) == lasts;
    let may = tools.items.iter().filter(|tool| may_call(&lab.wishes, tool) && !needs_a_task(tool));
    let (lasting, others): (Vec<&Value>, Vec<&Value>) = may.partition(named);
    // The tool whose call lasts may be quick with other arguments, but is not chosen where there is another.
    let chosen = if others.is_empty() { lasting } else { others };
    chosen
        .into_iter()
        .filter_map(|tool| {
            let name = tool.get("name")?.as_str()?.to_owned();
            let arguments = arguments::make(tool.get("inputSchema")?, lab.wishes.seed).ok()?;
            Some((name, tool.clone(), arguments))
        })
        .take(CALLED_MAX)
        .collect()
}

/// 2025-11-25 has tools that run as tasks only.
fn needs_a_task(tool: &Value) -> bool {
    tool.pointer("/execution/taskSupport").and_then(Value::as_str) == Some("required")
}

/// The outcome of checks about calls where no tool was called. Tools that were not called are a gap, because
/// nothing is known of them.
pub(crate) fn none_callable(wishes: &Wishes, tools: &Listed) -> Outcome {
    if tools.items.is_empty() {
        return Outcome::NotApplicable("the server lists no tools".to_owned());
    }
    let others = if wishes.call_all_tools { "" } else { CALLS_OTHERS };
    let allowed = tools.items.iter().filter(|tool| may_call(wishes, tool) && !needs_a_task(tool));
    let may: Vec<&str> = allowed.filter_map(|tool| tool.get("name")?.as_str()).collect();
    let why = if !may.is_empty() {
        let names = may[..may.len().min(WRONG_MAX)].join(", ");
        format!("no arguments that fit its schema could be made: {names}")
    } else if wishes.call_all_tools {
        "every tool runs as a task only".to_owned()
    } else {
        "no tool says that it only reads".to_owned()
    };
    Outcome::CouldNotRun(format!("{why}{others}"))
}

/// The same for tools that a session listed. Where it got no list of a server that has given one before, nothing is known.
pub(super) fn none_to_call(lab: &Lab, tools: &Listed) -> Outcome {
    let has_listed = lab.found.newest().is_some_and(|speaks| !speaks.tools.items.is_empty());
    if tools.items.is_empty() && has_listed {
        return Outcome::CouldNotRun("`tools/list` was answered before and has no result here".to_owned());
    }
    none_callable(&lab.wishes, tools)
}

/// Whether a result that is called no error tells of one in its text.
fn complains(reply: &Reply) -> bool {
    let Some(result) = reply.result().filter(|_| !reply.is_refused()) else { return false };
    let blocks = result.get("content").and_then(Value::as_array);
    let texts = blocks.into_iter().flatten().filter_map(|block| block.get("text")?.as_str());
    let text = texts.collect::<String>().to_lowercase();
    ["error", "invalid", "missing", "required"].iter().any(|word| text.contains(word))
}

/// What is wrong with a call that has no answer. One that ends the server does so for every question that makes it, and is
/// told in the same words by each.
pub(super) fn no_answer(tool: &str, reply: &Reply, otherwise: String) -> String {
    if *reply == Reply::Gone { ends_the_server(tool) } else { otherwise }
}

/// What is told of a call that ends the server.
pub(crate) fn ends_the_server(tool: &str) -> String {
    format!("a call of `{tool}` ends the server")
}

async fn list(lab: &mut Lab) -> Result<(), Trouble> {
    let Some(mut session) = lab.open_with("tools", of_the_list()).await? else { return Ok(()) };
    let tools = match session.list("tools/list", "tools").await {
        Ok(tools) => tools,
        Err(no_page) => {
            let message = no_page.message("tools", "tools/list");
            lab.fail("tools.list", message, "a result", &no_page.reply.say());
            lab.skip_all(&of_the_list()[1..], "`tools/list` has no result");
            return Ok(());
        }
    };
    lab.pass("tools.list");
    let message = "the pages of `tools/list` do not end";
    lab.expect("tools.pages-end", !tools.endless, message, "a page without nextCursor", "");
    let one_scope = tools.scopes.windows(2).all(|pair| pair[0] == pair[1]);
    if tools.pages < 2 {
        lab.skip("tools.pages-scope", "the list has one page");
    } else {
        let message = "the pages of one list differ in cacheScope";
        lab.expect("tools.pages-scope", one_scope, message, "one scope", &format!("{:?}", tools.scopes));
    }
    let names = tools.names("name");
    let again = names_of_tools(&mut session).await;
    let said = format!("first {names:?}, then {again:?}");
    let message = "two lists in a row differ";
    lab.expect("tools.stable-order", names == again, message, "the same tools in the same order", &said);
    let unique: BTreeSet<&String> = names.iter().collect();
    let message = "two tools have the same name";
    lab.expect("tools.unique", unique.len() == names.len(), message, "unique names", &format!("{names:?}"));
    let fits = |name: &str| name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.'));
    let odd: Vec<_> = names.iter().filter(|name| !fits(name)).collect();
    let message = "a tool's name has other characters than A-Z, a-z, 0-9, _, -, .";
    lab.expect("tools.names", odd.is_empty(), message, "plain names", &format!("{odd:?}"));
    let odd: Vec<_> = names.iter().filter(|name| !(1..=NAME_MAX).contains(&name.chars().count())).collect();
    let message = "a tool's name is empty or longer than 128 characters";
    lab.expect("tools.name-length", odd.is_empty(), message, "1 to 128 characters", &format!("{odd:?}"));
    compile_all(lab, &tools, "tools.input-schemas", "inputSchema");
    compile_all(lab, &tools, "tools.output-schemas", "outputSchema");
    Ok(())
}

fn compile_all(lab: &mut Lab, tools: &Listed, check: &'static str, member: &str) {
    let mut any = false;
    for tool in &tools.items {
        let Some(schema) = tool.get(member) else { continue };
        any = true;
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        match Foreign::compile(schema) {
            Ok(_) => lab.pass(check),
            Err(error) => {
                let message = format!("{member} of `{name}` is no valid JSON Schema: {error}");
                lab.fail(check, message, "a valid schema", &schema.to_string());
            }
        }
    }
    if !any {
        lab.skip(check, format!("no tool has an {member}"));
    }
}

async fn same_everywhere(lab: &mut Lab) -> Result<(), Trouble> {
    let check = "tools.same-everywhere";
    let Some(mut session) = lab.open_with("tools", &[check]).await? else { return Ok(()) };
    let mut here = names_of_tools(&mut session).await;
    // A request between the two must not change the list.
    let between = json!({"name": "hostcheck.no-such-tool", "arguments": {}});
    if session.ask("tools/call", between).await == Reply::Gone {
        lab.skip(check, "a call of an unknown tool ends the server");
        return Ok(());
    }
    let mut later = names_of_tools(&mut session).await;
    let mut other = lab.open().await?;
    let mut there = names_of_tools(&mut other).await;
    for names in [&mut here, &mut later, &mut there] {
        names.sort();
    }
    let said = format!("here {here:?}, after a call {later:?}, on another connection {there:?}");
    let message = "the tools differ by connection or by what was asked before";
    lab.expect(check, here == later && here == there, message, "the same set", &said);
    Ok(())
}

async fn names_of_tools(session: &mut Session) -> Vec<String> {
    session.names("tools/list", "tools", "name").await
}

async fn calls(lab: &mut Lab) -> Result<(), Trouble> {
    const ALL: [&str; 5] =
        ["tools.call", "tools.structured", "tools.structured-text", "tools.embedded", "tools.own-error"];
    let Some(mut session) = lab.open_with("tools", &ALL).await? else { return Ok(()) };
    let tools = session.list("tools/list", "tools").await.unwrap_or_default();
    let callable = callable(lab, &tools);
    if callable.is_empty() {
        lab.tell_all(&ALL, &none_to_call(lab, &tools));
        return Ok(());
    }
    let (mut structured, mut embedded, mut went_wrong) = (false, false, false);
    let (mut lasting, mut answered) = (Vec::new(), false);
    let mut unseen_schema = false;
    for (place, (name, tool, arguments)) in callable.into_iter().enumerate() {
        // One is called in each version, however slow it is.
        if place > 0 && lab.has_no_time_for(&name) {
            continue;
        }
        let params = json!({"name": name, "arguments": arguments, "_meta": {"progressToken": format!("call of {name}")}});
        let reply = lab.call(&mut session, &name, params).await;
        if reply == Reply::Silent && session.is_alive().await {
            unseen_schema |= tool.get("outputSchema").is_some();
            lasting.push(name);
            continue;
        }
        answered |= reply.is_answer();
        let message =
            no_answer(&name, &reply, format!("`{name}` with arguments that fit its schema is not answered"));
        lab.expect("tools.call", reply.is_answer(), &message, "a result or an error", &reply.say());
        if reply == Reply::Gone {
            return Ok(());
        }
        went_wrong |= judge_own_error(lab, &name, &reply);
        let Some(result) = reply.result() else { continue };
        let blocks = result.get("content").and_then(Value::as_array).cloned().unwrap_or_default();
        if blocks.iter().any(|block| block["type"] == "resource") {
            embedded = true;
            let message = format!("`{name}` embeds a resource, and `resources` is not declared");
            let declared = session.declares("resources");
            lab.expect("tools.embedded", declared, &message, "the capability", &reply.say());
        }
        let failed = result.get("isError") == Some(&Value::Bool(true));
        let whole = result.get("resultType").is_none_or(|kind| kind == "complete");
        if let Some(schema) = tool.get("outputSchema").filter(|_| !failed && whole) {
            structured = true;
            judge_structured(lab, &name, schema, result, &blocks);
        }
    }
    if !lasting.is_empty() {
        session.retire();
    }
    let too_slow = lab.too_slow(&lasting.join(", "));
    if !answered && !lasting.is_empty() {
        lab.tell_all(&["tools.call", "tools.embedded", "tools.own-error"], &too_slow);
    }
    if !structured && unseen_schema {
        lab.tell_all(&["tools.structured", "tools.structured-text"], &too_slow);
    } else if !structured {
        let why = "no tool that was called declares an output schema and succeeded";
        lab.skip("tools.structured", why);
        lab.skip("tools.structured-text", why);
    }
    if !embedded {
        lab.skip("tools.embedded", "no result embeds a resource");
    }
    if !went_wrong {
        lab.skip("tools.own-error", "no tool that was called went wrong");
    }
    Ok(())
}

/// Judges where a tool that went wrong says so; gives whether it went wrong. It was listed and its arguments fit, so the
/// error is the tool's own, but for the codes by which a protocol error asks the host for something.
fn judge_own_error(lab: &mut Lab, name: &str, reply: &Reply) -> bool {
    if reply.result().is_some_and(|result| result["isError"] == true) {
        lab.pass("tools.own-error");
        return true;
    }
    let of_http = lab.target.has_address() && reply.code() == Some(http::STATUS_CODE);
    let Some(code) = reply.code().filter(|code| !ASKS_THE_HOST.contains(code) && !of_http) else {
        return false;
    };
    let message = format!(
        "`{name}` with arguments that fit its schema ends in the protocol error {code}, which a model may not get to see"
    );
    lab.fail("tools.own-error", message, "a result with isError", &reply.say());
    true
}

fn judge_structured(lab: &mut Lab, name: &str, schema: &Value, result: &Value, blocks: &[Value]) {
    let said = result.to_string();
    let Some(content) = result.get("structuredContent") else {
        let message = format!("`{name}` declares an output schema and gives no structuredContent");
        lab.fail("tools.structured", message, "structuredContent that fits the schema", &said);
        lab.skip("tools.structured-text", "there is no structuredContent");
        return;
    };
    let Ok(compiled) = Foreign::compile(schema) else { return };
    match compiled.errors(content).first() {
        None => lab.pass("tools.structured"),
        Some(error) => {
            let at = if error.path.is_empty() { String::new() } else { format!(" at {}", error.path) };
            let message = format!(
                "structuredContent of `{name}` does not fit its output schema{at}: {}",
                error.message
            );
            lab.fail("tools.structured", message, "structuredContent that fits the schema", &said);
        }
    }
    let told = blocks.iter().filter_map(|block| block.get("text").and_then(Value::as_str));
    let same =
        told.filter_map(|text| serde_json::from_str::<Value>(text).ok()).any(|value| value == *content);
    let message = format!("`{name}` gives structuredContent and no text block with the same JSON");
    lab.expect("tools.structured-text", same, &message, "the JSON as text too", &said);
}

async fn mistakes(lab: &mut Lab) -> Result<(), Trouble> {
    const ALL: [&str; 5] = [
        "tools.unknown",
        "tools.malformed-call",
        "tools.malformed-code",
        "tools.bad-arguments",
        "tools.input-error",
    ];
    let Some(mut session) = lab.open_with("tools", &ALL).await? else { return Ok(()) };
    let reply = session.ask("tools/call", json!({"name": "hostcheck.no-such-tool", "arguments": {}})).await;
    let message = format!("a call of an unknown tool {}", instead_of_an_error(&reply));
    let said = reply.say_all();
    lab.expect("tools.unknown", reply.code().is_some(), &message, "an error, like -32602", &said);
    if reply == Reply::Gone {
        session = lab.open().await?;
    }
    // Over HTTP a name that is no text has no header, and the rule about headers would answer first.
    let by_header = lab.target.has_address() && lab.version.is_modern();
    let (params, what) = if by_header {
        (
            json!({"name": "hostcheck.no-such-tool", "arguments": 5}),
            "`tools/call` whose arguments are a number",
        )
    } else {
        (json!({"name": 5}), "`tools/call` whose name is a number")
    };
    let reply = session.ask("tools/call", params).await;
    let wrong_code = format!("{what} {}", reply.instead_of_the_code("that of invalid params"));
    let message = if reply.is_answer() {
        format!("{what} is not answered with a protocol error")
    } else {
        wrong_code.clone()
    };
    lab.expect("tools.malformed-call", reply.code().is_some(), &message, "an error", &reply.say());
    lab.expect(
        "tools.malformed-code",
        reply.code() == Some(-32602),
        &wrong_code,
        "error -32602",
        &reply.say(),
    );
    if reply == Reply::Gone {
        session = lab.open().await?;
    }
    let tools = session.list("tools/list", "tools").await;
    let tools = tools.map_err(|page| Trouble(page.message("tools", "tools/list")))?;
    bad_arguments(lab, session, &tools).await
}

/// What happened to a call that should have ended in a protocol error, as the end of a sentence.
fn instead_of_an_error(reply: &Reply) -> &'static str {
    match reply {
        Reply::Gone => "ends the server",
        Reply::Silent | Reply::Misaddressed(_) => "is not answered",
        Reply::Result(_) | Reply::Error(_) => "is not answered with a protocol error",
    }
}

/// The outcome where no tool that is called requires an argument.
fn nothing_required(lab: &Lab, tools: &Listed) -> Outcome {
    let requires = |tool: &Value| {
        tool.pointer("/inputSchema/required").and_then(Value::as_array).is_some_and(|names| !names.is_empty())
    };
    let why = "no tool that may be called has a required argument";
    if tools.items.iter().any(|tool| !may_call(&lab.wishes, tool) && requires(tool)) {
        return Outcome::CouldNotRun(format!("{why}{CALLS_OTHERS}"));
    }
    Outcome::NotApplicable(why.to_owned())
}

/// Calls every tool without an argument that it requires.
async fn bad_arguments(lab: &mut Lab, mut session: Lent, tools: &Listed) -> Result<(), Trouble> {
    let check = "tools.bad-arguments";
    let called = callable(lab, tools);
    if called.is_empty() {
        lab.tell_all(&[check, "tools.input-error"], &none_to_call(lab, tools));
        return Ok(());
    }
    let broken: Vec<(String, Value, Value)> = called
        .into_iter()
        .filter_map(|(name, tool, good)| {
            let broken = arguments::break_one(tool.get("inputSchema")?, &good)?;
            Some((name, broken, good))
        })
        .collect();
    if broken.is_empty() {
        lab.tell_all(&[check, "tools.input-error"], &nothing_required(lab, tools));
    }
    let mut refused = 0;
    let mut wrong = 0;
    let mut silent = 0;
    let mut waits = false;
    let mut alike = Vec::new();
    for (place, (name, arguments, good)) in broken.into_iter().enumerate() {
        let was_slow = lab.is_slow(&name);
        // What a slow tool refuses at once costs nothing.
        if place > 0 && lab.has_no_time_for(&name) && (!was_slow || waits) {
            continue;
        }
        let params = json!({"name": name, "arguments": arguments});
        let began = Instant::now();
        let mut reply = lab.call(&mut session, &name, params.clone()).await;
        // A tool that takes its time with arguments that fit has looked at those that it refuses at once, unless that is what
        // it says of others too: its first call may have waited for what it lacks, and the next ones know.
        let was_said = lab.has_refused(&name, &params, &reply);
        let at_once = was_slow && began.elapsed() < AT_ONCE && !was_said;
        waits |= was_slow && began.elapsed() >= AT_ONCE;
        let mut has_complained = complains(&reply);
        if reply == Reply::Silent || has_complained || (reply.is_refused() && !at_once) {
            // A tool that can't work here, without its network perhaps, shows nothing of its arguments.
            let fitting = lab.call(&mut session, &name, json!({"name": name, "arguments": good})).await;
            // The refusal may be of a value that was made up for another argument.
            if fitting.is_refused() && reply.is_refused() && arguments != json!({}) {
                reply = lab.call(&mut session, &name, json!({"name": name, "arguments": {}})).await;
                has_complained = complains(&reply);
            }
            if fitting == reply {
                alike.push(name);
                silent += usize::from(reply == Reply::Silent);
                if silent == SILENT_MAX {
                    break;
                }
                continue;
            }
        }
        if reply == Reply::Silent {
            // A tool that waits for its network says something of its arguments the second time, perhaps.
            reply = session.ask("tools/call", params).await;
        }
        if has_complained {
            lab.pass(check);
            refused += 1;
            let message = format!(
                "`{name}` without a required argument is refused without isError, so that hosts take it for a success"
            );
            lab.fail("tools.input-error", message, "a result with isError", &reply.say());
            continue;
        }
        if reply.is_refused() {
            lab.pass(check);
            refused += 1;
            let message = format!(
                "`{name}` without a required argument ends in a protocol error, which a model may not get to see"
            );
            let inside = reply.result().is_some();
            lab.expect("tools.input-error", inside, &message, "a result with isError", &reply.say());
            continue;
        }
        let what = match &reply {
            Reply::Gone => "ends the server",
            Reply::Result(_) | Reply::Error(_) => "is answered as if all were well",
            Reply::Silent | Reply::Misaddressed(_) => "is not answered",
        };
        let message = format!("`{name}` without a required argument {what}");
        lab.fail(check, message, "isError, or an error", &reply.say_all());
        wrong += 1;
        if wrong == WRONG_MAX {
            break;
        }
        if reply == Reply::Gone {
            session = lab.open().await?;
        }
    }
    if refused == 0 && wrong == 0 && !alike.is_empty() {
        let names = alike.join(", ");
        lab.skip_all(
            &[check, "tools.input-error"],
            format!("these go wrong in the same way with arguments that fit: {names}"),
        );
    }
    if refused == 0 && wrong > 0 {
        lab.skip("tools.input-error", "no call without a required argument was refused");
    }
    Ok(())
}
