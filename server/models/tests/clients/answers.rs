//! Answers of every form of server, without sockets, in virtual time.

use std::time::Duration;

use entraclaw_models::{Api, ModelError, Piece, Role, Stop, ToolChoice, ToolRequest};
use fake_models::End;
use rstest::rstest;
use serde_json::json;
use tokio::sync::mpsc;

use crate::support::{ask, config, connected, mounted, question, server, text, thinking, turn, with_tools};

#[rstest]
#[tokio::test(start_paused = true)]
async fn text_comes_in_pieces(
    #[values("ollama", "llama.cpp", "lm-studio", "lm-studio-0.3", "vllm", "openai")] kind: &str,
) {
    let server = server(&format!(
        "server: {kind}\nanswers: [{{ says: \"one two  three\\n\\n  four\", token_ms: 100 }}]"
    ));
    let model = connected(&server).await;
    let (answer, pieces) = ask(&model, &question("hi")).await;
    let answer = answer.unwrap();
    assert_eq!(answer.text, "one two  three\n\n  four");
    assert_eq!((text(&pieces), pieces.len()), (answer.text.clone(), 4));
    assert_eq!((answer.stop, answer.usage.output), (Stop::Done, 4));
    assert!(answer.usage.input > 0);
    assert_eq!(server.questions()[0].end, End::Whole);
}

