//! Tests messages that come again after the journal has forgotten them or before the disk has taken them.

use super::super::cursor::RECENT_MAX;
use super::*;

const DAY: Duration = Duration::from_secs(24 * 3_600);

impl House {
    /// Starts a new process that has its position but no journal, because its days were deleted.
    fn without_its_days(self) -> Self {
        let storage = MemoryStorage::new();
        storage.set_bytes(CURSOR_FILE, &self.storage.bytes(CURSOR_FILE).unwrap());
        let mut next = Self::at(&self.graph, storage);
        next.parts.gate = self.parts.gate.clone();
        next
    }
}

/// Waits long enough for an active chat to be swept.
async fn look_around(house: &House) {
    house.run_s(60).await;
}

#[tokio::test(start_paused = true)]
async fn a_silent_chat_that_becomes_active_brings_no_delivered_message_again() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    let early = graph.say(DM, "early");
    house.run_s(60).await;
    let edited = graph.say(DM, "edited");
    house.run_s(6).await;
    graph.edit(DM, &edited, "<p>edited</p>");
    house.run_s(60).await;
    // These are more messages at once than are remembered by id.
    let burst: Vec<String> = (0..RECENT_MAX + 8).map(|n| graph.say(DM, &format!("burst {n}"))).collect();
    look_around(&house).await;
    tokio::time::sleep(3 * DAY).await;
    let house = house.without_its_days();
    for id in [&early, &edited, &burst[0], &burst[20]] {
        graph.like(DM, id);
    }
    graph.say(DM, "good morning");
    look_around(&house).await;
    assert_eq!(house.texts(), ["good morning"]);
}

#[tokio::test(start_paused = true)]
async fn a_message_from_a_long_absence_is_delivered_also_after_a_reaction() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    graph.say(DM, "before");
    house.run_s(6).await;
    let late_at = graph.now();
    graph.say(DM, "and this");
    house.run_s(6).await;
    // It turns up after the chat has ceased to be swept.
    let ago_ms = u64::try_from(graph.now().duration_since(late_at).as_millis()).unwrap();
    graph.post(DM, "alice", &MessageSpec { created_ago_ms: ago_ms, ..MessageSpec::text("late") });
    let away = graph.say(DM, "while you were away");
    tokio::time::sleep(9 * DAY).await;
    graph.like(DM, &away);
    let house = house.without_its_days();
    look_around(&house).await;
    assert_eq!(house.texts(), ["late", "while you were away"]);
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_long_ago_stays_unheard_when_its_chat_is_opened() {
    let graph = TestGraph::new();
    let mut house = House::new(&graph);
    house.parts.options.group_messages = GroupMessages::Mentioned;
    house.run_s(6).await;
    let first = graph.say(GROUP, "to all");
    house.run_s(6).await;
    for n in 0..RECENT_MAX {
        tokio::time::sleep(Duration::from_secs(10)).await;
        graph.say(GROUP, &format!("{n}"));
    }
    look_around(&house).await;
    let mut house = house.restarted();
    house.parts.options.group_messages = GroupMessages::All;
    graph.like(GROUP, &first);
    graph.say(GROUP, "to you too");
    look_around(&house).await;
    assert_eq!(house.texts(), ["to you too"]);
}

#[tokio::test(start_paused = true)]
async fn an_edit_and_a_deletion_of_what_only_memory_has_are_told_when_the_disk_is_well() {
    let graph = TestGraph::new();
    let house = House::new(&graph);
    house.run_s(6).await;
    house.storage.set_space_left(Some(0));
    let writer = async {
        let first = graph.say(DM, "at noon");
        let second = graph.say(GROUP, "forget this");
        tokio::time::sleep(Duration::from_secs(12)).await;
        assert_eq!(house.texts(), ["at noon", "forget this"], "served from memory");
        graph.edit(DM, &first, "at one");
        graph.delete(GROUP, &second);
        // The disk takes writes again only when the next reading is appended.
        house.storage.set_space_left(None);
        tokio::time::sleep(Duration::from_secs(60)).await;
    };
    tokio::select! { biased; _ = house.run_s(600) => {}, () = writer => {} }
    let house = house.restarted();
    let mut texts = house.texts();
    texts.sort();
    assert_eq!(texts, ["(this message was deleted by its author)", "at noon", "at one", "forget this"]);
}
