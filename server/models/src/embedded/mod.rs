//! A small model in this process, from a GGUF file: for tests and demonstrations without a server. It takes the likeliest
//! token each time, so that an answer that is gone on with has the same tokens as one that was never interrupted.
//! It must never be part of what is installed.

mod engine;
mod required;
mod template;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::answer::{Answer, Piece, Stop};
use crate::answering::Answering;
use crate::model::{Facts, Held, Model, ModelError};
use crate::question::{Question, ToolChoice};
use engine::{Engine, still_waits};
use required::Call;

/// A model in this process.
pub struct EmbeddedModel {
    engine: Arc<Mutex<Engine>>,
    /// One question at a time.
    asking: tokio::sync::Mutex<()>,
    name: String,
    context: usize,
}

/// Tells the work on another thread that its caller does not wait for it any more.
struct Gone(Arc<AtomicBool>);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl EmbeddedModel {
    /// Loads the model of this file: a Llama with the template ChatML.
    pub fn open(path: &Path) -> Result<Self, ModelError> {
        let engine = Engine::open(path)
            .map_err(|reason| ModelError::Refused(format!("{} can't be loaded: {reason}", path.display())))?;
        let (name, context) = (engine.name.clone(), engine.context);
        Ok(Self {
            engine: Arc::new(Mutex::new(engine)),
            asking: tokio::sync::Mutex::default(),
            name,
            context,
        })
    }

    /// Does work on the model on a thread that may block.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Engine) -> Result<T, String> + Send + 'static,
    ) -> Result<T, ModelError> {
        let engine = Arc::clone(&self.engine);
        let done = tokio::task::spawn_blocking(move || {
            work(&mut engine.lock().unwrap_or_else(PoisonError::into_inner))
        });
        let failed =
            |reason: String| ModelError::Refused(format!("the model in this process failed: {reason}"));
        done.await.map_err(|error| failed(error.to_string()))?.map_err(failed)
    }

    /// The same, for a question. When it begins its caller may have gone, and others may have asked.
    async fn work_for<T: Send + 'static>(
        &self,
        gone: &Gone,
        work: impl FnOnce(&mut Engine) -> Result<T, String> + Send + 'static,
    ) -> Result<T, ModelError> {
        let flag = Arc::clone(&gone.0);
        self.work(move |engine| still_waits(&flag).and_then(|()| work(engine))).await
    }

    async fn answer(&self, question: &Question, pieces: mpsc::Sender<Piece>) -> Result<Answer, ModelError> {
        let _one = self.asking.lock().await;
        let said = question.said.clone().unwrap_or_default();
        let prompt = template::render(question);
        let gone = Gone(Arc::default());
        let (prompt, said) = self.work_for(&gone, move |engine| engine.tokens(&prompt, &said)).await?;
        let begun = prompt.len() + said.len();
        if begun >= self.context {
            let count = |number: usize| u64::try_from(number).ok();
            let (tokens, context) = (count(begun), count(self.context));
            return Err(ModelError::TooLong { model: self.name.clone(), tokens, context });
        }
        let flag = Arc::clone(&gone.0);
        let cached = self.work_for(&gone, move |engine| engine.begin(&prompt, &said, &flag)).await?;
        // What comes goes on for certain: nothing of it is a repetition that has to be taken away.
        let mut answering = Answering::certain(question, pieces);
        let most = question.tokens_max.and_then(|most| usize::try_from(most).ok()).unwrap_or(self.context);
        let most = most.min(self.context - begun);
        let mut call = (question.tool_choice == ToolChoice::Required).then(|| Call::new(&question.tools));
        let (started, mut made) = (Instant::now(), 0_usize);
        answering.stop = Some(Stop::Length);
        while made < most {
            let allowed = call.clone();
            let Some(text) = self.work_for(&gone, move |engine| engine.step(allowed.as_ref())).await? else {
                answering.stop = Some(Stop::Done);
                break;
            };
            made += 1;
            answering.text(&text).await?;
            if let Some(call) = &mut call {
                call.add(&text);
                if call.is_whole() {
                    answering.stop = Some(Stop::Done);
                    break;
                }
            }
        }
        let rest = self.work_for(&gone, |engine| Ok(engine.rest())).await?;
        answering.text(&rest).await?;
        let count = |number: usize| u64::try_from(number).unwrap_or(u64::MAX);
        (answering.usage.input, answering.usage.output) = (count(begun), count(made));
        answering.usage.cached = Some(count(cached));
        let seconds = started.elapsed().as_secs_f64();
        let tokens = u32::try_from(made).map(f64::from).unwrap_or_default();
        answering.usage.tokens_per_second = (seconds > 0.0).then_some(tokens / seconds);
        answering.finish().await
    }
}

impl Model for EmbeddedModel {
    fn facts(&self) -> BoxFuture<'_, Result<Facts, ModelError>> {
        Box::pin(async move {
            Ok(Facts {
                model: self.name.clone(),
                context_tokens: u64::try_from(self.context).ok(),
                tools: Some(true),
                is_loaded: Some(true),
                continues: Some(true),
                holds: Some(true),
            })
        })
    }

    fn ask<'a>(
        &'a self,
        question: &'a Question,
        pieces: mpsc::Sender<Piece>,
    ) -> BoxFuture<'a, Result<Answer, ModelError>> {
        Box::pin(self.answer(question, pieces))
    }

    fn hold<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Option<Held>> {
        Box::pin(async move {
            let held = Held(name.to_owned());
            let name = name.to_owned();
            let was_held = self.work(move |engine| Ok(engine.hold(name))).await.unwrap_or(false);
            was_held.then_some(held)
        })
    }

    fn bring_back<'a>(&'a self, held: &'a Held) -> BoxFuture<'a, bool> {
        let name = held.0.clone();
        Box::pin(async move { self.work(move |engine| Ok(engine.bring_back(&name))).await.unwrap_or(false) })
    }
}
