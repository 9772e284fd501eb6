//! Random histories of two processes and three mailboxes, compared step by step with a model made of vectors.
//!
//! Mailboxes 0 and 1 are sessions of one consumer in two processes; mailbox 2 is another consumer. The model knows
//! exactly which records a hand-out must bring and how they must be marked.

use std::collections::{BTreeMap, BTreeSet};

use entraclaw_inbox::journal::{DeliveryId, DeliveryState, Journal, JournalOptions, Mailbox, Purpose, Query};
use entraclaw_inbox::record::Channel;
use entraclaw_seams::storage::{Crash, MemoryStorage};
use proptest::prelude::*;

use crate::support::*;

/// Which process a mailbox lives in, and which consumer it is of.
const PROCESS_OF: [usize; 3] = [0, 1, 1];
const CONSUMER_OF: [usize; 3] = [0, 0, 1];
const NAMES: [&str; 2] = ["claude-code", "copilot-cli"];

#[derive(Debug, Clone)]
enum Step {
    Append { count: usize, channel: Channel },
    HandOut { mailbox: usize, delivery: u64, limit: usize, channel: Option<Channel>, peek: bool },
    Finish { mailbox: usize, delivery: u64 },
    GiveBack { mailbox: usize, delivery: u64 },
    Acknowledge { mailbox: usize, delivery: u64 },
    ComeBack { mailbox: usize },
    NameIds { mailbox: usize, seq: u64 },
    Push { mailbox: usize, seq: u64 },
    Withdraw { mailbox: usize, seq: u64 },
    Refresh,
    NextDay,
    Kill { process: usize },
    PowerCut { seed: u64 },
}

fn step() -> impl Strategy<Value = Step> {
    let channel = || prop::sample::select(Channel::ALL.to_vec());
    let (mailbox, delivery) = (0..3_usize, 0..3_u64);
    let of = (mailbox.clone(), delivery.clone());
    prop_oneof![
        6 => (1..6_usize, channel()).prop_map(|(count, channel)| Step::Append { count, channel }),
        8 => (of.clone(), 0..6_usize, prop::option::of(channel()), prop::bool::weighted(0.2)).prop_map(
            |((mailbox, delivery), limit, channel, peek)| {
                Step::HandOut { mailbox, delivery, limit, channel, peek }
            }
        ),
        4 => of.clone().prop_map(|(mailbox, delivery)| Step::Finish { mailbox, delivery }),
        2 => of.clone().prop_map(|(mailbox, delivery)| Step::GiveBack { mailbox, delivery }),
        1 => of.prop_map(|(mailbox, delivery)| Step::Acknowledge { mailbox, delivery }),
        4 => mailbox.clone().prop_map(|mailbox| Step::ComeBack { mailbox }),
        2 => (mailbox.clone(), 1..40_u64).prop_map(|(mailbox, seq)| Step::NameIds { mailbox, seq }),
        2 => (mailbox.clone(), 1..40_u64).prop_map(|(mailbox, seq)| Step::Push { mailbox, seq }),
        2 => (mailbox, 1..40_u64).prop_map(|(mailbox, seq)| Step::Withdraw { mailbox, seq }),
        3 => Just(Step::Refresh),
        1 => Just(Step::NextDay),
        1 => (0..2_usize).prop_map(|process| Step::Kill { process }),
        1 => any::<u64>().prop_map(|seed| Step::PowerCut { seed }),
    ]
}

/// What a consumer was shown, by place.
#[derive(Debug, Default, Clone)]
struct Seen {
    acked: BTreeSet<u64>,
    shown: BTreeSet<u64>,
    pushed: BTreeSet<u64>,
    /// Was pushed them once, and then not after all.
    withdrawn: BTreeSet<u64>,
}

/// What a session has in its hands.
#[derive(Debug, Default, Clone)]
struct Session {
    open: BTreeMap<u64, Vec<u64>>,
    returned: Vec<(u64, u64)>,
    /// What others must keep off.
    held: BTreeSet<u64>,
    /// What it may take back the push of.
    pushed: BTreeSet<u64>,
}

struct World {
    home: Home,
    processes: [MemoryStorage; 2],
    journals: [Journal; 2],
    mailboxes: Vec<Mailbox>,
    /// The model: all records, as (place, channel, key).
    records: Vec<(u64, Channel, String)>,
    drafted: u64,
    /// Up to where each process sees.
    sees: [u64; 2],
    consumers: [Seen; 2],
    sessions: [Session; 3],
}

