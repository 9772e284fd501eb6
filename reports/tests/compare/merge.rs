//! The shards of a run make the run again, to the byte; anything else is refused.

use super::fixture;

use proptest::prelude::*;
use reports::event::{Event, RunFinished, Shard};
use reports::merge::share;
use reports::{MergeError, Stream, merge};

fn split(stream: &Stream, of: u32) -> Vec<Stream> {
    let part = |index| {
        let shard = Shard { index, of };
        let mut header = stream.header.clone();
        header.shard = Some(shard);
        let cells: Vec<_> =
            share(shard, stream.cells.len()).map(|number| stream.cells[number].clone()).collect();
        let mut events = vec![Event::RunStarted(header)];
        let footer = RunFinished::of(&stream.header, &cells);
        events.extend(cells.into_iter().map(Event::CellFinished));
        events.push(Event::RunFinished(footer));
        Stream::from_events(events).unwrap()
    };
    (1..=of).map(part).collect()
}

fn bytes(stream: &Stream) -> Vec<u8> {
    let mut bytes = Vec::new();
    reports::stream::write(&stream.clone().into_events(), &mut bytes).unwrap();
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: ProptestConfig::default().cases / 10,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn shards_in_any_order_make_the_run_to_the_byte(of in 1_u32..40, turn in 0_usize..40) {
        let whole = fixture::small();
        let mut parts = split(&whole, of);
        parts.rotate_left(turn % of as usize);
        let merged = merge(parts).unwrap();
        prop_assert_eq!(bytes(&merged), bytes(&whole));
        prop_assert_eq!(merged, whole);
    }
}

#[test]
fn a_run_with_a_hole_is_no_run() {
    let whole = fixture::small();
    let mut parts = split(&whole, 4);
    let report = reports::Report::new(&parts[2]);
    assert_eq!(report.subject(), "Host compatibility, part 3 of 4");
    parts.remove(2);
    let error = merge(parts.clone()).unwrap_err();
    assert!(error.is_incomplete());
    assert_eq!(error.to_string(), "of 4 shards these are missing: 3");
    parts.push(parts[0].clone());
    assert!(matches!(merge(parts), Err(MergeError::Twice(1, 4))));
    assert!(matches!(merge(vec![]), Err(MergeError::Nothing)));
    assert!(matches!(merge(vec![whole]), Err(MergeError::Whole(1))));
}

#[test]
fn shards_of_different_runs_are_refused_with_the_difference() {
    let mut parts = split(&fixture::small(), 3);
    parts[2].header.seed = 7;
    let error = merge(parts).unwrap_err().to_string();
    assert!(error.contains("stream 3 is of another run") && error.contains("`seed`"), "{error}");
    let mut parts = split(&fixture::small(), 3);
    parts[1].cells.pop();
    assert!(matches!(merge(parts), Err(MergeError::Share { of: 3, .. })));
    let mut claim = split(&fixture::small(), 2).remove(0);
    claim.header.shard = Some(Shard { index: 1, of: u32::MAX });
    let error = merge(vec![claim]).unwrap_err().to_string();
    assert!(error.contains("21, 4294967274 more"), "{error}");
}
