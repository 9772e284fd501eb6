//! What must hold in every cell with a local model: no task is lost or done twice, each answer is exact, nothing is written
//! outside the project, and everybody is told of their own tasks alone.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use entraclaw_delegate::{Engine, Source, Speaker, TaskId, TaskState, TaskView};
use fake_models::Seen;
use reports::event::{Failure, Lane};
use serde_json::Value;
use tokio::time::timeout;

use super::book::TWICE;
use super::engine::SimDelegation;
use super::tools::named;
use super::{Delegation, PROJECT};
use crate::matching::first_json;
use crate::run::play::{MAIN, Play};
use crate::run::view::{Line, SessionView};

/// Longest time in which every task must have ended.
const ENDS_WITHIN: Duration = Duration::from_secs(86_400);
/// Most messages of a history.
const MESSAGES_MAX: usize = 1_000;
/// The notifications of a task.
const NOTICES: [&str; 3] =
    ["notifications/task_progress", "notifications/task_completed", "notifications/task_preempted"];

/// Lets the engine end what it has taken, and judges the cell.
pub(crate) async fn settle(play: &mut Play<'_>) -> anyhow::Result<()> {
    let Some(delegation) = play.stage.delegation() else { return Ok(()) };
    let at_ms = play.now_ms();
    let mut found = outside(delegation.folder(), at_ms);
    found.extend(foreign_notices(play, at_ms));
    let engine = delegation.simulated().cloned();
    if let Some(engine) = engine.filter(SimDelegation::has_lived) {
        engine.model().set_away(false);
        engine.dies_after(None);
        if engine.engine().is_none() {
            engine.start().await?;
        }
        found.extend(judge(play, &engine, at_ms).await);
        let (breaches, notes) = engine.book().take();
        found.extend(breaches);
        if let Some(session) = play.sessions.get(MAIN) {
            let mut view = session.view.borrow_mut();
            for (at_ms, says) in notes {
                view.note(at_ms, Lane::Event, &says);
            }
        }
    }
    play.failures.append(&mut found);
    Ok(())
}

async fn judge(play: &Play<'_>, sim: &SimDelegation, at_ms: u64) -> Vec<Failure> {
    let fail = |rule: &str, says: String| Failure::new(rule, at_ms, says);
    let Some(engine) = sim.engine() else {
        return vec![fail("oracle.died", "the engine does not start again".to_owned())];
    };
    let mut found = end_all(play, sim, &engine, at_ms).await;
    found.extend(two_at_once(&sim.questions(), at_ms));
    found.extend(tools_and_answers(play, sim, at_ms));
    let Ok(history) = engine.history(MESSAGES_MAX, false).await else { return found };
    let mut by_task: BTreeMap<TaskId, [u32; 2]> = BTreeMap::new();
    for entry in &history.entries {
        let message = &entry.message;
        let count = by_task.entry(message.task.clone()).or_default();
        match &message.speaker {
            Speaker::Model => count[1] += 1,
            Speaker::Asker(source) => {
                count[0] += 1;
                if let Some(right) = right_source(play, sim, &message.task).filter(|right| right != source) {
                    let says =
                        format!("{} was asked by {right}, and its message says {source}", message.task);
                    found.push(fail("oracle.label", says));
                }
            }
        }
    }
    for (task, [asked, answered]) in by_task {
        if asked != 1 || answered > 1 {
            found.push(fail(TWICE, format!("{task} was asked {asked} times and answered {answered} times")));
        }
    }
    found
}

/// Whether each tool ran as often as it was asked for, and each answer is exact.
fn tools_and_answers(play: &Play<'_>, sim: &SimDelegation, at_ms: u64) -> Vec<Failure> {
    let fail = |rule: &str, says: String| Failure::new(rule, at_ms, says);
    let mut found = Vec::new();
    let book = sim.book();
    for (call, times) in sim.tools().done() {
        let told =
            book.views().flat_map(|view| &view.calls).filter(|told| named(&told.request) == call).count();
        if times as usize > told {
            found.push(fail(
                TWICE,
                format!("a tool ran {times} times, and {told} calls asked for it: {call}"),
            ));
        }
    }
    for view in book.views() {
        found.extend(inexact(play, view).map(|says| fail("oracle.exact", says)));
    }
    found
}

/// Waits until every task has ended that a host or the person was told of.
async fn end_all(play: &Play<'_>, sim: &SimDelegation, engine: &Engine, at_ms: u64) -> Vec<Failure> {
    let mut all: BTreeSet<TaskId> = sim.book().views().map(|view| view.task.id.clone()).collect();
    for session in play.sessions.values() {
        all.extend(tasks(&session.view.borrow().lines, false).into_iter().map(TaskId));
    }
    let mut found = Vec::new();
    for id in all {
        let lost = match timeout(ENDS_WITHIN, engine.ended(&id)).await {
            Ok(Ok(view)) => {
                sim.book().look(view);
                continue;
            }
            Ok(Err(error)) => format!("{id} was handed over, and is gone: {error}"),
            Err(_) => format!("{id} was handed over, and never ends"),
        };
        found.push(Failure::new("oracle.lost", at_ms, lost));
    }
    found
}

