//! Who leads, and what a session does once it does.
//! It must never take the lead for a session that could not use it, nor poll in one that does not lead.

use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::NETWORK_PAUSE;
use crate::gate::Gate;
use crate::journal::Journal;
use crate::source::InboundSource;
use crate::storage::Changes;

/// How often a follower looks for new records where nobody tells it of them, and tries to take the lead at every second
/// look.
const FOLLOW_INTERVAL: Duration = Duration::from_millis(250);
/// The least pause between two looks of a follower that is told of changes.
const NEWS_PAUSE: Duration = Duration::from_millis(5);
/// A follower looks at the policy at every so many looks, which is once a second; the leader at each of its own.
const POLICY_LOOKS: u64 = 4;
/// How often the leader lets the journal try again what the disk did not take.
const LEAD_INTERVAL: Duration = Duration::from_secs(1);

/// Between two words about what fails all the time.
const SAME_WORD_EVERY: Duration = Duration::from_secs(600);

/// Something that is tried again and again: it is told when it begins to fail, now and then while it does, and when it
/// is well again.
#[derive(Default)]
struct Trying {
    told_at: Option<Instant>,
    failed: u64,
}

/// What is worth a line.
#[derive(Debug, PartialEq, Eq)]
enum Word {
    Fails,
    /// After so many failures.
    Well(u64),
}

impl Trying {
    fn note(&mut self, is_ok: bool) -> Option<Word> {
        if is_ok {
            let failed = std::mem::take(self).failed;
            return (failed > 0).then_some(Word::Well(failed));
        }
        self.failed += 1;
        if self.told_at.is_some_and(|at| at.elapsed() < SAME_WORD_EVERY) {
            return None;
        }
        self.told_at = Some(Instant::now());
        Some(Word::Fails)
    }
}

/// Follows the leader's journal, and takes the lead when it is free.
pub(super) async fn keep_up(
    journal: &Journal,
    gate: &Gate,
    lead: &watch::Sender<bool>,
    may_lead: bool,
) -> Infallible {
    let mut every_change = journal.every_change();
    let mut news = if *lead.borrow() { None } else { journal.changes() };
    // What was written before the news began is told by nobody.
    let (mut looking, mut leading) = (Trying::default(), Trying::default());
    refresh(journal, &mut looking);
    let mut look: u64 = 0;
    loop {
        if *lead.borrow() {
            // Only the leader writes, so nobody has news for it.
            news = None;
            sleep(LEAD_INTERVAL).await;
        } else {
            follow(journal, news.as_mut(), &mut looking).await;
        }
        if let Some(every_change) = &mut every_change {
            let settled = *lead.borrow() && journal.is_settled() && gate.is_settled();
            if settled && !every_change.is_news() {
                rest(every_change).await;
            }
            every_change.skip();
        }
        refresh(journal, &mut looking);
        look += 1;
        if (*lead.borrow() || look.is_multiple_of(POLICY_LOOKS))
            && let Some(news) = gate.refresh()
        {
            tracing::info!("{news}");
            journal.interaction(news.interaction());
        }
        if may_lead && !*lead.borrow() && look.is_multiple_of(2) {
            let outcome = journal.try_lead();
            let word = leading.note(outcome.is_ok());
            match outcome {
                Ok(true) => {
                    tracing::info!("this session leads now: it polls");
                    lead.send_replace(true);
                }
                Err(error) if word.is_some() => tracing::warn!(%error, "the lead could not be taken"),
                Ok(false) | Err(_) => {}
            }
        }
    }
}

/// Passes the time until a follower's next look, and takes in what it is told of meanwhile.
async fn follow(journal: &Journal, news: Option<&mut Changes>, looking: &mut Trying) {
    let until = Instant::now() + FOLLOW_INTERVAL;
    let Some(news) = news else { return sleep_until(until).await };
    while timeout_at(until, news.next()).await.is_ok() {
        refresh(journal, looking);
        sleep_until(until.min(Instant::now() + NEWS_PAUSE)).await;
    }
}

fn refresh(journal: &Journal, looking: &mut Trying) {
    let outcome = journal.refresh();
    match (looking.note(outcome.is_ok()), outcome) {
        (Some(Word::Fails), Err(error)) => tracing::warn!(%error, "the journal could not be looked at"),
        (Some(Word::Well(failed)), _) => {
            tracing::info!(failed, "the journal can be looked at again");
        }
        _ => {}
    }
}

/// Passes over the looks that would find nothing: comes back at the first one after a change of the disk.
/// A real disk does not tell of every change, so this is for the simulation; process mode runs the looks themselves.
async fn rest(every_change: &mut Changes) {
    let began = Instant::now();
    every_change.next().await;
    let late = began.elapsed().as_nanos() % LEAD_INTERVAL.as_nanos();
    if late > 0 {
        sleep(LEAD_INTERVAL.saturating_sub(Duration::from_nanos(u64::try_from(late).unwrap_or(0)))).await;
    }
}

/// Runs the source once this process leads, and has asked for the sponsors: what they write before that would wait.
pub(super) async fn poll(
    mut source: impl InboundSource,
    journal: &Journal,
    mut leading: watch::Receiver<bool>,
    mut sponsored: watch::Receiver<bool>,
    polls: bool,
) -> Infallible {
    if !polls {
        let name = source.name();
        tracing::info!("{name} is not polled: there is no usable sign-in, or `{name}.enabled` is false");
        return std::future::pending().await;
    }
    sleep(NETWORK_PAUSE).await;
    // The senders live as long as this future.
    let _ = leading.wait_for(|leading| *leading).await;
    let _ = sponsored.wait_for(|known| *known).await;
    source.run(journal).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_fails_all_the_time_is_told_rarely_and_its_end_once() {
        let mut trying = Trying::default();
        assert_eq!(trying.note(true), None);
        let mut told = 0;
        for _ in 0..3_600 {
            told += usize::from(trying.note(false) == Some(Word::Fails));
            sleep(LEAD_INTERVAL).await;
        }
        assert_eq!(told, 6);
        assert_eq!(trying.note(true), Some(Word::Well(3_600)));
        assert_eq!(trying.note(true), None);
        assert_eq!(trying.note(false), Some(Word::Fails), "it is news again");
    }
}
