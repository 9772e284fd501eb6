//! What is known of a message that comes again, when the journal has forgotten it or the disk does not take it yet.

use super::super::cursor::RECENT_MAX;
use super::*;

const DAY: Duration = Duration::from_secs(24 * 3_600);

impl House {
    /// A new process that has its position, but of the journal nothing: its days were deleted.
    fn without_its_days(self) -> Self {
        let storage = MemoryStorage::new();
        storage.set_bytes(CURSOR_FILE, &self.storage.bytes(CURSOR_FILE).unwrap());
        let mut next = Self::at(&self.mini, storage);
        next.parts.gate = self.parts.gate.clone();
        next
    }
}

fn like(mini: &Mini, chat: &str, id: &str) {
    mini.change(chat, id, |m, _| m["reactions"] = json!([{"reactionType": "like"}]));
}

/// Time in which an active chat is looked at by itself.
async fn look_around(house: &House) {
    house.run_s(60).await;
}

#[tokio::test(start_paused = true)]
async fn a_chat_that_wakes_up_brings_nothing_that_was_delivered_before() {
    let mini = Mini::new();
    let house = House::new(&mini);
    house.run_s(6).await;
    let early = mini.say(DM, "early");
    house.run_s(60).await;
    let edited = mini.say(DM, "edited");
    house.run_s(6).await;
    mini.change(DM, &edited, |m, now| m["lastEditedDateTime"] = json!(now));
    house.run_s(60).await;
    // More at once than is remembered by name.
    let burst: Vec<String> = (0..RECENT_MAX + 8).map(|n| mini.say(DM, &format!("burst {n}"))).collect();
    look_around(&house).await;
    tokio::time::sleep(3 * DAY).await;
    let house = house.without_its_days();
    for id in [&early, &edited, &burst[0], &burst[20]] {
        like(&mini, DM, id);
    }
    mini.say(DM, "good morning");
    look_around(&house).await;
    assert_eq!(house.texts(), ["good morning"]);
}

#[tokio::test(start_paused = true)]
async fn what_was_written_in_a_long_absence_is_delivered_though_somebody_reacted_to_it() {
    let mini = Mini::new();
    let house = House::new(&mini);
    house.run_s(6).await;
    mini.say(DM, "before");
    house.run_s(6).await;
    let late_at = mini.now().to_string();
    mini.say(DM, "and this");
    house.run_s(6).await;
    // It turns up when nobody looks any more.
    let late = mini.say(DM, "late");
    mini.change(DM, &late, |m, _| {
        m["createdDateTime"] = json!(late_at);
        m["lastModifiedDateTime"] = json!(late_at);
    });
    let away = mini.say(DM, "while you were away");
    tokio::time::sleep(9 * DAY).await;
    like(&mini, DM, &away);
    let house = house.without_its_days();
    look_around(&house).await;
    assert_eq!(house.texts(), ["late", "while you were away"]);
}

#[tokio::test(start_paused = true)]
async fn what_was_refused_long_ago_stays_unheard_when_its_chat_is_opened() {
    let mini = Mini::new();
    let mut house = House::new(&mini);
    house.parts.options.group_messages = GroupMessages::Mentioned;
    house.run_s(6).await;
    let first = mini.say(GROUP, "to all");
    house.run_s(6).await;
    for n in 0..RECENT_MAX {
        tokio::time::sleep(Duration::from_secs(10)).await;
        mini.say(GROUP, &format!("{n}"));
    }
    look_around(&house).await;
    let mut house = house.restarted();
    house.parts.options.group_messages = GroupMessages::All;
    like(&mini, GROUP, &first);
    mini.say(GROUP, "to you too");
    look_around(&house).await;
    assert_eq!(house.texts(), ["to you too"]);
}

#[tokio::test(start_paused = true)]
async fn an_edit_and_a_deletion_of_what_only_memory_has_are_told_when_the_disk_is_well() {
    let mini = Mini::new();
    let house = House::new(&mini);
    house.run_s(6).await;
    house.storage.set_space_left(Some(0));
    let writer = async {
        let first = mini.say(DM, "at noon");
        let second = mini.say(GROUP, "forget this");
        tokio::time::sleep(Duration::from_secs(12)).await;
        assert_eq!(house.texts(), ["at noon", "forget this"], "served from memory");
        mini.change(DM, &first, |m, now| {
            m["body"]["content"] = json!("at one");
            m["lastEditedDateTime"] = json!(now);
        });
        mini.change(GROUP, &second, |m, now| {
            m["deletedDateTime"] = json!(now);
            m["body"]["content"] = json!("");
        });
        // The disk is well when the next reading is appended, and not before.
        house.storage.set_space_left(None);
        tokio::time::sleep(Duration::from_secs(60)).await;
    };
    tokio::select! { biased; _ = house.run_s(600) => {}, () = writer => {} }
    let house = house.restarted();
    let mut texts = house.texts();
    texts.sort();
    assert_eq!(texts, ["(this message was deleted by its author)", "at noon", "at one", "forget this"]);
}
