//! Formats JSON for reading: a value that fits in a line stays in a line. It never changes the order of
//! members.

use serde_json::Value;

/// Widest value on one line, in columns.
const WIDTH_COLUMNS: usize = 110;

/// The text of a document, with a newline at the end.
pub(crate) fn pretty(value: &Value) -> String {
    let mut out = String::new();
    write(value, 0, 0, true, &mut out);
    out.push('\n');
    out
}

fn write(value: &Value, indent: usize, used: usize, root: bool, out: &mut String) {
    let line = spaced(value);
    if !root && used + line.len() < WIDTH_COLUMNS {
        out.push_str(&line);
        return;
    }
    let pad = "  ".repeat(indent + 1);
    let close = "  ".repeat(indent);
    match value {
        Value::Object(members) if !members.is_empty() => {
            out.push_str("{\n");
            for (at, (key, member)) in members.iter().enumerate() {
                let head = format!("{pad}{}: ", Value::from(key.as_str()));
                out.push_str(&head);
                // Definitions always start on a line of their own.
                write(member, indent + 1, head.len() + 1, root && key == "$defs", out);
                out.push_str(if at + 1 < members.len() { ",\n" } else { "\n" });
            }
            out.push_str(&close);
            out.push('}');
        }
        Value::Array(items) if !items.is_empty() => {
            out.push_str("[\n");
            for (at, item) in items.iter().enumerate() {
                out.push_str(&pad);
                write(item, indent + 1, pad.len() + 1, false, out);
                out.push_str(if at + 1 < items.len() { ",\n" } else { "\n" });
            }
            out.push_str(&close);
            out.push(']');
        }
        _ => out.push_str(&line),
    }
}

fn spaced(value: &Value) -> String {
    match value {
        Value::Object(members) if members.is_empty() => "{}".into(),
        Value::Object(members) => {
            let inner: Vec<String> =
                members.iter().map(|(k, v)| format!("{}: {}", Value::from(k.as_str()), spaced(v))).collect();
            format!("{{ {} }}", inner.join(", "))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", "))
        }
        plain => plain.to_string(),
    }
}
