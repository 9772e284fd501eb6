//! The tools at work: each reads its arguments at once, and asks the engine beside the connection.
//! It must never begin with an argument that is wrong.

use entraclaw_inbox::journal::ConsumerName;
use entraclaw_mcp::message::{Object, kind_of};
use entraclaw_mcp::{Answer, Arguments, Era};
use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use serde_json::{Value, json};

use super::failure::Failure;
use super::handed::Handing;
use super::notices::Owned;
use super::shapes;
use super::tasks::now;
use super::wait::{Waiting, wait};
use crate::engine::{Engine, EngineError, Submission};
use crate::issue::{Issue, IssueKind};
use crate::source::Source;
use crate::task::{ContextFile, Hint, TaskId};

/// Most messages of a history.
const LIMIT_MAX: u64 = 100;
/// Most files that come along with a message.
const FILES_MAX: usize = 100;

/// What a call needs beside its arguments.
pub(super) struct At {
    pub(super) engine: Engine,
    pub(super) source: Source,
    /// The consumer as which the session reads the inbox, where it says so.
    pub(super) consumer: Option<ConsumerName>,
    pub(super) owned: Owned,
    pub(super) handing: Handing,
    /// The form of the protocol's task as which `chat` may go on.
    pub(super) task: Option<Era>,
    pub(super) waiting: Waiting,
}

/// The rest of a call.
pub(super) type Work = BoxFuture<'static, Result<Answer, Failure>>;

/// Reads the arguments of a call; what is left is done beside the connection.
pub(super) fn begin(tool: &str, arguments: Object, at: At) -> Result<Work, Failure> {
    match tool {
        "chat" => chat(arguments, at),
        "poll_task" => poll(arguments, at),
        "cancel" => cancel(arguments, at),
        "get_history" => history(arguments, at),
        "report_issue" => report(arguments, at),
        "get_capabilities" => {
            nothing(arguments)?;
            Ok(async move { Ok(Answer::json(&shapes::capabilities(&*at.engine.look().await?))) }.boxed())
        }
        _ => {
            nothing(arguments)?;
            Ok(async move { Ok(Answer::json(&shapes::status(&at.engine.snapshot(0).await?))) }.boxed())
        }
    }
}

fn nothing(arguments: Object) -> Result<(), Failure> {
    Arguments::new(arguments).finish().map_err(Failure::arguments)
}

fn chat(mut arguments: Object, at: At) -> Result<Work, Failure> {
    let context = arguments.remove("context").filter(|value| !value.is_null());
    let context = context.map(files).transpose()?.unwrap_or_default();
    let mut given = Arguments::new(arguments);
    let message = given.required_text("message", "what is to be done").map_err(Failure::arguments)?;
    let hint = given.text("hint", Hint::General.as_str()).map_err(Failure::arguments)?;
    let waits = given.boolean("wait", false).map_err(Failure::arguments)?;
    given.finish().map_err(Failure::arguments)?;
    let hint = Hint::by_name(&hint).ok_or_else(|| {
        let names = Hint::ALL.map(Hint::as_str).join(", ");
        Failure::arguments(format!("hint: expected one of {names}; leave it out for general"))
    })?;
    Ok(async move {
        let events = at.engine.events();
        let submission = Submission { source: at.source, message, context, hint, consumer: at.consumer };
        let view = at.engine.submit(submission).await?;
        at.owned.add(&view.task.id);
        if at.task == Some(Era::Legacy) {
            at.owned.add_as_task(&view.task.id);
            return Ok(Answer::task_in(Era::Legacy, &now(&view, Era::Legacy)));
        }
        if !waits {
            return Ok(Answer::json(&shapes::task(&view, 0)));
        }
        Ok(wait(&at.handing, &view.task.id, events, at.waiting).await?)
    }
    .boxed())
}

fn files(value: Value) -> Result<Vec<ContextFile>, Failure> {
    let Value::Array(items) = value else {
        let says = format!("context: expected a list of files, got {}", kind_of(&value));
        return Err(Failure::arguments(says));
    };
    if items.len() > FILES_MAX {
        let says = format!("context: at most {FILES_MAX} files are taken, got {}", items.len());
        return Err(Failure::arguments(says));
    }
    let mut files = Vec::new();
    for (at, item) in items.iter().enumerate() {
        let text = |name: &str| {
            let found = item.get(name).and_then(Value::as_str).map(str::to_owned);
            found.ok_or_else(|| {
                Failure::arguments(format!("context[{at}].{name}: missing; it must be a string"))
            })
        };
        files.push(ContextFile { path: text("path")?, content: text("content")? });
    }
    Ok(files)
}

