//! Measures the time from a synced record to the first line of a host's program that is started for it.
//!
//! `cargo bench --profile dist -p entraclaw --bench wake_ups [-- ROUNDS]`. The program is a shell script on real files; the figure
//! includes the time of its own start.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::print_stdout,
    reason = "a benchmark measures real time on real files and prints it"
)]

#[cfg(unix)]
mod unix {
    use std::collections::BTreeMap;
    use std::os::unix::fs::PermissionsExt as _;
    use std::path::Path;
    use std::sync::Arc;
    use std::time::{Duration, SystemTime, UNIX_EPOCH};

    use entraclaw::wake_ups::ProductionWakeUps;
    use entraclaw_inbox::journal::{ConsumerName, Journal, JournalOptions};
    use entraclaw_inbox::presence::Presence;
    use entraclaw_inbox::record::{Channel, Draft};
    use entraclaw_inbox::wake_up::{ActivityWatch, Met, Trust, WakeUpCarrier};
    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::DiskStorage;
    use entraclaw_session::config::{Config, WakeUpSettings, WholeText};

    const ROUNDS: usize = 200;
    const SCRIPT: &str = "#!/bin/sh\ndate +%s%N >> \"$HOME/started\"\n";

    fn draft(n: usize) -> Draft {
        let id = n.to_string();
        Draft {
            key: format!("teams/chat-1/{id}"),
            channel: Channel::Teams,
            chat_id: "chat-1".to_owned(),
            from: "Alice".to_owned(),
            ts: "2026-01-01T00:00:00Z".to_owned(),
            content_text_sanitized: "Could you look at the build?".to_owned(),
            meta: BTreeMap::new(),
            edit_of: None,
            deleted: false,
            id,
        }
    }

    fn now_ns() -> u128 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_nanos())
    }

    async fn measure(folder: &Path, rounds: usize) -> Vec<f64> {
        let program = folder.join("codex");
        std::fs::write(&program, SCRIPT).expect("the folder can be written");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).expect("it is ours");
        let storage = Arc::new(DiskStorage::open(&folder.join("home")).expect("a home folder"));
        let clock = Arc::new(SystemClock);
        let opened = Journal::open(storage.clone(), clock.clone(), JournalOptions::default());
        let (journal, _) = opened.expect("the journal opens");
        let variables = BTreeMap::from([
            ("HOME".to_owned(), folder.as_os_str().to_owned()),
            ("PATH".to_owned(), format!("{}:/usr/bin:/bin", folder.display()).into()),
        ]);
        let activity = ActivityWatch::default();
        let settings = WakeUpSettings {
            codex_queue: true,
            min_interval: Duration::from_millis(1),
            messages_per_hour: u32::MAX,
            ..Config::default().wake_ups
        };
        let carrier = WakeUpCarrier {
            wake_ups: Arc::new(ProductionWakeUps::new(variables)),
            settings,
            inbox: None,
            process: None,
            storage: storage.clone(),
            // All versions measure this setting, so that the figures can be compared.
            trust: Trust { whole_text: WholeText::Allowed, operator: None },
            journal: journal.clone(),
            clock,
            activity: activity.clone(),
            presence: Presence::default(),
            id: "bench".to_owned(),
        };
        let carrier = tokio::spawn(carrier.run());
        let consumer = ConsumerName::new("codex").expect("a name");
        activity.met(Met { family: "codex", version: [0, 169, 0], consumer });
        activity.called_by("0199b1c2-aaaa-7000-8000-000000000001");
        tokio::time::sleep(Duration::from_secs(3)).await;
        let started = folder.join("started");
        let mut took = Vec::new();
        for n in 0..rounds {
            journal.append(vec![draft(n)]).expect("the disk takes it");
            let synced = now_ns();
            let at = loop {
                tokio::time::sleep(Duration::from_millis(1)).await;
                let text = std::fs::read_to_string(&started).unwrap_or_default();
                if let Some(line) = text.lines().nth(n).filter(|_| text.ends_with('\n')) {
                    break line.parse::<u128>().expect("date has %N");
                }
            };
            took.push(
                Duration::from_nanos(u64::try_from(at - synced).unwrap_or(u64::MAX)).as_secs_f64() * 1e3,
            );
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        carrier.abort();
        took.sort_by(f64::total_cmp);
        took
    }

    pub(crate) fn main() {
        let rounds = std::env::args().find_map(|text| text.parse().ok()).unwrap_or(ROUNDS).max(1);
        let folder = tempfile::tempdir().expect("a temporary folder");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        let took = runtime.block_on(measure(folder.path(), rounds));
        let at = |percent: usize| took[(took.len() * percent / 100).min(took.len() - 1)];
        println!(
            "record synced -> start of codex queue, {rounds} messages: p50 {:.1} ms, p99 {:.1} ms, worst {:.1} ms",
            at(50),
            at(99),
            took[took.len() - 1]
        );
    }
}

fn main() {
    #[cfg(unix)]
    unix::main();
}
