//! Formats the message of the YAML parser for an error that already names the file. It must never hide the
//! place of the mistake.

/// The parser's message without its own `error:`, and with the file's name if it shows the place.
pub(crate) fn yaml_problem(name: &str, error: &serde_saphyr::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("error: ").unwrap_or(&text).replace("--> <input>", &format!("--> {name}"))
}