/// Why the answer of a task is not one of those that its script would give without any interruption.
fn inexact(play: &Play<'_>, view: &TaskView) -> Option<String> {
    let script = &play.cell.scenario.scenario.delegate.as_ref()?.model;
    let result = view.task.result.as_deref().filter(|_| view.task.state == TaskState::Completed)?;
    let is_for = |text: &Option<String>| text.as_ref().is_none_or(|text| view.task.message.contains(text));
    let mut whole = script.answers.iter().filter(|answer| {
        answer.when.as_ref().is_none_or(|when| is_for(&when.contains) && is_for(&when.last))
    });
    let is_cut = view.task.notes.iter().any(|note| note.contains("longest length"));
    let is_whole = is_cut || whole.any(|answer| answer.says.trim() == result);
    let is_default = script.answers.is_empty() && result == fake_models::Answer::default().says;
    (!is_whole && !is_default).then(|| {
        format!("the answer of {} is not what its model says without interruption: {result}", view.task.id)
    })
}

/// Whether the model was asked before it had answered.
fn two_at_once(questions: &[Seen], at_ms: u64) -> Option<Failure> {
    let is_open = |(one, next): &(&Seen, &Seen)| one.ended_ms.is_none_or(|ended_ms| ended_ms > next.at_ms);
    let (_, next) = questions.iter().zip(questions.iter().skip(1)).find(is_open)?;
    let says = format!("at {} ms of the model server it was asked while it still answered", next.at_ms);
    Some(Failure::new("oracle.two-at-once", at_ms, says))
}

/// Who handed a task over, by what was typed and by the wire.
fn right_source(play: &Play<'_>, sim: &SimDelegation, task: &TaskId) -> Option<Source> {
    let book = sim.book();
    if book.view(task).is_some_and(|view| book.is_of_person(view)) {
        return Some(Source::You);
    }
    let handed = |view: &SessionView| tasks(&view.lines, false).contains(&task.0);
    let sessions = play.sessions.values().map(|session| session.view.borrow());
    sessions
        .into_iter()
        .find(|view| handed(view))
        .and_then(|view| client(&view))
        .map(|name| Source::host(&name))
}

/// The name by which the client of a session calls itself.
fn client(view: &SessionView) -> Option<String> {
    let mut lines = view.lines.iter().filter(|line| line.by_host).filter_map(|line| line.json.as_ref());
    lines.find_map(|json| {
        let of_session = json.pointer("/params/clientInfo/name");
        let meta = json.pointer("/params/_meta/io.modelcontextprotocol~1clientInfo/name");
        of_session.or(meta).and_then(Value::as_str).map(str::to_owned)
    })
}

/// The tasks that a session has handed over, and with `asked` those that it asked for.
fn tasks(lines: &[Line], asked: bool) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut open: BTreeSet<String> = BTreeSet::new();
    for json in lines.iter().filter_map(|line| line.json.as_ref().map(|json| (line.by_host, json))) {
        let (by_host, json) = json;
        let id = json["id"].to_string();
        if by_host && json["method"] == "tools/call" {
            let arguments = &json["params"]["arguments"];
            match json["params"]["name"].as_str() {
                Some("chat") => drop(open.insert(id)),
                Some("poll_task") if asked => found.extend(arguments["task_id"].as_str().map(str::to_owned)),
                _ => {}
            }
        } else if !by_host && json.get("result").is_some() && open.remove(&id) {
            let text = json.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or_default();
            found.extend(first_json(text).and_then(|answer| answer["task_id"].as_str().map(str::to_owned)));
        } else if !by_host && json["method"] == "notifications/initialized" {
            open.clear();
        }
    }
    found
}

/// A host is told of a task that it did not hand over, nor ask for.
fn foreign_notices(play: &Play<'_>, at_ms: u64) -> Vec<Failure> {
    let mut found = Vec::new();
    for (name, session) in &play.sessions {
        let view = session.view.borrow();
        let own = tasks(&view.lines, true);
        // A call whose answer was lost has handed over a task whose id its host never read.
        let is_unread = view.calls.values().any(|call| call.tool == "chat" && !answered(call));
        for json in view.lines.iter().filter(|line| !line.by_host).filter_map(|line| line.json.as_ref()) {
            let method = json["method"].as_str().unwrap_or_default();
            let task = json.pointer("/params/task_id").and_then(Value::as_str).unwrap_or_default();
            if NOTICES.contains(&method) && !own.contains(task) && !is_unread {
                let says = format!("session `{name}` is told of {task}, which is another's");
                found.push(Failure::new("oracle.foreign-notice", at_ms, says));
            }
        }
    }
    found
}

fn answered(call: &crate::run::view::CallView) -> bool {
    call.end.as_ref().is_some_and(|end| end.outcome == "ok" && end.text.contains("task_id"))
}

/// Whether anything lies beside the project.
fn outside(folder: &Path, at_ms: u64) -> Vec<Failure> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.flatten().map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut names: Vec<String> = names.filter(|name| name != PROJECT).collect();
    names.sort();
    let told =
        |name| Failure::new("oracle.outside", at_ms, format!("{name} was written outside the project"));
    names.into_iter().map(told).collect()
}
