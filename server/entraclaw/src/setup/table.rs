//! Adds and removes our table in TOML that a person wrote.
//!
//! A new table is appended as text, so that every other byte stays. It must never be added where a reader of the file would
//! find another value.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, TableLike};

use super::block::{appended, cut};
use super::content::{Op, Problem, newline, runs_entraclaw};

/// The text with the table, and the changes.
pub(super) fn apply(text: &str, path: &[String], entry: &Value) -> Result<(String, Vec<Op>), Problem> {
    let mut document = parsed(text)?;
    if let Some(there) = find(document.as_table_mut(), path)? {
        let present = table_value(there);
        if present == *entry {
            return Ok((text.to_owned(), Vec::new()));
        }
        if !runs_entraclaw(&present) {
            let what = format!(
                "`{}` is there already and starts another program; rename or remove it, then run setup again",
                path.join(".")
            );
            return Err(Problem::at(text, place(text, path), what));
        }
        let mut after = present.clone();
        merge(&mut after, entry);
        write(there, &after);
        let op = Op::Table { path: path.to_vec(), before: present, after };
        return Ok((with_ends_of(text, &document.to_string()), vec![op]));
    }
    let (with, op) = appended(text, &block(path, entry));
    // A table below can't add to an inline `mcp_servers = {}`.
    let holds = |mut document: DocumentMut| {
        let there = find(document.as_table_mut(), path).ok().flatten();
        there.is_some_and(|table| table_value(table) == *entry)
    };
    if with.parse::<DocumentMut>().is_ok_and(holds) {
        return Ok((with, vec![op]));
    }
    let what = format!(
        "`{}` is written in a way that no table can be added to; write it as tables, or add the entry by hand \
         (--print shows it)",
        path.first().map_or("", String::as_str)
    );
    Err(Problem::at(text, place(text, path), what))
}

/// The text with the changes undone, as far as they are still there.
pub(super) fn undo(text: &str, path: &[String], ops: &[Op]) -> Result<String, Problem> {
    let mut text = text.to_owned();
    for op in ops.iter().rev() {
        match op {
            Op::Block { before, text: block } => {
                text = match cut(&text, before, block) {
                    // Members that the host has added to our table would be a server without a program.
                    Some(without) => without_if(&without, path, |rest| rest.get("command").is_none())?,
                    None => without_table(&text, path)?,
                };
            }
            Op::Table { path, before, after } => {
                let mut document = parsed(&text)?;
                if let Some(there) =
                    find(document.as_table_mut(), path)?.filter(|there| table_value(*there) == *after)
                {
                    write(there, before);
                    text = with_ends_of(&text, &document.to_string());
                }
            }
            _ => {}
        }
    }
    parsed(&text)?;
    Ok(text)
}

/// The text without the table, if the table starts this program.
pub(super) fn without_table(text: &str, path: &[String]) -> Result<String, Problem> {
    without_if(text, path, |there| runs_entraclaw(&table_value(there)))
}

fn without_if(text: &str, path: &[String], goes: impl Fn(&dyn TableLike) -> bool) -> Result<String, Problem> {
    let mut document = parsed(text)?;
    let goes = find(document.as_table_mut(), path)?.is_some_and(|there| goes(there));
    let Some((name, parents)) = path.split_last().filter(|_| goes) else { return Ok(text.to_owned()) };
    if let Some(parent) = find(document.as_table_mut(), parents)? {
        parent.remove(name);
    }
    Ok(with_ends_of(text, &document.to_string()))
}

fn parsed(text: &str) -> Result<DocumentMut, Problem> {
    text.parse().map_err(|error: toml_edit::TomlError| {
        let what = format!("it can't be read as TOML: {}; correct it first", error.message());
        Problem::at(text, error.span().map_or(0, |span| span.start), what)
    })
}

