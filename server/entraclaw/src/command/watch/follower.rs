//! Reads the journal for a terminal as a consumer of its own, and acknowledges each message when it is printed.
//! It must never lead, nor acknowledge a message that was not printed, nor read as another consumer.
//!
//! New messages are read from the journal and not from the mailbox, so that each of two terminals with one consumer shows
//! everything that comes while it is open. The mailbox is for messages that came while no terminal was open.

use std::collections::BTreeMap;
use std::sync::Arc;

use entraclaw_inbox::journal::{
    ConsumerName, DeliveryId, Handed, Journal, JournalError, JournalOptions, Mailbox, NewConsumerStarts,
    Query,
};
use entraclaw_inbox::record::{Channel, Record};
use entraclaw_seams::clock::Clock;
use entraclaw_seams::storage::Storage;

/// Most messages from before the start that are shown.
const BACKLOG_LINES_MAX: usize = 20;
/// Messages that are read at a time after a long absence.
const PAGE: usize = 200;
/// Messages that are printed before they are acknowledged. So many may be shown twice if a terminal is killed.
const BATCH: usize = 20;

/// A reader of the journal that prints.
pub(super) struct Follower {
    journal: Journal,
    mailbox: Mailbox,
    /// One query for all channels, or one for each wanted channel.
    wanted: Vec<Option<Channel>>,
    /// The newest sequence number that was returned for printing.
    through: u64,
    deliveries_total: u64,
    /// Deliveries that are not acknowledged yet.
    open: Vec<DeliveryId>,
    /// Whether messages were returned for printing and are not acknowledged.
    owes: bool,
}

/// The messages that came while no terminal was open.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Backlog {
    /// The newest of them, in order.
    pub(super) newest: Vec<Record>,
    /// The number of older ones that are left out.
    pub(super) left_out: u64,
}

impl Follower {
    /// Begins to read as `consumer`. A new consumer begins at the end, because a terminal shows new messages. Empty
    /// `channels` mean all channels.
    pub(super) fn open(
        storage: Arc<dyn Storage>,
        clock: Arc<dyn Clock>,
        consumer: &ConsumerName,
        channels: &[Channel],
    ) -> Result<Self, JournalError> {
        let options = JournalOptions {
            may_lead: false,
            new_consumer_starts: NewConsumerStarts::Now,
            ..JournalOptions::default()
        };
        let (journal, _) = Journal::open(storage, clock, options)?;
        let mailbox = journal.mailbox(consumer, "watch")?;
        let wanted =
            if channels.is_empty() { vec![None] } else { channels.iter().copied().map(Some).collect() };
        let through = journal.last_seq();
        Ok(Self { journal, mailbox, wanted, through, deliveries_total: 0, open: Vec::new(), owes: false })
    }

    /// The messages that came meanwhile. All but the newest are acknowledged at once, because they are counted, not printed.
    pub(super) fn backlog(&mut self) -> Result<Backlog, JournalError> {
        let mut backlog = Backlog::default();
        let mut newest = BTreeMap::new();
        for channel in self.wanted.clone() {
            let before = self.open.len();
            loop {
                let page = self.page(channel, PAGE)?;
                if page.is_empty() {
                    break;
                }
                // After such a long page no earlier message of the channel can be shown.
                while page.len() >= BACKLOG_LINES_MAX && self.open.len() > before + 1 {
                    let earlier = self.open.remove(before);
                    self.mailbox.acknowledge(earlier)?;
                }
                for handed in page {
                    newest.insert(handed.record.seq, handed.record);
                    if newest.len() > BACKLOG_LINES_MAX {
                        newest.pop_first();
                        backlog.left_out += 1;
                    }
                }
            }
        }
        self.owes = !self.open.is_empty();
        backlog.newest = newest.into_values().collect();
        Ok(backlog)
    }

    /// The messages since the last call, in order. Call it again until it returns none.
    pub(super) fn news(&mut self) -> Result<Vec<Record>, JournalError> {
        self.journal.refresh()?;
        // The files may have been replaced by others that begin to count anew.
        self.through = self.through.min(self.journal.last_seq());
        let mut records = Vec::new();
        while records.is_empty() && self.through < self.journal.last_seq() {
            records = self.journal.read_after(self.through, BATCH)?;
            let Some(last) = records.last() else { break };
            self.through = last.seq;
            records.retain(|record| self.wanted.iter().any(|only| only.is_none_or(|c| c == record.channel)));
        }
        self.owes |= !records.is_empty();
        Ok(records)
    }

