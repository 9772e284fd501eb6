//! Changes JSON that people wrote: our content is added and removed, and every other byte stays.
//!
//! Comments and trailing commas are accepted, since some hosts allow them. It must never change a text that it can't read
//! completely, nor one where a name on the path occurs twice.
//!
//! The `cst` feature of `jsonc-parser` does not do this: of 5,000 texts in random layouts it restored 31 in a hundred to
//! the byte when its additions were removed again, it changes the layout of a text of one line, and its nodes do not know
//! the line for a refusal. So only its parser is used.

mod document;
mod splice;
mod style;

#[cfg(test)]
mod tests;

use serde_json::Value;

use self::document::{Document, Found};
use self::splice::{insert_element, insert_member, remove};
use super::content::{Edit, Op, Path, Problem, newline, runs_entraclaw};

/// The text with the edits, and the changes. Content that is there already is not changed.
pub(super) fn apply(text: &str, edits: &[Edit]) -> Result<(String, Vec<Op>), Problem> {
    let mut work = Work { text: text.to_owned(), ops: Vec::new() };
    work.root()?;
    for edit in edits {
        match edit {
            Edit::Member { path, value } => work.member(path, value)?,
            Edit::Setting { path, value } => work.setting(path, value)?,
            Edit::Element { path, value } => work.element(path, value)?,
        }
    }
    Ok((work.text, work.ops))
}

struct Work {
    text: String,
    ops: Vec<Op>,
}

impl Work {
    fn root(&mut self) -> Result<(), Problem> {
        let document = Document::parse(&self.text)?;
        match document.root() {
            Some(jsonc_parser::ast::Value::Object(_)) => {}
            Some(other) => return Err(document.wrong_kind(other, &[], "an object")),
            None => {
                let ending = newline(&self.text);
                let parted = if self.text.is_empty() || self.text.ends_with('\n') { "" } else { ending };
                let with_root = format!("{}{parted}{{}}{ending}", self.text);
                self.ops.push(Op::Root(std::mem::replace(&mut self.text, with_root)));
            }
        }
        Ok(())
    }

    fn member(&mut self, path: &[String], value: &Value) -> Result<(), Problem> {
        let document = Document::parse(&self.text)?;
        match document.find(path)? {
            Found::Missing { .. } => self.add(path, value, true),
            Found::At { value: there, .. } => {
                let present = document::value(there);
                if present == *value {
                    return Ok(());
                }
                if runs_entraclaw(&present) {
                    return self.adopt(path, value);
                }
                let what = format!(
                    "`{}` is there already and starts another program; rename or remove it, then run setup again",
                    path.join(".")
                );
                Err(document.problem(there, what))
            }
        }
    }

    /// Takes over an entry that a person wrote for this program: sets what we need and leaves the rest.
    fn adopt(&mut self, path: &[String], value: &Value) -> Result<(), Problem> {
        let Value::Object(members) = value else { return self.setting(path, value) };
        for (name, value) in members {
            let mut below = path.to_vec();
            below.push(name.clone());
            self.adopt(&below, value)?;
        }
        Ok(())
    }

    fn setting(&mut self, path: &[String], value: &Value) -> Result<(), Problem> {
        let document = Document::parse(&self.text)?;
        match document.find(path)? {
            Found::Missing { .. } => self.add(path, value, false),
            Found::At { value: there, .. } if document::value(there) == *value => Ok(()),
            Found::At { value: there, .. } => {
                let range = document::range(there);
                let before = self.text[range.clone()].to_owned();
                let after = document.style().render_at(range.start, value);
                self.text.replace_range(range, &after);
                self.ops.push(Op::Replaced { path: path.to_vec(), before, after: value.clone() });
                Ok(())
            }
        }
    }

    fn element(&mut self, path: &[String], value: &Value) -> Result<(), Problem> {
        let document = Document::parse(&self.text)?;
        match document.find(path)? {
            Found::At { value: jsonc_parser::ast::Value::Array(array), .. } => {
                if array.elements.iter().any(|element| document::value(element) == *value) {
                    return Ok(());
                }
                let (text, opened) = insert_element(&document, array, value);
                self.text = text;
                self.ops.push(Op::Pushed { path: path.to_vec(), value: value.clone(), opened });
                Ok(())
            }
            Found::At { value: other, .. } => Err(document.wrong_kind(other, path, "a list")),
            Found::Missing { parent, depth } => {
                let list = nested(&path[depth + 1..], Value::Array(vec![value.clone()]));
                let (text, opened) = insert_member(&document, parent, &path[depth], &list);
                self.text = text;
                self.made(path, depth..path.len(), opened);
                self.ops.push(Op::Pushed { path: path.to_vec(), value: value.clone(), opened: false });
                Ok(())
            }
        }
    }

    fn add(&mut self, path: &[String], value: &Value, whole: bool) -> Result<(), Problem> {
        let document = Document::parse(&self.text)?;
        let Found::Missing { parent, depth } = document.find(path)? else { return Ok(()) };
        let outer = nested(&path[depth + 1..], value.clone());
        let (text, opened) = insert_member(&document, parent, &path[depth], &outer);
        self.text = text;
        self.made(path, depth..path.len() - 1, opened);
        let opened = opened && depth + 1 == path.len();
        self.ops.push(Op::Added { path: path.to_vec(), value: value.clone(), whole, opened });
        Ok(())
    }

