//! Retention: what goes, what never goes, and that nobody notices but by what is gone.

use std::collections::{BTreeMap, BTreeSet};

use entraclaw_inbox::journal::{Journal, JournalError, JournalOptions, Mailbox, Pruned, RetentionPolicy};
use entraclaw_inbox::record::{Channel, Draft};
use entraclaw_seams::clock::Clock as _;
use entraclaw_seams::storage::{Crash, Fault, MemoryStorage};
use jiff::Timestamp;
use proptest::prelude::*;

use crate::support::*;

const IDLE_DAYS: u32 = 10;

fn policy(days: u32) -> RetentionPolicy {
    RetentionPolicy { days_max: Some(days), bytes_max: None, consumer_idle_days: IDLE_DAYS }
}

/// One record a day for `days` days, the calendar steady.
fn filled(journal: &Journal, home: &Home, days: u64) {
    for n in 1..=days {
        journal.append(vec![draft(n)]).unwrap();
        home.clock.move_by(24);
        journal.prune(&RetentionPolicy { consumer_idle_days: IDLE_DAYS, ..Default::default() }).unwrap();
    }
}

fn files(home: &Home) -> Vec<String> {
    let of_day = |path: &String| path.starts_with("inbox/2");
    home.disk.paths().into_iter().filter(of_day).collect()
}

/// A clock that was wrong once makes a file of a day to come, behind which every later message goes.
#[test]
fn one_jump_of_the_clock_forward_does_not_end_retention() {
    const JUMP_HOURS: i64 = 100_000 * 24;
    for opens_again in [false, true] {
        let home = Home::new();
        let (mut journal, _) = home.open();
        home.clock.move_by(JUMP_HOURS);
        journal.append(vec![draft(1)]).unwrap();
        home.clock.move_by(-JUMP_HOURS);
        let mut reader = mailbox(&journal, "claude-code");
        for n in 2..=40 {
            if opens_again {
                drop(reader);
                journal = home.reopen().0;
                reader = mailbox(&journal, "claude-code");
            }
            let written = format!("{:.0}", home.clock.now());
            journal.append(vec![Draft { ts: written, ..draft(n) }]).unwrap();
            take(&mut reader, &all());
            home.clock.move_by(12);
            journal.append(vec![Draft { ts: format!("{:.0}", home.clock.now()), ..draft(100 + n) }]).unwrap();
            take(&mut reader, &all());
            home.clock.move_by(12);
            journal.prune(&policy(5)).unwrap();
        }
        assert!(files(&home).len() <= 8, "{:?}", files(&home));
        let left = keys(&journal);
        assert!((8..=16).contains(&left.len()), "{left:?}");
        assert_eq!(left.last(), Some(&draft(140).key));
        assert_eq!(reader.unread(None), 0);
        drop(reader);
        let (journal, report) = home.reopen();
        assert_eq!(report.findings, []);
        assert_eq!((keys(&journal), journal.losses().missing()), (left, 0));
    }
}

#[test]
fn days_that_every_consumer_has_are_deleted_and_the_rest_reads_as_before() {
    let home = Home::new();
    let (journal, _) = home.open();
    let mut reader = mailbox(&journal, "claude-code");
    filled(&journal, &home, 8);
    assert_eq!(take(&mut reader, &up_to(5)).items.len(), 5);
    let pruned = journal.prune(&policy(3)).unwrap();
    assert_eq!((pruned.files, pruned.records), (5, 5), "{pruned:?}");
    assert_eq!(keys(&journal), keys_of(6..=8));
    assert_eq!(files(&home).len(), 3);
    assert!(!home.disk.paths().contains(&INDEX.to_owned()), "an index goes with its file");
    let stats = journal.stats();
    assert_eq!((stats.records, stats.last_seq), (3, 8));
    assert_eq!(reader.unread(None), 3);
    assert_eq!(ids(&take(&mut reader, &all())), ["m6", "m7", "m8"]);
    assert_eq!(reader.unread(None), 0);
    drop(reader);
    let (journal, report) = home.reopen();
    assert_eq!(report.findings, [], "it is no damage");
    assert_eq!(keys(&journal), keys_of(6..=8));
    let mut fresh = mailbox(&journal, "fresh");
    assert_eq!(fresh.unread(None), 3, "a new consumer begins at the oldest there is");
    assert_eq!(take(&mut fresh, &all()).items.len(), 3);
    assert_eq!(fresh.unread(None), 0);
    assert_eq!(journal.append(vec![draft(8), draft(9)]).unwrap().new[0].seq, 9);
    assert!(home.text("interactions/2026-11-29.jsonl").contains("5 files with 5 records deleted"));
}

