//! The real model, watched: what it was asked, and what it counted. It must never change an answer.

use std::path::Path;
use std::sync::{Arc, Mutex};

use entraclaw_models::{
    Answer, EmbeddedModel, Facts, Held, Model, ModelError, Piece, Question, Role, ToolChoice, Usage,
};
use futures_util::future::BoxFuture;
use tokio::sync::mpsc;

/// The model. Where there is a tool, it has to use it before its first answer: by itself one of this size rarely does.
pub(crate) struct Watched {
    model: EmbeddedModel,
    asked: Mutex<Vec<Asked>>,
}

/// A question, and what was counted if its answer was not interrupted.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    pub(crate) question: Question,
    pub(crate) usage: Option<Usage>,
}

impl Watched {
    pub(crate) fn open(path: &Path) -> Arc<Self> {
        Arc::new(Self { model: EmbeddedModel::open(path).unwrap(), asked: Mutex::default() })
    }

    /// The questions whose last turn ends with these words, in their order.
    pub(crate) fn asked(&self, words: &str) -> Vec<Asked> {
        let ends =
            |asked: &&Asked| asked.question.turns.last().is_some_and(|turn| turn.text.ends_with(words));
        self.asked.lock().unwrap().iter().filter(ends).cloned().collect()
    }
}

impl Model for Watched {
    fn facts(&self) -> BoxFuture<'_, Result<Facts, ModelError>> {
        self.model.facts()
    }

    fn ask<'a>(
        &'a self,
        question: &'a Question,
        pieces: mpsc::Sender<Piece>,
    ) -> BoxFuture<'a, Result<Answer, ModelError>> {
        Box::pin(async move {
            let mut question = question.clone();
            let has_result = question.turns.iter().any(|turn| turn.role == Role::Tool);
            if !question.tools.is_empty() && !has_result {
                question.tool_choice = ToolChoice::Required;
            }
            let at = {
                let mut asked = self.asked.lock().unwrap();
                asked.push(Asked { question: question.clone(), usage: None });
                asked.len() - 1
            };
            let answer = self.model.ask(&question, pieces).await?;
            self.asked.lock().unwrap()[at].usage = Some(answer.usage);
            Ok(answer)
        })
    }

    fn hold<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Option<Held>> {
        self.model.hold(name)
    }

    fn bring_back<'a>(&'a self, held: &'a Held) -> BoxFuture<'a, bool> {
        self.model.bring_back(held)
    }
}