impl World {
    fn new() -> Self {
        let options =
            JournalOptions { window_messages_max: 7, consumer_bytes_max: 3_000, ..JournalOptions::default() };
        let home = Home::with(options);
        let processes = [home.disk.new_process(), home.disk.new_process()];
        let journals = processes.clone().map(|process| home.open_as(process).unwrap().0);
        let mut world = Self {
            home,
            processes,
            journals,
            mailboxes: Vec::new(),
            records: Vec::new(),
            drafted: 0,
            sees: [0; 2],
            consumers: Default::default(),
            sessions: Default::default(),
        };
        world.open_mailboxes();
        world
    }

    fn open_mailboxes(&mut self) {
        self.mailboxes = (0..3)
            .map(|at| {
                let name = consumer(NAMES[CONSUMER_OF[at]]);
                self.journals[PROCESS_OF[at]].mailbox(&name, &format!("s{at}")).unwrap()
            })
            .collect();
        self.sessions = Default::default();
    }

    fn last_seq(&self) -> u64 {
        self.records.last().map_or(0, |(seq, ..)| *seq)
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Append { count, channel } => self.append(count, channel),
            Step::HandOut { mailbox, delivery, limit, channel, peek } => {
                self.hand_out(mailbox, delivery, limit, channel, peek);
            }
            Step::Finish { mailbox, delivery } => {
                self.mailboxes[mailbox].finish(DeliveryId(delivery));
                let session = &mut self.sessions[mailbox];
                let items = session.open.remove(&delivery).unwrap_or_default();
                session.returned.extend(items.iter().map(|seq| (delivery, *seq)));
            }
            Step::GiveBack { mailbox, delivery } => {
                self.mailboxes[mailbox].give_back(DeliveryId(delivery));
                for seq in self.take_back(mailbox, delivery) {
                    self.sessions[mailbox].held.remove(&seq);
                }
            }
            Step::Acknowledge { mailbox, delivery } => {
                let retired = self.mailboxes[mailbox].acknowledge(DeliveryId(delivery)).unwrap();
                let seqs = self.take_back(mailbox, delivery);
                assert_eq!(retired, self.retire(mailbox, &seqs));
            }
            Step::ComeBack { mailbox } => {
                let retired = self.mailboxes[mailbox].acknowledge_returned().unwrap();
                let returned = std::mem::take(&mut self.sessions[mailbox].returned);
                let returned: Vec<u64> = returned.into_iter().map(|(_, seq)| seq).collect();
                assert_eq!(retired, self.retire(mailbox, &returned));
            }
            Step::NameIds { mailbox, seq } => self.name(mailbox, seq),
            Step::Push { mailbox, seq } => {
                let seen = &mut self.consumers[CONSUMER_OF[mailbox]];
                let is_new = !seen.shown.contains(&seq) && !seen.pushed.contains(&seq);
                let is_there = seq <= self.sees[PROCESS_OF[mailbox]]
                    && self.records.iter().any(|(there, ..)| *there == seq);
                let state = self.mailboxes[mailbox].state_of(seq).unwrap();
                assert_eq!(state == DeliveryState::New, is_new && is_there);
                let claimed = self.mailboxes[mailbox].claim_push(seq).unwrap();
                assert_eq!(claimed, is_new && is_there && !seen.acked.contains(&seq));
                if claimed {
                    seen.pushed.insert(seq);
                    self.sessions[mailbox].pushed.insert(seq);
                }
            }
            Step::Withdraw { mailbox, seq } => {
                self.mailboxes[mailbox].withdraw_pushes(&[seq]).unwrap();
                if self.sessions[mailbox].pushed.remove(&seq) {
                    let seen = &mut self.consumers[CONSUMER_OF[mailbox]];
                    seen.pushed.remove(&seq);
                    seen.withdrawn.insert(seq);
                }
            }
            Step::Refresh => self.refresh(),
            Step::NextDay => self.home.clock.move_by(24),
            Step::Kill { process } => self.kill(process),
            Step::PowerCut { seed } => self.power_cut(seed),
        }
    }

    fn append(&mut self, count: usize, channel: Channel) {
        let leader = usize::from(!self.journals[0].is_leader());
        // The last message comes again, as an overlapping poll brings it.
        let again = self.records.last().map(|_| draft_on(Channel::Bot, 0));
        let new: Vec<_> =
            (1..=count as u64).map(|n| draft_on(channel, self.drafted + n)).chain(again).collect();
        self.drafted += count as u64;
        let appended = self.journals[leader].append(new).unwrap();
        for record in &appended.new {
            assert!(record.seq > self.last_seq(), "places only grow");
            self.records.push((record.seq, record.channel, record.key.clone()));
        }
        self.sees[leader] = self.last_seq();
    }

    fn hand_out(
        &mut self,
        mailbox: usize,
        delivery: u64,
        limit: usize,
        channel: Option<Channel>,
        peek: bool,
    ) {
        let query =
            Query { channel, purpose: if peek { Purpose::Peek } else { Purpose::HandOut }, ..up_to(limit) };
        let batch = self.mailboxes[mailbox].hand_out(DeliveryId(delivery), &query).unwrap();
        let sees = self.sees[PROCESS_OF[mailbox]];
        let seen = &self.consumers[CONSUMER_OF[mailbox]];
        let mut held = self.held_by_others(mailbox);
        let own = self.sessions[mailbox].open.values().flatten();
        held.extend(own);
        let eligible: Vec<u64> = self
            .records
            .iter()
            .filter(|(seq, of, _)| *seq <= sees && channel.is_none_or(|only| only == *of))
            .map(|(seq, ..)| *seq)
            .filter(|seq| !seen.acked.contains(seq) && !held.contains(seq))
            .collect();
        let expected: Vec<(u64, bool, bool)> = eligible
            .iter()
            .take(limit)
            .map(|seq| (*seq, seen.shown.contains(seq), seen.pushed.contains(seq)))
            .collect();
        let found: Vec<(u64, bool, bool)> =
            batch.items.iter().map(|item| (item.record.seq, item.redelivered, item.pushed)).collect();
        assert_eq!(found, expected, "mailbox {mailbox}");
        assert_eq!(batch.unread_remaining, (eligible.len() - expected.len()) as u64, "mailbox {mailbox}");
        for item in &batch.items {
            let model = self.records.iter().find(|(seq, ..)| *seq == item.record.seq).unwrap();
            assert_eq!(model.2, item.record.key, "a place is one record for ever");
        }
        let seqs: Vec<u64> = expected.iter().map(|(seq, ..)| *seq).collect();
        self.consumers[CONSUMER_OF[mailbox]].shown.extend(&seqs);
        let session = &mut self.sessions[mailbox];
        if !peek {
            session.open.entry(delivery).or_default().extend(&seqs);
            session.held.extend(seqs);
        }
    }

    fn held_by_others(&self, mailbox: usize) -> BTreeSet<u64> {
        let others = (0..3).filter(|at| *at != mailbox && CONSUMER_OF[*at] == CONSUMER_OF[mailbox]);
        others.flat_map(|at| self.sessions[at].held.iter().copied()).collect()
    }

    fn take_back(&mut self, mailbox: usize, delivery: u64) -> Vec<u64> {
        let session = &mut self.sessions[mailbox];
        let mut seqs: Vec<u64> = session.open.remove(&delivery).unwrap_or_default();
        seqs.extend(session.returned.extract_if(.., |(of, _)| *of == delivery).map(|(_, seq)| seq));
        seqs
    }

    fn retire(&mut self, mailbox: usize, seqs: &[u64]) -> usize {
        let seen = &mut self.consumers[CONSUMER_OF[mailbox]];
        let retired = seqs.iter().filter(|seq| seen.acked.insert(**seq)).count();
        for (session, of) in self.sessions.iter_mut().zip(CONSUMER_OF) {
            if of == CONSUMER_OF[mailbox] {
                session.held.retain(|seq| !seen.acked.contains(seq));
            }
        }
        retired
    }

    fn name(&mut self, mailbox: usize, seq: u64) {
        let found = self.records.iter().find(|(there, ..)| *there == seq);
        let id = found.map_or("nobody".to_owned(), |(_, _, key)| key.rsplit('/').next().unwrap().to_owned());
        let retired = self.mailboxes[mailbox].acknowledge_ids(&[&id]).unwrap();
        let seen = &self.consumers[CONSUMER_OF[mailbox]];
        let counts = found.is_some()
            && seq <= self.sees[PROCESS_OF[mailbox]]
            && (seen.shown.contains(&seq) || seen.pushed.contains(&seq));
        let expected = if counts { self.retire(mailbox, &[seq]) } else { 0 };
        assert_eq!(retired, expected, "naming {id}");
        self.consumers[CONSUMER_OF[mailbox]].shown.extend(counts.then_some(seq));
    }

    fn refresh(&mut self) {
        for process in 0..2 {
            while self.journals[process].refresh().unwrap() {}
            self.sees[process] = self.last_seq();
            assert_eq!(self.journals[process].last_seq(), self.last_seq());
        }
    }

    /// `kill -9` of one process; the other takes the lead if it was the leader, then it starts again.
    fn kill(&mut self, process: usize) {
        self.processes[process].kill();
        let other = 1 - process;
        let was_follower = !self.journals[other].is_leader();
        assert!(self.journals[other].try_lead().unwrap());
        if was_follower {
            self.sees[other] = self.last_seq();
        }
        self.processes[process] = self.home.disk.new_process();
        self.journals[process] = self.home.open_as(self.processes[process].clone()).unwrap().0;
        self.sees[process] = self.last_seq();
        for at in (0..3).filter(|at| PROCESS_OF[*at] == process) {
            let name = consumer(NAMES[CONSUMER_OF[at]]);
            self.mailboxes[at] = self.journals[process].mailbox(&name, "again").unwrap();
            self.sessions[at] = Session::default();
        }
    }

    /// Records survive; notes may not, so the model learns anew what the consumers' files still say, after checking
    /// that they forgot in the safe direction only.
    fn power_cut(&mut self, seed: u64) {
        self.home.disk.crash(Crash::Power, seed);
        let own =
            |name: &str| self.home.disk.bytes(&format!("inbox/consumers/{name}.jsonl")).unwrap_or_default();
        // Of what is made again from the summary nobody knows what was shown.
        let made_again = [0, 1].map(|at| own(NAMES[at]).is_empty());
        self.processes = [self.home.disk.new_process(), self.home.disk.new_process()];
        self.journals = self.processes.clone().map(|process| self.home.open_as(process).unwrap().0);
        self.sees = [self.last_seq(); 2];
        self.open_mailboxes();
        self.check_records();
        for (at, mailbox) in [(0, 0), (1, 2)] {
            let query = Query { purpose: Purpose::Peek, ..all() };
            let batch = self.mailboxes[mailbox].hand_out(DeliveryId(99), &query).unwrap();
            self.mailboxes[mailbox].finish(DeliveryId(99));
            let unread: BTreeSet<u64> = batch.items.iter().map(|item| item.record.seq).collect();
            let acked = self.records.iter().map(|(seq, ..)| *seq).filter(|seq| !unread.contains(seq));
            let acked: BTreeSet<u64> = acked.collect();
            let before = &self.consumers[at];
            assert!(acked.is_subset(&before.acked), "a power cut acknowledged {acked:?}");
            let marked = |mark: fn(&entraclaw_inbox::journal::Handed) -> bool| -> BTreeSet<u64> {
                batch.items.iter().filter(|item| mark(item)).map(|item| item.record.seq).collect()
            };
            let shown: BTreeSet<u64> = marked(|item| item.redelivered);
            let aside = format!("inbox/consumers/{}.jsonl.damaged", NAMES[at]);
            let made_again = made_again[at] || self.home.disk.bytes(&aside).is_some();
            assert!(made_again || shown.is_subset(&before.shown));
            let pushed = marked(|item| item.pushed);
            let once: BTreeSet<u64> = before.pushed.union(&before.withdrawn).copied().collect();
            assert!(pushed.is_subset(&once));
            let shown = self.records.iter().map(|(seq, ..)| *seq).collect();
            self.consumers[at] = Seen { acked, shown, pushed, withdrawn: BTreeSet::new() };
        }
    }

    fn check_records(&self) {
        for journal in &self.journals {
            let sees = journal.last_seq();
            let found: Vec<_> = journal.read_after(0, usize::MAX).unwrap();
            let found: Vec<_> = found.into_iter().map(|r| (r.seq, r.channel, r.key)).collect();
            let expected: Vec<_> = self.records.iter().filter(|(seq, ..)| *seq <= sees).cloned().collect();
            assert_eq!(found, expected);
        }
    }

    /// In the end everybody gets everything.
    fn finish(&mut self) {
        self.refresh();
        self.check_records();
        for mailbox in 0..3 {
            self.mailboxes[mailbox].acknowledge_returned().unwrap();
        }
        drop(std::mem::take(&mut self.mailboxes));
        for (at, name) in NAMES.iter().enumerate() {
            let mut mailbox = self.journals[0].mailbox(&consumer(name), "last").unwrap();
            let rest = take(&mut mailbox, &all());
            let mut seen = self.consumers[at].shown.clone();
            seen.extend(&self.consumers[at].pushed);
            seen.extend(rest.items.iter().map(|item| item.record.seq));
            let everything: BTreeSet<u64> = self.records.iter().map(|(seq, ..)| *seq).collect();
            assert!(everything.is_subset(&seen), "{name} never saw all of {everything:?}: {seen:?}");
            assert_eq!(mailbox.unread(None), 0);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 2_000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn any_history_is_the_models(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        for step in &steps {
            world.run(step);
        }
        world.finish();
    }
}
