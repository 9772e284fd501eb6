//! What is demanded of the engine with a real model.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use entraclaw_delegate::store::Memory;
use entraclaw_delegate::{Event, Resumption, Submission, Task, TaskState};
use entraclaw_models::Role;
use libtest_mimic::{Arguments, Trial};
use tokio::runtime::Builder;

use crate::rig::{NOTES, Project, Rig};
use crate::watched::{Asked, Watched};

/// A task whose answer ends by itself.
const TASK: &str = "Name the four seasons of the year.";
const QUESTION: &str = "What is the capital of France?";

pub(crate) fn run(path: &Path) -> ExitCode {
    let trials = vec![
        trial("a_person_is_answered", path, a_person_is_answered),
        trial("a_tool_is_run_and_its_result_answered", path, a_tool_is_run_and_its_result_answered),
        trial(
            "a_task_goes_on_exactly_where_a_person_paused_it",
            path,
            a_task_goes_on_exactly_where_a_person_paused_it,
        ),
        trial(
            "a_paused_task_goes_on_exactly_after_a_crash",
            path,
            a_paused_task_goes_on_exactly_after_a_crash,
        ),
        trial("a_task_goes_on_from_its_text_after_a_crash", path, a_task_goes_on_from_its_text_after_a_crash),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

fn trial<T: Future<Output = ()> + 'static>(name: &str, path: &Path, test: fn(PathBuf) -> T) -> Trial {
    let path = PathBuf::from(path);
    Trial::test(name, move || {
        Builder::new_multi_thread().enable_all().build()?.block_on(test(path));
        Ok(())
    })
}

fn task() -> Submission {
    Submission::host("claude-code", TASK)
}

fn person() -> Submission {
    Submission::person(QUESTION)
}

/// The answer to the task when it is not interrupted.
async fn uninterrupted(path: &Path) -> String {
    let rig = Rig::begin(&Watched::open(path), &Memory::default());
    let view = rig.answer(task()).await;
    println!("whole: {:?} {:?} {:?}", view.task.result, view.task.notes, view.task.tokens);
    assert_eq!((view.task.state, view.task.resumed), (TaskState::Completed, None));
    assert_eq!(view.task.notes, [""; 0], "an answer that is cut off shows less");
    view.task.result.unwrap()
}

/// The last time that the task was asked, the model had kept the state of the step and went on from it.
fn assert_kept(asked: &[Asked], said: &str) {
    let (first, last) = (&asked[0], asked.last().unwrap());
    assert_eq!(last.question.turns, first.question.turns, "the paused step is asked as before");
    assert_eq!(last.question.said.as_deref(), Some(said));
    let usage = last.usage.as_ref().unwrap();
    let cached = usage.cached.unwrap();
    println!("cached {cached} of {}", usage.input);
    assert!(cached > 0 && cached + 1 >= usage.input, "{usage:?}");
}

fn assert_completed(task: &Task, resumed: Option<Resumption>) {
    assert_eq!((task.state, task.resumed), (TaskState::Completed, resumed), "{task:?}");
    assert!(task.result.as_ref().is_some_and(|result| !result.is_empty()), "{task:?}");
}

async fn a_person_is_answered(path: PathBuf) {
    let rig = Rig::begin(&Watched::open(&path), &Memory::default());
    let mut events = rig.engine.events();
    let task = rig.answer(person()).await.task;
    println!("answer: {:?} {:?}", task.result, task.tokens);
    assert_completed(&task, None);
    let mut said = String::new();
    while let Ok(event) = events.try_recv() {
        if let Event::Said { text, .. } = event {
            said.push_str(&text);
        }
    }
    assert_eq!(task.result.as_deref(), Some(said.trim()), "what is answered is what was streamed");
    let asked = rig.model.asked(QUESTION);
    let usage = asked[0].usage.as_ref().unwrap();
    assert_eq!((asked.len(), task.tokens.input, task.tokens.output), (1, usage.input, usage.output));
    assert!(usage.output > 0);
}

async fn a_tool_is_run_and_its_result_answered(path: PathBuf) {
    let rig = Rig::begin_in(Project { has_tool: true }, &Watched::open(&path), &Memory::default());
    let words = "Read notes.txt. When is the meeting?";
    let view = rig.answer(Submission::host("claude-code", words)).await;
    println!("answer: {:?} {:?} {:?}", view.task.result, view.task.notes, view.task.tokens);
    assert_completed(&view.task, None);
    assert_eq!((view.calls.len(), view.task.malformed), (1, 0));
    assert_eq!(view.calls[0].request.name, "read_file");
    assert!(view.calls[0].request.arguments["path"].is_string());
    assert_eq!(view.calls[0].result.as_ref().unwrap().text, NOTES);
    let asked = rig.model.asked("");
    assert_eq!(asked.len(), 2);
    let results: Vec<_> = asked[1]
        .question
        .turns
        .iter()
        .filter(|turn| turn.role == Role::Tool)
        .map(|turn| &*turn.text)
        .collect();
    assert_eq!(results, [NOTES], "the model is shown what the tool has read");
}

async fn a_task_goes_on_exactly_where_a_person_paused_it(path: PathBuf) {
    let whole = uninterrupted(&path).await;
    let mut rig = Rig::begin(&Watched::open(&path), &Memory::default());
    let task = rig.submit(task()).await;
    let mut partial = String::new();
    for pieces in [3, 20] {
        rig.says(&task, pieces).await;
        let person = rig.submit(person()).await;
        let paused = rig.paused(&task).await.task;
        println!("paused at {:?}", paused.partial);
        assert!(
            whole.starts_with(&paused.partial)
                && paused.partial.len() > partial.len()
                && paused.partial.len() < whole.len()
        );
        partial = paused.partial;
        assert_completed(&rig.ended(&person).await.task, None);
        assert!(!rig.engine.poll(&task).await.unwrap().task.state.is_ended());
    }
    let ended = rig.ended(&task).await.task;
    assert_completed(&ended, Some(Resumption::Exact));
    assert_eq!(ended.result, Some(whole));
    let asked = rig.model.asked(TASK);
    assert_eq!(asked.len(), 3);
    assert_kept(&asked, &partial);
}

/// The model is like a server that outlives the engine.
async fn a_paused_task_goes_on_exactly_after_a_crash(path: PathBuf) {
    let whole = uninterrupted(&path).await;
    let (model, memory) = (Watched::open(&path), Memory::default());
    let mut rig = Rig::begin(&model, &memory);
    let task = rig.submit(task()).await;
    rig.says(&task, 12).await;
    let person = rig.submit(person()).await;
    let partial = rig.paused(&task).await.task.partial;
    rig.says(&person, 2).await;
    rig.crash().await;
    let rig = Rig::begin(&model, &memory);
    assert_completed(&rig.ended(&person).await.task, Some(Resumption::Continued));
    let ended = rig.ended(&task).await.task;
    assert_completed(&ended, Some(Resumption::Exact));
    assert_eq!(ended.result, Some(whole));
    assert_kept(&model.asked(TASK), &partial);
}

/// The model dies with the engine.
async fn a_task_goes_on_from_its_text_after_a_crash(path: PathBuf) {
    let whole = uninterrupted(&path).await;
    let memory = Memory::default();
    let mut rig = Rig::begin(&Watched::open(&path), &memory);
    let task = rig.submit(task()).await;
    rig.says(&task, 20).await;
    rig.crash().await;
    let rig = Rig::begin(&Watched::open(&path), &memory);
    let ended = rig.ended(&task).await.task;
    println!("notes: {:?}", ended.notes);
    assert_completed(&ended, Some(Resumption::Continued));
    assert_eq!(ended.notes, ["the engine was restarted while this task ran"]);
    let asked = rig.model.asked(TASK);
    let written = asked[0].question.said.clone().unwrap();
    println!("written: {written:?}, answer: {:?}", ended.result);
    assert!(whole.starts_with(&written) && written.len() < whole.len());
    assert_eq!(ended.result, Some(whole), "nothing is said twice, and nothing is left out");
}
