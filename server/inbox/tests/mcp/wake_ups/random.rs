//! Random sequences of messages, calls and failures: what goes by the wake-up, and what is pulled in the end.

use std::time::Duration;

use entraclaw_inbox::wake_up::WakeUpError;
use proptest::prelude::*;
use serde_json::json;
use tokio::time::sleep;

use super::{CODEX, begun, refused};
use crate::support::{Home, ids};

#[derive(Debug, Clone)]
enum Step {
    Receive(u32),
    Pull,
    Wait,
    Fail(bool),
    Pass(u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (1..4_u32).prop_map(Step::Receive),
        1 => Just(Step::Pull),
        1 => Just(Step::Wait),
        1 => any::<bool>().prop_map(Step::Fail),
        4 => (0..30_000_u64).prop_map(Step::Pass),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Whatever happens, a message goes by the wake-up at most once, never after it was handed out, and is never lost.
    #[test]
    fn no_message_is_said_twice_or_lost(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let home = Home::new();
            let mut codex = begun(&home, CODEX).await;
            let mut received = 0;
            let mut handed: Vec<(Duration, String)> = Vec::new();
            for step in steps {
                let mut got = Vec::new();
                match step {
                    Step::Receive(count) => {
                        home.receive(received + 1..=received + count);
                        received += count;
                    }
                    Step::Pull => got = codex.pull().await,
                    Step::Wait => {
                        let answer = codex.ask("wait_for_inbound_message", json!({"timeout_s": 1})).await;
                        got = ids(&answer);
                    }
                    Step::Fail(certain) => {
                        let late = WakeUpError::TimeUp { what: "codex".to_owned(), limit_ms: 1 };
                        codex.wake_up.fail(&if certain { refused() } else { late }, 1);
                    }
                    Step::Pass(ms) => sleep(Duration::from_millis(ms)).await,
                }
                let now = codex.wake_up.began.elapsed();
                handed.extend(got.into_iter().map(|id| (now, id)));
            }
            sleep(Duration::from_secs(3_600)).await;
            for _ in 0..=received / 20 {
                let (got, now) = (codex.pull().await, codex.wake_up.began.elapsed());
                handed.extend(got.into_iter().map(|id| (now, id)));
            }
            let holds = |text: &str, n: u32| text.lines().any(|line| line == format!("> text {n}"));
            for n in 1..=received {
                let id = format!("m{n}");
                let all: Vec<_> = handed.iter().filter(|(_, h)| h.split(' ').next() == Some(id.as_str())).collect();
                prop_assert_eq!(all.len(), 1, "{} of {:?}", id, handed);
                let tried = codex.wake_up.texts().iter().any(|(_, text)| holds(text, n));
                let is_marked = all[0].1.ends_with("pushed");
                prop_assert!(tried || !is_marked, "{:?}", all);
                let moved = codex.wake_up.moved.lock().unwrap();
                let moved: Vec<_> = moved.iter().filter(|(_, text)| holds(text, n)).collect();
                // What is tried still when it is pulled is marked too; what was given up is not.
                prop_assert!(is_marked || moved.is_empty(), "{:?} was said, and has no mark", all);
                prop_assert!(moved.len() <= 1, "{} was said {} times", id, moved.len());
                prop_assert!(moved.iter().all(|(at, _)| *at <= all[0].0), "{} was said after {:?}", id, all);
            }
            Ok(())
        })?;
    }
}