#[test]
fn a_follower_lets_go_of_what_the_leader_has_deleted() {
    let home = Home::new();
    let (leader, _) = home.open();
    let (follower, _) = home.open();
    filled(&leader, &home, 8);
    take(&mut mailbox(&leader, "claude-code"), &all());
    while follower.refresh().unwrap() {}
    assert_eq!(follower.stats().records, 8);
    assert_eq!(leader.prune(&policy(3)).unwrap().files, 5);
    follower.refresh().unwrap();
    assert_eq!((follower.stats().records, keys(&follower)), (3, keys(&leader)));
}

#[test]
fn days_that_an_active_consumer_has_not_acknowledged_stay_and_the_consumer_is_named() {
    let home = Home::new();
    let (journal, _) = home.open();
    let mut quick = mailbox(&journal, "quick");
    let mut slow = mailbox(&journal, "slow");
    filled(&journal, &home, 8);
    take(&mut quick, &all());
    take(&mut slow, &up_to(2));
    // Handed out is not acknowledged.
    slow.hand_out(entraclaw_inbox::journal::DeliveryId(7), &up_to(3)).unwrap();
    let pruned = journal.prune(&policy(1)).unwrap();
    assert_eq!((pruned.files, &pruned.held_back_by), (2, &vec!["slow".to_owned()]));
    assert_eq!(keys(&journal), keys_of(3..=8));
    // It stays so while its session lives, however long that does nothing.
    for _ in 0..40 {
        home.clock.move_by(24);
        let pruned = journal.prune(&policy(1)).unwrap();
        assert_eq!((pruned.files, pruned.idle_consumers.len()), (0, 0), "{pruned:?}");
    }
    // And after its end as long as the policy says.
    drop(slow);
    for _ in 0..IDLE_DAYS {
        home.clock.move_by(24);
        assert_eq!(journal.prune(&policy(1)).unwrap().files, 0);
    }
    home.clock.move_by(24);
    let pruned = journal.prune(&policy(1)).unwrap();
    assert_eq!(pruned.idle_consumers, ["slow"]);
    assert_eq!(pruned.files, 5, "the newest file stays whatever its age");
    assert_eq!(keys(&journal), keys_of(8..=8));
    let mut slow = mailbox(&journal, "slow");
    assert_eq!(slow.unread(None), 1);
}

#[test]
fn one_channel_unread_is_enough() {
    let home = Home::new();
    let (journal, _) = home.open();
    let mut reader = mailbox(&journal, "claude-code");
    journal.append(vec![draft(1), draft_on(Channel::Email, 2)]).unwrap();
    filled(&journal, &home, 5);
    let teams = entraclaw_inbox::journal::Query { channel: Some(Channel::Teams), ..all() };
    take(&mut reader, &teams);
    assert_eq!(journal.prune(&policy(1)).unwrap().files, 0);
    take(&mut reader, &all());
    assert_eq!(journal.prune(&policy(1)).unwrap().files, 4);
    assert_eq!(reader.unread(None), 0);
}

#[test]
fn the_size_limit_takes_the_oldest_and_spares_two_days() {
    let home = Home::with(JournalOptions { segment_bytes_max: 1, ..JournalOptions::default() });
    let (journal, _) = home.open();
    filled(&journal, &home, 6);
    let policy = RetentionPolicy { bytes_max: Some(0), consumer_idle_days: IDLE_DAYS, ..Default::default() };
    assert_eq!(journal.prune(&policy).unwrap().files, 5, "yesterday's stays, and it is the newest");
    assert_eq!(keys(&journal), keys_of(6..=6));
}

