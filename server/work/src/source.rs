//! The source `work`: turns results without a waiting caller into records.
//!
//! It must never remove an id from the spool before the journal has its record durably, nor show a text that was not
//! sanitised: a tool's output is a stranger's text.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use entraclaw_inbox::journal::Journal;
use entraclaw_inbox::record::{Channel, Draft, WORK_CHAT};
use entraclaw_inbox::source::{InboundSource, SourceStatus};
use entraclaw_sanitize::{Context, Limits, Markup, clean_name, sanitize};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::processes::Processes;
use entraclaw_seams::storage::{Changes, Storage};
use futures_util::FutureExt as _;
use futures_util::future::LocalBoxFuture;
use tokio::time::{Instant, sleep, timeout_at};

use crate::collect::{Collector, Ready};
use crate::folder::{SPOOL, WORK};
use crate::request::Ended;

pub use entraclaw_inbox::record::CONSUMER_KEY;

/// The pause between two looks at the spool, if the disk does not report changes, or not those of what is left.
const LOOK_EVERY: Duration = Duration::from_millis(250);
/// The pause between two looks for the folder of the first job.
const FOLDER_EVERY: Duration = Duration::from_secs(1);
/// The pause between two looks at the running jobs.
const SWEEP_EVERY: Duration = Duration::from_secs(3);
/// The pause after a failure.
const PAUSE: Duration = Duration::from_secs(2);

/// The source `work` of one home folder.
pub struct WorkSource {
    collector: Collector,
    storage: Arc<dyn Storage>,
    clock: Arc<dyn Clock>,
    /// The path of the home folder, to name the file of a long output; empty if it has none.
    home: String,
    status: SourceStatus,
}

impl WorkSource {
    /// A source that reads one home folder and writes its state to `status`.
    pub fn new(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        processes: Arc<dyn Processes>,
        home: String,
        status: SourceStatus,
    ) -> Self {
        let collector = Collector::new(storage.clone(), clock.clone(), processes);
        Self { collector, storage, clock, home, status }
    }

    /// Appends the results that are ready. Returns whether the spool has more, of which no change may be reported.
    fn bring(&mut self, journal: &Journal) -> Result<bool, String> {
        let (ready, mut is_left) =
            self.collector.ready().map_err(|error| format!("the spool of jobs can't be read: {error}"))?;
        is_left |= !ready.is_empty();
        let drafts: Vec<Draft> = ready.iter().map(|one| draft(one, &self.home)).collect();
        let keys: Vec<(String, String)> =
            drafts.iter().map(|draft| (draft.id.clone(), draft.key.clone())).collect();
        if !drafts.is_empty() {
            journal.append(drafts).map_err(|error| error.to_string())?;
        }
        for (id, key) in keys {
            // While the disk can't be written, the journal has the record in memory only.
            if journal.has(&key) {
                self.collector.told(&id).map_err(|error| {
                    format!("a result could not be removed from the spool of jobs: {error}")
                })?;
            }
        }
        Ok(is_left)
    }

    async fn go_on(&mut self, journal: &Journal) -> Infallible {
        let mut news: Option<Changes> = None;
        let mut sweep_at = Instant::now();
        loop {
            // The folder may be created later; it is watched from then on.
            let is_there = news.is_some() || self.storage.list(WORK).is_ok_and(|names| !names.is_empty());
            if news.is_none() && is_there {
                news = self.storage.changes(SPOOL);
                sweep_at = Instant::now();
            }
            let asked_at = self.clock.now();
            let mut runs = Ok(true);
            if sweep_at <= Instant::now() {
                runs = self.collector.sweep().map_err(|error| format!("the jobs can't be read: {error}"));
                sweep_at = Instant::now() + SWEEP_EVERY;
            }
            let outcome = runs.and_then(|runs| Ok((self.bring(journal)?, runs)));
            self.status.update(|state| {
                state.asked_at = Some(asked_at);
                match &outcome {
                    Ok(_) => {
                        state.answered_at = Some(asked_at);
                        state.recover();
                    }
                    Err(error) => {
                        state.failures = state.failures.saturating_add(1);
                        state.error = Some(error.clone());
                    }
                }
            });
            match outcome {
                Err(_) => sleep(PAUSE).await,
                Ok((is_left, runs)) => {
                    let pause = match (is_there, &news) {
                        (false, _) => FOLDER_EVERY,
                        (true, Some(_)) if !is_left => SWEEP_EVERY,
                        (true, _) => LOOK_EVERY,
                    };
                    self.rest(&mut news, is_left || runs, sweep_at, pause).await;
                }
            }
        }
    }

    /// Waits until the next look, on a real disk at most for this pause.
    async fn rest(&self, news: &mut Option<Changes>, is_busy: bool, sweep_at: Instant, pause: Duration) {
        // A simulated disk reports every change, so no poll is needed; a real one may miss a change.
        let mut every = self.storage.every_change();
        let until = match (&every, is_busy) {
            (Some(_), true) => Some(sweep_at),
            (Some(_), false) => None,
            (None, _) => Some(Instant::now() + pause),
        };
        let changed = async {
            match every.as_mut().or(news.as_mut()) {
                Some(news) => news.next().await,
                None => std::future::pending().await,
            }
        };
        match until {
            Some(until) => {
                let _ = timeout_at(until, changed).await;
            }
            None => changed.await,
        }
    }
}

impl InboundSource for WorkSource {
    fn name(&self) -> &'static str {
        "work"
    }

    fn run<'a>(&'a mut self, journal: &'a Journal) -> LocalBoxFuture<'a, Infallible> {
        self.go_on(journal).boxed_local()
    }

    fn status(&self) -> SourceStatus {
        self.status.clone()
    }
}

