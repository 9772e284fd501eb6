//! The same over real sockets of this machine, by the production transport.

use std::sync::Arc;
use std::time::Duration;

use entraclaw_models::{Api, Config, Connected, Piece, ReqwestTransport, connect};
use fake_models::{End, Listening, Server, listen};
use rstest::rstest;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::support::{ask, question, server, text, with_tools};

async fn at(listening: &Listening) -> Connected {
    let config = Config { base_url: format!("{}/v1/", listening.base_url()), model: None, api: None };
    connect(&config, Arc::new(ReqwestTransport::new())).await.unwrap()
}

#[tokio::test]
async fn a_server_that_is_not_there_is_told_with_the_systems_reason() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let config = Config { base_url: format!("http://127.0.0.1:{port}/v1/"), model: None, api: None };
    let Err(error) = connect(&config, Arc::new(ReqwestTransport::new())).await else { panic!("{port}") };
    assert!(error.to_string().to_lowercase().contains("connection refused"), "{error}");
}

/// How long the server needed to notice that the last question was closed.
async fn closed(server: &Server) -> Duration {
    let began = Instant::now();
    while server.questions().last().unwrap().end == End::Open {
        assert!(began.elapsed() < Duration::from_secs(5), "it was never closed");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    began.elapsed()
}

#[rstest]
#[tokio::test]
async fn answers_come_whole(#[values("ollama", "llama.cpp", "lm-studio", "vllm")] kind: &str) {
    let tool = "{ name: bash, arguments: { command: ls } }";
    let server = server(&format!(
        "server: {kind}\nanswers: [{{ says: Grüße → 🦀 now, token_ms: 2, tools: [{tool}] }}]"
    ));
    let listening = listen(&server).await.unwrap();
    let model = at(&listening).await;
    let (answer, pieces) = ask(&model, &with_tools("hi")).await;
    let answer = answer.unwrap();
    assert_eq!((answer.text.as_str(), answer.tools.len()), ("Grüße → 🦀 now", 1));
    assert_eq!(text(&pieces), answer.text);
}

#[rstest]
#[tokio::test]
async fn a_dropped_question_closes_its_connection(
    #[values("ollama", "llama.cpp")] kind: &str,
    #[values(0, 3)] pieces_first: usize,
) {
    let answers = format!(
        "answers: [{{ says: {}, first_token_ms: {}, token_ms: 20 }}]",
        "word ".repeat(500),
        if pieces_first == 0 { 60_000 } else { 0 }
    );
    let server = server(&format!("server: {kind}\n{answers}"));
    let listening = listen(&server).await.unwrap();
    let model = at(&listening).await;
    let asked = question("hi");
    let (sender, mut receiver) = mpsc::channel(64);
    let mut asking = Box::pin(model.model.ask(&asked, sender));
    let enough = async {
        for _ in 0..pieces_first {
            assert!(matches!(receiver.recv().await, Some(Piece::Text(_))));
        }
        while server.questions().is_empty() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    tokio::select! {
        biased;
        answer = &mut asking => panic!("{answer:?}"),
        () = enough => {}
    }
    drop(asking);
    let took = closed(&server).await;
    println!("{kind}, after {pieces_first} pieces: the server saw the close after {took:?}");
    assert!(took < Duration::from_millis(100), "{took:?}");
    assert_eq!(server.questions()[0].end, End::ClosedByClient);
}

#[tokio::test]
async fn a_broken_connection_is_told() {
    let server =
        server("server: ollama\nanswers: [{ says: one two three, drops_after_tokens: 2, token_ms: 5 }]");
    let listening = listen(&server).await.unwrap();
    let model = at(&listening).await;
    let (answer, pieces) = ask(&model, &question("hi")).await;
    assert!(answer.unwrap_err().to_string().contains("closed the connection in the middle"));
    assert_eq!(text(&pieces), "one two");
}

#[tokio::test]
async fn a_server_that_is_gone_is_told_and_one_that_is_back_answers() {
    let server = server("server: ollama");
    let listening = listen(&server).await.unwrap();
    let model = at(&listening).await;
    ask(&model, &question("hi")).await.0.unwrap();
    drop(listening);
    tokio::time::sleep(Duration::from_millis(20)).await;
    let error = ask(&model, &question("hi")).await.0.unwrap_err().to_string();
    assert!(error.contains("can't be reached") && error.contains("`ollama serve`"), "{error}");
}

#[tokio::test]
async fn what_is_no_model_server_is_told() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base_url = format!("http://{}", listener.local_addr().unwrap());
    let config = Config { base_url: base_url.clone(), model: None, api: Some(Api::Ollama) };
    let asked = tokio::spawn(async move { connect(&config, Arc::new(ReqwestTransport::new())).await.err() });
    let (stream, _) = listener.accept().await.unwrap();
    drop(stream);
    let error = asked.await.unwrap().unwrap().to_string();
    assert!(error.contains(&base_url), "{error}");
}