#[test]
fn a_since_id_that_is_gone_gets_a_clear_answer() {
    let home = Home::new();
    let (journal, _) = home.open();
    filled(&journal, &home, 5);
    journal.prune(&policy(2)).unwrap();
    let mut reader = mailbox(&journal, "claude-code");
    let query = entraclaw_inbox::journal::Query { since_id: Some("m1".to_owned()), ..all() };
    let error = reader.hand_out(entraclaw_inbox::journal::DeliveryId(1), &query).unwrap_err();
    assert_eq!(
        error.to_string(),
        "since_id \"m1\" names no message of the journal, which begins on 2026-11-24: older days were deleted by \
         retention; leave it empty to read from the oldest unread one"
    );
}

#[test]
fn a_calendar_that_jumps_deletes_nothing_for_a_day() {
    let home = Home::new();
    let (journal, _) = home.open();
    filled(&journal, &home, 5);
    home.clock.move_by(24 * 365);
    let pruned = journal.prune(&policy(1)).unwrap();
    assert!(pruned.waits_for_calendar && pruned.files == 0);
    home.clock.move_by(-24 * 365);
    assert!(journal.prune(&policy(1)).unwrap().waits_for_calendar);
    home.clock.move_by(24);
    assert_eq!(journal.prune(&policy(1)).unwrap().files, 4);
}

#[test]
fn a_follower_deletes_nothing_and_sees_what_is_gone() {
    let home = Home::with(JournalOptions { window_messages_max: 1, ..JournalOptions::default() });
    let (leader, _) = home.open();
    let (follower, _) = home.open();
    filled(&leader, &home, 6);
    follower.refresh().unwrap();
    take(&mut mailbox(&leader, "copilot-cli"), &up_to(4));
    let mut reader = mailbox(&follower, "copilot-cli");
    assert_eq!(follower.prune(&policy(1)).unwrap(), Pruned::default());
    assert_eq!(leader.prune(&policy(1)).unwrap().files, 4);
    // Before it has looked, a read from the oldest finds the files gone.
    assert_eq!(keys(&follower), keys_of(5..=6));
    follower.refresh().unwrap();
    assert_eq!((follower.stats().records, reader.unread(None)), (2, 2));
    assert_eq!(ids(&take(&mut reader, &all())), ["m5", "m6"]);
}

#[test]
fn files_kept_aside_go_with_their_day_and_others_stay() {
    let home = Home::new();
    let (journal, _) = home.open();
    for aside in ["inbox/2026-11-21.jsonl.torn", "inbox/2026-11-21.jsonl.damaged.2", "inbox/notes.txt"] {
        home.disk.set_bytes(aside, b"x");
    }
    filled(&journal, &home, 5);
    journal.prune(&policy(1)).unwrap();
    let left: Vec<String> =
        home.disk.paths().into_iter().filter(|p| p.contains("inbox/2026-11-21.jsonl")).collect();
    assert_eq!(left, Vec::<String>::new());
    assert!(home.disk.bytes("inbox/notes.txt").is_some());
}

/// At whatever call the process or the machine dies, the journal then begins at one place, without a hole.
#[test]
fn a_crash_in_the_middle_leaves_no_hole() {
    for power in [false, true] {
        for call in 0..60 {
            let home = Home::new();
            let (journal, _) = home.open();
            filled(&journal, &home, 6);
            let fault = if power { Fault::PowerCut(call) } else { Fault::Kill };
            home.disk.fail_call(call, fault);
            let outcome = journal.prune(&policy(2));
            let happened = !home.disk.clear_fault();
            assert!(happened || outcome.is_ok(), "call {call}: {outcome:?}");
            let (journal, report) = home.reopen();
            let holes = report.findings.iter().filter(|f| f.to_string().contains("in no file")).count();
            assert_eq!(holes, 0, "call {call}: {:?}", report.findings);
            let found = keys(&journal);
            assert!(found == keys_of(1..=6) || found == keys_of(5..=6), "call {call}: {found:?}");
            journal.prune(&policy(2)).unwrap();
            assert_eq!(keys(&journal), keys_of(5..=6), "call {call}");
            assert_eq!(files(&home).len(), 2, "call {call}");
            if !happened {
                assert!(call > 5, "a round makes more calls than that");
                break;
            }
            assert!(call < 59, "the loop must get to the end of a round");
        }
    }
}

const CONSUMERS: [&str; 3] = ["claude-code", "copilot-cli", "watch-cli"];
const PROCESS_OF: [usize; 3] = [0, 1, 1];

