//! The requests of one side and their state. Its size is bounded: the smallest ids are dropped first.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use crate::catalog::Asked;
use crate::down::down;
use crate::version::Version;

/// Most open requests of one side.
const OPEN_REQUESTS_MAX: usize = 4_096;
/// Most ended requests of one side that are kept.
const ENDED_REQUESTS_MAX: usize = 16_384;
/// Most tokens of requests that became tasks.
const TASK_TOKENS_MAX: usize = 4_096;

/// A request id or progress token; `1` and `"1"` differ.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Id {
    /// An integer.
    Number(i64),
    /// An integer beyond 64 bits.
    Large(u64),
    /// A string.
    Text(String),
}

impl Id {
    /// The id in a message; `None` if the value can't be one.
    pub(crate) fn of(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Some(Self::Text(text.clone())),
            Value::Number(number) => number
                .as_i64()
                .map(Self::Number)
                .or_else(|| number.as_u64().map(Self::Large))
                .or_else(|| whole(number.as_f64()?).map(Self::Number)),
            _ => None,
        }
    }
}

/// `1.0` is an integer in JSON Schema.
#[expect(clippy::cast_possible_truncation, reason = "the bounds are checked first")]
fn whole(number: f64) -> Option<i64> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    (number.fract() == 0.0 && number.abs() <= EXACT).then_some(number as i64)
}

/// An open request.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) asked: Asked,
    pub(crate) version: Version,
    pub(crate) cancelled: bool,
    pub(crate) progress: Option<Progress>,
    /// The stream of a listen request.
    pub(crate) stream: Option<Stream>,
    /// The state of an event stream.
    pub(crate) events: Option<Told>,
    /// Whether the request set a log level for itself.
    pub(crate) log: bool,
    /// The resource that it names.
    pub(crate) uri: Option<String>,
    /// The requests that the server may send back for it.
    pub(crate) answers: Answers,
}

/// The answers that a request's own capabilities allow besides a result.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Answers {
    elicitation: bool,
    sampling: bool,
    roots: bool,
    /// Whether it may become a task.
    pub(crate) tasks: bool,
}

impl Answers {
    pub(crate) fn of(capabilities: &Value) -> Self {
        let has = |name: &str| capabilities.get(name).is_some();
        let tasks = down(capabilities, &["extensions", "io.modelcontextprotocol/tasks"]).is_some();
        Self { elicitation: has("elicitation"), sampling: has("sampling"), roots: has("roots"), tasks }
    }

    /// The missing capability for a request of the server.
    pub(crate) fn lack(self, method: &str) -> Option<&'static str> {
        let (has, name) = match method {
            "elicitation/create" => (self.elicitation, "elicitation"),
            "sampling/createMessage" => (self.sampling, "sampling"),
            "roots/list" => (self.roots, "roots"),
            _ => (true, ""),
        };
        (!has).then_some(name)
    }
}

/// Progress of a request.
#[derive(Debug)]
pub(crate) struct Progress {
    pub(crate) token: Id,
    pub(crate) last: Option<f64>,
}

impl Progress {
    /// Takes the next value; `false` if it does not grow.
    pub(crate) fn grows(&mut self, value: f64) -> bool {
        let grows = self.last.is_none_or(|last| value > last);
        self.last = Some(value);
        grows
    }
}

/// A listen stream: the requested and the promised filter.
#[derive(Debug)]
pub(crate) struct Stream {
    pub(crate) asked: Value,
    pub(crate) promised: Option<Value>,
}

/// The notifications of an event stream so far.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) active: bool,
    pub(crate) terminated: bool,
}

/// The requests of one side.
#[derive(Debug, Default)]
pub(crate) struct Requests {
    open: BTreeMap<Id, Open>,
    ended: BTreeSet<Id>,
    order: VecDeque<Id>,
    /// Ids that ended before the session began, and may be used again.
    before: BTreeSet<Id>,
    tasks: BTreeMap<Id, Progress>,
    /// Number of lines of this side whose id could not be read; each may be answered once without an id.
    pub(crate) unreadable: u32,
}

impl Requests {
    pub(crate) fn open(&mut self, id: Id, request: Open) {
        self.open.insert(id, request);
        if self.open.len() > OPEN_REQUESTS_MAX {
            self.open.pop_first();
        }
    }

    pub(crate) fn get(&self, id: &Id) -> Option<&Open> {
        self.open.get(id)
    }

    pub(crate) fn get_mut(&mut self, id: &Id) -> Option<&mut Open> {
        self.open.get_mut(id)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Open> {
        self.open.values()
    }

    /// Removes an open request because it is answered.
    pub(crate) fn end(&mut self, id: &Id) -> Option<Open> {
        let open = self.open.remove(id)?;
        if self.ended.insert(id.clone()) {
            self.order.push_back(id.clone());
            if self.order.len() > ENDED_REQUESTS_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.ended.remove(&oldest);
            }
        }
        Some(open)
    }

    pub(crate) fn has_ended(&self, id: &Id) -> bool {
        self.ended.contains(id)
    }

    /// Drops the ended requests: a session begins with new ids.
    pub(crate) fn forget_ended(&mut self) {
        self.before.append(&mut self.ended);
        while self.before.len() > ENDED_REQUESTS_MAX {
            self.before.pop_first();
        }
        self.order.clear();
    }

    /// Whether such a request was answered, in the session or before it.
    pub(crate) fn was_answered(&self, id: &Id) -> bool {
        self.has_ended(id) || self.before.contains(id)
    }

    pub(crate) fn with_token(&mut self, token: &Id) -> Option<&mut Open> {
        self.open.values_mut().find(|open| open.progress.as_ref().is_some_and(|p| p.token == *token))
    }

    /// Keeps the token of a request that became a task.
    pub(crate) fn keep_token(&mut self, progress: Progress) {
        self.tasks.insert(progress.token.clone(), progress);
        if self.tasks.len() > TASK_TOKENS_MAX {
            self.tasks.pop_first();
        }
    }

    pub(crate) fn task_token(&mut self, token: &Id) -> Option<&mut Progress> {
        self.tasks.get_mut(token)
    }
}
