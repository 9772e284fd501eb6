//! Reads and judges the mails of a round, appends the news to the journal, and then moves the position.
//! A failure must never affect another mail, and the position must never move before the journal has what it
//! covers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures_util::stream::{self, StreamExt as _};
use jiff::{SignedDuration, Timestamp};

use super::{Gathered, Poll, Trouble};
use crate::graph::GraphError;
use crate::mail::cursor::PENDING_MAX;
use crate::mail::delta;
use crate::mail::draft::{CHAT_ID, key};
use crate::mail::judge::Verdict;
use crate::mail::wire::Mail;
use entraclaw_inbox::journal::{Interaction, InteractionKind};
use entraclaw_inbox::record::{Channel, Draft};
use entraclaw_inbox::source::SourceState;

/// How many mails are held in memory at a time.
const TAKEN_MAX: usize = 500;
/// How many mails are read at the same time; Graph allows four requests, and the tools need one.
const READS_MAX: usize = 3;
/// How long one mail is tried in a round.
const READ_PATIENCE: Duration = Duration::from_secs(15);
/// How long reading a mail is tried again before the mail counts as lost.
const PENDING_FOR: SignedDuration = SignedDuration::from_hours(24);
/// How long a mail is tried again that the inbox lists but Graph does not find: a replica of the service may
/// be behind.
const MISSING_FOR: SignedDuration = SignedDuration::from_mins(10);

/// The outcome of reading some mails.
#[derive(Default)]
struct Reading {
    read: Vec<Mail>,
    /// Mails that are deleted, or not yet on every replica.
    missing: Vec<String>,
    failed: Vec<String>,
    /// All mails of one batch failed, or the connection failed, so the rest was not tried.
    stopped: bool,
    /// The connection to Graph fails.
    general: Option<GraphError>,
}

