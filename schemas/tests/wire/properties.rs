//! Properties for any input: no panic, and verdicts without contradictions.

use proptest::prelude::*;
use schemas::{Direction, FileValidator, Version, WireValidator, rules, validate_line};
use serde_json::{Value, json};

use crate::entries::corpus;
use crate::mutate::Mutator;

/// Any JSON, deep and wide enough to reach every definition.
fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 6, |inner| {
        let name = prop_oneof![
            Just("id"),
            Just("jsonrpc"),
            Just("method"),
            Just("params"),
            Just("result"),
            Just("error"),
            Just("_meta"),
            Just("progressToken"),
            Just("requestId"),
            Just("uri"),
            Just("code"),
            Just("resultType"),
            Just("notifications"),
            Just("capabilities"),
            Just("type"),
            Just("content"),
            Just("io.modelcontextprotocol/subscriptionId"),
            Just("io.modelcontextprotocol/protocolVersion"),
        ];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((name, inner), 0..6).prop_map(|members| {
                Value::Object(members.into_iter().map(|(k, v)| (k.to_owned(), v)).collect())
            }),
        ]
    })
}

fn direction() -> impl Strategy<Value = Direction> {
    prop_oneof![Just(Direction::HostToServer), Just(Direction::ServerToHost)]
}

fn version() -> impl Strategy<Value = Version> {
    prop::sample::select(Version::ALL.to_vec())
}

fn known_rule(rule: &str) -> bool {
    rule == "schema" || rules().iter().any(|known| known.id == rule)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_get_a_verdict(
        version in version(),
        lines in prop::collection::vec((direction(), prop::collection::vec(any::<u8>(), 0..60)), 0..6),
    ) {
        let mut wire = WireValidator::new();
        let mut file = FileValidator::new(version);
        for (direction, line) in lines {
            let verdict = wire.feed_bytes(direction, &line);
            prop_assert_eq!(verdict.valid, verdict.errors.is_empty());
            prop_assert!(verdict.errors.iter().all(|error| known_rule(error.rule)));
            file.line(&line);
        }
    }

    #[test]
    fn any_json_gets_a_verdict(
        version in version(),
        messages in prop::collection::vec((direction(), any_json()), 0..8),
    ) {
        let mut wire = WireValidator::new();
        let mut file = FileValidator::new(version);
        for (direction, message) in messages {
            let verdict = wire.feed_value(direction, &message);
            prop_assert!(verdict.errors.len() <= 16);
            prop_assert!(verdict.errors.iter().all(|error| known_rule(error.rule) && error.message.len() < 1_500));
            let text = message.to_string();
            prop_assert_eq!(validate_line(version, &text).definition.is_empty(), {
                !message.is_array() && ["method", "result", "error"].iter().all(|m| message.get(m).is_none())
            });
            file.line(text.as_bytes());
            file.line(json!({ "dir": direction.as_str(), "proc": 1, "msg": message }).to_string().as_bytes());
        }
    }
}

#[test]
fn long_sessions_of_changed_messages_get_verdicts() {
    let seeds: Vec<Value> = corpus().into_iter().map(|entry| entry.msg).collect();
    let mut mutator = Mutator::new(seeds.iter());
    let mut wire = WireValidator::new();
    let mut invalid = 0;
    for round in 0..20 {
        for (index, seed) in seeds.iter().enumerate() {
            let message = mutator.change(seed, round % 3);
            let direction = if index % 2 == 0 { Direction::HostToServer } else { Direction::ServerToHost };
            invalid += usize::from(!wire.feed_value(direction, &message).valid);
        }
    }
    assert!(invalid > seeds.len());
}
