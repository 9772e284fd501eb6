//! Answers in other words than the question's, by a table of meanings.

use std::collections::BTreeMap;
use std::path::PathBuf;

use entraclaw_memory::search::Filter;
use entraclaw_seams::storage::{MemoryStorage, Storage};

use crate::machine::{Machine, OLD, ids, search};

/// A table in which words of one list point the same way, and different lists to different sides.
fn table(storage: &MemoryStorage, lists: &[&[&str]]) -> PathBuf {
    let mut rows: BTreeMap<String, (usize, Option<usize>)> = BTreeMap::new();
    let mut merges: Vec<String> = Vec::new();
    rows.insert("▁".to_owned(), (0, None));
    for (side, words) in lists.iter().enumerate() {
        for word in *words {
            let mut piece = "▁".to_owned();
            for letter in word.chars() {
                let row = rows.len();
                rows.entry(letter.to_string()).or_insert((row, None));
                merges.push(format!("{piece} {letter}"));
                piece.push(letter);
                let row = rows.len();
                rows.entry(piece.clone()).or_insert((row, None));
            }
            rows.get_mut(&piece).unwrap().1 = Some(side);
        }
    }
    let mut numbers = vec![0_u8; rows.len() * lists.len() * 2];
    for (row, side) in rows.values() {
        if let Some(side) = side {
            // 1.0 in 16 bits.
            numbers[(row * lists.len() + side) * 2..][..2].copy_from_slice(&0x3C00_u16.to_le_bytes());
        }
    }
    let header = serde_json::json!({
        "embedding.weight": {"dtype": "F16", "shape": [rows.len(), lists.len()], "data_offsets": [0, numbers.len()]},
    })
    .to_string();
    let mut tensors = (header.len() as u64).to_le_bytes().to_vec();
    tensors.extend(header.into_bytes());
    tensors.extend(numbers);
    let vocab: BTreeMap<&String, usize> = rows.iter().map(|(piece, (row, _))| (piece, *row)).collect();
    let pieces = serde_json::json!({"model": {"vocab": vocab, "merges": merges}});
    for (folder, file, bytes) in [
        ("weights", "l2_supercat_256.safetensors", tensors),
        ("tokenizers", "l2_supercat_tokenizer_config.json", pieces.to_string().into_bytes()),
    ] {
        storage.create_dir(&format!("home/alice/wordllama/{folder}")).unwrap();
        storage.set_bytes(&format!("home/alice/wordllama/{folder}/{file}"), &bytes);
    }
    PathBuf::from("/home/alice/wordllama")
}

fn machine() -> Machine {
    let machine = Machine::new();
    machine.say("answer", "user", "The mobile app listens on port 8443.", OLD);
    machine.say(
        "words",
        "user",
        "We can talk about the port and the client another day. The phone rings.",
        OLD,
    );
    machine.say("none", "user", "The audit log listens on port 9000.", OLD);
    machine
}

const LISTS: &[&[&str]] =
    &[&["phone", "client", "mobile", "app"], &["audit", "log"], &["port"], &["day", "talk"]];

#[test]
fn an_answer_in_other_words_is_first_with_a_table_and_not_without() {
    let mut machine = machine();
    let first = |machine: &Machine, query: &str| {
        let mut memory = machine.open();
        let waiting = ids(&search(&mut memory, query))[0].to_owned();
        memory.flush().unwrap();
        assert_eq!(ids(&search(&mut memory, query))[0], waiting);
        waiting
    };
    assert_eq!(first(&machine, "on which port does the phone client listen"), "words");
    machine.meanings = Some(table(&machine.storage, LISTS));
    assert_eq!(first(&machine, "on which port does the phone client listen"), "answer");
    // What is said in the same words is no matter of meaning.
    assert_eq!(first(&machine, "audit log port"), "none");
    assert_eq!(first(&machine, "\"the phone rings\""), "words");
}

/// A table that is not there shows whether one is asked for.
#[test]
fn what_words_mean_is_looked_at_only_where_no_sentence_has_most_of_several_words() {
    let mut machine = machine();
    machine.say("seven", "user", "alpha bravo charlie delta echo foxtrot golf", OLD);
    machine.meanings = Some(PathBuf::from("/home/alice/nothing"));
    for (query, is_asked_for) in [
        ("audit log port", false),
        ("alpha bravo charlie delta echo foxtrot golf hotel india juliet", false),
        ("alpha bravo charlie delta echo foxtrot hotel india juliet kilo", true),
        ("\"the phone rings\" zanzibar quicksand", false),
        ("zanzibar", false),
        ("zanzibar quicksand", true),
    ] {
        let answer = machine.open().search(query, &Filter::default(), 10);
        assert_eq!(answer.is_err(), is_asked_for, "{query}");
    }
}

#[test]
fn a_table_that_is_not_there_or_has_another_form_is_named() {
    let mut machine = machine();
    machine.meanings = Some(PathBuf::from("/home/alice/nothing"));
    let failure = |machine: &Machine| {
        let answer = machine.open().search("the port of the phone client", &Filter::default(), 10);
        answer.unwrap_err().to_string()
    };
    let missing = failure(&machine);
    assert!(
        missing
            .starts_with("/home/alice/nothing/tokenizers/l2_supercat_tokenizer_config.json is no table of")
    );
    assert!(missing.contains("let `context.meanings` name the folder `wordllama`"), "{missing}");

    // The host chooses the folder that a relative path would begin in.
    machine.meanings = Some(PathBuf::from("wordllama"));
    assert!(failure(&machine).starts_with("wordllama is no table of meanings: its path is not written out"));

    machine.meanings = Some(table(&machine.storage, LISTS));
    machine.storage.set_bytes("home/alice/wordllama/weights/l2_supercat_256.safetensors", b"12345678{}");
    assert!(failure(&machine).contains("l2_supercat_256.safetensors is no table of meanings: "));
}
