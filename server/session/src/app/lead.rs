//! Takes, follows and gives up the lead.
//! It must never take the lead for a session that can't use it, nor poll in a session that does not lead. It judges by
//! this process's own clock whether a leader makes progress, so a jump of the calendar or a sleep of the machine does
//! not count.

use std::convert::Infallible;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::work::ForWork;
use crate::status::sessions_there;
use entraclaw_inbox::gate::Gate;
use entraclaw_inbox::journal::{Journal, JournalError, Pulse};
use entraclaw_seams::storage::{Changes, Storage};

/// How often a follower looks for new records if no change is reported, reads the policy and tries to lead.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(1);
/// The shortest pause between two looks of a follower that gets reports of changes.
const NEWS_PAUSE: Duration = Duration::from_millis(5);
/// How often the leader lets the journal repeat failed writes.
const LEAD_INTERVAL: Duration = Duration::from_secs(1);
/// How often the leader checks whether another process has changed the journal's files.
const FILES_INTERVAL: Duration = Duration::from_secs(9);

/// How often the leader shows a sign of progress, while other sessions follow it.
const BEAT_EVERY: Duration = Duration::from_secs(3);
/// How long a leader may show no sign before that is reported.
const SILENCE_TOLD: Duration = Duration::from_secs(8);
/// How long a leader may show no sign before it is replaced. Replacing a slow leader loses nothing, but it should be rare.
const SILENCE_MAX: Duration = Duration::from_secs(15);
/// Most time between two looks that counts as silence: a follower that slept with the whole machine must not count that. A
/// slow machine looks half as often as it should, and its followers wait no longer for it.
const LOOK_COUNTS_MAX: Duration = FOLLOW_INTERVAL.saturating_mul(2);

/// The pause between two reports of a failure that lasts.
const SAME_WORD_EVERY: Duration = Duration::from_secs(600);

/// A repeated attempt. A report is due when it begins to fail, from time to time while it fails, and when it succeeds
/// again.
#[derive(Default)]
struct Trying {
    reported_at: Option<Instant>,
    failed: u64,
}

/// A report for the log.
#[derive(Debug, PartialEq, Eq)]
enum Report {
    Fails,
    /// It succeeds again after so many failures.
    Recovered(u64),
}

impl Trying {
    fn note(&mut self, is_ok: bool) -> Option<Report> {
        if is_ok {
            let failed = std::mem::take(self).failed;
            return (failed > 0).then_some(Report::Recovered(failed));
        }
        self.failed += 1;
        if self.reported_at.is_some_and(|at| at.elapsed() < SAME_WORD_EVERY) {
            return None;
        }
        self.reported_at = Some(Instant::now());
        Some(Report::Fails)
    }
}

/// How long the leader has shown no sign, by this process's own looks.
struct Silence {
    seen: Option<Pulse>,
    looked_at: Instant,
    lasts: Duration,
}

impl Silence {
    fn new() -> Self {
        Self { seen: None, looked_at: Instant::now(), lasts: Duration::ZERO }
    }

    fn look(&mut self, pulse: Pulse) {
        let passed = self.looked_at.elapsed().min(LOOK_COUNTS_MAX);
        self.looked_at = Instant::now();
        let moved = self.seen.replace(pulse) != Some(pulse);
        self.lasts = if moved { Duration::ZERO } else { self.lasts + passed };
    }
}

/// Shows the leader's progress while other sessions follow it.
struct Beat {
    due: Instant,
    is_alone: bool,
    failing: Trying,
}

impl Beat {
    fn new() -> Self {
        Self { due: Instant::now(), is_alone: true, failing: Trying::default() }
    }

    fn go_on(&mut self, journal: &Journal, storage: &dyn Storage) {
        if self.due > Instant::now() {
            return;
        }
        self.due = Instant::now() + BEAT_EVERY;
        self.is_alone = sessions_there(storage) < 2;
        if self.is_alone {
            return;
        }
        let outcome = journal.beat();
        if let (Some(Report::Fails), Err(error)) = (self.failing.note(outcome.is_ok()), outcome) {
            tracing::warn!(%error, "other sessions may think that this one is stopped");
        }
    }
}

/// Checks the journal's files in the leader. It does nothing between two checks if the disk reports no changes.
struct FileLook {
    due: Instant,
    has_news: bool,
    failing: Trying,
}

