//! How a search weighs and orders what it finds, by the parts of it.

use std::collections::{BTreeMap, BTreeSet};

use rstest::rstest;

use super::super::ask::Wanted;
use super::super::machine::{Machine, NOW, id};
use super::*;
use crate::stores::{Agent, Role};

const EVERYTHING: Reach = Reach { sessions: 9, bytes: 0, is_of_all_pages: false, least_part: 0.0 };

/// The score of the best candidate of each session, and how many it has.
fn scores(memory: &Memory, ask: &Ask, reach: Reach) -> BTreeMap<String, (f32, usize)> {
    let ranking = memory.rank(ask, &Filter::default(), 9, reach).unwrap();
    assert_eq!(ranking.total, ranking.sessions.len());
    let score = |ranked: &Ranked| {
        let score = (ranked.candidates[0].score, ranked.candidates.len());
        (id(memory, ranked.file).to_owned(), score)
    };
    ranking.sessions.iter().map(score).collect()
}

fn check(found: &BTreeMap<String, (f32, usize)>, expected: &[(&str, f32, usize)]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (session, score, count) in expected {
        let (found, candidates) = found[*session];
        assert!((found - score).abs() < 1e-4 && candidates == *count, "{session}: {found} of {candidates}");
    }
}

/// All pages have two words, so that none counts for its length.
#[rstest]
#[case::the_best_pages(false)]
#[case::all_pages(true)]
fn a_message_counts_what_its_words_tell_by_its_role_and_age_waiting_or_on_a_page(#[case] of_all: bool) {
    let machine = Machine::new();
    machine.say("both", "user", "alpha bravo", None);
    machine.say("one", "user", "alpha other", None);
    machine.say("one", "assistant", "other words", None);
    machine.say("recent", "user", "alpha other", Some(NOW));
    machine.call("tool", "Bash", "bravo other");
    machine.say("none", "user", "other words", None);
    let mut memory = machine.open();
    memory.refresh().unwrap();
    for _ in 0..2 {
        let ask = memory.ask("alpha bravo").unwrap();
        let (alpha, bravo) = (ask.wanted[0].weight, ask.wanted[1].weight);
        let found = scores(&memory, &ask, Reach { is_of_all_pages: of_all, ..EVERYTHING });
        // Half of the words count a quarter of what they tell.
        check(
            &found,
            &[
                ("both", alpha + bravo, 1),
                ("one", alpha / 4.0, 1),
                ("recent", alpha / 4.0 * multiplier(0, 1.0), 1),
                ("tool", bravo / 4.0 * multiplier(role_number(Role::Tool), 0.0), 1),
            ],
        );
        memory.flush().unwrap();
    }
}

#[test]
fn a_word_of_the_family_counts_less_than_the_word_and_a_typing_error_still_less() {
    let machine = Machine::new();
    let wanted = Wanted {
        kin: vec!["chose".to_owned()],
        near: vec!["chooz".to_owned()],
        weight: 2.0,
        ..Wanted::new("choose".to_owned(), "choos".to_owned())
    };
    for (session, word) in [("itself", "choose"), ("kin", "chose"), ("near", "chooz")] {
        machine.say(session, "user", &format!("{word} it"), None);
    }
    let ask = Ask { wanted: vec![Wanted::new("it".into(), "it".into()), wanted], ..Ask::default() };
    let mut memory = machine.open();
    memory.refresh().unwrap();
    for _ in 0..2 {
        let found = scores(&memory, &ask, EVERYTHING);
        check(&found, &[("itself", 2.0, 1), ("kin", 2.0 * KIN, 1), ("near", 2.0 * NEAR, 1)]);
        memory.flush().unwrap();
    }
    for (stems, mask, score) in [
        (&["choos", "chose", "chooz"][..], 0b10, 2.0),
        (&["chose", "chooz"], 0b10, 2.0 * KIN),
        (&["chooz"], 0b10, 2.0 * NEAR),
        (&["it", "chose"], 0b11, 2.0 * KIN),
        (&["it"], 0b01, 0.0),
        (&["other"], 0, 0.0),
    ] {
        let stems: BTreeSet<String> = stems.iter().map(|stem| (*stem).to_owned()).collect();
        assert_eq!(fresh_score(&ask, &stems), (mask, score), "{stems:?}");
    }
}

