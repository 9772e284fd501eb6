//! Valid and invalid event streams, with the line and the reason.

mod fixture;

use reports::event::{CellFinished, Event, Status};
use reports::stream::{self, Problem};
use reports::{Stream, StreamError};
use rstest::rstest;

fn lines(stream: &Stream) -> Vec<String> {
    let mut bytes = Vec::new();
    stream::write(&stream.clone().into_events(), &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap().lines().map(str::to_owned).collect()
}

fn read(lines: &[String]) -> Result<Stream, StreamError> {
    Stream::read(lines.join("\n").as_bytes())
}

fn problem(lines: &[String]) -> (usize, Problem) {
    match read(lines).unwrap_err() {
        StreamError::Invalid(invalid) => (invalid.line, invalid.problem),
        StreamError::Io(error) => panic!("{error}"),
    }
}

fn changed(change: impl Fn(&mut Vec<CellFinished>)) -> Vec<String> {
    let mut stream = fixture::small();
    change(&mut stream.cells);
    lines(&stream)
}

#[rstest]
#[case(fixture::small())]
#[case(fixture::hostile())]
fn a_written_stream_is_read_back(#[case] stream: Stream) {
    let lines = lines(&stream);
    assert_eq!(read(&lines).unwrap(), stream);
    assert_eq!(Stream::from_events(stream.clone().into_events()).unwrap(), stream);
    // A cell's line number in a report is its line in the file.
    let first: Event = serde_json::from_str(&lines[stream.line(0) - 1]).unwrap();
    assert_eq!(first, Event::CellFinished(stream.cells[0].clone()));
}

#[test]
fn a_missing_header_or_footer_is_no_run() {
    let all = lines(&fixture::small());
    assert_eq!(problem(&[]), (1, Problem::Empty));
    assert_eq!(problem(&all[1..]), (1, Problem::HeaderMissing));
    assert_eq!(problem(&all[..all.len() - 1]), (all.len(), Problem::FooterMissing));
    let mut twice = all.clone();
    twice.insert(1, all[0].clone());
    assert_eq!(problem(&twice), (2, Problem::HeaderTwice));
    let mut after = all.clone();
    after.push(all[1].clone());
    assert_eq!(problem(&after), (all.len() + 1, Problem::AfterFooter));
}

#[test]
fn a_torn_last_line_is_no_run() {
    let text = lines(&fixture::small()).join("\n");
    for cut in [1, 10, text.len() / 2] {
        let error = Stream::read(&text.as_bytes()[..text.len() - cut]).unwrap_err();
        assert!(matches!(error, StreamError::Invalid(_)), "{error}");
    }
}

#[test]
fn cells_of_strangers_and_doubled_cells_are_refused() {
    let unknown_host = changed(|cells| cells[3].host = "nobody@1".into());
    assert_eq!(problem(&unknown_host), (5, Problem::UnknownHost("nobody@1".into())));
    let unknown_scenario = changed(|cells| cells[0].scenario = "no.such".into());
    assert_eq!(problem(&unknown_scenario), (2, Problem::UnknownScenario("no.such".into())));
    let doubled = changed(|cells| cells.insert(1, cells[0].clone()));
    let cell = "handshake.initialize on claude-code@2.1.330, sim, seed 1".to_owned();
    assert_eq!(problem(&doubled), (3, Problem::CellTwice { cell, first_line: 2 }));
}

#[test]
fn a_footer_that_lies_is_refused() {
    let flipped = changed(|cells| {
        cells.iter_mut().find(|cell| cell.status == Status::Fail).unwrap().status = Status::Pass;
    });
    let (line, found) = problem(&flipped);
    assert_eq!(line, flipped.len());
    assert!(matches!(found, Problem::Counts { .. }), "{found}");
    let mut stream = fixture::small();
    stream.footer.exit_code = 0;
    assert!(matches!(problem(&lines(&stream)).1, Problem::ExitCode("fail")));
}

#[test]
fn a_header_that_names_something_twice_is_refused() {
    let mut stream = fixture::small();
    stream.header.hosts.push(stream.header.hosts[0].clone());
    assert!(matches!(problem(&lines(&stream)), (1, Problem::HostTwice(_))));
    let mut stream = fixture::small();
    stream.header.scenarios.push(stream.header.scenarios[0].clone());
    assert!(matches!(problem(&lines(&stream)), (1, Problem::ScenarioTwice(_))));
}

#[test]
fn another_version_is_named_before_its_shape_is_judged() {
    let mut all = lines(&fixture::small());
    all[0] = r#"{"event":"run_started","v":2,"of":"the future"}"#.into();
    assert_eq!(problem(&all), (1, Problem::Version(2)));
    assert!(read(&all).unwrap_err().to_string().starts_with("invalid report: line 1: `v` is 2"));
}

#[test]
fn members_of_the_future_are_skipped() {
    let mut all = lines(&fixture::small());
    all[1].insert_str(1, r#""new":{"optional":true},"#);
    assert_eq!(read(&all).unwrap(), fixture::small());
}

#[rstest]
#[case("")]
#[case("{}")]
#[case("[]")]
#[case("\u{0}")]
#[case(r#"{"event":"cell_started"}"#)]
fn a_line_that_is_no_event_is_named(#[case] line: &str) {
    let mut all = lines(&fixture::small());
    all.insert(4, line.to_owned());
    let (number, found) = problem(&all);
    assert_eq!(number, 5);
    assert!(matches!(found, Problem::NotAnEvent(_)), "{found}");
}

#[test]
fn bytes_that_are_no_text_are_no_event() {
    let error = Stream::read(&b"\xff\xfe\n"[..]).unwrap_err();
    assert!(error.to_string().starts_with("invalid report: line 1: not an event"), "{error}");
}
