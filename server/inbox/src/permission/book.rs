//! The record of questions and answers, `permission.json`: the session that asks and the session that reads
//! Teams may be two. It must never hold the content of a request, and an answer in it is final.

use std::io;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::Behavior;
use crate::gate::Guid;
use entraclaw_seams::storage::{Storage, read_whole};

/// The file that keeps the questions.
pub const BOOK_FILE: &str = "permission.json";
const LOCK: &str = "permission.lock";
/// How long a change waits for another process. The wait must not stop the server.
const LOCK_WAIT_MS: u64 = 20;
/// How long a question can be answered.
pub const QUESTION_LIFE: SignedDuration = SignedDuration::from_mins(30);
/// The most questions that are remembered; the oldest are removed first.
pub(super) const QUESTIONS_MAX: usize = 32;
const BOOK_BYTES_MAX: u64 = 256 * 1024;
const VERSION: u32 = 1;

/// The content of the file.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Book {
    /// Version of this shape; 1.
    pub v: u32,
    /// Questions, oldest first.
    pub questions: Vec<Question>,
}

/// A request that was sent to the operator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The host's id of the request, which an answer repeats.
    pub code: String,
    /// The session that asks.
    pub session: String,
    /// The 1:1 chat that the question was sent to.
    pub chat_id: String,
    /// The operator's tenant.
    pub tenant_id: Guid,
    /// The operator's object id in that tenant.
    pub object_id: Guid,
    /// When Teams took the question, in Teams' own time; until that is known, when it was about to be sent.
    #[schemars(with = "String")]
    pub asked_at: Timestamp,
    /// The operator's answer, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<Behavior>,
}

/// An answer in its exact form, as it was read in Teams.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The code that the answer names.
    pub code: String,
    /// The verdict.
    pub behavior: Behavior,
    /// The chat that the answer was written in.
    pub chat_id: String,
    /// Tenant and object id of the author.
    pub ids: (Guid, Guid),
    /// The id of the message.
    pub message_id: String,
    /// When it was written, in Teams' time.
    pub written: Timestamp,
}

/// The result of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Taken {
    /// The answer counts.
    Counts,
    /// The question already had an answer.
    Repeated,
    /// The answer came too late.
    Expired,
    /// No question was asked of this person in this chat before the answer was written.
    NotAsked,
}

impl Question {
    /// Whether both are the same question, noted at the same time.
    fn is(&self, other: &Self) -> bool {
        (&self.code, &self.session, &self.chat_id, self.asked_at)
            == (&other.code, &other.session, &other.chat_id, other.asked_at)
    }

    /// Whether `answer` is an answer to this question, at any time.
    fn is_for(&self, answer: &Answer) -> bool {
        self.code == answer.code
            && self.chat_id == answer.chat_id
            && (&self.tenant_id, &self.object_id) == (&answer.ids.0, &answer.ids.1)
            && answer.written > self.asked_at
    }
}

impl Book {
    /// Whether `answer` belongs to a question that was asked, in time or not.
    pub fn knows(&self, answer: &Answer) -> bool {
        self.questions.iter().any(|question| question.is_for(answer))
    }

    fn take(&mut self, answer: &Answer) -> Taken {
        // A host can use a code again; the newest question is meant then.
        let Some(question) = self.questions.iter_mut().rev().find(|question| question.is_for(answer)) else {
            return Taken::NotAsked;
        };
        if question.answer.is_some() {
            return Taken::Repeated;
        }
        if answer.written.duration_since(question.asked_at) >= QUESTION_LIFE {
            return Taken::Expired;
        }
        question.answer = Some(answer.behavior);
        Taken::Counts
    }
}

/// The result of an answer, in the words of the interaction log.
pub fn outcome(answer: &Answer, taken: Taken) -> String {
    let code = &answer.code;
    match taken {
        Taken::Counts => format!("answered {code} with {:?}", answer.behavior),
        Taken::Repeated => format!("{code} was answered before; this one does not count"),
        Taken::Expired => format!("{code} has expired; the answer does not count"),
        Taken::NotAsked => format!("{code} was not asked; the answer does not count"),
    }
}