#[rstest]
#[case::nothing(Filter::default(), &["call", "early", "late", "long"])]
#[case::the_moment_itself(since("2026-05-01T00:00:10Z"), &["late", "long"])]
#[case::a_second_later(since("2026-05-01T00:00:11Z"), &["long"])]
#[case::up_to_a_moment(until("2026-05-01T00:00:10Z"), &["early", "long"])]
#[case::up_to_a_second_later(until("2026-05-01T00:00:11Z"), &["early", "late", "long"])]
#[case::said_by_the_agent(Filter { role: Some(Role::Assistant), ..Filter::default() }, &["late"])]
#[case::a_call(Filter { role: Some(Role::Tool), ..Filter::default() }, &["call"])]
#[case::of_a_tool(Filter { tool: Some("Bash".into()), ..Filter::default() }, &["call"])]
#[case::of_another_tool(Filter { tool: Some("Edit".into()), ..Filter::default() }, &[])]
#[case::of_another_agent(Filter { agent: Some(Agent::Codex), ..Filter::default() }, &[])]
fn what_does_not_pass_the_filter_is_not_ranked(#[case] filter: Filter, #[case] expected: &[&str]) {
    let machine = Machine::new();
    machine.say("early", "user", "alpha", Some("2026-05-01T00:00:00Z"));
    machine.say("late", "assistant", "alpha", Some("2026-05-01T00:00:10Z"));
    machine.call("call", "Bash", "alpha");
    for at in ["2026-04-01T00:00:00Z", "2026-06-01T00:00:00Z", "2026-04-02T00:00:00Z"] {
        machine.say("long", "user", "alpha", Some(at));
    }
    let mut memory = machine.open();
    memory.refresh().unwrap();
    for _ in 0..2 {
        let ask = memory.ask("alpha").unwrap();
        let ranking = memory.rank(&ask, &filter, 9, EVERYTHING).unwrap();
        let mut found: Vec<&str> = ranking.sessions.iter().map(|ranked| id(&memory, ranked.file)).collect();
        found.sort_unstable();
        assert_eq!((found.as_slice(), ranking.total), (expected, expected.len()));
        memory.flush().unwrap();
    }
}

fn since(at: &str) -> Filter {
    Filter { since: Some(at.parse().unwrap()), ..Filter::default() }
}

fn until(at: &str) -> Filter {
    Filter { until: Some(at.parse().unwrap()), ..Filter::default() }
}

#[test]
fn a_title_answers_no_phrase_and_nothing_that_is_asked_of_messages() {
    let machine = Machine::new();
    machine.say("titled", "user", "hello there", None);
    let title = serde_json::json!({"type": "ai-title", "aiTitle": "The zanzibar palette"});
    machine.line("titled", &title);
    machine.say("other", "user", "good morning", None);
    let mut memory = machine.open();
    memory.refresh().unwrap();
    let said = Filter { role: Some(Role::User), ..Filter::default() };
    for _ in 0..2 {
        for (query, filter, title) in [
            ("zanzibar", &Filter::default(), Some(0b01)),
            ("hello zanzibar", &Filter::default(), Some(0b10)),
            ("zanzibar", &said, None),
            ("\"zanzibar palette\"", &Filter::default(), None),
        ] {
            let ask = memory.ask(query).unwrap();
            let ranking = memory.rank(&ask, filter, 9, EVERYTHING).unwrap();
            let found = ranking.sessions.first().map(|ranked| (id(&memory, ranked.file), ranked.title));
            assert_eq!(found, title.map(|bits| ("titled", ask.coverage(bits))), "{query}");
            assert!(ranking.total <= 1, "{query}");
        }
        memory.flush().unwrap();
    }
}

