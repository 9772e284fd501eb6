//! Cells on their own clocks as Chrome trace events, for Perfetto and for chrome://tracing: a process for
//! each cell, a track for each lane, a bar for each call, a mark for each failure. The clocks of two cells
//! must never be mixed.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::event::{CellFinished, Lane};
use crate::stream::Stream;
use crate::text::{short_line, visible_line};
use crate::wire;

/// Most cells of a trace: those with a transcript, in the order of the stream; the rest is counted.
pub const CELLS_MAX: usize = 200;
/// Most events of a trace; the rest is counted.
pub const EVENTS_MAX: usize = 200_000;
/// Most bytes of a line in an event.
const LINE_BYTES_MAX: usize = 1_000;

/// Tracks of a cell: number and name.
const TRACKS: [(u8, &str); 5] =
    [(1, "host"), (2, "server"), (3, "Graph"), (4, "what happened"), (5, "the model")];

/// `trace.json`.
pub fn trace(stream: &Stream) -> Result<String, serde_json::Error> {
    let with_wire = || stream.cells.iter().filter(|cell| !cell.transcript.is_empty());
    let mut events = Vec::new();
    let mut cells = 0;
    for (pid, cell) in (1..).zip(with_wire().take(CELLS_MAX)) {
        let found = of_cell(pid, cell);
        if events.len() + found.len() > EVENTS_MAX {
            break;
        }
        events.extend(found);
        cells += 1;
    }
    let left_out = with_wire().count() - cells;
    let events = events.iter().map(Value::to_string).collect::<Vec<_>>().join(",\n");
    let other = json!({"tool": short_line(&stream.header.tool, LINE_BYTES_MAX), "cellsLeftOut": left_out});
    Ok(format!("{{\"displayTimeUnit\":\"ms\",\"otherData\":{other},\"traceEvents\":[\n{events}\n]}}\n"))
}

fn of_cell(pid: usize, cell: &CellFinished) -> Vec<Value> {
    let name = format!("{} × {} ({}, seed {})", cell.scenario, cell.host, cell.mode, cell.seed);
    let mut events = vec![meta(pid, 0, "process_name", &name)];
    events.extend(TRACKS.map(|(track, name)| meta(pid, track, "thread_name", name)));
    let lines = wire::read(&cell.transcript);
    // Perfetto stacks the bars of a track only if one contains the other, so overlapping calls are
    // asynchronous.
    for (index, read) in lines.iter().enumerate() {
        let line = read.line;
        let (track, kind) = match line.lane {
            Lane::HostToServer => (1, "→ "),
            Lane::ServerToHost => (2, "← "),
            Lane::Graph => (3, ""),
            Lane::Stderr => (4, "stderr "),
            Lane::Event => (4, ""),
        };
        let words = if read.kind.is_empty() { line.text.as_str() } else { read.kind.as_str() };
        let name = format!("{kind}{}", short_line(words, 120));
        let args = BTreeMap::from([
            ("line", json!(index + 1)),
            ("text", json!(short_line(&line.text, LINE_BYTES_MAX))),
        ]);
        match read.pair.map(|pair| (pair, lines[pair].line.at_ms)) {
            Some((pair, end_ms)) if pair > index => {
                let id = format!("{pid}-{index}");
                let begin = json!({"ph": "b", "cat": "call", "id": id, "name": name, "pid": pid, "tid": track, "ts": us(line.at_ms), "args": args});
                let end = json!({"ph": "e", "cat": "call", "id": id, "name": name, "pid": pid, "tid": track, "ts": us(end_ms.max(line.at_ms))});
                events.extend([begin, end]);
            }
            _ => events.push(json!({"ph": "i", "s": "t", "name": name, "pid": pid, "tid": track, "ts": us(line.at_ms), "args": args})),
        }
    }
    for line in &cell.model_view {
        let args = json!({"text": short_line(&line.text, LINE_BYTES_MAX), "woke": line.woke});
        events.push(json!({"ph": "i", "s": "t", "name": visible_line(&line.carrier), "pid": pid, "tid": 5, "ts": us(line.at_ms), "args": args}));
    }
    for failure in &cell.failures {
        let name = format!("✗ {}", short_line(&failure.rule, 120));
        let args = json!({"message": short_line(&failure.message, LINE_BYTES_MAX)});
        events.push(json!({"ph": "i", "s": "p", "name": name, "pid": pid, "tid": 4, "ts": us(failure.at_ms), "args": args}));
    }
    events
}

fn meta(pid: usize, tid: u8, what: &str, name: &str) -> Value {
    json!({"ph": "M", "name": what, "pid": pid, "tid": tid, "args": {"name": short_line(name, LINE_BYTES_MAX)}})
}

/// Trace events use microseconds.
fn us(ms: u64) -> u64 {
    ms.saturating_mul(1_000)
}