#[derive(Debug, Clone)]
enum Step {
    Append { count: u64, channel: Channel },
    Take { who: usize, limit: usize },
    Come { who: usize },
    Leave { who: usize },
    Pass { hours: i64 },
    Prune { days: u32, bytes: Option<u64> },
    CrashingPrune { call: u64, power: bool },
    Refresh,
    Kill { process: usize },
    PowerCut { seed: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let who = 0..3_usize;
    let hours = prop_oneof![8 => 1..30_i64, 2 => 100..200_i64, 1 => 2_000..9_000_i64, 1 => -9_000..-1_i64];
    prop_oneof![
        6 => (1..4_u64, prop::sample::select(Channel::ALL.to_vec()))
            .prop_map(|(count, channel)| Step::Append { count, channel }),
        5 => (who.clone(), 1..6_usize).prop_map(|(who, limit)| Step::Take { who, limit }),
        1 => who.clone().prop_map(|who| Step::Come { who }),
        2 => who.prop_map(|who| Step::Leave { who }),
        8 => hours.prop_map(|hours| Step::Pass { hours }),
        6 => (0..5_u32, prop::option::of(0..3_000_u64)).prop_map(|(days, bytes)| Step::Prune { days, bytes }),
        1 => (0..40_u64, any::<bool>()).prop_map(|(call, power)| Step::CrashingPrune { call, power }),
        2 => Just(Step::Refresh),
        1 => (0..2_usize).prop_map(|process| Step::Kill { process }),
        1 => any::<u64>().prop_map(|seed| Step::PowerCut { seed }),
    ]
}

/// Two processes, three consumers, and what each of them must still get.
struct World {
    home: Home,
    processes: [MemoryStorage; 2],
    journals: [Journal; 2],
    mailboxes: [Option<Mailbox>; 3],
    /// Every record there ever was, by place.
    records: BTreeMap<u64, String>,
    unread: [BTreeSet<u64>; 3],
    /// When a consumer was last there: the times of which one is on the disk.
    there: [BTreeSet<Timestamp>; 3],
    drafted: u64,
    deleted: u64,
}

impl World {
    fn new() -> Self {
        let options =
            JournalOptions { window_messages_max: 5, segment_bytes_max: 1_500, ..JournalOptions::default() };
        let home = Home::with(options);
        let processes = [home.disk.new_process(), home.disk.new_process()];
        let journals = processes.clone().map(|process| home.open_as(process).unwrap().0);
        Self {
            home,
            processes,
            journals,
            mailboxes: [None, None, None],
            records: BTreeMap::new(),
            unread: Default::default(),
            there: Default::default(),
            drafted: 0,
            deleted: 0,
        }
    }

    fn leader(&self) -> usize {
        usize::from(!self.journals[0].is_leader())
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Append { count, channel } => {
                let new = (1..=count).map(|n| draft_on(channel, self.drafted + n)).collect();
                self.drafted += count;
                for record in self.journals[self.leader()].append(new).unwrap().new {
                    let last = self.records.last_key_value().map_or(0, |(seq, _)| *seq);
                    assert!(record.seq > last, "places only grow");
                    self.unread.iter_mut().for_each(|unread| {
                        unread.insert(record.seq);
                    });
                    self.records.insert(record.seq, record.key);
                }
            }
            Step::Take { who, limit } => self.take(who, limit),
            Step::Come { who } => self.come(who),
            Step::Leave { who } => {
                self.touch(who);
                self.mailboxes[who] = None;
            }
            Step::Pass { hours } => self.home.clock.move_by(hours),
            Step::Prune { days, bytes } => {
                let before = self.unread_of_the_active();
                self.prune(days, bytes).unwrap();
                self.check(before);
            }
            Step::CrashingPrune { call, power } => {
                let before = self.unread_of_the_active();
                self.home.disk.fail_call(call, if power { Fault::PowerCut(call) } else { Fault::Kill });
                // Dying in it is what is tried; what is left is looked at afterwards.
                let _ = self.prune(1, None);
                self.home.disk.clear_fault();
                // It may have noted those who are there before it died.
                let now = self.home.clock.now();
                for who in self.connected() {
                    self.there[who].insert(now);
                }
                self.restart(power);
                self.check(before);
            }
            Step::Refresh => self.refresh(),
            Step::Kill { process } => {
                self.processes[process].kill();
                self.journals[1 - process].try_lead().unwrap();
                self.reopen(process);
            }
            Step::PowerCut { seed } => {
                self.home.disk.crash(Crash::Power, seed);
                self.restart(true);
            }
        }
    }