/// The record of a result.
fn draft(ready: &Ready, home: &str) -> Draft {
    let Ready { request, result, may_be_known, output } = ready;
    let context = Context::default();
    let clean = |text: &str| sanitize(text, Markup::Text, &context, &Limits::default());
    let title = clean_name(&request.ask.title);
    let text = clean(&result.text);
    let how = match result.ended {
        Ended::Done => "is done",
        Ended::Failed => "has failed",
        Ended::Cancelled => "was cancelled",
        Ended::Lost => "was lost",
    };
    let mut content = format!("(work that you asked for {how}: {title})");
    if let Some(reason) = &result.reason {
        content.push('\n');
        content.push_str(&clean(reason).text);
    }
    if !text.text.is_empty() {
        content.push('\n');
        content.push_str(&text.text);
    }
    if let Some(output) = output.as_ref().filter(|_| result.is_cut() || text.left_out_bytes > 0) {
        let file = if home.is_empty() { output.clone() } else { format!("{home}/{output}") };
        let _ = write!(
            content,
            "\n(this is the beginning of {} bytes; {} of them are in the file {file})",
            result.total_bytes, result.kept_bytes
        );
    }
    if let Some(facts) = result.facts_line() {
        content.push('\n');
        content.push_str(&clean(&facts).text);
    }
    if *may_be_known {
        content.push_str("\n(your call may have brought this before)");
    }
    let mut meta = BTreeMap::new();
    let mut put = |name: &str, value: String| {
        if !value.is_empty() {
            meta.insert(name.to_owned(), value);
        }
    };
    put("chat_id", WORK_CHAT.to_owned());
    put("message_id", request.id.clone());
    put("user", clean_name(&request.ask.kind));
    put("ts", result.ended_at.clone());
    put(CONSUMER_KEY, request.ask.consumer.clone());
    put("work", result.ended.to_string());
    put("title", title);
    put("asked_at", request.asked_at.clone());
    put("no_reply", "true".to_owned());
    let removed: Vec<_> = text.removed.iter().map(|(kind, count)| format!("{kind}:{count}")).collect();
    put("sanitized", removed.join(","));
    Draft {
        key: format!("work/{}", request.id),
        id: request.id.clone(),
        channel: Channel::Work,
        chat_id: WORK_CHAT.to_owned(),
        from: clean_name(&request.ask.kind),
        ts: result.ended_at.clone(),
        content_text_sanitized: content,
        meta,
        edit_of: None,
        deleted: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::{Ask, Limits as JobLimits, Request, WorkResult};
    use serde_json::json;

    fn ready(text: &str, total_bytes: u64) -> Ready {
        let ask = Ask {
            kind: "ask_codex".to_owned(),
            what: json!({}),
            title: "count the files".to_owned(),
            consumer: "claude-code".to_owned(),
            host: None,
            limits: JobLimits::default(),
        };
        let request = Request {
            v: 1,
            id: "w1".to_owned(),
            ask,
            session: "s1".to_owned(),
            asked_at: "2026-11-25T08:00:00Z".to_owned(),
        };
        let result = WorkResult {
            v: 1,
            id: "w1".to_owned(),
            ended: Ended::Done,
            reason: None,
            text: text.to_owned(),
            total_bytes,
            kept_bytes: total_bytes,
            facts: serde_json::Map::new(),
            ended_at: "2026-11-25T08:01:00Z".to_owned(),
        };
        Ready { request, result, may_be_known: false, output: None }
    }

    #[test]
    fn a_whole_result_names_no_file_and_a_cut_one_does() {
        let mut whole = ready("seven", 5);
        whole.output = Some("work/w1/output".to_owned());
        assert_eq!(
            draft(&whole, "/home/alice/.entraclaw").content_text_sanitized,
            "(work that you asked for is done: count the files)\nseven"
        );
        let mut cut = ready("sev", 5);
        cut.output = whole.output;
        let said = |home: &str| draft(&cut, home).content_text_sanitized;
        let ends = |path: &str| {
            format!("\nsev\n(this is the beginning of 5 bytes; 5 of them are in the file {path})")
        };
        assert!(
            said("/home/alice").ends_with(&ends("/home/alice/work/w1/output")),
            "{}",
            said("/home/alice")
        );
        assert!(said("").ends_with(&ends("work/w1/output")), "{}", said(""));
    }

    #[test]
    fn what_the_sanitiser_leaves_out_is_in_the_file_too() {
        // The caller has the whole text, but its record can't hold so much.
        let long = "x".repeat(Limits::default().max_text_bytes + 1);
        let mut all = ready(&long, long.len() as u64);
        all.output = Some("work/w1/output".to_owned());
        assert!(draft(&all, "").content_text_sanitized.ends_with("are in the file work/w1/output)"));
    }

    #[test]
    fn why_it_ended_and_what_it_states_stand_beside_the_text() {
        let mut failed = ready("", 0);
        failed.result.ended = Ended::Failed;
        failed.result.reason = Some("no \u{1b}[1mdisk".to_owned());
        failed.result.facts.insert("session".to_owned(), json!("s9"));
        failed.may_be_known = true;
        let record = draft(&failed, "");
        assert_eq!(
            record.content_text_sanitized,
            "(work that you asked for has failed: count the files)\nno disk\n(session: s9)\n\
             (your call may have brought this before)"
        );
        let meta = |name: &str| record.meta.get(name).map(String::as_str);
        assert_eq!((meta("work"), meta(CONSUMER_KEY)), (Some("failed"), Some("claude-code")));
        assert_eq!((meta("asked_at"), meta("sanitized")), (Some("2026-11-25T08:00:00Z"), None));
        let marked = draft(&ready("a\u{202e}b", 5), "");
        assert!(marked.meta.contains_key("sanitized"), "{:?}", marked.meta);
    }
}
