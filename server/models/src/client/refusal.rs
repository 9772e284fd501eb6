//! What a server refuses, as an error that says how to go on.

use serde_json::Value;

use crate::api::Api;
use crate::limits::WORDS_CHARS_MAX;
use crate::model::ModelError;

/// The server that refuses.
pub(crate) struct Refuser {
    /// The server in a sentence.
    pub(crate) name: String,
    pub(crate) api: Api,
}

/// The error of an answer with this status and these words.
pub(crate) fn refused(by: &Refuser, model: &str, status: u16, words: &str) -> ModelError {
    let body: Value = serde_json::from_str(words).unwrap_or(Value::Null);
    if let Some(error) = told(by, model, &body) {
        return error;
    }
    let words =
        if words.trim().is_empty() { "without a word".to_owned() } else { format!("'{}'", one_line(words)) };
    said(by, model, Some(status), &words)
}

/// The error in a message of a stream or in a body, if there is one: `{"error": …}`.
pub(crate) fn told(by: &Refuser, model: &str, body: &Value) -> Option<ModelError> {
    // Older vLLM: the body itself is the error.
    let is_error = body.get("object").and_then(Value::as_str) == Some("error");
    let error = body.get("error").filter(|error| !error.is_null()).or_else(|| is_error.then_some(body))?;
    // Ollama passes the error of its runner on as a text.
    if let Some(Ok(inner)) = error.as_str().map(serde_json::from_str::<Value>)
        && let Some(told) = told(by, model, &inner)
    {
        return Some(told);
    }
    let number = |key: &str| error.get(key).or_else(|| body.get(key)).and_then(Value::as_u64);
    let words = error.as_str().or_else(|| error.get("message").and_then(Value::as_str)).unwrap_or_default();
    let kind = error.get("type").and_then(Value::as_str).unwrap_or_default();
    let code = error.get("code").and_then(Value::as_str).unwrap_or_default();
    if [kind, code]
        .iter()
        .any(|kind| matches!(*kind, "exceed_context_size_error" | "context_length_exceeded"))
        || is_too_long(words)
    {
        let numbers = numbers_of(words);
        return Some(ModelError::TooLong {
            model: model.to_owned(),
            tokens: number("n_prompt_tokens").or(numbers.0),
            context: number("n_ctx").or(numbers.1),
        });
    }
    let status = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let words = if words.is_empty() { error.to_string() } else { words.to_owned() };
    Some(said(by, model, status, &format!("'{}'", one_line(&words))))
}

fn said(by: &Refuser, model: &str, status: Option<u16>, words: &str) -> ModelError {
    let name = &by.name;
    let lower = words.to_lowercase();
    let ollama = by.api == Api::Ollama;
    if lower.contains("loading model") {
        return ModelError::Unreachable(format!("{name} is still loading its model; ask again in a moment"));
    }
    let hint = if lower.contains("does not support tools") {
        format!(
            "choose a model that can use tools in place of {model}: `ollama show MODEL` lists what it can do"
        )
    } else if ollama && lower.contains("not found") {
        format!("run `ollama pull {model}`, or choose a model of `ollama list`")
    } else if lower.contains("auto-tool-choice") || lower.contains("tool-call-parser") {
        "start vLLM with --enable-auto-tool-choice and a --tool-call-parser".to_owned()
    } else if lower.contains("--jinja") {
        "start llama.cpp with --jinja".to_owned()
    } else if status == Some(404) {
        format!("see whether the base URL is right and the model {model} is there")
    } else if matches!(status, Some(401 | 403)) {
        "it asks for a key; start it on this machine without one".to_owned()
    } else {
        "look at its log".to_owned()
    };
    let status = status.map(|status| format!(" with status {status}")).unwrap_or_default();
    ModelError::Refused(format!("{name} refuses{status}: {words}; {hint}"))
}

fn is_too_long(words: &str) -> bool {
    let words = words.to_lowercase();
    [
        "exceeds the available context size",
        "maximum context length",
        "context the overflows",
        "context length of only",
    ]
    .iter()
    .any(|part| words.contains(part))
}

/// The tokens of the question and of the context, in servers' sentences: llama.cpp names the question first, vLLM the
/// context.
fn numbers_of(words: &str) -> (Option<u64>, Option<u64>) {
    let numbers: Vec<u64> = words
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse().ok())
        .filter(|&number| number >= 16)
        .collect();
    match numbers[..] {
        [context] => (None, Some(context)),
        [context, tokens, ..] if words.contains("maximum context length") => (Some(tokens), Some(context)),
        [tokens, context, ..] => (Some(tokens), Some(context)),
        [] => (None, None),
    }
}