/// The questions that were asked. A file that can't be read counts as empty, so no answer counts then.
pub fn questions(storage: &dyn Storage) -> Book {
    read(storage).unwrap_or_else(|error| {
        tracing::warn!(%error, file = BOOK_FILE, "open permission requests can't be read");
        Book::default()
    })
}

/// Notes a question before it is sent, because the operator may answer before the sender knows that it has
/// arrived. Returns whether the question can be answered: a code that is open in this chat can't be used for
/// another one.
pub(super) fn ask(storage: &dyn Storage, question: Question) -> io::Result<bool> {
    change(storage, |book| {
        let is_open = |known: &Question| {
            let age = question.asked_at.duration_since(known.asked_at);
            known.answer.is_none() && age < QUESTION_LIFE
        };
        let twin = |known: &Question| known.code == question.code && known.chat_id == question.chat_id;
        if book.questions.iter().any(|known| twin(known) && is_open(known)) {
            return false;
        }
        while book.questions.len() >= QUESTIONS_MAX {
            book.questions.remove(0);
        }
        book.questions.push(question);
        true
    })
}

/// Notes the time at which a question was asked, once it is known.
pub(super) fn asked(storage: &dyn Storage, question: &Question, at: Timestamp) -> io::Result<()> {
    change(storage, |book| {
        if let Some(known) = book.questions.iter_mut().rev().find(|known| known.is(question)) {
            known.asked_at = at;
        }
    })
}

/// Forgets a question that was not sent.
pub(super) fn forget(storage: &dyn Storage, question: &Question) -> io::Result<()> {
    change(storage, |book| book.questions.retain(|known| !known.is(question)))
}

/// Takes the first answer to a question.
pub fn take(storage: &dyn Storage, answer: &Answer) -> io::Result<Taken> {
    change(storage, |book| book.take(answer))
}

fn read(storage: &dyn Storage) -> io::Result<Book> {
    let Some(bytes) = read_whole(storage, BOOK_FILE, BOOK_BYTES_MAX)? else {
        return Ok(Book { v: VERSION, ..Book::default() });
    };
    let book: Book = serde_json::from_slice(&bytes)?;
    if book.v == VERSION { Ok(book) } else { Err(io::Error::other(format!("`v` is {}", book.v))) }
}

