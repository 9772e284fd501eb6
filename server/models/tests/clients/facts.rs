//! What servers say of themselves, and which model is chosen.

use std::sync::Arc;

use entraclaw_models::{Api, Config, Facts, Found, ModelError, connect, discover};
use rstest::rstest;

use crate::support::{Mounted, ROOT, ask, config, connected, mounted, question, server};

#[rstest]
#[case("ollama", Api::Ollama, Facts { context_tokens: Some(16384), tools: Some(true), is_loaded: Some(true), continues: Some(true), holds: Some(false), ..Facts::default() })]
#[case("llama.cpp", Api::LlamaCpp, Facts { context_tokens: Some(4096), tools: Some(true), is_loaded: Some(true), continues: Some(true), holds: Some(false), ..Facts::default() })]
#[case("lm-studio", Api::OpenAi, Facts { context_tokens: Some(4096), tools: Some(true), is_loaded: Some(true), continues: None, holds: Some(false), ..Facts::default() })]
#[case("lm-studio-0.3", Api::OpenAi, Facts { context_tokens: None, tools: None, is_loaded: Some(true), continues: None, holds: Some(false), ..Facts::default() })]
#[case("vllm", Api::OpenAi, Facts { context_tokens: Some(4096), tools: None, is_loaded: Some(true), continues: Some(true), holds: Some(false), ..Facts::default() })]
#[case("openai", Api::OpenAi, Facts { context_tokens: None, tools: None, is_loaded: None, continues: None, holds: Some(false), ..Facts::default() })]
#[tokio::test(start_paused = true)]
async fn a_server_says_what_it_is(#[case] kind: &str, #[case] api: Api, #[case] facts: Facts) {
    let connected = connected(&server(&format!("server: {kind}"))).await;
    let facts = Facts { model: "tiny:1b".to_owned(), ..facts };
    assert_eq!((connected.api, connected.facts), (api, facts));
}

#[tokio::test(start_paused = true)]
async fn ollama_keeps_a_longer_context_that_is_in_force() {
    let script = "server: ollama\nmodels: [{ context_tokens: 24000 }]";
    let server = server(script);
    let model = connected(&server).await;
    assert_eq!(model.facts.context_tokens, Some(24000));
    ask(&model, &question("hi")).await.0.unwrap();
    let body = &server.questions()[0].body;
    assert_eq!((&body["options"]["num_ctx"], &body["truncate"]), (&24000.into(), &false.into()));
}

#[rstest]
#[case("", Some(true), 0)]
#[case("continues: false", Some(false), 0)]
#[case("renders: false", None, 1)]
#[case("models: [{ tools: false }]", Some(true), 0)]
#[case("models: [{ thinking: true }]", Some(true), 0)]
#[case("models: [{ loaded: false }]", None, 0)]
#[tokio::test(start_paused = true)]
async fn ollama_goes_on_with_a_text_where_it_shows_that_it_does(
    #[case] script: &str,
    #[case] continues: Option<bool>,
    #[case] questions: usize,
) {
    let server = server(&format!("server: ollama\n{script}"));
    let model = connected(&server).await;
    assert_eq!(model.facts.continues, continues);
    // One that is too old to show it is asked for a token.
    assert_eq!(server.questions().len(), questions);
    assert!(server.questions().iter().all(|seen| seen.body["options"]["num_predict"] == 1));
    let shown = server.seen().into_iter().filter(|seen| seen.body["_debug_render_only"] == true);
    for seen in shown {
        assert_eq!(seen.body["options"]["num_ctx"], 16_384, "another context would load the model anew");
        assert_eq!(seen.body["think"] == false, script.contains("thinking"));
    }
}

#[tokio::test(start_paused = true)]
async fn ollama_shows_it_when_it_has_loaded_the_model() {
    let server = server("server: ollama\nmodels: [{ loaded: false }]");
    let model = connected(&server).await;
    assert_eq!((model.facts.is_loaded, model.facts.continues), (Some(false), None));
    ask(&model, &question("hi")).await.0.unwrap();
    let facts = model.model.facts().await.unwrap();
    assert_eq!((facts.is_loaded, facts.continues), (Some(true), Some(true)));
}

#[rstest]
#[case("ollama", "run `ollama pull big`")]
#[case("vllm", "has no model big; choose one of: tiny:1b")]
#[tokio::test(start_paused = true)]
async fn a_model_that_is_not_there_is_told(#[case] kind: &str, #[case] told: &str) {
    let wanted = Config { model: Some("big".to_owned()), ..config(None) };
    let refused = connect(&wanted, mounted(&server(&format!("server: {kind}")))).await;
    let error = refused.err().unwrap().to_string();
    assert!(error.contains(told), "{error}");
}

