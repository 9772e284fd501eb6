//! The table of a delivery's states, walked: two sessions of one consumer in two processes make random moves, and after
//! each one every record stands for both of them where the table says.

use std::collections::{BTreeMap, BTreeSet};

use entraclaw_inbox::journal::DeliveryState::{self, *};
use entraclaw_inbox::journal::{DeliveryId, Journal, Mailbox, Move, Purpose, Query};
use entraclaw_inbox::record::Record;
use entraclaw_seams::storage::MemoryStorage;
use proptest::prelude::*;

use crate::support::*;

const RECORDS: u64 = 6;

#[derive(Debug, Clone)]
enum Step {
    Ask { session: usize, delivery: u64, limit: usize, purpose: Purpose },
    Finish { session: usize, delivery: u64 },
    GiveBack { session: usize, delivery: u64 },
    ComeBack { session: usize },
    Name { session: usize, seq: u64 },
    Push { session: usize, seq: u64 },
    TakeOver { session: usize },
    Withdraw { session: usize, seq: u64 },
    Kill { session: usize },
}

fn step() -> impl Strategy<Value = Step> {
    let purposes = [Purpose::HandOut, Purpose::Peek, Purpose::TellUnread, Purpose::TellNew];
    let purpose = prop_oneof![3 => Just(Purpose::HandOut), 2 => prop::sample::select(purposes.to_vec())];
    let of = || (0..2_usize, 0..3_u64);
    let seq = || (0..2_usize, 1..=RECORDS);
    prop_oneof![
        6 => (of(), 1..4_usize, purpose).prop_map(|((session, delivery), limit, purpose)| {
            Step::Ask { session, delivery, limit, purpose }
        }),
        4 => of().prop_map(|(session, delivery)| Step::Finish { session, delivery }),
        2 => of().prop_map(|(session, delivery)| Step::GiveBack { session, delivery }),
        2 => (0..2_usize).prop_map(|session| Step::ComeBack { session }),
        1 => seq().prop_map(|(session, seq)| Step::Name { session, seq }),
        4 => seq().prop_map(|(session, seq)| Step::Push { session, seq }),
        3 => (0..2_usize).prop_map(|session| Step::TakeOver { session }),
        3 => seq().prop_map(|(session, seq)| Step::Withdraw { session, seq }),
        2 => (0..2_usize).prop_map(|session| Step::Kill { session }),
    ]
}

/// What the model knows of one session.
#[derive(Default)]
struct Session {
    sees: BTreeMap<u64, DeliveryState>,
    open: BTreeMap<u64, BTreeSet<u64>>,
    left: BTreeMap<u64, BTreeSet<u64>>,
    /// What it was the first to push.
    may_withdraw: BTreeSet<u64>,
    withdrawn: BTreeSet<u64>,
}

struct World {
    home: Home,
    processes: [MemoryStorage; 2],
    mailboxes: [Mailbox; 2],
    sessions: [Session; 2],
    /// What has the mark of a push.
    pushed: BTreeSet<u64>,
}

fn open(home: &Home, process: &MemoryStorage) -> (Journal, Mailbox) {
    let (journal, _) = home.open_as(process.clone()).unwrap();
    let mailbox = mailbox(&journal, "claude-code");
    (journal, mailbox)
}

impl World {
    fn new() -> Self {
        let home = Home::filled(RECORDS);
        let processes = [home.disk.new_process(), home.disk.new_process()];
        let mailboxes = [0, 1].map(|at: usize| open(&home, &processes[at]).1);
        let mut sessions: [Session; 2] = Default::default();
        for session in &mut sessions {
            session.sees = (1..=RECORDS).map(|seq| (seq, New)).collect();
        }
        Self { home, processes, mailboxes, sessions, pushed: BTreeSet::new() }
    }

    fn state(&self, session: usize, seq: u64) -> DeliveryState {
        self.sessions[session].sees[&seq]
    }

    /// Makes a move where the table allows it, for both sessions.
    fn make(&mut self, session: usize, seq: u64, by: Move) {
        let Some(next) = self.state(session, seq).after(by) else { return };
        self.sessions[session].sees.insert(seq, next);
        let elsewhere = if matches!(next, HandedOut | Pending) { PendingElsewhere } else { next };
        self.sessions[1 - session].sees.insert(seq, elsewhere);
    }