#[test]
fn a_page_must_have_all_words_of_a_phrase() {
    let machine = Machine::new();
    machine.say("whole", "user", "take the file lock", None);
    machine.say("part", "user", "take the file", None);
    machine.say("whole", "assistant", "which lock", None);
    let mut memory = machine.open();
    memory.refresh().unwrap();
    for _ in 0..2 {
        let ask = memory.ask("\"file lock\"").unwrap();
        let found = scores(&memory, &ask, Reach { is_of_all_pages: true, ..EVERYTHING });
        assert_eq!(
            found.into_iter().map(|(id, (_, count))| (id, count)).collect::<Vec<_>>(),
            [("whole".to_owned(), 1)]
        );
        memory.flush().unwrap();
    }
}

#[test]
fn a_page_that_was_deleted_has_no_words() {
    let machine = Machine::new();
    for session in ["one", "two", "three", "gone"] {
        machine.say(session, "user", "alpha", None);
    }
    let mut memory = machine.open();
    memory.refresh().unwrap();
    memory.flush().unwrap();
    entraclaw_seams::storage::Storage::remove(&machine.storage, &Machine::path("gone")).unwrap();
    memory.refresh().unwrap();
    memory.flush().unwrap();
    let ask = memory.ask("alpha").unwrap();
    let searcher = memory.reader.searcher();
    let segments = searcher.segment_readers().iter();
    let masks: Vec<u32> = segments.flat_map(|segment| memory.scored(segment, &ask).unwrap().masks).collect();
    assert_eq!((masks.len(), masks.iter().filter(|mask| **mask != 0).count()), (4, 3));
}

#[test]
fn the_best_candidates_are_kept_and_of_equal_ones_the_first() {
    for (scores, kept) in [
        (&[1.0, 2.0, 3.0][..], [2, 1]),
        (&[3.0, 2.0, 1.0], [0, 1]),
        (&[2.0, 3.0, 2.0], [1, 0]),
        (&[1.0, 1.0, 1.0], [0, 1]),
    ] {
        let mut tally = Tally::default();
        for (n, score) in scores.iter().enumerate() {
            tally.add(1 << n, Candidate { source: Source::Fresh(n), file: 7, score: *score });
        }
        let found = tally.closest.map(|one| one.map(|one| one.source));
        assert_eq!(found, kept.map(|n| Some(Source::Fresh(n))), "{scores:?}");
        let best = scores.iter().copied().fold(0.0, f32::max);
        assert_eq!((tally.best, tally.mask, tally.file), (best, 0b111, 7));
    }
}

#[test]
fn of_the_best_sessions_all_candidates_are_given_best_first() {
    let wanted = Wanted { weight: 1.0, ..Wanted::new("alpha".into(), "alpha".into()) };
    let ask = Ask { wanted: vec![wanted], ..Ask::default() };
    let mut found = Found { tallies: vec![Tally::default(); 3], all: Some(Vec::new()) };
    for (n, (group, score)) in
        [(2, 1.0), (0, 3.0), (2, 5.0), (1, 2.0), (2, 4.0), (7, 9.0)].into_iter().enumerate()
    {
        let candidate = Candidate { source: Source::Fresh(n), file: u64::from(group), score };
        found.note(group, 1, candidate);
    }
    let ranking = best(&ask, found, 2, 0.5);
    let given = ranking
        .sessions
        .iter()
        .map(|ranked| (ranked.file, ranked.candidates.iter().map(|one| one.source).collect::<Vec<_>>()));
    let expected = [(2, &[2, 4, 0][..]), (0, &[1])];
    let expected = expected.map(|(file, order)| (file, order.iter().map(|n| Source::Fresh(*n)).collect()));
    assert_eq!((given.collect::<Vec<_>>(), ranking.total), (expected.to_vec(), 3));
}

