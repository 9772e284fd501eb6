//! Checks one demand on tasks, the model server and the project. It only looks.

use entraclaw_delegate::TaskId;
use scenario::{DelegateExpect, word};
use serde_json::Value;

use super::at_hand::{delegation, simulated};
use super::engine::SimDelegation;
use super::steps::task_of;
use super::{Delegation, PROJECT};
use crate::matching::mismatch;
use crate::run::miss::Miss;
use crate::run::play::Play;

type Checked = Result<(), Miss>;

fn missing(error: &anyhow::Error) -> Miss {
    Miss::new(format!("{error:#}"))
}

/// Checks a demand now.
pub(crate) fn check(expect: &DelegateExpect, play: &Play<'_>) -> Checked {
    if let Some(label) = &expect.of {
        let engine = simulated(play).map_err(|error| missing(&error))?;
        task(expect, &engine, &TaskId(task_of(play, label)?), label)?;
    }
    if !expect.ended.is_empty() {
        let engine = simulated(play).map_err(|error| missing(&error))?;
        order(&expect.ended, play, &engine)?;
    }
    let delegation = delegation(play).map_err(|error| missing(&error))?;
    server(expect, delegation)?;
    if let Some(wanted) = &expect.stats {
        let printed = delegation.stats().map_err(|error| missing(&error))?;
        if let Some(difference) = mismatch(wanted, &printed) {
            return Err(Miss::texts(difference, &wanted.to_string(), &printed.to_string()));
        }
    }
    match &expect.file {
        Some(file) => project(delegation, file, expect.text.as_deref()),
        None => Ok(()),
    }
}

fn task(expect: &DelegateExpect, engine: &SimDelegation, id: &TaskId, label: &str) -> Checked {
    let book = engine.book();
    let Some(view) = book.view(id) else {
        return Err(Miss::new(format!("the engine has not told of the task of `{label}`")));
    };
    let resumed = view.task.resumed.map_or_else(|| "never".to_owned(), word);
    let of_task = [
        ("state", expect.state.as_deref(), view.task.state.as_str()),
        ("way to go on", expect.resumed.as_deref(), resumed.as_str()),
        ("answer", expect.response.as_deref(), view.task.result.as_deref().unwrap_or_default()),
    ];
    for (what, wanted, found) in of_task {
        if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
            return Err(Miss::texts(format!("the {what} of `{label}` is {found}"), wanted, found));
        }
    }
    Ok(())
}

fn order(labels: &[String], play: &Play<'_>, engine: &SimDelegation) -> Checked {
    let book = engine.book();
    let mut places = Vec::new();
    for label in labels {
        let id = task_of(play, label)?;
        let place = book.ended().iter().position(|ended| ended.0 == id);
        places.push(place.ok_or_else(|| Miss::new(format!("the task of `{label}` has not ended")))?);
    }
    if places.is_sorted() {
        Ok(())
    } else {
        Err(Miss::new(format!("they ended in another order: {places:?}")))
    }
}

/// The words of the user in a question.
fn words(question: &Value) -> String {
    let messages = question["messages"].as_array().into_iter().flatten();
    let texts =
        messages.filter(|message| message["role"] == "user").filter_map(|one| one["content"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

fn server(expect: &DelegateExpect, delegation: &dyn Delegation) -> Checked {
    let questions = delegation.questions();
    if let Some(wanted) = expect.questions
        && questions.len() != wanted as usize
    {
        return Err(Miss::new(format!("the model was asked {} questions, not {wanted}", questions.len())));
    }
    if let Some(wanted) = &expect.asked_last {
        let last = questions.last().map(|question| question.body.to_string()).unwrap_or_default();
        if !last.contains(wanted.as_str()) {
            return Err(Miss::texts(format!("the last question does not hold `{wanted}`"), wanted, &last));
        }
    }
    let (Some(within), Some(engine)) = (expect.person_asked_within, delegation.simulated()) else {
        return Ok(());
    };
    let (said_ms, text) = engine.said_last().ok_or_else(|| Miss::new("the person has typed nothing"))?;
    let asked = questions.iter().find(|one| one.at_ms >= said_ms && words(&one.body).contains(&text));
    let Some(asked) = asked else { return Err(Miss::new("the model was not asked for the person yet")) };
    let took_ms = asked.at_ms - said_ms;
    if took_ms > within.ms() {
        return Err(Miss::new(format!("the model was asked for the person after {took_ms} ms")));
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "the project is a real folder")]
fn project(delegation: &dyn Delegation, file: &str, wanted: Option<&str>) -> Checked {
    let path = delegation.folder().join(PROJECT).join(file);
    let found = std::fs::read_to_string(path).ok();
    if found.as_deref() == wanted {
        return Ok(());
    }
    let none = "no such file";
    let what = format!("{file} of the project is another");
    Err(Miss::texts(what, wanted.unwrap_or(none), found.as_deref().unwrap_or(none)))
}