fn change<T>(storage: &dyn Storage, change: impl FnOnce(&mut Book) -> T) -> io::Result<T> {
    let busy = || io::Error::new(io::ErrorKind::WouldBlock, "another process has it");
    let _lock = storage.lock(LOCK, LOCK_WAIT_MS)?.ok_or_else(busy)?;
    // A broken file is replaced by a new one; earlier questions can't be answered then.
    let before = read(storage).ok();
    let mut after = before.clone().unwrap_or_default();
    after.v = VERSION;
    let outcome = change(&mut after);
    if before.as_ref() != Some(&after) {
        storage.replace(BOOK_FILE, &serde_json::to_vec(&after)?)?;
    }
    Ok(outcome)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use entraclaw_seams::storage::MemoryStorage;

    fn at(second: i64) -> Timestamp {
        let start: Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
        start + SignedDuration::from_secs(second)
    }

    fn guid(n: u8) -> Guid {
        Guid::parse(&format!("bbbbbbbb-0000-0000-0000-{n:012}")).unwrap()
    }

    fn question(code: &str, second: i64) -> Question {
        Question {
            code: code.to_owned(),
            session: "s1".to_owned(),
            chat_id: "dm".to_owned(),
            tenant_id: guid(0),
            object_id: guid(1),
            asked_at: at(second),
            answer: None,
        }
    }

    fn answer(code: &str, behavior: Behavior, second: i64) -> Answer {
        Answer {
            code: code.to_owned(),
            behavior,
            chat_id: "dm".to_owned(),
            ids: (guid(0), guid(1)),
            message_id: "m".to_owned(),
            written: at(second),
        }
    }

    #[test]
    fn an_answer_counts_once_and_the_first_one_stays() {
        let storage = MemoryStorage::new();
        assert!(ask(&storage, question("abcde", 0)).unwrap());
        assert!(!ask(&storage, question("abcde", 10)).unwrap(), "it is open");
        assert_eq!(take(&storage, &answer("abcde", Behavior::Deny, 20)).unwrap(), Taken::Counts);
        assert_eq!(take(&storage, &answer("abcde", Behavior::Allow, 21)).unwrap(), Taken::Repeated);
        assert_eq!(questions(&storage).questions[0].answer, Some(Behavior::Deny));
        assert!(ask(&storage, question("abcde", 30)).unwrap(), "it was answered, so it can be asked again");
        assert_eq!(take(&storage, &answer("abcde", Behavior::Allow, 25)).unwrap(), Taken::Repeated);
        assert_eq!(take(&storage, &answer("abcde", Behavior::Allow, 31)).unwrap(), Taken::Counts);
    }

    #[test]
    fn only_the_operator_answers_in_the_same_chat_and_in_time() {
        let storage = MemoryStorage::new();
        ask(&storage, question("abcde", 100)).unwrap();
        let good = answer("abcde", Behavior::Allow, 101);
        let others = [
            Answer { ids: (guid(0), guid(2)), ..good.clone() },
            Answer { ids: (guid(2), guid(1)), ..good.clone() },
            Answer { chat_id: "group".to_owned(), ..good.clone() },
            Answer { code: "abcdf".to_owned(), ..good.clone() },
            Answer { written: at(100), ..good.clone() },
        ];
        for other in others {
            assert!(!questions(&storage).knows(&other));
            assert_eq!(take(&storage, &other).unwrap(), Taken::NotAsked);
        }
        let late = Answer { written: at(100 + 30 * 60), ..good };
        assert!(questions(&storage).knows(&late));
        assert_eq!(take(&storage, &late).unwrap(), Taken::Expired);
    }

    #[test]
    fn a_question_that_was_not_sent_is_forgotten_and_no_other_one() {
        let storage = MemoryStorage::new();
        let others = [question("abcdf", 0), Question { chat_id: "group".to_owned(), ..question("abcde", 0) }];
        for question in others.iter().cloned().chain([question("abcde", 0)]) {
            assert!(ask(&storage, question).unwrap());
        }
        forget(&storage, &question("abcde", 1)).unwrap();
        assert_eq!(questions(&storage).questions.len(), 3, "it was noted at another time");
        forget(&storage, &question("abcde", 0)).unwrap();
        assert_eq!(questions(&storage).questions, others);
        assert_eq!(take(&storage, &answer("abcde", Behavior::Allow, 1)).unwrap(), Taken::NotAsked);
    }

    #[test]
    fn an_unreadable_book_answers_nothing_and_is_begun_anew() {
        let storage = MemoryStorage::new();
        storage.set_bytes(BOOK_FILE, b"{\"v\":1,\"quest");
        assert_eq!(questions(&storage).questions, []);
        assert_eq!(take(&storage, &answer("abcde", Behavior::Allow, 1)).unwrap(), Taken::NotAsked);
        assert!(ask(&storage, question("abcde", 0)).unwrap());
    }

    proptest! {
        #[test]
        fn a_question_is_answered_at_most_once_in_any_order(
            acts in proptest::collection::vec((0..3_u8, 0..3_usize, 0..4_000_i64), 0..40)
        ) {
            let storage = MemoryStorage::new();
            let codes = ["aaaaa", "bbbbb", "ccccc"];
            let (mut asked, mut counted) = (0, 0);
            let mut now = 0;
            for (act, code, wait) in acts {
                now += wait / 4;
                let code = codes[code];
                match act {
                    0 => asked += usize::from(ask(&storage, question(code, now)).unwrap()),
                    1 => counted += usize::from(
                        take(&storage, &answer(code, Behavior::Allow, now + 1)).unwrap() == Taken::Counts),
                    _ => {
                        let other = Answer { chat_id: "group".to_owned(), ..answer(code, Behavior::Deny, now + 1) };
                        prop_assert_eq!(take(&storage, &other).unwrap(), Taken::NotAsked);
                    }
                }
                prop_assert!(counted <= asked && questions(&storage).questions.len() <= QUESTIONS_MAX);
            }
        }
    }
}