#[rstest]
#[case::no_page(0, 0, 1.0)]
#[case::no_word(0, 9, 1.0)]
#[case::half_a_word(3, 6, 1.0)]
#[case::some(300, 3, 100.0)]
fn an_average_page_has_its_part_of_the_words_and_at_least_one(
    #[case] words: u64,
    #[case] pages: u32,
    #[case] expected: f32,
) {
    assert!((average(words, pages) - expected).abs() < f32::EPSILON);
}

#[test]
fn a_word_counts_one_in_a_page_of_average_length_and_more_in_a_shorter_one() {
    let average = FieldNormReader::id_to_fieldnorm(100);
    #[expect(clippy::cast_precision_loss, reason = "a weight needs no more digits")]
    let counts = by_norm(average as f32);
    assert!((counts[100] - 1.0).abs() < 1e-6, "{}", counts[100]);
    assert!(counts.is_sorted_by(|shorter, longer| shorter >= longer));
    assert!(counts[0] > 1.0 && counts[255] < 0.1, "{} to {}", counts[0], counts[255]);
}

#[test]
fn a_session_is_ranked_by_its_best_page_its_title_and_all_words_that_it_has() {
    let wanted = [("alpha", 1.0), ("bravo", 1.0), ("charlie", 0.5)]
        .map(|(word, weight)| Wanted { weight, ..Wanted::new(word.into(), word.into()) });
    let ask = Ask { wanted: wanted.into(), ..Ask::default() };
    // By their place: two words, one, a title with one of them, with both, a better page, a title alone, too little,
    // nothing.
    let tallies = [
        (1.0, 0b011, 0b000),
        (1.05, 0b001, 0b000),
        (1.0, 0b011, 0b001),
        (1.0, 0b011, 0b011),
        (1.25, 0b011, 0b000),
        (0.0, 0b000, 0b010),
        (9.0, 0b100, 0b000),
        (0.0, 0b000, 0b000),
    ];
    let tallies = (0_u64..).zip(tallies).map(|(file, (best, mask, title))| Tally {
        best,
        mask,
        title,
        file,
        ..Tally::default()
    });
    let tallies: Vec<Tally> = tallies.collect();
    let [most, all] = [&[3, 4, 2, 0, 1, 5], &[6, 3, 4, 2, 0, 1, 5][..]];
    for (limit, least_part, expected, total) in [(9, 0.5, most, 6), (3, 0.5, &most[..3], 6), (9, 0.0, all, 7)]
    {
        let ranking = best(&ask, Found { tallies: tallies.clone(), all: None }, limit, least_part);
        let files: Vec<u64> = ranking.sessions.iter().map(|ranked| ranked.file).collect();
        assert_eq!((files.as_slice(), ranking.total), (expected, total));
    }
}

#[test]
fn two_halves_tell_the_same_as_the_whole() {
    let pages: Vec<(u32, u32, f32)> =
        (0..40_u32).map(|n| (n % 3, 1 << (n % 5), f32::from(u16::try_from(n * 7 % 11).unwrap()))).collect();
    let look = |range: std::ops::Range<usize>| {
        let mut found = Found { tallies: vec![Tally::default(); 3], all: Some(Vec::new()) };
        for (n, (group, mask, score)) in pages.iter().enumerate().take(range.end).skip(range.start) {
            let candidate = Candidate { source: Source::Fresh(n), file: u64::from(*group), score: *score };
            found.note(*group, *mask, candidate);
        }
        found
    };
    let told = |found: &Found| {
        let closest = |tally: &Tally| tally.closest.map(|one| one.map(|one| one.source));
        let tallies = found.tallies.iter().map(|tally| (tally.best, tally.mask, tally.file, closest(tally)));
        (
            tallies.collect::<Vec<_>>(),
            found.all.iter().flatten().map(|(_, one)| one.source).collect::<Vec<_>>(),
        )
    };
    let whole = told(&look(0..pages.len()));
    for middle in 0..=pages.len() {
        let mut found = look(0..middle);
        found.join(look(middle..pages.len()));
        assert_eq!(told(&found), whole, "halves meet at {middle}");
    }
}