    fn refresh(&self) {
        for journal in &self.journals {
            while journal.refresh().unwrap() {}
        }
    }

    fn connected(&self) -> Vec<usize> {
        (0..3).filter(|who| self.mailboxes[*who].is_some()).collect()
    }

    fn touch(&mut self, who: usize) {
        if self.mailboxes[who].is_some() {
            self.there[who] = [self.home.clock.now()].into();
        }
    }

    fn come(&mut self, who: usize) {
        if self.mailboxes[who].is_none() {
            self.mailboxes[who] = Some(mailbox(&self.journals[PROCESS_OF[who]], CONSUMERS[who]));
            self.touch(who);
        }
    }

    fn take(&mut self, who: usize, limit: usize) {
        self.come(who);
        self.refresh();
        let Some(mailbox) = &mut self.mailboxes[who] else { return };
        let batch = take(mailbox, &up_to(limit));
        let expected: Vec<u64> = self.unread[who].iter().copied().take(limit).collect();
        let found: Vec<u64> = batch.items.iter().map(|item| item.record.seq).collect();
        assert_eq!(found, expected, "{}", CONSUMERS[who]);
        for seq in &found {
            self.unread[who].remove(seq);
        }
        assert_eq!(mailbox.unread(None), self.unread[who].len() as u64);
        // A look that brings nothing writes nothing.
        if !found.is_empty() {
            self.touch(who);
        }
    }

    /// What nobody may take from those who are there or were there lately.
    fn unread_of_the_active(&self) -> Vec<(usize, BTreeSet<u64>)> {
        let now = self.home.clock.now();
        // The hour is how exactly it is noted.
        let hours = i64::from(IDLE_DAYS) * 24 - 1;
        let lately = |at: &Timestamp| *at <= now && now.duration_since(*at).as_hours() < hours;
        let was_there = |who: usize| !self.there[who].is_empty() && self.there[who].iter().all(lately);
        let active = |who: &usize| self.mailboxes[*who].is_some() || was_there(*who);
        (0..3).filter(active).map(|who| (who, self.unread[who].clone())).collect()
    }

    fn prune(&mut self, days: u32, bytes_max: Option<u64>) -> Result<(), JournalError> {
        let policy = RetentionPolicy { days_max: Some(days), bytes_max, consumer_idle_days: IDLE_DAYS };
        let pruned = self.journals[self.leader()].prune(&policy)?;
        self.deleted += pruned.files;
        for who in 0..3 {
            self.touch(who);
        }
        Ok(())
    }

    /// Whatever is gone was acknowledged by everybody who counts.
    fn check(&mut self, before: Vec<(usize, BTreeSet<u64>)>) {
        let left = self.left();
        for (who, unread) in before {
            let lost: Vec<_> = unread.difference(&left).collect();
            assert!(lost.is_empty(), "{} never got {lost:?}", CONSUMERS[who]);
        }
        self.unread.iter_mut().for_each(|unread| unread.retain(|seq| left.contains(seq)));
    }

    /// What the journal still has: the newest of all that there was, without a hole.
    fn left(&self) -> BTreeSet<u64> {
        let found = self.journals[self.leader()].read_after(0, usize::MAX).unwrap();
        let from = found.first().map_or(u64::MAX, |record| record.seq);
        let found: Vec<_> = found.into_iter().map(|record| (record.seq, record.key)).collect();
        let expected: Vec<_> = self.records.range(from..).map(|(seq, key)| (*seq, key.clone())).collect();
        assert_eq!(found, expected);
        assert!(self.records.is_empty() || !found.is_empty(), "the newest file always stays");
        found.into_iter().map(|(seq, _)| seq).collect()
    }

    fn reopen(&mut self, process: usize) {
        for who in (0..3).filter(|who| PROCESS_OF[*who] == process) {
            self.mailboxes[who] = None;
        }
        self.processes[process] = self.home.disk.new_process();
        self.journals[process] = self.home.open_as(self.processes[process].clone()).unwrap().0;
    }

