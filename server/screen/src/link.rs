//! Joins the screen to an engine: what the engine tells becomes news, what the screen wants is asked of the engine.
//!
//! It must never show an old state as the new one: a reader that was too slow reads everything again.

use std::sync::Arc;

use entraclaw_delegate::{Capabilities, Engine, EngineError, Event, Submission, TaskId};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio::time::{Duration, sleep};

use crate::news::News;
use crate::screen::Effect;
use crate::told;

/// Messages of the conversation that are shown at first.
const MESSAGES: usize = 200;

/// How long after a model was not found it is looked for again.
const LOOK_AGAIN: Duration = Duration::from_secs(5);

/// Passes on until the screen or the engine has ended.
pub(crate) async fn link(engine: Engine, news: mpsc::Sender<News>, mut effects: mpsc::Receiver<Effect>) {
    let mut events = engine.events();
    if read_all(&engine, &mut events, &news).await.is_none() {
        return;
    }
    // Without a task the engine does not look by itself, and the person would not see whether there is a model.
    let looking = look(engine.clone(), Duration::ZERO);
    tokio::pin!(looking);
    let mut looks = true;
    loop {
        let told = tokio::select! {
            biased;
            effect = effects.recv() => match effect {
                Some(effect) => perform(&engine, effect).await,
                None => return,
            },
            event = events.recv() => match event {
                Ok(event) => hear(&engine, &event).await,
                Err(RecvError::Lagged(_)) => {
                    if read_all(&engine, &mut events, &news).await.is_none() {
                        return;
                    }
                    continue;
                }
                Err(RecvError::Closed) => return,
            },
            known = &mut looking, if looks => {
                looks = known.as_ref().is_some_and(|known| known.model.is_none());
                if looks {
                    looking.set(look(engine.clone(), LOOK_AGAIN));
                }
                known.and_then(|known| told::looked(&known)).into_iter().collect()
            }
        };
        for one in told {
            // A screen that has ended still has its last wishes fulfilled.
            let _ = news.send(one).await;
        }
    }
}

/// Reads everything, and hears from then on what comes after it.
async fn read_all(engine: &Engine, events: &mut Receiver<Event>, news: &mpsc::Sender<News>) -> Option<()> {
    let (snapshot, later) = engine.follow(MESSAGES).await.ok()?;
    *events = later;
    let _ = news.send(told::everything(&snapshot)).await;
    Some(())
}

/// Looks for the model, after a while.
async fn look(engine: Engine, after: Duration) -> Option<Arc<Capabilities>> {
    sleep(after).await;
    engine.look().await.ok()
}

async fn hear(engine: &Engine, event: &Event) -> Vec<News> {
    let mut told = vec![told::event(event)];
    // The screen shows all tools of a task.
    if let Event::Progress { task, .. } = event
        && let Ok(view) = engine.poll(task).await
    {
        told.push(News::Changed(told::task(&view)));
    }
    told
}

async fn perform(engine: &Engine, effect: Effect) -> Vec<News> {
    let done = match effect {
        Effect::Submit(message) => engine.submit(Submission::person(message)).await.map(|_| None),
        Effect::Cancel(task) => {
            let reason = Some("by the person".to_owned());
            engine.cancel(&TaskId(task), reason).await.map(|_| None)
        }
        Effect::Decide { number, may_run } => engine.decide(number, may_run).await.map(|()| None),
        Effect::ReadHistory(limit) => {
            engine.history(limit, true).await.map(|history| Some(told::history(&history)))
        }
        Effect::ReadQualities => engine.quality().await.map(|rows| Some(told::qualities(&rows))),
        Effect::BeginSession => engine.begin_session().await.map(|()| None),
        Effect::Redraw | Effect::Quit => Ok::<_, EngineError>(None),
    };
    match done {
        Ok(news) => news.into_iter().collect(),
        Err(why) => vec![told::refused(&why)],
    }
}

#[cfg(test)]
mod tests;
