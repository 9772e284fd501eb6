//! What opens after a file was cut, flipped, or lost its index.

use entraclaw_inbox::journal::{Finding, JournalOptions};
use entraclaw_seams::storage::Storage;

use crate::support::*;

const COUNT: u64 = 6;

/// Whole lines.
fn lines(bytes: &[u8]) -> usize {
    bytes.split_inclusive(|byte| *byte == b'\n').filter(|line| line.ends_with(b"\n")).count()
}

#[test]
fn any_cut_leaves_a_prefix_and_keeps_the_rest_aside() {
    let whole = Home::filled(COUNT).disk.bytes(FILE).unwrap();
    for cut in 0..=whole.len() {
        let home = Home::new();
        home.disk.set_bytes(FILE, &whole[..cut]);
        let (journal, report) = home.open();
        let left = keys(&journal);
        assert_eq!(left, keys_of(1..=left.len() as u64), "cut at {cut}");
        assert_eq!(left.len(), lines(&whole[..cut]));
        let good = home.disk.bytes(FILE).unwrap();
        let torn = home.disk.bytes(&format!("{FILE}.torn")).unwrap_or_default();
        assert_eq!([good, torn.clone()].concat(), &whole[..cut], "no byte is thrown away");
        assert_eq!(report.findings.len(), usize::from(!torn.is_empty()));
        journal.append(drafts([100])).unwrap();
        assert_eq!(home.reopen().1.findings, [], "cut at {cut}: the second opening is clean");
    }
}

#[test]
fn any_flipped_byte_costs_its_line_only_and_is_told() {
    let whole = Home::filled(COUNT).disk.bytes(FILE).unwrap();
    for at in 0..whole.len() {
        let mut bad = whole.clone();
        bad[at] ^= 0x04;
        let home = Home::new();
        home.disk.set_bytes(FILE, &bad);
        let (journal, report) = home.open();
        let line = lines(&whole[..at]) as u64 + 1;
        let lost = if whole[at] == b'\n' { vec![line, line + 1] } else { vec![line] };
        let left = keys_of((1..=COUNT).filter(|n| !lost.contains(n)));
        assert_eq!(keys(&journal), left, "flipped at {at}");
        let kept = match &report.findings[0] {
            Finding::TornTail { kept_in, .. } => home.disk.bytes(kept_in).unwrap(),
            Finding::Damaged { kept_in, .. } => home.disk.bytes(kept_in.as_ref().unwrap()).unwrap(),
            other => panic!("flipped at {at}: {other:?}"),
        };
        assert!(kept.contains(&bad[at]), "the damaged bytes are kept");
        journal.append(drafts([100])).unwrap();
        let (journal, report) = home.reopen();
        assert_eq!(report.findings, [], "flipped at {at}: the second opening is clean");
        assert_eq!(keys(&journal), [left, keys_of([100])].concat());
    }
}

/// A file whose index says that all is well is only checked where it is read.
#[test]
fn damage_behind_the_index_is_found_by_reading_and_mended() {
    let home = Home::with(JournalOptions { window_messages_max: 10, ..JournalOptions::default() });
    let (journal, _) = home.open();
    journal.append(drafts(1..=1_000)).unwrap();
    home.clock.move_by(24);
    journal.append(drafts(1_001..=1_020)).unwrap();
    drop(journal);
    let mut bad = home.disk.bytes(FILE).unwrap();
    assert!(home.disk.bytes(INDEX).is_some(), "the finished day has its index");
    let middle = bad.len() / 2;
    bad[middle] ^= 1;
    home.disk.set_bytes(FILE, &bad);

    let reader = JournalOptions { may_lead: false, ..home.options.clone() };
    let reader = Home { disk: home.disk.clone(), clock: home.clock.clone(), options: reader };
    let (follower, report) = reader.open();
    assert_eq!(report.records, 1_020);
    assert_eq!(keys(&follower).len(), 1_019, "a reader serves what is intact");
    assert_eq!(home.disk.bytes(FILE).unwrap(), bad, "and changes nothing");
    let mut mailbox_of_reader = mailbox(&follower, "reader");
    assert_eq!(mailbox_of_reader.unread(None), 1_019);

    let (leader, _) = home.reopen();
    let mut mailbox = mailbox(&leader, "c");
    assert_eq!(take(&mut mailbox, &all()).items.len(), 1_019);
    assert_eq!(mailbox.unread(None), 0);
    assert_eq!(leader.stats().counts.damaged_total, 1);
    assert_eq!(leader.stats().records, 1_019);
    assert_eq!(home.disk.bytes(&format!("{FILE}.damaged")).unwrap(), bad);
    assert!(home.text("interactions/2026-11-22.jsonl").contains("unreadable"));
    leader.append(drafts([1_021])).unwrap();
    let (journal, report) = home.reopen();
    assert_eq!(report.findings, []);
    assert_eq!(keys(&journal).len(), 1_020);
}

