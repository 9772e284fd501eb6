//! What a YAML parser says, for an error that already names the file. Must never hide where the mistake is.

/// The parser's words without its own `error:`, and with the file's name where it shows the place.
pub(crate) fn yaml_problem(name: &str, error: &serde_saphyr::Error) -> String {
    let text = error.to_string();
    text.strip_prefix("error: ").unwrap_or(&text).replace("--> <input>", &format!("--> {name}"))
}
