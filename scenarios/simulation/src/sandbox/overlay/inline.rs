//! A value as one line of TOML, for hosts that take settings as arguments.

use serde_json::Value;

/// The value on one line. Texts of JSON are TOML's too, but for DEL.
pub(super) fn inline(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| format!("{} = {}", key(name), inline(value));
            format!("{{{}}}", members.iter().map(member).collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        Value::String(text) => quoted(text),
        // TOML has no null, and no recipe has one.
        other => other.to_string(),
    }
}

fn key(name: &str) -> String {
    let is_bare = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '-';
    if !name.is_empty() && name.chars().all(is_bare) { name.to_owned() } else { quoted(name) }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn it_is_read_back_as_it_was() {
        let value = json!({"command": "/my \"tools\"/e\\x\n", "args": ["serve", "\u{7f}ü"], "env": {"a b": "c", "D_1": "'"}, "timeout": 10});
        let line = inline(&value);
        assert!(!line.contains('\n'), "{line}");
        let table: toml::Table = toml::from_str(&format!("it = {line}")).unwrap();
        assert_eq!(serde_json::to_value(&table["it"]).unwrap(), value);
    }
}