    fn made(&mut self, path: &[String], depths: std::ops::Range<usize>, opened: bool) {
        let first = depths.start;
        self.ops.extend(
            depths.map(|depth| Op::Made { path: path[..=depth].to_vec(), opened: opened && depth == first }),
        );
    }
}

/// The value inside one object for each name.
fn nested(names: &[String], value: Value) -> Value {
    names.iter().rev().fold(value, |inner, name| Value::Object([(name.clone(), inner)].into_iter().collect()))
}

/// The text with the changes undone, as far as they are still there.
pub(super) fn undo(text: &str, ops: &[Op]) -> Result<String, Problem> {
    let mut text = text.to_owned();
    Document::parse(&text)?;
    for op in ops.iter().rev() {
        if let Some(changed) = undo_one(&text, op)? {
            text = changed;
        }
    }
    Ok(text)
}

fn undo_one(text: &str, op: &Op) -> Result<Option<String>, Problem> {
    use jsonc_parser::ast::Value as Node;
    let document = Document::parse(text)?;
    let at = |path: &Path| match document.find(path) {
        Ok(Found::At { value, member, parent }) => Some((value, member, parent)),
        // Another value is there by now, which is not ours.
        _ => None,
    };
    let removed = match op {
        Op::Root(before) => match document.root() {
            Some(Node::Object(root)) if root.properties.is_empty() => {
                let inside = &text[root.range.start + 1..root.range.end - 1];
                let rest = format!("{}{}", &text[..root.range.start], &text[root.range.end..]);
                (inside.trim().is_empty() && rest.trim() == before.trim()).then(|| before.clone())
            }
            _ => None,
        },
        Op::Made { path, opened } => at(path)
            .and_then(|(value, member, parent)| match value {
                Node::Object(object) if object.properties.is_empty() => Some((member, parent)),
                Node::Array(array) if array.elements.is_empty() => Some((member, parent)),
                _ => None,
            })
            .map(|(member, parent)| remove(&document, member, parent.range, *opened)),
        Op::Added { path, value, whole, opened } => at(path)
            .filter(|(there, ..)| {
                let there = document::value(there);
                there == *value || *whole && runs_entraclaw(&there)
            })
            .map(|(_, member, parent)| remove(&document, member, parent.range, *opened)),
        Op::Replaced { path, before, after } => at(path).and_then(|(there, ..)| {
            let range = document::range(there);
            (document::value(there) == *after)
                .then(|| format!("{}{before}{}", &text[..range.start], &text[range.end..]))
        }),
        Op::Pushed { path, value, opened } => at(path).and_then(|(there, ..)| {
            let Node::Array(array) = there else { return None };
            let elements: Vec<Value> = array.elements.iter().map(document::value).collect();
            let command = command_of(value);
            let index = elements.iter().position(|element| element == value).or_else(|| {
                elements.iter().position(|element| command.is_some() && command_of(element) == command)
            })?;
            Some(remove(&document, document::range(&array.elements[index]), array.range, *opened))
        }),
        Op::Block { .. } | Op::Table { .. } => None,
    };
    Ok(removed)
}

/// The command in an entry of a list of hooks.
fn command_of(element: &Value) -> Option<&str> {
    let inner = element.get("hooks").and_then(|hooks| hooks.get(0)).unwrap_or(element);
    inner.get("command").or_else(|| inner.get("bash")).and_then(Value::as_str)
}

/// The changes that look like ours in a text without a receipt: entries of this program and elements in our form, and
/// their containers if they are empty without them. Settings may be the user's own and are left, and so is an empty list
/// or object that has nothing of ours.
pub(super) fn guess(text: &str, edits: &[Edit]) -> Result<Vec<Op>, Problem> {
    let mut ops = Vec::new();
    let made = |path: &[String], up_to: usize| {
        let paths = (0..up_to).map(|depth| Op::Made { path: path[..=depth].to_vec(), opened: false });
        paths.collect::<Vec<_>>()
    };
    for edit in edits {
        let (around, op) = match edit {
            Edit::Member { path, value } => {
                let (path, value) = (path.clone(), value.clone());
                let around = made(&path, path.len() - 1);
                (around, Op::Added { path, value, whole: true, opened: false })
            }
            Edit::Element { path, value } => {
                let (path, value) = (path.clone(), value.clone());
                (made(&path, path.len()), Op::Pushed { path, value, opened: false })
            }
            Edit::Setting { .. } => continue,
        };
        if undo(text, std::slice::from_ref(&op))? != text {
            ops.extend(around);
            ops.push(op);
        }
    }
    Ok(ops)
}

/// Whether only an empty object is left.
pub(super) fn is_empty(text: &str) -> bool {
    text.split_whitespace().collect::<String>() == "{}" || text.trim().is_empty()
}