impl Poll<'_> {
    /// Takes all mails in the order of their receipt, some at a time. The position moves with the last of them.
    pub(super) async fn take_in_order(
        &mut self,
        gathered: Gathered,
        link: Option<String>,
    ) -> Result<(), Trouble> {
        let mut waiting: Vec<(Option<Timestamp>, String)> =
            gathered.into_iter().map(|(id, received)| (received, id)).collect();
        // Mails without a known time waited for a page that failed, so they are the oldest.
        waiting.sort_unstable();
        let only_ids = |some: Vec<(Option<Timestamp>, String)>| some.into_iter().map(|(_, id)| id).collect();
        while waiting.len() > TAKEN_MAX {
            let later = waiting.split_off(TAKEN_MAX);
            let here = self.cursor.link.clone();
            self.take(only_ids(std::mem::replace(&mut waiting, later)), here).await?;
        }
        self.take(only_ids(waiting), link).await
    }

    /// Reads and judges mails, appends the news, and then moves the position to `link`.
    async fn take(&mut self, ids: BTreeSet<String>, link: Option<String>) -> Result<(), Trouble> {
        let mut round = Reading::default();
        let failed_before = self.mails_failed;
        self.read(&self.in_turn(&ids), &mut round).await;
        if !round.stopped {
            // One immediate retry, so that a short failure does not change the order of mails.
            let again = std::mem::take(&mut round.failed);
            self.read(&again, &mut round).await;
        }
        let Reading { read, missing, failed, general, .. } = round;
        let (news, open) = self.judge_all(&read);
        self.mails_failed = failed_before || !failed.is_empty();
        if !self.mails_failed && general.is_none() {
            // This comes before the mails are appended, so that they carry no outdated warning.
            self.status.update(SourceState::recover);
        }
        let left: Vec<(String, SignedDuration)> = missing
            .into_iter()
            .map(|id| (id, MISSING_FOR))
            .chain(failed.into_iter().map(|id| (id, PENDING_FOR)))
            .chain(open.iter().map(|id| (id.clone(), SignedDuration::MAX)))
            .collect();
        let others = self.cursor.pending.keys().filter(|id| !ids.contains(*id)).count();
        if others + left.len() > PENDING_MAX {
            // There is no room to remember them, so the old link must bring them again.
            return Err(general.map_or(Trouble::Journal, Trouble::Graph));
        }
        let keys: Vec<String> = news.iter().map(|draft| draft.key.clone()).collect();
        if !news.is_empty()
            && let Err(error) = self.journal.append(news)
        {
            tracing::error!(%error, "the journal does not keep the mails; they are read again");
            self.status.update(|state| state.unsaved = Some(error.to_string()));
            return Err(Trouble::Journal);
        }
        for mark in read.iter().map(|mail| &mail.id).filter(|id| !open.contains(*id)).chain(&keys) {
            self.cursor.seen.note(mark);
        }
        self.keep_for_later(&ids, left);
        self.move_to(link);
        self.save();
        general.map_or(Ok(()), |error| Err(Trouble::Graph(error)))
    }

    /// Puts new mails first. Mails that failed before start at another place each time, so that each of them
    /// gets its turn.
    fn in_turn(&self, ids: &BTreeSet<String>) -> Vec<String> {
        let (mut late, mut new): (Vec<String>, Vec<String>) =
            ids.iter().cloned().partition(|id| self.cursor.pending.contains_key(id));
        if !late.is_empty() {
            let start = self.rounds.wrapping_mul(READS_MAX) % late.len();
            late.rotate_left(start);
        }
        new.append(&mut late);
        new
    }

    /// Reads mails in small batches, until a whole batch or the connection fails.
    async fn read(&mut self, ids: &[String], round: &mut Reading) {
        let client = self.parts.client.clone();
        for some in ids.chunks(READS_MAX) {
            if round.stopped {
                round.failed.extend(some.iter().cloned());
                continue;
            }
            self.note_asked();
            let reads = some.iter().map(|id| delta::mail(&client, id, READ_PATIENCE));
            let outcomes: Vec<_> = stream::iter(reads).buffered(READS_MAX).collect().await;
            round.stopped = outcomes.iter().all(Result::is_err);
            for (id, outcome) in some.iter().zip(outcomes) {
                match outcome {
                    Ok(Some(mail)) => round.read.push(Mail { id: id.clone(), ..mail }),
                    Ok(None) => round.missing.push(id.clone()),
                    Err(error) => {
                        round.failed.push(id.clone());
                        self.mails_failed = true;
                        self.failed("a mail", &error, Duration::ZERO);
                        if delta::is_general(&error) {
                            round.stopped = true;
                            round.general = Some(error);
                        }
                    }
                }
            }
        }
    }

    /// Returns the news, oldest first, and the ids of mails that can't be judged now.
    fn judge_all(&mut self, mails: &[Mail]) -> (Vec<Draft>, BTreeSet<String>) {
        // A sender who was just allowed may have written at once, and a refused mail is not judged again.
        self.parts.gate.look(self.journal);
        let own = self.parts.known.own();
        let house = self.parts.known.house(self.parts.options.authserv_id.as_deref());
        let mut news: Vec<(Option<Timestamp>, Option<Timestamp>, Draft)> = Vec::new();
        let mut open = BTreeSet::new();
        for mail in mails {
            let history = mail.received.is_some_and(|at| at < self.cursor.since);
            if history || self.is_dealt_with(mail) {
                continue;
            }
            match self.bench(&own, &house).judge(mail) {
                Verdict::News(draft) => news.push((mail.received, mail.sent, *draft)),
                Verdict::Own => {}
                Verdict::Later => drop(open.insert(mail.id.clone())),
                Verdict::Refuse(reason) => {
                    let who = mail.from.as_ref().map(|from| from.address.clone()).unwrap_or_default();
                    self.refuse(&mail.id, &who, reason);
                }
            }
        }
        news.sort_by(|a, b| (a.0, a.1, &a.2.id).cmp(&(b.0, b.1, &b.2.id)));
        (news.into_iter().map(|(_, _, draft)| draft).collect(), open)
    }

    /// Whether a mail was already news or was refused.
    fn is_dealt_with(&self, mail: &Mail) -> bool {
        let key = key(mail);
        let was_news = self.cursor.seen.has(&key);
        if !self.cursor.is_again(mail.received) {
            return was_news;
        }
        self.journal.has(&key) || (!was_news && self.cursor.seen.has(&mail.id))
    }

    /// Remembers the mails that could not be read, each for as long as it may still come.
    fn keep_for_later(&mut self, asked: &BTreeSet<String>, left: Vec<(String, SignedDuration)>) {
        let now = self.parts.clock.now();
        let mut before: BTreeMap<String, Timestamp> =
            asked.iter().filter_map(|id| self.cursor.pending.remove_entry(id)).collect();
        for (id, for_max) in left {
            // While a mail can't be judged, its time limit does not run.
            let since = before.remove(&id).filter(|_| for_max != SignedDuration::MAX).unwrap_or(now);
            if now.duration_since(since) <= for_max {
                self.cursor.pending.insert(id, since);
                continue;
            }
            self.cursor.seen.note(&id);
            if for_max == MISSING_FOR {
                continue;
            }
            let detail = format!("lost: it could not be read for {} hours", PENDING_FOR.as_hours());
            let line =
                Interaction::new(InteractionKind::Dropped).in_chat(Channel::Email, CHAT_ID).detail(detail);
            self.journal.interaction(Interaction { id: Some(id), ..line });
        }
    }
}