    /// Acknowledges the messages that were returned and are on the screen. The next call repeats a failed one.
    pub(super) fn printed(&mut self) -> Result<(), JournalError> {
        if !self.owes {
            return Ok(());
        }
        self.acknowledge()?;
        for channel in self.wanted.clone() {
            let mut limit = BATCH;
            loop {
                let page = self.page(channel, limit)?;
                let printed = page.iter().take_while(|handed| handed.record.seq <= self.through).count();
                if printed == page.len() {
                    self.acknowledge()?;
                    limit = BATCH;
                } else {
                    // The next `news` returns the rest.
                    self.give_back();
                    limit = printed;
                }
                if printed == 0 {
                    break;
                }
            }
        }
        self.owes = false;
        Ok(())
    }

    fn acknowledge(&mut self) -> Result<(), JournalError> {
        while let Some(delivery) = self.open.last() {
            self.mailbox.acknowledge(*delivery)?;
            self.open.pop();
        }
        Ok(())
    }

    fn give_back(&mut self) {
        while let Some(delivery) = self.open.pop() {
            self.mailbox.give_back(delivery);
        }
    }

    fn page(&mut self, channel: Option<Channel>, limit: usize) -> Result<Vec<Handed>, JournalError> {
        let delivery = DeliveryId(self.deliveries_total);
        self.deliveries_total += 1;
        let batch = self.mailbox.hand_out(delivery, &Query { limit, channel, ..Query::default() })?;
        if !batch.items.is_empty() {
            self.open.push(delivery);
        }
        Ok(batch.items)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_inbox::record::Draft;
    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;

    fn fixture() -> (MemoryStorage, Journal) {
        let disk = MemoryStorage::new();
        let storage = Arc::new(disk.new_process());
        let (journal, _) = Journal::open(storage, Arc::new(SystemClock), JournalOptions::default()).unwrap();
        (disk, journal)
    }

    fn write(journal: &Journal, channel: Channel, ids: impl IntoIterator<Item = u32>) {
        let draft = |id: u32| Draft {
            key: format!("{channel:?}/{id}"),
            id: id.to_string(),
            channel,
            chat_id: "19:a@thread.v2".to_owned(),
            from: "Alice".to_owned(),
            ts: "2026-11-21T10:00:00Z".to_owned(),
            content_text_sanitized: "hello".to_owned(),
            meta: BTreeMap::new(),
            edit_of: None,
            deleted: false,
        };
        journal.append(ids.into_iter().map(draft).collect()).unwrap();
    }

    fn follower(disk: &MemoryStorage, channels: &[Channel]) -> Follower {
        let name = ConsumerName::new("watch-cli").unwrap();
        Follower::open(Arc::new(disk.new_process()), Arc::new(SystemClock), &name, channels).unwrap()
    }

    fn ids(records: &[Record]) -> Vec<u32> {
        records.iter().map(|record| record.id.parse().unwrap()).collect()
    }

    /// Opens a terminal, returns what it shows at once, and closes it.
    fn opened(disk: &MemoryStorage, channels: &[Channel]) -> (Vec<u32>, u64) {
        let mut follower = follower(disk, channels);
        let backlog = follower.backlog().unwrap();
        follower.printed().unwrap();
        (ids(&backlog.newest), backlog.left_out)
    }

    #[test]
    fn a_new_terminal_shows_new_messages_and_the_next_one_those_from_between() {
        let (disk, journal) = fixture();
        write(&journal, Channel::Teams, 1..4);
        let mut first = follower(&disk, &[]);
        assert_eq!(first.backlog().unwrap(), Backlog::default());
        write(&journal, Channel::Teams, 4..6);
        assert_eq!(ids(&first.news().unwrap()), [4, 5]);
        first.printed().unwrap();
        assert!(first.news().unwrap().is_empty());
        drop(first);
        write(&journal, Channel::Bot, 6..8);
        assert_eq!(opened(&disk, &[]), (vec![6, 7], 0));
        assert_eq!(opened(&disk, &[]), (vec![], 0));
    }

    #[test]
    fn a_message_that_was_not_printed_comes_again() {
        let (disk, journal) = fixture();
        let mut killed = follower(&disk, &[]);
        write(&journal, Channel::Teams, 1..3);
        assert_eq!(ids(&killed.news().unwrap()), [1, 2]);
        drop(killed);
        let mut killed = follower(&disk, &[]);
        assert_eq!(ids(&killed.backlog().unwrap().newest), [1, 2]);
        drop(killed);
        assert_eq!(opened(&disk, &[]), (vec![1, 2], 0));
        assert_eq!(opened(&disk, &[]), (vec![], 0));
    }

    #[test]
    fn what_may_still_be_shown_is_not_acknowledged_before_it_is_printed() {
        let (disk, journal) = fixture();
        drop(follower(&disk, &[]));
        let (full, rest) = (u32::try_from(PAGE).unwrap(), 3);
        write(&journal, Channel::Teams, 0..full + rest);
        let mut killed = follower(&disk, &[]);
        assert_eq!(killed.backlog().unwrap().newest.len(), BACKLOG_LINES_MAX);
        drop(killed);
        // The second page was short, so lines of the first are among those that were to be printed.
        assert_eq!(
            opened(&disk, &[]),
            ((full + rest - 20..full + rest).collect(), u64::from(full + rest) - 20)
        );
    }

    #[rstest::rstest]
    #[case(20, 0)]
    #[case(21, 1)]
    #[case(205, 185)]
    #[case(1_003, 983)]
    fn after_a_long_absence_the_newest_are_shown_and_the_rest_counted(
        #[case] came: u32,
        #[case] left_out: u64,
    ) {
        let (disk, journal) = fixture();
        drop(follower(&disk, &[]));
        write(&journal, Channel::Teams, 0..came);
        let (shown, left) = opened(&disk, &[]);
        assert_eq!((shown, left), ((came - 20..came).collect(), left_out));
        assert_eq!(opened(&disk, &[]), (vec![], 0));
    }

    #[test]
    fn a_flood_is_acknowledged_as_it_is_printed() {
        let (disk, journal) = fixture();
        let mut one = follower(&disk, &[Channel::Email]);
        for id in 0..45 {
            write(&journal, Channel::Email, [id]);
            write(&journal, Channel::Bot, [id]);
        }
        // Half of the first batch are of the bot.
        assert_eq!(ids(&one.news().unwrap()), (0..10).collect::<Vec<_>>());
        one.printed().unwrap();
        assert_eq!(ids(&one.news().unwrap()), (10..20).collect::<Vec<_>>());
        drop(one);
        let mut one = follower(&disk, &[Channel::Email]);
        let backlog = one.backlog().unwrap();
        assert_eq!(
            (ids(&backlog.newest), backlog.left_out),
            ((25..45).collect(), 15),
            "the second was not printed"
        );
        one.printed().unwrap();
        write(&journal, Channel::Email, 45..90);
        let mut seen = Vec::new();
        loop {
            let batch = ids(&one.news().unwrap());
            if batch.is_empty() {
                break;
            }
            assert!(batch.len() <= BATCH);
            seen.extend(batch);
            one.printed().unwrap();
        }
        assert_eq!(seen, (45..90).collect::<Vec<_>>());
        drop(one);
        assert_eq!(opened(&disk, &[Channel::Email]), (vec![], 0));
    }

    #[test]
    fn other_channels_wait_for_a_terminal_that_wants_them() {
        let (disk, journal) = fixture();
        let mut mail = follower(&disk, &[Channel::Email]);
        write(&journal, Channel::Teams, 1..3);
        write(&journal, Channel::Email, 3..4);
        write(&journal, Channel::Bot, 4..5);
        assert_eq!(ids(&mail.news().unwrap()), [3]);
        mail.printed().unwrap();
        write(&journal, Channel::Teams, 5..6);
        assert!(mail.news().unwrap().is_empty());
        drop(mail);
        assert_eq!(opened(&disk, &[Channel::Bot, Channel::Teams]), (vec![1, 2, 4, 5], 0), "in one order");
        assert_eq!(opened(&disk, &[]), (vec![], 0));
    }

    #[test]
    fn two_terminals_show_the_same_and_an_agent_loses_nothing() {
        let (disk, journal) = fixture();
        let mut agent = journal.mailbox(&ConsumerName::new("claude-code").unwrap(), "s").unwrap();
        let (mut left, mut right) = (follower(&disk, &[]), follower(&disk, &[]));
        write(&journal, Channel::Teams, 1..3);
        assert_eq!(ids(&left.news().unwrap()), [1, 2]);
        left.printed().unwrap();
        assert_eq!(ids(&right.news().unwrap()), [1, 2]);
        right.printed().unwrap();
        assert_eq!(agent.unread(None), 2);
        let batch = agent.hand_out(DeliveryId(1), &Query::default()).unwrap();
        assert!(batch.items.iter().all(|handed| !handed.redelivered && !handed.pushed));
        drop((left, right));
        assert_eq!(opened(&disk, &[]), (vec![], 0));
    }
}