/// Finds the table at a path. Refuses a value on the path that is no table.
fn find<'d>(root: &'d mut Table, path: &[String]) -> Result<Option<&'d mut dyn TableLike>, Problem> {
    let mut table: &mut dyn TableLike = root;
    for (depth, name) in path.iter().enumerate() {
        let Some(item) = table.get_mut(name).filter(|item| !item.is_none()) else { return Ok(None) };
        let Some(inner) = item.as_table_like_mut() else {
            let what =
                format!("`{}` must be a table, and is none; correct it first", path[..=depth].join("."));
            return Err(Problem::new(what));
        };
        table = inner;
    }
    Ok(Some(table))
}

/// The byte at which the table or its first name is written; only for a message.
fn place(text: &str, path: &[String]) -> usize {
    let whole = format!("[{}]", path.join("."));
    let first = path.first().map_or("", String::as_str);
    text.find(&whole).or_else(|| text.find(first)).unwrap_or(0)
}

/// The table as text. Each inner table follows under its own header.
fn block(path: &[String], entry: &Value) -> String {
    let Value::Object(members) = entry else { return String::new() };
    let (tables, values): (Vec<_>, Vec<_>) = members.iter().partition(|(_, value)| value.is_object());
    let mut out = String::new();
    // A table that has only tables needs no header.
    if !values.is_empty() || tables.is_empty() {
        out.extend(["[", &path.join("."), "]\n"]);
    }
    for (name, value) in values {
        out.extend([name, " = ", item(value).to_string().trim(), "\n"]);
    }
    for (name, table) in tables {
        if !out.is_empty() {
            out.push('\n');
        }
        out.push_str(&block(&[path, std::slice::from_ref(name)].concat(), table));
    }
    out
}

/// Makes the table equal to the entry. Equal members keep their layout.
fn write(table: &mut dyn TableLike, entry: &Value) {
    let Value::Object(wanted) = entry else { return };
    let stale: Vec<String> =
        table.iter().map(|(name, _)| name.to_owned()).filter(|name| !wanted.contains_key(name)).collect();
    for name in stale {
        table.remove(&name);
    }
    for (name, value) in wanted {
        if table.get(name).is_some_and(|there| item_value(there) == *value) {
            continue;
        }
        let inner = table.get_mut(name).and_then(Item::as_table_like_mut);
        match (inner, value) {
            (Some(inner), Value::Object(_)) => write(inner, value),
            _ => {
                table.insert(name, item(value));
            }
        }
    }
}

fn item(value: &Value) -> Item {
    match value {
        Value::Object(_) => {
            let mut table = Table::new();
            write(&mut table, value);
            Item::Table(table)
        }
        Value::Array(values) => {
            let texts: Array = values.iter().filter_map(Value::as_str).collect();
            toml_edit::value(texts)
        }
        Value::Bool(value) => toml_edit::value(*value),
        Value::Number(number) => number.as_i64().map_or(Item::None, toml_edit::value),
        Value::String(text) => toml_edit::value(text),
        Value::Null => Item::None,
    }
}

fn table_value(table: &dyn TableLike) -> Value {
    Value::Object(table.iter().map(|(name, item)| (name.to_owned(), item_value(item))).collect())
}

/// The item as JSON. One that JSON does not have becomes text, so that it differs from anything of ours.
fn item_value(item: &Item) -> Value {
    if let Some(table) = item.as_table_like() {
        return table_value(table);
    }
    match item {
        Item::Value(value) => plain(value),
        other => Value::String(other.to_string()),
    }
}

fn plain(value: &toml_edit::Value) -> Value {
    match value {
        toml_edit::Value::String(text) => Value::from(text.value().as_str()),
        toml_edit::Value::Integer(number) => Value::from(*number.value()),
        toml_edit::Value::Boolean(value) => Value::from(*value.value()),
        toml_edit::Value::Array(values) => Value::Array(values.iter().map(plain).collect()),
        toml_edit::Value::InlineTable(table) => table_value(table),
        other => Value::String(other.to_string()),
    }
}

fn merge(into: &mut Value, from: &Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (name, value) in from {
                merge(into.entry(name.clone()).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from.clone(),
    }
}

/// The new text with the line endings of the old one.
fn with_ends_of(old: &str, new: &str) -> String {
    new.replace("\r\n", "\n").replace('\n', newline(old))
}
