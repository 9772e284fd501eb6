//! A call that needs a word of the user, in protocol 2026-07-28: it is answered with what it needs, its work goes on, and the
//! client sends it again with what the user said.
//!
//! It must never begin the work of a call again, nor lose an answer that was ready before the client came back.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use crate::answer::Answer;
use crate::connection::{Caller, Open};
use crate::message::{Id, Object};
use crate::paused::PausedCall;
use crate::session::Session;
use crate::user::{Form, Word};

/// The key of the one thing that a call needs.
const NEED: &str = "permit";
/// How long an answer is kept for a client that has not come back after its user's time was over.
const KEPT: Duration = Duration::from_secs(60);

impl Session {
    /// Answers a call with what it needs of the user.
    pub(crate) fn pause(&mut self, number: u64, form: Form) {
        let is_its = |open: &Open| matches!(open, Open::Work { number: this, .. } if *this == number);
        let id = self.connection.open.iter().find(|(_, open)| is_its(open)).map(|(id, _)| id.clone());
        let Some(Open::Work { route, cancel, first, .. }) =
            id.and_then(|id| self.connection.open.remove(&id))
        else {
            return;
        };
        let state = format!("call-{}", self.connection.next_number());
        let result = json!({
            "resultType": "input_required",
            "inputRequests": {NEED: {"method": "elicitation/create", "params": form.params}},
            "requestState": state
        });
        self.connection.answer(&route, Ok(result), Vec::new());
        let until = Instant::now() + form.patience + KEPT;
        let first = first.unwrap_or(route.id);
        let paused = PausedCall { number, cancel, word: form.word, first, until, done: None };
        self.connection.paused.insert(state, paused);
    }

    /// Goes on with a call that its client sends again; `false` if it is a new one.
    pub(crate) fn resume(&mut self, caller: &Caller, params: &Object) -> bool {
        let (Some(state), Some(said)) = (params.get("requestState"), params.get("inputResponses")) else {
            return false;
        };
        let Some(paused) = state.as_str().and_then(|state| self.connection.paused.remove(state)) else {
            let refusal = "params.requestState: no call waits for this; send the call without it";
            self.connection.answer_tool(&caller.route, Answer::error(refusal), Vec::new());
            return true;
        };
        let PausedCall { number, cancel, word, first, done, .. } = paused;
        let token = params.get("_meta").and_then(|meta| meta.get("progressToken")).cloned();
        let route = caller.route.clone();
        let open = Open::Work { route: route.clone(), number, cancel, first: Some(first), token };
        self.connection.open.insert(route.id, open);
        match done {
            Some(answer) => self.on_worked((number, answer)),
            None => {
                let _ = word.send(Word::of(&said[NEED]));
            }
        }
        true
    }

    /// Keeps the answer of a call whose client has not come back; gives back the answer of any other.
    pub(crate) fn keep_done(&mut self, number: u64, answer: Answer) -> Option<Answer> {
        match self.connection.paused.values_mut().find(|paused| paused.number == number) {
            Some(paused) => {
                paused.done = Some(answer);
                None
            }
            None => Some(answer),
        }
    }

    /// Forgets the calls whose clients did not come back. The work goes on without them.
    pub(crate) fn forget_paused(&mut self) {
        let now = Instant::now();
        let is_over = |(state, paused): (&String, &PausedCall)| (paused.until <= now).then(|| state.clone());
        let over: Vec<String> = self.connection.paused.iter().filter_map(is_over).collect();
        for state in over {
            let paused = self.connection.paused.remove(&state);
            if let Some(receipt) = paused.and_then(|paused| paused.done?.receipt) {
                self.providers.iter_mut().for_each(|provider| provider.taken_back(&receipt));
            }
        }
    }
}

/// The token by which the client of a call hears of its progress: that of the request that is open now.
pub(crate) fn token_of<'a>(open: &'a Open, first: &Id) -> Option<&'a Value> {
    match open {
        Open::Work { first: Some(began), token, .. } if began == first => token.as_ref(),
        _ => None,
    }
}
