//! The definitions of one protocol version, compiled when first used, and the definition of each message. It
//! never compiles more than a definition needs, and keeps every compiled definition.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::OnceLock;

use jsonschema::Validator;
use serde_json::{Map, Value, json};

use crate::down::down;
use crate::explain;
use crate::verdict::WireError;
use crate::version::{Direction, Version};

/// The committed documents, in the order of [`Version::ALL`].
const DOCUMENTS: [&str; 5] = [
    include_str!("../mcp/2024-11-05.schema.json"),
    include_str!("../mcp/2025-03-26.schema.json"),
    include_str!("../mcp/2025-06-18.schema.json"),
    include_str!("../mcp/2025-11-25.schema.json"),
    include_str!("../mcp/2026-07-28.schema.json"),
];

/// The sides that may send a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sender {
    /// Only the host.
    Host,
    /// Only the server.
    Server,
    /// Either side.
    Both,
}

impl Sender {
    /// Whether the sender writes in this direction.
    pub fn may(self, direction: Direction) -> bool {
        match self {
            Self::Both => true,
            Self::Host => direction == Direction::HostToServer,
            Self::Server => direction == Direction::ServerToHost,
        }
    }
}

/// The entry of one method in a version.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The definition's name.
    pub name: String,
    /// The sides that may send it.
    pub sender: Sender,
    /// The definition of a request's result; `None` for a notification.
    pub result: Option<String>,
    /// The extension that must be declared for it, if it is not in the core.
    pub extension: Option<String>,
}

/// A request, as far as the definition of its answer depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The request's method.
    pub method: String,
    /// Whether it asked to run as a task.
    pub task: bool,
}

impl Asked {
    /// Reads it from the request; `None` if that has no method.
    pub fn of(request: &Value) -> Option<Self> {
        let method = request.get("method")?.as_str()?.to_owned();
        Some(Self { method, task: down(request, &["params", "task"]).is_some() })
    }
}

/// The definitions of one version.
#[derive(Debug)]
pub struct Catalog {
    version: Version,
    definitions: Map<String, Value>,
    compiled: BTreeMap<String, OnceLock<Validator>>,
    methods: BTreeMap<String, Definition>,
    errors: BTreeMap<i64, String>,
}

/// The catalog of a version; read and indexed on first use.
pub fn catalog(version: Version) -> &'static Catalog {
    static CATALOGS: [OnceLock<Catalog>; 5] = [const { OnceLock::new() }; 5];
    CATALOGS[version.index()].get_or_init(|| Catalog::new(version))
}

impl Catalog {
    fn new(version: Version) -> Self {
        let mut document: Value =
            serde_json::from_str(DOCUMENTS[version.index()]).expect("the embedded schema is JSON");
        let definitions = match document["$defs"].take() {
            Value::Object(definitions) => definitions,
            _ => Map::new(),
        };
        let mut methods = BTreeMap::new();
        let mut errors = BTreeMap::new();
        for (name, body) in &definitions {
            let text = |key: &str| body.get(key).and_then(Value::as_str).map(str::to_owned);
            if let Some(sender) = text("x-sender") {
                let sender = match sender.as_str() {
                    "host" => Sender::Host,
                    "server" => Sender::Server,
                    _ => Sender::Both,
                };
                if let Some(method) = down(body, &["properties", "method", "const"]).and_then(Value::as_str) {
                    let definition = Definition {
                        name: name.clone(),
                        sender,
                        result: text("x-result"),
                        extension: text("x-extension"),
                    };
                    methods.insert(method.to_owned(), definition);
                }
            }
            let code =
                down(body, &["properties", "error", "properties", "code", "const"]).and_then(Value::as_i64);
            errors.extend(code.map(|code| (code, name.clone())));
        }
        let compiled = definitions.keys().map(|name| (name.clone(), OnceLock::new())).collect();
        Self { version, definitions, compiled, methods, errors }
    }

    /// The version of the catalog.
    pub fn version(&self) -> Version {
        self.version
    }