#[rstest]
#[case("field")]
#[case("tags")]
#[case("hidden-begin")]
#[tokio::test(start_paused = true)]
async fn thinking_is_no_text(#[case] how: &str, #[values("ollama", "llama.cpp", "openai")] kind: &str) {
    let answers = format!("answers: [{{ thinks: 'a < b so', thinks_as: {how}, says: Yes. }}]");
    let model = connected(&server(&format!("server: {kind}\n{answers}"))).await;
    let (answer, pieces) = ask(&model, &question("hi")).await;
    assert_eq!(answer.unwrap().text, "Yes.");
    if how != "hidden-begin" {
        assert_eq!((thinking(&pieces).trim(), text(&pieces).as_str()), ("a < b so", "Yes."));
    }
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn tools_are_joined_and_repaired(
    #[values("ollama", "llama.cpp", "vllm")] kind: &str,
    #[values(
        "whole",
        "fragments",
        "bare",
        "twice-encoded",
        "trailing-comma",
        "single-quotes",
        "fence",
        "text",
        "tagged"
    )]
    form: &str,
) {
    if (kind, form) == ("ollama", "fragments") {
        // Ollama sends tools whole.
        return;
    }
    let tool = format!("{{ name: bash, arguments: {{ command: 'ls -l' }}, form: {form} }}");
    let server = server(&format!("server: {kind}\nanswers: [{{ says: '', tools: [{tool}] }}]"));
    let model = connected(&server).await;
    let (answer, pieces) = ask(&model, &with_tools("hi")).await;
    let answer = answer.unwrap();
    assert_eq!((answer.stop, answer.text.as_str(), answer.tools.len()), (Stop::Tools, "", 1));
    let ToolRequest { id, name, arguments } = &answer.tools[0];
    assert_eq!((name.as_str(), arguments), ("bash", &json!({"command": "ls -l"})));
    assert!(!id.is_empty());
    assert_eq!((pieces.last(), text(&pieces).trim()), (Some(&Piece::Tool(answer.tools[0].clone())), ""));
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_tool_that_was_cut_is_told(#[values("ollama", "llama.cpp")] kind: &str) {
    let tool = "{ name: write_file, arguments: { path: a, content: half of a file }, form: cut }";
    let model = connected(&server(&format!("server: {kind}\nanswers: [{{ tools: [{tool}] }}]"))).await;
    let (answer, pieces) = ask(&model, &with_tools("hi")).await;
    let Err(ModelError::Malformed(words)) = answer else { panic!("{answer:?}") };
    assert!(words.contains("the tool write_file") && words.contains("cut off"), "{words}");
    assert!(!pieces.iter().any(|piece| matches!(piece, Piece::Tool(_))));
}

#[tokio::test(start_paused = true)]
async fn results_of_tools_go_back() {
    for kind in ["ollama", "llama.cpp"] {
        let server = server(&format!(
            "server: {kind}\nanswers: [{{ when: {{ results: 0 }}, says: '', tools: [{{ name: bash }}] }}, {{ says: Done. }}]"
        ));
        let model = connected(&server).await;
        let mut question = with_tools("hi");
        question.tool_choice = ToolChoice::Required;
        let asked = ask(&model, &question).await.0.unwrap();
        let mut assistant = turn(Role::Assistant, "");
        assistant.tool_requests.clone_from(&asked.tools);
        let mut result = turn(Role::Tool, "a.txt");
        result.answers = Some(asked.tools[0].id.clone());
        question.turns.extend([assistant, result]);
        assert_eq!(ask(&model, &question).await.0.unwrap().text, "Done.");
        let body = &server.questions()[1].body;
        let result = &body["messages"][2];
        assert_eq!((&result["role"], &result["content"]), (&json!("tool"), &json!("a.txt")));
        if kind == "ollama" {
            assert_eq!(result["tool_name"], "bash");
            assert_eq!(body["messages"][1]["tool_calls"][0]["function"]["arguments"], json!({}));
        } else {
            assert_eq!(result["tool_call_id"], body["messages"][1]["tool_calls"][0]["id"]);
            assert_eq!(body["messages"][1]["tool_calls"][0]["function"]["arguments"], "{}");
            assert_eq!(server.questions()[0].body["tool_choice"], "required");
        }
    }
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn an_answer_goes_on_where_it_was(#[values("ollama", "llama.cpp", "vllm")] kind: &str) {
    let says = "one two three four five six seven eight nine ten";
    let server = server(&format!("server: {kind}\nanswers: [{{ says: {says} }}]"));
    let model = connected(&server).await;
    for cut in 1..says.len() {
        let mut rest = question("count");
        rest.said = Some(says[..cut].to_owned());
        let (answer, pieces) = ask(&model, &rest).await;
        assert_eq!((answer.unwrap().text.as_str(), text(&pieces).as_str()), (&says[cut..], &says[cut..]));
    }
    let body = &server.questions().pop().unwrap().body;
    assert_eq!(body["messages"][1]["role"], "assistant");
    match kind {
        "vllm" => assert_eq!(body["continue_final_message"], true),
        "llama.cpp" => assert_eq!(body["chat_template_kwargs"]["enable_thinking"], false),
        "ollama" => assert_eq!(body["messages"][1]["content"], says[..says.len() - 1]),
        _ => {}
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_said_again_is_taken_away() {
    let says = "one two three four five six seven eight nine ten";
    let script = format!("server: ollama\ncontinues: false\nanswers: [{{ says: {says} }}]");
    let model = connected(&server(&script)).await;
    let mut rest = question("count");
    rest.said = Some(says[..30].to_owned());
    assert_eq!(ask(&model, &rest).await.0.unwrap().text, says[30..]);
}

#[tokio::test(start_paused = true)]
async fn a_thinking_model_goes_on_too() {
    let script = "server: llama.cpp\nmodels: [{ thinking: true }]\nanswers: [{ says: one two three }]";
    let model = connected(&server(script)).await;
    let mut rest = question("count");
    rest.said = Some("one".to_owned());
    assert_eq!(ask(&model, &rest).await.0.unwrap().text, " two three");
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_limit_of_tokens_is_told(#[values("ollama", "llama.cpp", "openai")] kind: &str) {
    let model = connected(&server(&format!("server: {kind}\nanswers: [{{ says: one two three }}]"))).await;
    let mut short = question("count");
    short.tokens_max = Some(2);
    let answer = ask(&model, &short).await.0.unwrap();
    assert_eq!((answer.text.as_str(), answer.stop), ("one two", Stop::Length));
}

#[rstest]
#[case("ollama", 20_000)]
#[case("llama.cpp", 5_000)]
#[case("vllm", 5_000)]
#[case("openai", 5_000)]
#[tokio::test(start_paused = true)]
async fn a_long_question_is_refused_with_numbers(#[case] kind: &str, #[case] words: usize) {
    let server = server(&format!("server: {kind}"));
    let model = connected(&server).await;
    let (answer, _) = ask(&model, &question(&"word ".repeat(words))).await;
    let Err(ModelError::TooLong { tokens, context, .. }) = answer else { panic!("{answer:?}") };
    let seen = &server.questions()[0];
    assert_eq!((tokens, seen.cut_tokens), (Some(seen.prompt_tokens), 0));
    assert_eq!(context, Some(if kind == "ollama" { 16_384 } else { 4096 }));
}

#[rstest]
#[case("drops_after_tokens: 2", "closed the connection in the middle")]
#[case("ends_without_last: true", "the last message is missing")]
#[case("breaks_form_after_tokens: 1", "not of its form")]
#[case("error: { status: 500, message: CUDA error }", "'CUDA error'")]
#[case("error: { status: 500, message: CUDA error, after_tokens: 2 }", "'CUDA error'")]
#[tokio::test(start_paused = true)]
async fn what_goes_wrong_is_told(
    #[case] fault: &str,
    #[case] told: &str,
    #[values("ollama", "llama.cpp", "openai")] kind: &str,
) {
    let model =
        connected(&server(&format!("server: {kind}\nanswers: [{{ says: one two three, {fault} }}]"))).await;
    let error = ask(&model, &question("hi")).await.0.unwrap_err();
    assert!(error.to_string().contains(told), "{error}");
    assert!(error.to_string().contains("http://127.0.0.1:9"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn silence_is_told_and_closes() {
    let server = server("server: ollama\nanswers: [{ says: one two three, stalls_after_tokens: 2 }]");
    let model = connected(&server).await;
    let (answer, pieces) = ask(&model, &question("hi")).await;
    assert!(matches!(&answer, Err(ModelError::Stalled(words)) if words.contains("for 60 s")), "{answer:?}");
    assert_eq!(text(&pieces), "one two");
    assert_eq!(server.questions()[0].end, End::ClosedByClient);
}

#[rstest]
#[tokio::test(start_paused = true)]
async fn a_dropped_question_closes_at_once(#[values("ollama", "llama.cpp", "openai")] kind: &str) {
    let server = server(&format!("server: {kind}\nanswers: [{{ says: one two three, token_ms: 1000 }}]"));
    let model = connected(&server).await;
    let asked = question("hi");
    let (sender, mut receiver) = mpsc::channel(4);
    let cut = tokio::time::timeout(Duration::from_millis(1500), model.model.ask(&asked, sender)).await;
    assert!(cut.is_err());
    let seen = &server.questions()[0];
    assert_eq!((seen.end, seen.sent_tokens), (End::ClosedByClient, 2));
    assert_eq!(receiver.recv().await, Some(Piece::Text("one".to_owned())));
}

#[tokio::test(start_paused = true)]
async fn nobody_who_reads_closes_too() {
    let server = server("server: ollama\nanswers: [{ says: one two three, token_ms: 10 }]");
    let model = connected(&server).await;
    let (sender, receiver) = mpsc::channel(1);
    drop(receiver);
    let error = model.model.ask(&question("hi"), sender).await.unwrap_err();
    assert!(error.to_string().contains("does not read"), "{error}");
    assert_eq!(server.questions()[0].end, End::ClosedByClient);
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_notice_makes_the_next_question_wait() {
    let script =
        "server: llama.cpp\nnotices_close: false\nanswers: [{ says: one two three four, token_ms: 1000 }]";
    let server = server(script);
    let model = connected(&server).await;
    let asked = question("hi");
    let (sender, _receiver) = mpsc::channel(4);
    let _ = tokio::time::timeout(Duration::from_millis(1500), model.model.ask(&asked, sender)).await;
    ask(&model, &asked).await.0.unwrap();
    let seen = server.questions();
    assert_eq!((seen[0].sent_tokens, seen[0].wasted_tokens), (2, 2));
    assert!(seen[1].ended_ms > Some(6000), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn ollama_in_the_form_of_openai_is_refused() {
    let server = server("server: ollama");
    let refused = entraclaw_models::connect(&config(Some(Api::OpenAi)), mounted(&server)).await;
    let error = refused.err().unwrap().to_string();
    assert!(error.contains("set the api to \"ollama\""), "{error}");
}

#[tokio::test(start_paused = true)]
async fn llama_cpp_in_the_form_of_openai_is_not_taken_for_ollama() {
    let server = server("server: llama.cpp");
    let found = entraclaw_models::connect(&config(Some(Api::OpenAi)), mounted(&server)).await.unwrap();
    assert_eq!(found.facts.model, "tiny:1b");
}

#[tokio::test(start_paused = true)]
async fn ollama_cuts_without_a_word_in_the_form_of_openai() {
    let server = server("server: ollama");
    let body = json!({"model": "tiny:1b", "messages": [{"role": "user", "content": "word ".repeat(5000)}]});
    let path = "/v1/chat/completions".to_owned();
    let request =
        fake_models::Request { method: "POST".to_owned(), path, body: body.to_string().into_bytes() };
    assert_eq!(server.ask(request).await.status, 200);
    assert!(server.questions()[0].cut_tokens > 900);
}