    fn run(&mut self, step: &Step) {
        match *step {
            Step::Ask { session, delivery, limit, purpose } => self.ask(session, delivery, limit, purpose),
            Step::Finish { session, delivery } => {
                self.mailboxes[session].finish(DeliveryId(delivery));
                let seqs = self.sessions[session].open.remove(&delivery).unwrap_or_default();
                for seq in &seqs {
                    self.make(session, *seq, Move::Finish);
                }
                self.sessions[session].left.entry(delivery).or_default().extend(seqs);
            }
            Step::GiveBack { session, delivery } => {
                let of = &mut self.sessions[session];
                let open = of.open.remove(&delivery).unwrap_or_default();
                let left = of.left.remove(&delivery).unwrap_or_default();
                let seqs: BTreeSet<u64> = open.into_iter().chain(left).collect();
                // A host that calls again comes back first, so no message is in two of its answers.
                let twice = of.open.values().chain(of.left.values()).flatten().any(|seq| seqs.contains(seq));
                if twice {
                    of.left.insert(delivery, seqs);
                    self.mailboxes[session].finish(DeliveryId(delivery));
                    return self.come_back(session);
                }
                self.mailboxes[session].give_back(DeliveryId(delivery));
                for seq in seqs {
                    self.make(session, seq, Move::GiveBack);
                }
            }
            Step::ComeBack { session } => self.come_back(session),
            Step::Name { session, seq } => {
                let may = self.state(session, seq).may(Move::Acknowledge);
                let retired = self.mailboxes[session].acknowledge_ids(&[&format!("m{seq}")]).unwrap();
                assert_eq!(retired, usize::from(may), "naming {seq}");
                self.make(session, seq, Move::Acknowledge);
            }
            Step::Push { session, seq } => {
                let may = self.state(session, seq).may(Move::Push);
                assert_eq!(self.mailboxes[session].claim_push(seq).unwrap(), may, "pushing {seq}");
                self.make(session, seq, Move::Push);
                if may {
                    self.pushed.insert(seq);
                    self.sessions[session].may_withdraw.insert(seq);
                }
            }
            Step::TakeOver { session } => {
                let taken = self.mailboxes[session].take_over(&<[Record]>::len).unwrap();
                for record in taken {
                    assert_eq!(self.state(session, record.seq), Orphaned, "taking over {}", record.seq);
                }
                let withdrawn = &self.sessions[session].withdrawn;
                let orphaned: Vec<u64> = (1..=RECORDS)
                    .filter(|seq| self.state(session, *seq).may(Move::PushAgain) && !withdrawn.contains(seq))
                    .collect();
                for seq in orphaned {
                    self.make(session, seq, Move::PushAgain);
                    if self.pushed.insert(seq) {
                        self.sessions[session].may_withdraw.insert(seq);
                    }
                }
            }
            Step::Withdraw { session, seq } => {
                self.mailboxes[session].withdraw_pushes(&[seq]).unwrap();
                if self.sessions[session].may_withdraw.remove(&seq) {
                    self.sessions[session].withdrawn.insert(seq);
                    self.pushed.remove(&seq);
                    self.make(session, seq, Move::Withdraw);
                }
            }
            Step::Kill { session } => self.kill(session),
        }
    }

    fn ask(&mut self, session: usize, delivery: u64, limit: usize, purpose: Purpose) {
        let query = Query { purpose, ..up_to(limit) };
        let batch = self.mailboxes[session].hand_out(DeliveryId(delivery), &query).unwrap();
        let expected: Vec<u64> =
            (1..=RECORDS).filter(|seq| purpose.brings(self.state(session, *seq))).take(limit).collect();
        let found: Vec<u64> = batch.items.iter().map(|item| item.record.seq).collect();
        assert_eq!(found, expected, "{purpose:?}");
        let is_reached = |seq: u64| expected.iter().filter(|one| **one < seq).count() < limit;
        let is_held = |seq: u64| self.state(session, seq) == PendingElsewhere && is_reached(seq);
        let held = (1..=RECORDS).any(|seq| is_held(seq) && !purpose.brings(PendingElsewhere));
        assert_eq!(batch.held_elsewhere, held && purpose != Purpose::TellNew, "{purpose:?}");
        for item in &batch.items {
            let seq = item.record.seq;
            assert_eq!(item.redelivered, self.state(session, seq).was_shown(), "the mark of {seq}");
            assert_eq!(item.pushed, self.pushed.contains(&seq), "the other mark of {seq}");
            self.make(session, seq, purpose.moves());
        }
        if purpose == Purpose::HandOut {
            self.sessions[session].open.entry(delivery).or_default().extend(found);
        }
    }

    fn come_back(&mut self, session: usize) {
        self.mailboxes[session].acknowledge_returned().unwrap();
        for seq in std::mem::take(&mut self.sessions[session].left).into_values().flatten() {
            self.make(session, seq, Move::Acknowledge);
        }
    }

    fn kill(&mut self, session: usize) {
        self.processes[session].kill();
        let mut sees = BTreeMap::new();
        for seq in 1..=RECORDS {
            let state = self.state(1 - session, seq);
            let left = state.after(Move::HolderDies).unwrap_or(state);
            self.sessions[1 - session].sees.insert(seq, left);
            sees.insert(seq, if matches!(left, HandedOut | Pending) { PendingElsewhere } else { left });
        }
        self.sessions[session] = Session { sees, ..Session::default() };
        self.processes[session] = self.home.disk.new_process();
        self.mailboxes[session] = open(&self.home, &self.processes[session]).1;
    }

    fn check(&mut self, step: &Step) {
        for session in 0..2 {
            for seq in 1..=RECORDS {
                let found = self.mailboxes[session].state_of(seq).unwrap();
                assert_eq!(found, self.state(session, seq), "{seq} for session {session} after {step:?}");
            }
        }
    }
}

proptest! {
    #[test]
    fn every_delivery_stands_where_the_table_says(steps in prop::collection::vec(step(), 1..60)) {
        let mut world = World::new();
        for step in &steps {
            world.run(step);
            world.check(step);
        }
    }
}

/// Every state but the first is reached, and only the last is left by no move.
#[test]
fn the_table_has_no_dead_end_but_the_last() {
    let moves = [
        Move::HandOut,
        Move::Finish,
        Move::Acknowledge,
        Move::GiveBack,
        Move::Peek,
        Move::Tell,
        Move::Push,
        Move::PushAgain,
        Move::Withdraw,
        Move::HolderDies,
    ];
    let next = |state: DeliveryState| moves.into_iter().filter_map(move |by| state.after(by));
    let stuck: Vec<_> =
        DeliveryState::ALL.into_iter().filter(|state| next(*state).next().is_none()).collect();
    assert_eq!(stuck, [Acknowledged]);
    let reached: BTreeSet<_> = DeliveryState::ALL.into_iter().flat_map(next).collect();
    // What this session holds is `PendingElsewhere` for another one; no move of its own leads there.
    let others = DeliveryState::ALL.into_iter().filter(|state| !reached.contains(state));
    assert_eq!(others.collect::<Vec<_>>(), [PendingElsewhere]);
}
