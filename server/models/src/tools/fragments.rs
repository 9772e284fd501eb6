//! Tools that come in fragments, as OpenAI's form streams them: an index, at first an id and a name, then text of the
//! arguments, piece by piece.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::limits::{ARGUMENTS_BYTES_MAX, TOOLS_MAX};

/// One fragment. Ollama sends a tool whole, in the same form.
#[derive(Debug, Clone, Default, Deserialize)]
pub(crate) struct Fragment {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    id: Option<String>,
    #[serde(default)]
    function: Option<Function>,
}

#[derive(Debug, Clone, Default, Deserialize)]
struct Function {
    #[serde(default)]
    index: Option<u64>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    arguments: Option<Value>,
}

/// A tool, joined, its arguments as the model wrote them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Joined {
    pub(crate) id: Option<String>,
    pub(crate) name: String,
    pub(crate) arguments: String,
}

/// Joins fragments.
#[derive(Debug, Default)]
pub(crate) struct Fragments {
    joined: BTreeMap<u64, Joined>,
    last: Option<u64>,
}

impl Fragments {
    /// Adds a fragment. One without an index belongs to the last tool, unless it has an id or a name of its own.
    pub(crate) fn add(&mut self, fragment: Fragment) -> Result<(), String> {
        let function = fragment.function.unwrap_or_default();
        let begins = fragment.id.as_deref().is_some_and(|id| !id.is_empty())
            || function.name.as_deref().is_some_and(|name| !name.is_empty());
        let index = fragment.index.or(function.index).unwrap_or_else(|| match self.last {
            Some(last) if begins => last + 1,
            last => last.unwrap_or(0),
        });
        self.last = Some(index);
        if self.joined.len() >= TOOLS_MAX && !self.joined.contains_key(&index) {
            return Err(format!("the model asks for more than {TOOLS_MAX} tools at once"));
        }
        let joined = self.joined.entry(index).or_default();
        if let Some(id) = fragment.id.filter(|id| !id.is_empty()) {
            joined.id = Some(id);
        }
        // Some servers send the name again in each fragment.
        if let Some(name) = function.name.filter(|name| *name != joined.name) {
            joined.name.push_str(&name);
        }
        match function.arguments {
            None | Some(Value::Null) => {}
            Some(Value::String(text)) => joined.arguments.push_str(&text),
            Some(whole) => joined.arguments = whole.to_string(),
        }
        if joined.arguments.len() > ARGUMENTS_BYTES_MAX {
            return Err(format!("the arguments of a tool are longer than {ARGUMENTS_BYTES_MAX} bytes"));
        }
        Ok(())
    }

    /// The tools, in their order.
    pub(crate) fn take(&mut self) -> Vec<Joined> {
        std::mem::take(&mut self.joined).into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn joined(fragments: &[Value]) -> Vec<Joined> {
        let mut all = Fragments::default();
        for fragment in fragments {
            all.add(serde_json::from_value(fragment.clone()).unwrap()).unwrap();
        }
        all.take()
    }

    fn tool(id: Option<&str>, name: &str, arguments: &str) -> Joined {
        Joined { id: id.map(str::to_owned), name: name.to_owned(), arguments: arguments.to_owned() }
    }

    #[test]
    fn two_tools_interleave() {
        let found = joined(&[
            json!({"index": 0, "id": "a", "type": "function", "function": {"name": "bash", "arguments": ""}}),
            json!({"index": 1, "id": "b", "function": {"name": "glob", "arguments": "{"}}),
            json!({"index": 0, "function": {"arguments": "{\"x\""}}),
            json!({"index": 1, "function": {"arguments": "}"}}),
            json!({"index": 0, "function": {"arguments": ":1}"}}),
        ]);
        assert_eq!(found, [tool(Some("a"), "bash", "{\"x\":1}"), tool(Some("b"), "glob", "{}")]);
    }

    #[test]
    fn fragments_without_an_index_belong_to_the_last() {
        let found = joined(&[
            json!({"id": "a", "function": {"name": "bash"}}),
            json!({"function": {"name": "bash", "arguments": "{}"}}),
            json!({"id": "b", "function": {"name": "glob", "arguments": {"x": 1}}}),
        ]);
        assert_eq!(found[0].id.as_deref(), Some("a"));
        assert_eq!(found.last(), Some(&tool(Some("b"), "glob", "{\"x\":1}")));
    }

    #[test]
    fn tools_are_bounded() {
        let mut all = Fragments::default();
        let add = |all: &mut Fragments, index: usize| {
            all.add(serde_json::from_value(json!({"index": index, "function": {"name": "x"}})).unwrap())
        };
        for index in 0..TOOLS_MAX {
            add(&mut all, index).unwrap();
        }
        assert!(add(&mut all, TOOLS_MAX).unwrap_err().contains("more than 32"));
    }

    #[test]
    fn arguments_are_bounded() {
        let mut all = Fragments::default();
        let mut add = |arguments: String| {
            let function = Function { arguments: Some(Value::String(arguments)), ..Function::default() };
            all.add(Fragment { function: Some(function), ..Fragment::default() })
        };
        assert_eq!(add("x".repeat(ARGUMENTS_BYTES_MAX)), Ok(()));
        assert!(add("x".to_owned()).unwrap_err().contains("longer than 4194304 bytes"));
    }
}
