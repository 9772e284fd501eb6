//! Compares this crate's definitions with the official ones, message by message, if the official files are
//! there. They are expected in `$ENTRACLAW_SHARED/mcp-schemas`, or in `../shared/mcp-schemas` beside the
//! repository.

use crate::entries::corpus;
use crate::mutate::{self, Mutator};
use crate::sample;
use jsonschema::{Draft, Validator};
use schemas::{Asked, Catalog, Version, catalog};
use serde_json::{Map, Value, json};
use std::collections::{BTreeMap, BTreeSet};

/// Messages with two random changes that are compared for each version, besides all those with one change.
const RANDOM_MESSAGES_PER_VERSION: usize = 3_000;
/// Fewest messages that must be compared for each version, valid and broken.
const MESSAGES_PER_VERSION_MIN: usize = 5_000;
/// Number of ways in which a message is written, so that every shape of a union appears.
const TURNS: usize = 8;
/// Most differences that are printed.
const DIFFERENCES_SHOWN: usize = 40;

fn official(version: Version) -> Option<Value> {
    let path = crate::shared().join(format!("mcp-schemas/{version}.json"));
    let Ok(text) = std::fs::read_to_string(&path) else {
        println!("absent: {}; nothing to compare with", path.display());
        return None;
    };
    let mut document: Value = serde_json::from_str(&text).unwrap();
    let definitions = match document.get_mut("$defs") {
        Some(found) => found.take(),
        None => document["definitions"].take(),
    };
    let mut text = definitions.to_string();
    text = text.replace("#/definitions/", "#/$defs/");
    let mut definitions = serde_json::from_str(&text).unwrap();
    patch(&mut definitions);
    Some(definitions)
}

/// Corrects the generated files where they differ from the TypeScript from which they are generated.
fn patch(definitions: &mut Value) {
    // `number` has become `integer`: in the bounds and the default of a number field, and in the values of a
    // completed form.
    for member in ["minimum", "maximum", "default"] {
        if let Some(found) = definitions.pointer_mut(&format!("/NumberSchema/properties/{member}")) {
            *found = json!({ "type": "number" });
        }
    }
    let content = "/ElicitResult/properties/content/additionalProperties";
    if let Some(found) = definitions.pointer_mut(content) {
        *found = serde_json::from_str(&found.to_string().replace("integer", "number")).unwrap();
    }
    // `JSONValue` has lost null and fractions; it stands for any JSON.
    if let Some(found) = definitions.get_mut("JSONValue") {
        *found = json!({});
    }
}

/// The official definitions of one version, used like in the conformance suite.
struct Official {
    definitions: Value,
    by_method: BTreeMap<String, String>,
    by_code: BTreeMap<i64, String>,
    compiled: BTreeMap<String, Validator>,
}

impl Official {
    fn new(definitions: Value) -> Self {
        let mut by_method = BTreeMap::new();
        let mut by_code = BTreeMap::new();
        for (name, body) in definitions.as_object().unwrap() {
            // `ClientNotification` and similar ones repeat a method that has its own definition.
            let union = ["Client", "Server"].iter().any(|side| name.starts_with(side));
            let method = body.pointer("/properties/method/const").and_then(Value::as_str);
            if let Some(method) = method.filter(|_| !union) {
                by_method.insert(method.to_owned(), name.clone());
            }
            for part in
                body.pointer("/properties/error/allOf").and_then(Value::as_array).into_iter().flatten()
            {
                let code = part.pointer("/properties/code/const").and_then(Value::as_i64);
                by_code.extend(code.map(|code| (code, name.clone())));
            }
        }
        Self { definitions, by_method, by_code, compiled: BTreeMap::new() }
    }

    fn fits(&mut self, definition: &str, value: &Value) -> bool {
        if !self.compiled.contains_key(definition) {
            let schema = json!({ "$ref": format!("#/$defs/{definition}"), "$defs": self.definitions });
            let validator = jsonschema::options()
                .with_draft(Draft::Draft202012)
                .should_validate_formats(true)
                .with_format("byte", is_base64)
                .build(&schema)
                .unwrap();
            self.compiled.insert(definition.to_owned(), validator);
        }
        self.compiled[definition].is_valid(value)
    }

    fn has(&self, definition: &str) -> bool {
        self.definitions.get(definition).is_some()
    }