impl FileLook {
    fn new() -> Self {
        Self { due: Instant::now() + FILES_INTERVAL, has_news: false, failing: Trying::default() }
    }

    /// Moves on to the first check that is not over: those before it would have found nothing.
    fn skip(&mut self) {
        let over = self.due.elapsed().as_nanos().div_ceil(FILES_INTERVAL.as_nanos());
        self.due += FILES_INTERVAL.saturating_mul(u32::try_from(over).unwrap_or(u32::MAX));
    }

    fn go_on(&mut self, journal: &Journal) {
        if self.due > Instant::now() {
            return;
        }
        (self.due, self.has_news) = (Instant::now() + FILES_INTERVAL, false);
        let outcome = journal.look_at_files();
        // A disk that can't be written is reported elsewhere.
        let is_ok = matches!(outcome, Ok(()) | Err(JournalError::NotDurable { .. }));
        if let (Some(Report::Fails), Err(error)) = (self.failing.note(is_ok), outcome) {
            tracing::warn!(%error, "it can't be seen whether the journal's files are whole");
        }
    }
}

/// Tries to lead: if no session leads, or if the leader shows no sign of progress.
fn try_lead(journal: &Journal, silence: &mut Silence) -> Result<bool, JournalError> {
    if journal.try_lead()? {
        journal.note_leader_silent(false);
        return Ok(true);
    }
    let pulse = journal.pulse()?;
    silence.look(pulse);
    let mut leads = false;
    if silence.lasts >= SILENCE_MAX {
        tracing::warn!("the session that leads does not move; this one leads in its place");
        silence.lasts = Duration::ZERO;
        leads = journal.replace_leader(&pulse)?;
    }
    journal.note_leader_silent(!leads && silence.lasts >= SILENCE_TOLD);
    Ok(leads)
}

/// Follows the leader's journal, takes the lead when it is free, and gives it up when this process was replaced.
pub(super) async fn keep_up(
    journal: &Journal,
    gate: &Gate,
    storage: &dyn Storage,
    lead: &watch::Sender<bool>,
    may_lead: bool,
) -> Infallible {
    let mut every_change = journal.every_change();
    let mut news = if *lead.borrow() { None } else { journal.changes() };
    if !may_lead {
        // It may lead for a moment, to bring results of work that no other session brings.
        journal.let_lead();
    }
    // Changes before this listener existed are not reported.
    let (mut looking, mut leading) = (Trying::default(), Trying::default());
    refresh(journal, &mut looking);
    let (mut silence, mut beat, mut files) = (Silence::new(), Beat::new(), FileLook::new());
    let mut for_work = ForWork::new();
    loop {
        if *lead.borrow() {
            // Only the leader writes, so it needs no reports of changes.
            news = None;
            sleep(LEAD_INTERVAL).await;
        } else {
            follow(journal, news.as_mut(), &mut looking).await;
        }
        if let Some(every_change) = &mut every_change
            && (may_lead || !*lead.borrow())
        {
            let settled = *lead.borrow() && journal.is_settled() && gate.is_settled();
            if settled && !every_change.is_news() {
                let beat = (!beat.is_alone).then_some(beat.due);
                let due = files.has_news.then_some(files.due);
                let until = beat.into_iter().chain(due).min();
                let is_known = files.has_news;
                files.has_news |= rest(every_change, until).await;
                if !is_known {
                    files.skip();
                }
            }
            files.has_news |= every_change.is_news();
            every_change.skip();
        }
        refresh(journal, &mut looking);
        if *lead.borrow() && !journal.is_leader() {
            tracing::warn!("this session did not move and was replaced as the leader; it follows now");
            lead.send_replace(false);
            news = journal.changes();
            silence = Silence::new();
        } else if *lead.borrow() {
            beat.go_on(journal, storage);
            files.go_on(journal);
        }
        if let Some(news) = gate.refresh() {
            tracing::info!("{news}");
            journal.interaction(news.interaction());
        }
        if !may_lead && *lead.borrow() && for_work.is_over(storage) {
            journal.give_up_lead();
            lead.send_replace(false);
            news = journal.changes();
            silence = Silence::new();
        }
        if !*lead.borrow() && (may_lead || for_work.wants(storage)) {
            let outcome = try_lead(journal, &mut silence);
            let word = leading.note(outcome.is_ok());
            match outcome {
                Ok(true) => {
                    (beat, files) = (Beat::new(), FileLook::new());
                    for_work.began();
                    tracing::info!("this session leads now: it polls");
                    lead.send_replace(true);
                }
                Err(error) if word.is_some() => tracing::warn!(%error, "the lead could not be taken"),
                Ok(false) | Err(_) => {}
            }
        }
    }
}