fn task_id(given: &mut Arguments) -> Result<TaskId, Failure> {
    let id = given.required_text("task_id", "the id that chat returned").map_err(Failure::arguments)?;
    Ok(TaskId(id.trim().chars().take(64).collect()))
}

fn poll(arguments: Object, at: At) -> Result<Work, Failure> {
    let mut given = Arguments::new(arguments);
    let id = task_id(&mut given)?;
    let offset = given.integer("offset", 0, 0, u64::from(u32::MAX)).map_err(Failure::arguments)?;
    given.finish().map_err(Failure::arguments)?;
    Ok(async move {
        let view = at.engine.poll(&id).await?;
        if view.task.source == at.source && !view.task.state.is_ended() {
            at.owned.add(&id);
        }
        let offset = usize::try_from(offset).unwrap_or(usize::MAX);
        let text = view.task.result.as_deref().unwrap_or_default();
        if !text.is_char_boundary(offset.min(text.len())) {
            return Err(Failure::arguments(
                "offset: it splits a character; give the next_offset of the last answer",
            ));
        }
        if view.task.source == at.source {
            return Ok(at.handing.answer(&view, offset).await?);
        }
        Ok(Answer::json(&shapes::task(&view, offset)))
    }
    .boxed())
}

fn cancel(arguments: Object, at: At) -> Result<Work, Failure> {
    let mut given = Arguments::new(arguments);
    let id = task_id(&mut given)?;
    let reason = given.text("reason", "").map_err(Failure::arguments)?;
    given.finish().map_err(Failure::arguments)?;
    let reason = Some(reason).filter(|reason| !reason.trim().is_empty());
    Ok(async move {
        let view = at.engine.poll(&id).await?;
        if view.task.source != at.source {
            let says = format!("task {id} is of {}; only who asked for it can cancel it", view.task.source);
            return Err(Failure::new("cannot_cancel", says));
        }
        let view = at.engine.cancel(&id, reason).await?;
        let answer = json!({"status": view.task.state, "task_id": id});
        let (answer, receipt) = at.handing.value(&view, answer).await?;
        let answer = Answer::json(&answer);
        Ok(match receipt {
            Some(receipt) => answer.with_receipt(receipt),
            None => answer,
        })
    }
    .boxed())
}

fn history(arguments: Object, at: At) -> Result<Work, Failure> {
    let mut given = Arguments::new(arguments);
    let limit = given.integer("limit", 20, 1, LIMIT_MAX).map_err(Failure::arguments)?;
    let with_calls = given.boolean("include_tool_results", true).map_err(Failure::arguments)?;
    given.finish().map_err(Failure::arguments)?;
    Ok(async move {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Ok(Answer::json(&shapes::history(&at.engine.history(limit, with_calls).await?)))
    }
    .boxed())
}

fn report(arguments: Object, at: At) -> Result<Work, Failure> {
    let mut given = Arguments::new(arguments);
    let task = given.text("task_id", "").map_err(Failure::arguments)?;
    let kinds = IssueKind::ALL.map(IssueKind::as_str).join(", ");
    let kind = given.required_text("issue_type", &format!("one of {kinds}")).map_err(Failure::arguments)?;
    let description = given.required_text("description", "what is wrong").map_err(Failure::arguments)?;
    let expected = given.text("expected", "").map_err(Failure::arguments)?;
    given.finish().map_err(Failure::arguments)?;
    let kind = IssueKind::by_name(&kind)
        .ok_or_else(|| Failure::arguments(format!("issue_type: expected one of {kinds}")))?;
    let issue = Issue {
        source: at.source,
        task: Some(TaskId(task)).filter(|task| !task.0.trim().is_empty()),
        kind,
        description,
        expected: Some(expected).filter(|text| !text.is_empty()),
    };
    Ok(async move {
        let reported = at.engine.report(issue).await?;
        let about = reported
            .model
            .map_or_else(|| "no model in particular".to_owned(), |model| format!("the model {model}"));
        let says =
            format!("filed as issue {} of {about}, kind of task {}", reported.number, reported.hint.as_str());
        Ok(Answer::json(&json!({"status": "reported", "message": says})))
    }
    .boxed())
}

/// The failure of an engine that has ended.
pub(super) fn ended() -> Failure {
    EngineError::Ended.into()
}