    /// The verdicts of the envelope and of the special definition together.
    fn verdict(&mut self, message: &Value, asked: Option<&Asked>) -> bool {
        let old = self.has("JSONRPCError");
        if let Some(method) = message.get("method") {
            let envelope = if message.get("id").is_some() { "JSONRPCRequest" } else { "JSONRPCNotification" };
            let special = method.as_str().and_then(|m| self.by_method.get(m)).cloned();
            let enveloped = match &special {
                // Definitions inside results have no envelope, and are no messages.
                Some(name) if self.definitions[name]["properties"].get("jsonrpc").is_none() && !old => None,
                Some(name) => Some(name.clone()),
                None => None,
            };
            let request = enveloped.as_deref().map(|name| name.ends_with("Request"));
            let envelope = match request {
                Some(true) => "JSONRPCRequest",
                Some(false) => "JSONRPCNotification",
                None => envelope,
            };
            return self.fits(envelope, message) && enveloped.is_none_or(|name| self.fits(&name, message));
        }
        if let Some(result) = message.get("result") {
            let envelope = if old { "JSONRPCResponse" } else { "JSONRPCResultResponse" };
            return self.fits(envelope, message)
                && asked.and_then(|a| self.result(result, a)).is_none_or(|name| self.fits(&name, result));
        }
        let code = message.pointer("/error/code").and_then(Value::as_i64);
        let envelope = if old { "JSONRPCError" } else { "JSONRPCErrorResponse" };
        let special = code.and_then(|code| self.by_code.get(&code)).cloned();
        self.fits(envelope, message) && special.is_none_or(|name| self.fits(&name, message))
    }

    fn result(&self, result: &Value, asked: &Asked) -> Option<String> {
        let request = self.by_method.get(&asked.method)?;
        let plain = request.replace("Request", "Result");
        let plain = if self.has(&plain) { plain } else { "EmptyResult".to_owned() };
        let special = if asked.task && result.get("task").is_some() {
            Some("CreateTaskResult")
        } else if result.get("resultType").and_then(Value::as_str) == Some("input_required") {
            Some("InputRequiredResult")
        } else {
            None
        };
        Some(special.filter(|name| self.has(name)).map_or(plain, str::to_owned))
    }
}

fn is_base64(text: &str) -> bool {
    let body = text.trim_end_matches('=');
    text.len().is_multiple_of(4)
        && text.len() - body.len() <= 2
        && body.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'+' || b == b'/')
}

/// The verdict of the schemas alone, without the hand-written rules.
fn ours(catalog: &Catalog, message: &Value, asked: Option<&Asked>) -> bool {
    if let Some(method) = message.get("method") {
        let known = method.as_str().and_then(|m| catalog.method(m)).map(|known| known.name.as_str());
        let fallback = if message.get("id").is_some() { "JSONRPCRequest" } else { "JSONRPCNotification" };
        return catalog.fits(known.unwrap_or(fallback), message);
    }
    if let Some(result) = message.get("result") {
        return catalog.fits(catalog.result_envelope(), message)
            && catalog.result(result, asked).is_none_or(|name| catalog.fits(name, result));
    }
    let code = message.pointer("/error/code").and_then(Value::as_i64);
    catalog.fits(catalog.error(code), message)
}

/// The number of comparisons so far.
#[derive(Default)]
struct Compared {
    seen: BTreeSet<String>,
    rejected: usize,
    differences: Vec<String>,
}

/// A definition of an extension, which the official core does not have.
fn extension(catalog: &Catalog, message: &Value, asked: Option<&Asked>) -> bool {
    let method = message.get("method").and_then(Value::as_str).or(asked.map(|a| a.method.as_str()));
    method.and_then(|m| catalog.method(m)).is_some_and(|known| known.extension.is_some())
        || message.pointer("/result/resultType").and_then(Value::as_str) == Some("task")
}

/// Every message with every member, in as many ways as it has shapes.
fn full_messages(catalog: &Catalog) -> Vec<(Value, Option<Asked>)> {
    let mut out = Vec::new();
    let mut add = |name: &str, asked: Option<&str>| {
        let document = catalog.document(name);
        // The fields of a form are a union inside a union.
        let turns = if document["$defs"].get("FieldSchema").is_some() { 2 * TURNS } else { TURNS };
        for turn in 0..turns {
            let full = sample::full(&document, &document["$defs"], turn);
            assert!(catalog.fits(name, &full), "{} {name} {full}", catalog.version());
            match asked {
                None => out.push((full, None)),
                Some(method) => {
                    let task = full.get("task").is_some();
                    let message = json!({ "jsonrpc": "2.0", "id": 1, "result": full });
                    out.push((message, Some(Asked { method: method.to_owned(), task })));
                }
            }
        }
    };
    for (method, definition) in catalog.methods() {
        add(&definition.name, None);
        if let Some(result) = &definition.result {
            add(result, Some(method));
        }
    }
    for special in ["CreateTaskResult", "InputRequiredResult"].into_iter().filter(|name| catalog.has(name)) {
        add(special, Some("tools/call"));
    }
    for code in catalog.error_codes() {
        add(catalog.error(Some(code)), None);
    }
    add(catalog.error_envelope(), None);
    out
}