/// Waits until a follower's next look, and reads reported changes meanwhile.
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
        (Some(Report::Fails), Err(error)) => tracing::warn!(%error, "the journal could not be read"),
        (Some(Report::Recovered(failed)), _) => {
            tracing::info!(failed, "the journal can be read again");
        }
        _ => {}
    }
}

/// Skips the looks that would find nothing, up to the first one after a change of the disk or `until`. Returns whether
/// there was a change. A real disk does not report every change, so this serves only the simulation.
async fn rest(every_change: &mut Changes, until: Option<Instant>) -> bool {
    let began = Instant::now();
    let is_news = if let Some(until) = until {
        timeout_at(until, every_change.next()).await.is_ok()
    } else {
        every_change.next().await;
        true
    };
    let late = began.elapsed().as_nanos() % LEAD_INTERVAL.as_nanos();
    if late > 0 {
        sleep(LEAD_INTERVAL.saturating_sub(Duration::from_nanos(u64::try_from(late).unwrap_or(0)))).await;
    }
    is_news
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_inbox::journal::JournalOptions;
    use entraclaw_seams::storage::MemoryStorage;

    fn pulse_of(beats: u32) -> Pulse {
        let clock = std::sync::Arc::new(entraclaw_seams::clock::SystemClock);
        let storage = std::sync::Arc::new(MemoryStorage::new());
        let (journal, _) = Journal::open(storage, clock, JournalOptions::default()).unwrap();
        for _ in 0..beats {
            journal.beat().unwrap();
        }
        journal.pulse().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_sleep_of_the_machine_does_not_count_as_silence() {
        let mut silence = Silence::new();
        let look = FOLLOW_INTERVAL;
        for _ in 0..20 {
            silence.look(pulse_of(1));
            sleep(look).await;
        }
        assert_eq!(silence.lasts, look * 19);
        silence.look(pulse_of(2));
        assert_eq!(silence.lasts, Duration::ZERO, "it moved");
        let slow = look.mul_f64(1.9);
        sleep(slow).await;
        silence.look(pulse_of(2));
        assert_eq!(silence.lasts, slow, "a slow machine looks rarely");
        silence.look(pulse_of(3));
        // The whole machine sleeps.
        sleep(Duration::from_secs(8 * 3_600)).await;
        silence.look(pulse_of(3));
        assert_eq!(silence.lasts, LOOK_COUNTS_MAX);
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_rests_on_a_disk_that_reports_every_change_until_there_is_one() {
        let storage = MemoryStorage::new();
        let shared = std::sync::Arc::new(storage.clone());
        let clock = std::sync::Arc::new(entraclaw_seams::clock::SystemClock);
        let (journal, _) = Journal::open(shared.clone(), clock, JournalOptions::default()).unwrap();
        let gate = Gate::new([]).with_policy(shared);
        assert!(journal.try_lead().unwrap());
        let (lead, _) = watch::channel(true);
        let looks = async {
            sleep(FILES_INTERVAL * 4).await;
            let calls = storage.calls();
            sleep(FILES_INTERVAL * 400).await;
            assert_eq!(storage.calls(), calls, "it looked though nothing had changed");
            storage.set_bytes("access/unknown", b"");
            let calls = storage.calls();
            sleep(LEAD_INTERVAL * 2).await;
            assert!(storage.calls() > calls, "it did not look at a change");
        };
        tokio::select! {
            never = keep_up(&journal, &gate, &storage, &lead, true) => match never {},
            () = looks => {}
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_lasting_failure_is_reported_rarely_and_its_end_once() {
        let mut trying = Trying::default();
        assert_eq!(trying.note(true), None);
        let mut told = 0;
        for _ in 0..3_600 {
            told += usize::from(trying.note(false) == Some(Report::Fails));
            sleep(LEAD_INTERVAL).await;
        }
        assert_eq!(told, 6);
        assert_eq!(trying.note(true), Some(Report::Recovered(3_600)));
        assert_eq!(trying.note(true), None);
        assert_eq!(trying.note(false), Some(Report::Fails), "a new failure is reported at once");
    }
}