    /// The names of all definitions, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.compiled.keys().map(String::as_str)
    }

    /// Every method with its definition, in alphabetical order.
    pub fn methods(&self) -> impl Iterator<Item = (&str, &Definition)> {
        self.methods.iter().map(|(method, definition)| (method.as_str(), definition))
    }

    /// The entry of a method; `None` if the version does not have it.
    pub fn method(&self, method: &str) -> Option<&Definition> {
        self.methods.get(method)
    }

    /// Whether the version has a definition with this name.
    pub fn has(&self, definition: &str) -> bool {
        self.compiled.contains_key(definition)
    }

    /// The definition of the error with this code, or the general one.
    pub fn error(&self, code: Option<i64>) -> &str {
        code.and_then(|code| self.errors.get(&code)).map_or_else(|| self.error_envelope(), String::as_str)
    }

    /// Error codes with a definition of their own.
    pub fn error_codes(&self) -> impl Iterator<Item = i64> {
        self.errors.keys().copied()
    }

    /// The definition of any failed answer.
    pub fn error_envelope(&self) -> &'static str {
        if self.version < Version::V2025_11_25 { "JSONRPCError" } else { "JSONRPCErrorResponse" }
    }

    /// The definition of any successful answer.
    pub fn result_envelope(&self) -> &'static str {
        if self.version < Version::V2025_11_25 { "JSONRPCResponse" } else { "JSONRPCResultResponse" }
    }

    /// The definition for a result; `None` if the request is unknown.
    pub fn result(&self, result: &Value, asked: Option<&Asked>) -> Option<&str> {
        let asked = asked?;
        let plain = self.method(&asked.method)?.result.as_deref();
        let special = if self.version.is_modern() {
            match result.get("resultType").and_then(Value::as_str) {
                Some("input_required") => Some("InputRequiredResult"),
                Some("task") => Some("CreateTaskResult"),
                _ => None,
            }
        } else if asked.task && result.get("task").is_some() {
            Some("CreateTaskResult")
        } else {
            None
        };
        special.filter(|name| self.has(name)).or(plain)
    }

    /// Whether a value fits a definition; no value fits an unknown one.
    pub fn fits(&self, definition: &str, value: &Value) -> bool {
        self.validator(definition).is_some_and(|validator| validator.is_valid(value))
    }

    /// Why a value does not fit a definition; `at` is put before the paths.
    pub fn errors(&self, definition: &str, value: &Value, at: &str) -> Vec<WireError> {
        match self.validator(definition) {
            Some(validator) if validator.is_valid(value) => Vec::new(),
            Some(validator) => explain::errors(validator, value, at),
            None => {
                vec![WireError::new(at, format!("{} has no `{definition}`", self.version), explain::SCHEMA)]
            }
        }
    }

    fn validator(&self, definition: &str) -> Option<&Validator> {
        let cell = self.compiled.get(definition)?;
        Some(cell.get_or_init(|| {
            explain::compile(&self.document(definition)).expect("the embedded schema compiles")
        }))
    }

    /// A definition with everything that it refers to, as a schema of its own.
    pub fn document(&self, definition: &str) -> Value {
        let mut needed = BTreeSet::new();
        let mut open = vec![definition];
        while let Some(name) = open.pop() {
            if let Some(body) = self.definitions.get(name)
                && needed.insert(name)
            {
                references(body, &mut open);
            }
        }
        let definitions: Map<String, Value> = needed
            .into_iter()
            .filter_map(|name| Some((name.to_owned(), self.definitions.get(name)?.clone())))
            .collect();
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$ref": format!("#/$defs/{definition}"),
            "$defs": definitions,
        })
    }
}

fn references<'a>(value: &'a Value, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(members) => {
            for (key, member) in members {
                match member {
                    Value::String(target) if key == "$ref" => found.extend(target.strip_prefix("#/$defs/")),
                    _ => references(member, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_of_every_version_compiles() {
        for version in Version::ALL {
            let catalog = catalog(version);
            for name in catalog.names() {
                assert!(catalog.validator(name).is_some(), "{version} {name}");
            }
        }
    }

    #[test]
    fn every_request_has_a_result() {
        for version in Version::ALL {
            let catalog = catalog(version);
            for (method, definition) in catalog.methods() {
                let result = definition.result.as_deref();
                assert_eq!(result.is_none(), method.starts_with("notifications/"), "{version} {method}");
                assert!(result.is_none_or(|name| catalog.has(name)), "{version} {method}");
            }
        }
    }
}