#[test]
fn ours_and_the_official_schemas_agree() {
    for version in Version::ALL {
        let Some(definitions) = official(version) else { continue };
        let mut official = Official::new(definitions);
        let catalog = catalog(version);
        let seeds: Vec<_> = corpus()
            .into_iter()
            .filter(|entry| entry.versions().contains(&version) && entry.msg.is_object())
            .map(|entry| {
                let asked = entry.answers.as_ref().map(|m| Asked { method: m.clone(), task: entry.task });
                (entry.msg, asked, entry.wrong.is_empty())
            })
            .collect();
        let mut compared = Compared::default();
        let mut judge = |message: &Value, asked: &Option<Asked>, compared: &mut Compared| {
            let asked = asked.as_ref();
            let judged = ["method", "result", "error"].iter().any(|m| message.get(m).is_some());
            if !judged
                || extension(catalog, message, asked)
                || !compared.seen.insert(format!("{message}{asked:?}"))
            {
                return;
            }
            let (theirs, ours) = (official.verdict(message, asked), ours(catalog, message, asked));
            compared.rejected += usize::from(!theirs);
            if theirs != ours {
                compared.differences.push(format!("official {theirs}, ours {ours}, {asked:?}: {message}"));
            }
        };
        for (seed, asked, valid) in &seeds {
            judge(seed, asked, &mut compared);
            for message in if *valid { mutate::each(seed, true) } else { Vec::new() } {
                judge(&message, asked, &mut compared);
            }
        }
        for (message, asked) in full_messages(catalog) {
            judge(&message, &asked, &mut compared);
            for message in mutate::each(&message, false) {
                judge(&message, &asked, &mut compared);
            }
        }
        let mut mutator = Mutator::new(seeds.iter().map(|(message, ..)| message));
        let wanted = compared.seen.len() + RANDOM_MESSAGES_PER_VERSION;
        while compared.seen.len() < wanted {
            for (seed, asked, _) in seeds.iter().filter(|(.., valid)| *valid) {
                judge(&mutator.change(seed, 2), asked, &mut compared);
            }
        }
        let Compared { seen, rejected, mut differences } = compared;
        let compared = seen.len();
        println!(
            "{version}: {compared} messages, {rejected} rejected by both, {} differences",
            differences.len()
        );
        assert!(compared >= MESSAGES_PER_VERSION_MIN, "{version}: only {compared} messages");
        differences.truncate(DIFFERENCES_SHOWN);
        assert!(differences.is_empty(), "{version}\n{}", differences.join("\n"));
        assert!(
            rejected * 10 > compared && rejected * 10 < compared * 9,
            "{version}: {rejected} of {compared}"
        );
    }
}

/// Every message and every member of the official schema is in this crate's schema too.
#[test]
fn ours_names_every_official_message_and_member() {
    for version in Version::ALL {
        let Some(definitions) = official(version) else { continue };
        let official = Official::new(definitions.clone());
        let catalog = catalog(version);
        for (method, name) in &official.by_method {
            let inside = definitions[name]["properties"].get("jsonrpc").is_none() && version.is_modern();
            if inside {
                assert!(catalog.has(name), "{version}: {name}");
                continue;
            }
            assert_eq!(catalog.method(method).map(|d| d.name.as_str()), Some(name.as_str()), "{version}");
            let ours = members(&catalog.document(name));
            let theirs = members(&json!({ "$ref": format!("#/$defs/{name}"), "$defs": definitions }));
            assert_eq!(
                theirs.difference(&ours).collect::<Vec<_>>(),
                Vec::<&String>::new(),
                "{version} {name}"
            );
        }
    }
}

/// The names of all members that a schema reaches.
fn members(document: &Value) -> BTreeSet<String> {
    let empty = Map::new();
    let definitions = document["$defs"].as_object().unwrap_or(&empty);
    let mut found = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut open = vec![json!({ "$ref": document["$ref"] })];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                if let Some(target) = members.get("$ref").and_then(Value::as_str)
                    && let Some(name) = target.strip_prefix("#/$defs/")
                    && seen.insert(name.to_owned())
                {
                    open.push(definitions[name].clone());
                }
                for (key, member) in members {
                    if key == "properties"
                        && let Value::Object(properties) = &member
                    {
                        found.extend(properties.keys().cloned());
                    }
                    open.push(member);
                }
            }
            Value::Array(items) => open.extend(items),
            _ => {}
        }
    }
    found
}