#[rstest]
#[case("{ name: a, loaded: false }, { name: b }", Ok("b"))]
#[case("{ name: a, loaded: false }", Ok("a"))]
#[case(
    "{ name: a, loaded: false }, { name: b, loaded: false }",
    Err("has several models; choose one of: a, b")
)]
#[case("{ name: a }, { name: b }", Err("has several models; choose one of: a, b"))]
#[case("", Err("has no model"))]
#[tokio::test(start_paused = true)]
async fn the_loaded_model_is_taken_else_the_only_one(
    #[case] models: &str,
    #[case] chosen: Result<&str, &str>,
    #[values("ollama", "lm-studio")] kind: &str,
) {
    let found =
        connect(&config(None), mounted(&server(&format!("server: {kind}\nmodels: [{models}]")))).await;
    match (found, chosen) {
        (Ok(found), Ok(name)) => assert_eq!(found.facts.model, name),
        (Err(error), Err(told)) => assert!(error.to_string().contains(told), "{error}"),
        (found, chosen) => panic!("{:?} {chosen:?}", found.map(|found| found.facts)),
    }
}

#[tokio::test(start_paused = true)]
async fn nothing_that_listens_is_told() {
    for (api, told) in
        [(Api::Ollama, "`ollama serve`"), (Api::LlamaCpp, "`llama-server"), (Api::OpenAi, "`lms server")]
    {
        let error = connect(&config(Some(api)), Arc::new(Mounted::default())).await.err().unwrap();
        let ModelError::Unreachable(words) = error else { panic!("{error}") };
        assert!(words.contains(told) && words.contains(ROOT) && words.contains("refused"), "{words}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_loads_is_told() {
    let error =
        connect(&config(None), mounted(&server("server: llama.cpp\nloading: true"))).await.err().unwrap();
    assert!(error.to_string().contains("still loading its model"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn tools_for_a_model_without_them_are_told() {
    let model = connected(&server("server: ollama\nmodels: [{ tools: false }]")).await;
    assert_eq!(model.facts.tools, Some(false));
    let error = ask(&model, &crate::support::with_tools("hi")).await.0.unwrap_err();
    assert!(error.to_string().contains("`ollama show MODEL` lists"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_state_is_held_and_its_use_is_measured() {
    for (restore, cached) in [("true", true), ("lies", false)] {
        let script = format!(
            "server: llama.cpp\nslots: {{ can_save: true, restore: {restore} }}\nanswers: [{{ when: {{ contains: count }}, says: one two three four five six }}]"
        );
        let server = server(&script);
        let model = connected(&server).await;
        assert_eq!(model.facts.holds, Some(true));
        let task = question("count");
        let (first, _) = ask(&model, &task).await;
        assert_eq!(first.unwrap().usage.cached, Some(0));
        let held = model.model.hold("task/1").await.unwrap();
        assert_eq!(held.0, "task_1.bin");
        ask(&model, &question("something else of a person")).await.0.unwrap();
        assert!(model.model.bring_back(&held).await);
        let mut rest = task.clone();
        rest.said = Some("one two three".to_owned());
        let answer = ask(&model, &rest).await.0.unwrap();
        assert_eq!(answer.text, " four five six");
        let expected = if cached { answer.usage.input - 1 } else { 0 };
        assert_eq!(answer.usage.cached, Some(expected), "{:?}", answer.usage);
        assert_eq!(server.questions()[2].body["id_slot"], 0);
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_folder_for_slots_nothing_is_held() {
    let server = server("server: llama.cpp");
    let model = connected(&server).await;
    ask(&model, &question("hi")).await.0.unwrap();
    assert_eq!((model.facts.holds, model.model.hold("a").await), (Some(false), None));
    assert!(server.questions()[0].body.get("id_slot").is_none());
}

#[tokio::test(start_paused = true)]
async fn servers_are_found_on_their_ports() {
    let servers = [
        ("http://127.0.0.1:11434".to_owned(), server("server: ollama\nmodels: [{ name: a }, { name: b }]")),
        ("http://127.0.0.1:8080".to_owned(), server("server: openai")),
    ];
    let places = discover(Arc::new(Mounted(servers.into()))).await;
    assert_eq!(places[0].found, Found::Models(vec!["a".to_owned(), "b".to_owned()]));
    assert_eq!(places[0].config().unwrap().api, Some(Api::Ollama));
    assert_eq!(places[0].sentence(), "Ollama is at http://127.0.0.1:11434: a, b");
    assert_eq!(
        places[1].sentence(),
        "llama.cpp is not at http://127.0.0.1:8080: another program answers there"
    );
    assert_eq!(places[2].sentence(), "LM Studio is not at http://127.0.0.1:1234: nothing listens there");
    assert!(places[1].config().is_none() && places[2].config().is_none());
}