#[test]
fn a_follower_reads_on_while_the_leader_mends() {
    let home = Home::with(JournalOptions { window_messages_max: 10, ..JournalOptions::default() });
    let (leader, _) = home.open();
    leader.append(drafts(1..=1_000)).unwrap();
    let (follower, _) = home.open();
    let mut bad = home.disk.bytes(FILE).unwrap();
    bad[1_000] ^= 1;
    home.disk.set_bytes(FILE, &bad);
    assert_eq!(keys(&leader).len(), 999);
    leader.append(drafts([1_001])).unwrap();
    while follower.refresh().unwrap() {}
    assert_eq!(keys(&follower).len(), 1_000);
    assert_eq!(follower.last_seq(), 1_001);
}

#[test]
fn the_index_of_the_open_file_is_saved_once_it_lacks_more_than_sixteen_blocks() {
    const SIXTEEN_BLOCKS: u64 = 16 * 256;
    let home = Home::new();
    let (journal, _) = home.open();
    journal.append(drafts(1..=SIXTEEN_BLOCKS)).unwrap();
    assert_eq!(home.disk.bytes(INDEX), None);
    journal.append(drafts([SIXTEEN_BLOCKS + 1])).unwrap();
    assert!(home.disk.bytes(INDEX).is_some());
}

#[test]
fn a_missing_or_broken_index_is_made_again() {
    let home = Home::new();
    let (journal, _) = home.open();
    journal.append(drafts(1..=600)).unwrap();
    home.clock.move_by(24);
    journal.append(drafts([601])).unwrap();
    let good = home.disk.bytes(INDEX).unwrap();
    let mut variants: Vec<Vec<u8>> = vec![Vec::new(), b"{}".to_vec(), good[..good.len() / 2].to_vec()];
    variants.push([&good[..10], b"9", &good[11..]].concat());
    for broken in variants {
        home.disk.set_bytes(INDEX, &broken);
        let (journal, report) = home.reopen();
        assert_eq!(report.findings, [Finding::IndexRebuilt { file: FILE.into() }]);
        assert_eq!(keys(&journal), keys_of(1..=601));
        assert_eq!(home.disk.bytes(INDEX).unwrap(), good, "made again");
    }
    home.disk.remove(INDEX).unwrap_or_default();
    home.disk.new_process().remove(INDEX).unwrap();
    assert_eq!(home.reopen().1.records, 601);
    assert_eq!(home.disk.bytes(INDEX).unwrap(), good);
}

#[test]
fn a_deleted_day_is_reported_and_the_rest_is_served() {
    let home = Home::new();
    let (journal, _) = home.open();
    for n in 1..=3 {
        journal.append(drafts([n])).unwrap();
        home.clock.move_by(24);
    }
    home.disk.new_process().remove("inbox/2026-11-22.jsonl").unwrap();
    let (journal, report) = home.reopen();
    assert!(report.findings.contains(&Finding::Missing { from_seq: 2, to_seq: 2 }), "{report:?}");
    assert_eq!(keys(&journal), keys_of([1, 3]));
    let mut mailbox = mailbox(&journal, "c");
    assert_eq!(mailbox.unread(None), 2);
    take(&mut mailbox, &all());
    assert_eq!(mailbox.unread(None), 0);
}

#[test]
fn a_place_that_was_shown_is_never_given_again() {
    let home = Home::filled(3);
    let (journal, _) = home.open();
    take(&mut mailbox(&journal, "c"), &all());
    let whole = home.disk.bytes(FILE).unwrap();
    home.disk.set_bytes(FILE, &whole[..whole.len() - 5]);
    let (journal, _) = home.reopen();
    assert_eq!(journal.append(drafts([4])).unwrap().new[0].seq, 4, "m3 is gone, its place stays empty");
    assert_eq!(ids(&take(&mut mailbox(&journal, "c"), &all())), ["m4"]);
}