    fn restart(&mut self, power: bool) {
        self.home.disk.crash(Crash::Process, 0);
        self.reopen(0);
        self.reopen(1);
        if power {
            // Notes may be gone: learn anew what each consumer still has to get, and who is known at all.
            let left = self.left();
            for who in 0..3 {
                self.there[who].clear();
                self.come(who);
                let mailbox = self.mailboxes[who].as_mut().unwrap();
                let peek = entraclaw_inbox::journal::Query {
                    purpose: entraclaw_inbox::journal::Purpose::Peek,
                    ..all()
                };
                let batch = mailbox.hand_out(entraclaw_inbox::journal::DeliveryId(9), &peek).unwrap();
                mailbox.finish(entraclaw_inbox::journal::DeliveryId(9));
                let unread: BTreeSet<u64> = batch.items.iter().map(|item| item.record.seq).collect();
                let must: BTreeSet<u64> = self.unread[who].intersection(&left).copied().collect();
                assert!(must.is_subset(&unread), "a power cut acknowledged something");
                self.unread[who] = unread;
            }
        } else {
            let left = self.left();
            self.unread.iter_mut().for_each(|unread| unread.retain(|seq| left.contains(seq)));
        }
    }

    fn finish(&mut self) {
        for who in 0..3 {
            self.take(who, usize::MAX);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 4_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn nothing_unseen_of_an_active_consumer_is_ever_deleted(steps in prop::collection::vec(step(), 1..120)) {
        let mut world = World::new();
        for step in &steps {
            world.run(step);
        }
        world.finish();
    }
}

/// A round that dies may have noted who is there. Here that time is earlier than the one before, for the clock was set
/// back, and it is the one that counts from then on.
#[test]
fn a_round_that_dies_may_have_noted_who_is_there() {
    let append = |count| Step::Append { count, channel: Channel::Teams };
    for call in 0..40 {
        let mut world = World::new();
        for step in [
            append(2),
            append(3),
            append(1),
            Step::Pass { hours: 60 },
            Step::Take { who: 0, limit: 1 },
            Step::Pass { hours: -81 },
            Step::CrashingPrune { call, power: false },
            Step::Take { who: 2, limit: 3 },
            Step::Pass { hours: 133 },
            Step::Prune { days: 0, bytes: None },
            Step::Pass { hours: 108 },
            Step::Take { who: 2, limit: 2 },
            Step::Prune { days: 0, bytes: None },
        ] {
            world.run(&step);
        }
        world.finish();
    }
}

/// The property above says nothing if nothing is ever deleted.
#[test]
fn long_histories_do_delete() {
    let mut world = World::new();
    for n in 0..40 {
        for who in 0..3 {
            world.run(&Step::Take { who, limit: 4 });
        }
        world.run(&Step::Append { count: 2, channel: Channel::ALL[n % 3] });
        world.run(&Step::Pass { hours: 20 });
        world.run(&Step::Prune { days: 3, bytes: None });
    }
    world.finish();
    assert!(world.deleted > 20, "{}", world.deleted);
}

#[test]
fn a_message_that_was_deleted_here_is_not_unknown_by_another_kind_of_error() {
    let home = Home::filled(2);
    let (journal, _) = home.open();
    let query = entraclaw_inbox::journal::Query { since_id: Some("never".to_owned()), ..all() };
    let error = mailbox(&journal, "a").hand_out(entraclaw_inbox::journal::DeliveryId(1), &query).unwrap_err();
    assert!(matches!(error, JournalError::UnknownId { begins: None, .. }));
    assert!(!error.to_string().contains("retention"));
}

/// A process that follows, takes the lead and then deletes counts as one that always led: the files it reads anew as
/// leader were once mistaken for those it had counted as follower.
#[test]
fn a_new_leader_counts_what_is_left() {
    let home = Home::new();
    let (first, _) = home.open();
    let process = home.disk.new_process();
    let (second, _) = home.open_as(process).unwrap();
    let mut reader = mailbox(&second, "copilot-cli");
    filled(&first, &home, 6);
    second.refresh().unwrap();
    take(&mut reader, &all());
    assert_eq!(first.prune(&policy(4)).unwrap().files, 2);
    second.refresh().unwrap();
    drop(first);
    assert!(second.try_lead().unwrap());
    assert_eq!(second.prune(&policy(1)).unwrap().files, 3);
    assert_eq!((second.stats().records, reader.unread(None)), (1, 0));
}
