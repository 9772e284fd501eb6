//! What a small model can be held to: it answers, goes on with the same tokens, calls a tool by its schema, and says what is too long.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use entraclaw_models::{
    Answer, EmbeddedModel, Model, ModelError, Piece, Question, Role, Stop, ToolChoice, ToolSchema, Turn,
};
use libtest_mimic::{Arguments, Trial};
use serde_json::json;
use tokio::runtime::Builder;
use tokio::sync::mpsc;
use tokio::time::Instant;

pub(crate) fn run(path: &Path) -> ExitCode {
    let trials = vec![
        trial("it_chats", path, it_chats),
        trial("it_goes_on_with_the_same_tokens", path, it_goes_on_with_the_same_tokens),
        trial("it_asks_for_a_tool", path, it_asks_for_a_tool),
        trial("a_long_question_is_refused", path, a_long_question_is_refused),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial<T: Future<Output = ()> + 'static>(name: &str, path: &Path, test: fn(EmbeddedModel) -> T) -> Trial {
    let path = PathBuf::from(path);
    Trial::test(name, move || {
        let started = Instant::now();
        let model = EmbeddedModel::open(&path).unwrap();
        println!("loaded in {:?}", started.elapsed());
        Builder::new_current_thread().enable_all().build()?.block_on(test(model));
        Ok(())
    })
}

fn question(words: &str, most: u32) -> Question {
    let turn = Turn { role: Role::User, text: words.to_owned(), tool_requests: Vec::new(), answers: None };
    Question { turns: vec![turn], tokens_max: Some(most), ..Question::default() }
}

/// Asks; stops after so many pieces of text and returns those.
async fn ask(model: &EmbeddedModel, question: &Question, most: usize) -> (Option<Answer>, String) {
    let (sender, mut receiver) = mpsc::channel(1);
    let mut asking = Box::pin(model.ask(question, sender));
    let (mut text, mut count) = (String::new(), 0);
    let mut answer = None;
    loop {
        tokio::select! {
            biased;
            piece = receiver.recv() => match piece {
                None => break,
                Some(Piece::Text(piece)) => {
                    text.push_str(&piece);
                    count += 1;
                    if count >= most {
                        break;
                    }
                }
                Some(_) => {}
            },
            done = &mut asking, if answer.is_none() => answer = Some(done.unwrap()),
        }
    }
    (answer, text)
}

async fn it_chats(model: EmbeddedModel) {
    let (answer, text) = ask(&model, &question("What is the capital of France?", 40), usize::MAX).await;
    let answer = answer.unwrap();
    println!("{:?} {:?} {:?}", answer.text, answer.stop, answer.usage);
    assert_eq!((answer.text.as_str(), answer.stop), (text.as_str(), Stop::Done));
    assert!(text.contains("Paris"), "{text}");
}

async fn it_goes_on_with_the_same_tokens(model: EmbeddedModel) {
    let task = question("Write a short story about a fox and a river.", 60);
    let whole = ask(&model, &task, usize::MAX).await.0.unwrap();
    for cut in [1, 2, 7, 20, 45] {
        for holds in [true, false] {
            let (answer, said) = ask(&model, &task, cut).await;
            assert!(answer.is_none() && whole.text.starts_with(&said), "{said}");
            let held = if holds { model.hold("task").await } else { None };
            ask(&model, &question("What is two plus two?", 8), usize::MAX).await;
            if let Some(held) = &held {
                assert!(model.bring_back(held).await);
            }
            let left = 60 - u32::try_from(cut).unwrap();
            let rest = Question { said: Some(said.clone()), tokens_max: Some(left), ..task.clone() };
            let began = Instant::now();
            let rest = ask(&model, &rest, usize::MAX).await.0.unwrap();
            println!(
                "cut {cut}, held {holds}: cached {:?} of {}, {:?}",
                rest.usage.cached,
                rest.usage.input,
                began.elapsed()
            );
            assert_eq!(format!("{said}{}", rest.text), whole.text);
            // The last token that was said may not have been read when the question was dropped.
            let (cached, input) = (rest.usage.cached.unwrap(), rest.usage.input);
            assert!(if holds { cached + 1 >= input } else { cached == 0 }, "{cached} of {input}");
        }
    }
}

async fn it_asks_for_a_tool(model: EmbeddedModel) {
    let tool = |name: &str, description: &str, key: &str| ToolSchema {
        name: name.to_owned(),
        description: description.to_owned(),
        parameters: json!({"type": "object", "required": [key], "properties": {key: {"type": "string"}}}),
    };
    let tools = vec![
        tool("read_file", "Reads a file.", "path"),
        tool("bash", "Runs a command of the shell.", "command"),
    ];
    let mut task = question("Read the file README.md.", 80);
    (task.tools, task.tool_choice) = (tools, ToolChoice::Required);
    let answer = ask(&model, &task, usize::MAX).await.0.unwrap();
    println!("{:?}", answer.tools);
    assert_eq!((answer.stop, answer.text.as_str(), answer.tools.len()), (Stop::Tools, "", 1));
    let (tool, key) = (&answer.tools[0], if answer.tools[0].name == "bash" { "command" } else { "path" });
    assert!(tool.arguments[key].is_string(), "{tool:?}");
}

async fn a_long_question_is_refused(model: EmbeddedModel) {
    let (sender, _receiver) = mpsc::channel(1);
    let error = model.ask(&question(&"word ".repeat(5000), 1), sender).await.unwrap_err();
    assert!(matches!(error, ModelError::TooLong { context: Some(4096), .. }), "{error}");
}