#[test]
fn files_that_are_not_ours_are_left_alone() {
    let home = Home::filled(2);
    for name in ["inbox/notes.txt", "inbox/2026-11-21.jsonl.bak", "inbox/2026-13-01.jsonl", "inbox/index/x"] {
        home.disk.set_bytes(name, b"mine");
    }
    let (journal, report) = home.open();
    assert_eq!((report.records, report.findings), (2, vec![]));
    assert_eq!(home.text("inbox/notes.txt"), "mine");
    drop(journal);
}

/// The lines of some records, as they are in the file.
fn lines_of(whole: &[u8], records: &[usize]) -> Vec<u8> {
    let lines: Vec<&[u8]> = whole.split_inclusive(|byte| *byte == b'\n').collect();
    records.iter().flat_map(|n| lines[n - 1].to_vec()).collect()
}

/// After a failed sync a batch is written again to another file, and a power cut may bring the first copy back, or
/// take it away later.
#[test]
fn repeated_lines_are_read_once_wherever_they_are() {
    let whole = Home::filled(COUNT).disk.bytes(FILE).unwrap();
    let next = "inbox/2026-11-21.1.jsonl";
    let home = Home::new();
    home.disk.set_bytes(FILE, &lines_of(&whole, &[1, 2, 3, 4]));
    home.disk.set_bytes(next, &lines_of(&whole, &[3, 4, 5, 4, 6, 6]));
    let (journal, report) = home.open();
    assert!(report.findings.contains(&Finding::Repeats { file: next.into(), lines: 4 }), "{report:?}");
    assert_eq!(keys(&journal), keys_of(1..=COUNT));
    assert_eq!(mailbox(&journal, "c").unread(None), COUNT);
    assert_eq!(home.reopen().1.findings, [], "told once");
    home.disk.set_bytes(FILE, &lines_of(&whole, &[1, 2]));
    let (journal, _) = home.reopen();
    assert_eq!(keys(&journal), keys_of(1..=COUNT), "now the second copy counts");
    let (journal, _) =
        Home { options: JournalOptions { window_messages_max: 1, ..home.options.clone() }, ..home }.reopen();
    assert_eq!(keys(&journal), keys_of(1..=COUNT));
}

#[test]
fn an_index_of_more_than_there_is_is_not_believed() {
    let home = Home::new();
    let (journal, _) = home.open();
    journal.append(drafts(1..=600)).unwrap();
    home.clock.move_by(24);
    journal.append(drafts([601])).unwrap();
    let whole = home.disk.bytes(FILE).unwrap();
    home.disk.set_bytes(FILE, &whole[..whole.len() / 2]);
    let (journal, report) = home.reopen();
    assert!(report.findings.contains(&Finding::IndexRebuilt { file: FILE.into() }), "{report:?}");
    assert!(report.findings.iter().any(|finding| matches!(finding, Finding::TornTail { .. })));
    assert!(report.findings.iter().any(|finding| matches!(finding, Finding::Missing { to_seq: 600, .. })));
    assert_eq!(keys(&journal).len() as u64, report.records);
    assert_eq!(mailbox(&journal, "c").unread(None), report.records);
}

/// An editor, or a copy between systems, may end every line as on Windows.
#[test]
fn lines_that_end_as_on_windows_are_read_and_nothing_is_put_aside() {
    for hours in [0, 24] {
        let home = Home::new();
        let (journal, _) = home.open();
        journal.append(drafts(1..=600)).unwrap();
        take(&mut mailbox(&journal, "reader"), &up_to(3));
        home.clock.move_by(hours);
        journal.append(drafts([601])).unwrap();
        drop(journal);
        let is_log = |path: &String| path.starts_with("inbox/") && path.strip_suffix(".jsonl").is_some();
        for file in home.disk.paths().into_iter().filter(is_log) {
            home.disk.set_bytes(&file, home.text(&file).replace('\n', "\r\n").as_bytes());
        }
        let (journal, report) = home.reopen();
        let is_damage = |finding: &Finding| !matches!(finding, Finding::IndexRebuilt { .. });
        assert!(!report.findings.iter().any(is_damage), "{:?}", report.findings);
        assert_eq!(keys(&journal), keys_of(1..=601));
        assert_eq!(ids(&take(&mut mailbox(&journal, "reader"), &up_to(1))), ["m4"], "consumers' files too");
        journal.append(drafts([602])).unwrap();
        let (journal, report) = home.reopen();
        assert_eq!((report.findings, keys(&journal).len()), (vec![], 602));
        let is_aside = |path: &String| path.contains(".torn") || path.contains(".damaged");
        assert!(!home.disk.paths().iter().any(is_aside));
    }
}
