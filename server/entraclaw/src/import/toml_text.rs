//! Adds settings to the text of config.toml without changing existing text, comments included.
//! It must never overwrite a value.

use toml_edit::{ArrayOfTables, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

use super::plan::{Person, Plan};

/// The new text, and a line for each setting that was added or existed already.
pub fn merged(before: &str, plan: &Plan) -> Result<(String, Vec<String>), String> {
    let mut document: DocumentMut = before
        .parse()
        .map_err(|error: toml_edit::TomlError| format!("config.toml is not TOML: {}", error.message()))?;
    let mut lines = Vec::new();
    for (key, text, from) in &plan.settings {
        let section = document.entry(key.section).or_insert_with(|| Item::Table(Table::new()));
        let Some(table) = section.as_table_like_mut() else {
            return Err(format!("`{}` in config.toml is no table; correct it first", key.section));
        };
        let field = key.field();
        match table.get(key.name) {
            Some(there) if there.as_str() == Some(text) => {
                lines.push(format!("= {field} is {text} already"));
            }
            Some(there) => {
                lines.push(format!("= {field} stays {}; {from} says {text}", there.to_string().trim()));
            }
            None => {
                table.insert(key.name, value(text));
                lines.push(format!("+ {field} = \"{text}\"   (from {from})"));
            }
        }
    }
    for person in &plan.people {
        lines.push(add_person(&mut document, person)?);
    }
    Ok((document.to_string(), lines))
}

fn add_person(document: &mut DocumentMut, person: &Person) -> Result<String, String> {
    let name = person.name.as_deref().unwrap_or(&person.object_id);
    let is_same = |table: &dyn TableLike| {
        let same = |field: &str, wanted: &str| {
            table.get(field).and_then(Item::as_str).is_some_and(|text| text.eq_ignore_ascii_case(wanted))
        };
        same("tenant_id", &person.tenant_id) && same("object_id", &person.object_id)
    };
    let list = document.entry("allow").or_insert_with(|| Item::ArrayOfTables(ArrayOfTables::new()));
    let fields = [
        ("tenant_id", Some(&person.tenant_id)),
        ("object_id", Some(&person.object_id)),
        ("mail", person.mail.as_ref()),
        ("name", person.name.as_ref()),
    ];
    let fields = fields.into_iter().filter_map(|(name, text)| Some((name, text?)));
    let is_there = match &*list {
        Item::ArrayOfTables(tables) => tables.iter().any(|table| is_same(table)),
        Item::Value(Value::Array(array)) => {
            array.iter().filter_map(Value::as_inline_table).any(|table| is_same(table))
        }
        _ => return Err("`allow` in config.toml is not a list; correct it first".to_owned()),
    };
    if is_there {
        return Ok(format!("= {name} may write already"));
    }
    if let Some(tables) = list.as_array_of_tables_mut() {
        tables.push(fields.map(|(name, text)| (name, value(text))).collect());
    } else if let Some(array) = list.as_array_mut() {
        let mut table = InlineTable::new();
        for (name, text) in fields {
            table.insert(name, text.as_str().into());
        }
        array.push(table);
    }
    Ok(format!("+ [[allow]] {name}"))
}
