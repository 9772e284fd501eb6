//! What an engine is made of, and what it is asked for.

use std::sync::Arc;

use entraclaw_inbox::journal::ConsumerName;
use entraclaw_models::Model;
use entraclaw_seams::clock::Clock;
use entraclaw_seams::random::Random;

use super::bounds::Bounds;
use crate::source::Source;
use crate::store::Place;
use crate::task::{ContextFile, Hint};
use crate::tool::Toolbox;

/// The parts of an engine.
pub struct EngineParts {
    /// Where the project's store lies.
    pub place: Place,
    /// The model.
    pub model: Arc<dyn Model>,
    /// The tools of the project.
    pub toolbox: Arc<dyn Toolbox>,
    /// The calendar.
    pub clock: Arc<dyn Clock>,
    /// The source of ids.
    pub random: Arc<dyn Random>,
    /// The bounds.
    pub bounds: Bounds,
}

/// What a person or a host asks for.
#[derive(Debug, Clone)]
pub struct Submission {
    /// Who asks.
    pub source: Source,
    /// What is asked.
    pub message: String,
    /// The files that come along.
    pub context: Vec<ContextFile>,
    /// The kind of task.
    pub hint: Hint,
    /// The consumer as which the session that asks reads the inbox, where it says so.
    pub consumer: Option<ConsumerName>,
}

impl Submission {
    /// A message of the person.
    pub fn person(message: impl Into<String>) -> Self {
        Self {
            source: Source::You,
            message: message.into(),
            context: Vec::new(),
            hint: Hint::General,
            consumer: None,
        }
    }

    /// A message of a host.
    pub fn host(name: &str, message: impl Into<String>) -> Self {
        Self { source: Source::host(name), ..Self::person(message) }
    }
}
