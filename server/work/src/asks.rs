//! A question of a running job to the caller that waits for it, and the caller's answer.
//!
//! The question is an event and the answer a file, so that both sides need only the job's folder. A job must never wait
//! for an answer that no caller can give any more.

use std::io;
use std::time::Duration;

use entraclaw_seams::storage::read_whole;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::claim::Claim;
use crate::folder::Folder;
use crate::run::Running;
use crate::works::Works;

/// The event of a question.
const ASKS: &str = "asks";
/// The pause between two looks for an answer.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Longest answer in bytes.
const ANSWER_BYTES_MAX: u64 = 4 * 1024;
/// Most questions of one job.
const QUESTIONS_MAX: u64 = 64;

/// A question that a job asks its caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asks {
    /// The number of the question in its job.
    pub number: u64,
    /// The question.
    pub says: String,
}

impl Asks {
    /// The question of an event, if it is one.
    pub fn of(event: &Value) -> Option<Self> {
        let is_one = event["event"] == ASKS;
        let (number, says) = (event["number"].as_u64()?, event["says"].as_str()?);
        is_one.then(|| Self { number, says: says.to_owned() })
    }
}

impl Running {
    /// Asks the caller that waits for this job. `None` if no caller waits, if it does not answer in time, or if the job must
    /// stop.
    pub async fn ask_caller(&self, says: &str, patience: Duration) -> Option<String> {
        let number = self.next_question().filter(|number| *number <= QUESTIONS_MAX)?;
        self.event(ASKS, json!({"number": number, "says": says}));
        let answer = async {
            loop {
                if let Ok(Some(answer)) = answer(self.folder(), number) {
                    return Some(answer);
                }
                if !matches!(self.folder().claim(), Ok(Some(Claim::Open))) {
                    return None;
                }
                sleep(LOOK_EVERY).await;
            }
        };
        tokio::select! {
            biased;
            _ = self.stopped() => None,
            answer = timeout(patience, answer) => answer.ok().flatten(),
        }
    }
}

impl Works {
    /// Answers a question of a job. A later answer to the same question changes nothing.
    ///
    /// # Errors
    /// Fails with the error of the disk.
    pub fn answer(&self, id: &str, number: u64, text: &str) -> io::Result<()> {
        if !crate::folder::is_id(id) {
            return Ok(());
        }
        let folder = Folder::new(self.storage().clone(), id);
        let path = folder.path(&name(number));
        if folder.request()?.is_none() || self.storage().len(&path)?.is_some() {
            return Ok(());
        }
        self.storage().replace(&path, text.as_bytes())
    }
}

fn name(number: u64) -> String {
    format!("answer-{number}")
}

fn answer(folder: &Folder, number: u64) -> io::Result<Option<String>> {
    let bytes = read_whole(&*folder.storage, &folder.path(&name(number)), ANSWER_BYTES_MAX)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}
