//! Pages of lists that change while they are read.

use std::collections::BTreeMap;

use fake_microsoft::graph::{ChatKind, ChatSpec, MessageSpec};
use proptest::prelude::*;

use crate::bench::{Bench, next_link, text};

#[derive(Debug, Clone)]
enum Step {
    Post,
    LatePost,
    Edit(usize),
    Delete(usize),
    React(usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        Just(Step::Post),
        Just(Step::LatePost),
        any::<usize>().prop_map(Step::Edit),
        any::<usize>().prop_map(Step::Delete),
        any::<usize>().prop_map(Step::React),
    ]
}

fn apply(b: &mut Bench, step: &Step, ids: &[String], touched: &mut Vec<String>) {
    let mut pick = |n: &usize| {
        let id = ids[n % ids.len()].clone();
        touched.push(id.clone());
        id
    };
    let now = b.now;
    match step {
        Step::Post => {
            b.say("dm", "alice", &MessageSpec::html("new"));
        }
        Step::LatePost => {
            let late = MessageSpec { created_ago_ms: 700, visible_after_ms: 3, ..MessageSpec::html("late") };
            b.say("dm", "alice", &late);
        }
        Step::Edit(n) => b.graph.edit(now, "dm", &pick(n), "edited").unwrap(),
        Step::Delete(n) => b.graph.delete(now, "dm", &pick(n)).unwrap(),
        Step::React(n) => b.graph.react(now, "dm", &pick(n), "alice", "x", true).unwrap(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever happens between two pages, an untouched message comes exactly once; by creation, all do.
    #[test]
    fn each_message_comes_once(
        count in 1_usize..90,
        top in 1_usize..=50,
        by_creation in any::<bool>(),
        changes in proptest::collection::vec(proptest::collection::vec(step(), 0..4), 0..60),
    ) {
        let mut b = Bench::new();
        let mut ids = Vec::new();
        for n in 0..count {
            // Several share a millisecond, so ids have to give way.
            ids.push(b.at(i64::try_from(n / 3).unwrap_or_default()).say("dm", "alice", &MessageSpec::html("x")));
        }
        let property = if by_creation { "createdDateTime" } else { "lastModifiedDateTime" };
        let mut link = Some(b.chat("dm", &format!("/messages?$top={top}&$orderby={property}%20desc")));
        let mut touched = Vec::new();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut changes = changes.iter();
        for ms in 1000.. {
            let Some(path) = link.take() else { break };
            b.at(ms);
            let page = b.json(&path);
            let items = page["value"].as_array().unwrap();
            prop_assert!(items.len() <= top);
            for item in items {
                *seen.entry(text(&item["id"])).or_default() += 1;
            }
            link = next_link(&page);
            for change in changes.next().into_iter().flatten() {
                apply(&mut b, change, &ids, &mut touched);
            }
        }
        for id in &ids {
            let times = seen.get(id).copied().unwrap_or_default();
            if by_creation || !touched.contains(id) {
                prop_assert_eq!(times, 1, "{}", id);
            } else {
                // Moved to the front, it may be missed here; it then leads the next walk.
                prop_assert!(times <= 1);
            }
        }
    }

    /// A walk over chats shows each unchanged one exactly once.
    #[test]
    fn each_chat_comes_once(count in 0_usize..60, top in 1_usize..=50, ordered in any::<bool>(), writes in proptest::collection::vec(any::<usize>(), 0..20)) {
        let mut b = Bench::new();
        for n in 0..count {
            let spec = ChatSpec { kind: ChatKind::Group, ..ChatSpec::default() };
            b.graph.add_chat(b.now, &format!("g{n}"), &spec).unwrap();
            if n % 4 != 0 {
                b.at(i64::try_from(n).unwrap_or_default() / 2).say(&format!("g{n}"), "alice", &MessageSpec::html("x"));
            }
        }
        let order = if ordered { "&$orderby=lastMessagePreview/createdDateTime%20desc" } else { "" };
        let mut link = Some(format!("/v1.0/me/chats?$top={top}{order}"));
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        let mut writes = writes.iter();
        let mut touched = Vec::new();
        for ms in 1000.. {
            let Some(path) = link.take() else { break };
            b.at(ms);
            let page = b.json(&path);
            for item in page["value"].as_array().unwrap() {
                *seen.entry(text(&item["id"])).or_default() += 1;
            }
            link = next_link(&page);
            if let Some(n) = writes.next().filter(|_| count > 0) {
                let chat = format!("g{}", n % count);
                b.say(&chat, "alice", &MessageSpec::html("y"));
                touched.push(b.graph.chat_id(&chat).unwrap().to_owned());
            }
        }
        for n in 0..count {
            let id = b.graph.chat_id(&format!("g{n}")).unwrap();
            let times = seen.get(id).copied().unwrap_or_default();
            prop_assert!(times == 1 || (ordered && times == 0 && touched.iter().any(|t| t == id)), "{id} {times}");
        }
    }
}