/// A foreign text as one short line without control characters.
pub(crate) fn one_line(text: &str) -> String {
    let mut line: String = text
        .chars()
        .take(WORDS_CHARS_MAX)
        .map(|c| if c.is_control() || ('\u{2028}'..='\u{202e}').contains(&c) { ' ' } else { c })
        .collect();
    if text.chars().nth(WORDS_CHARS_MAX).is_some() {
        line.push('…');
    }
    line.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn by(api: Api) -> Refuser {
        Refuser { name: "the server".to_owned(), api }
    }

    fn refused_by(api: Api, status: u16, words: &str) -> String {
        refused(&by(api), "tiny", status, words).to_string()
    }

    #[rstest::rstest]
    #[case::tools(Api::Ollama, 400, "tiny does not support tools", "in place of tiny: `ollama show MODEL`")]
    #[case::pull(Api::Ollama, 404, "model 'tiny' not found", "run `ollama pull tiny`")]
    #[case::not_of_ollama(
        Api::OpenAi,
        404,
        "model 'tiny' not found",
        "whether the base URL is right and the model tiny is there"
    )]
    #[case::choice(Api::OpenAi, 400, "requires --enable-auto-tool-choice", "start vLLM with")]
    #[case::parser(Api::OpenAi, 400, "no --TOOL-CALL-PARSER is set", "start vLLM with")]
    #[case::template(Api::LlamaCpp, 500, "tools param requires --jinja flag", "start llama.cpp with --jinja")]
    #[case::no_key(Api::OpenAi, 401, "who are you?", "it asks for a key")]
    #[case::wrong_key(Api::OpenAi, 403, "not you", "it asks for a key")]
    #[case::else_the_log(Api::OpenAi, 500, "out of luck", "look at its log")]
    fn a_refusal_says_how_to_go_on(
        #[case] api: Api,
        #[case] status: u16,
        #[case] words: &str,
        #[case] hint: &str,
    ) {
        let said = refused_by(api, status, words);
        assert!(said.starts_with(&format!("the server refuses with status {status}: '{words}'; ")), "{said}");
        assert!(said.contains(hint), "{said}");
        let in_a_body =
            refused_by(api, 500, &json!({"error": {"code": status, "message": words}}).to_string());
        assert_eq!(in_a_body, said);
    }

    #[test]
    fn a_server_without_words_or_status_is_told_so() {
        assert!(refused_by(Api::OpenAi, 500, " \n").contains("status 500: without a word; look at its log"));
        let said = told(&by(Api::OpenAi), "tiny", &json!({"error": {"why": 1}})).unwrap().to_string();
        assert!(said.starts_with(r#"the server refuses: '{"why":1}'; "#), "{said}");
        assert!(told(&by(Api::OpenAi), "tiny", &json!({"error": null, "object": "list"})).is_none());
    }

    #[test]
    fn a_server_that_loads_its_model_can_be_asked_again() {
        let error = refused(&by(Api::LlamaCpp), "tiny", 503, r#"{"error": {"message": "Loading model"}}"#);
        assert!(matches!(&error, ModelError::Unreachable(words) if words.contains("ask again")), "{error}");
    }

    #[rstest::rstest]
    #[case::llama_cpp(
        json!({"error": {"type": "exceed_context_size_error", "n_prompt_tokens": 900, "n_ctx": 512}}),
        (Some(900), Some(512))
    )]
    #[case::vllm(
        json!({"object": "error", "message": "maximum context length is 512 tokens, you asked for 900"}),
        (Some(900), Some(512))
    )]
    #[case::openai(
        json!({"error": {"code": "context_length_exceeded", "message": "900 tokens are over 512"}}),
        (Some(900), Some(512))
    )]
    #[case::ollama(
        json!({"error": r#"{"error": {"message": "the request exceeds the available context size"}}"#}),
        (None, None)
    )]
    #[case::lm_studio(
        json!({"error": "loaded with context length of only 512 tokens, not the 15 of a test"}),
        (None, Some(512))
    )]
    fn a_question_that_is_too_long_has_its_numbers(
        #[case] body: Value,
        #[case] expected: (Option<u64>, Option<u64>),
    ) {
        let error = told(&by(Api::OpenAi), "tiny", &body).unwrap();
        let ModelError::TooLong { model, tokens, context } = error else { panic!("{error}") };
        assert_eq!((model.as_str(), (tokens, context)), ("tiny", expected));
    }

    #[test]
    fn foreign_words_become_one_short_line() {
        assert_eq!(one_line(" a\u{1b}[1m\nb\u{202e}c\u{2028}d "), "a [1m b c d");
        let longest = "é".repeat(WORDS_CHARS_MAX);
        assert_eq!(one_line(&longest), longest);
        assert_eq!(one_line(&format!("{longest}é")), format!("{longest}…"));
    }
}
