//! Reads, checks and writes the event stream. A stream that is cut, has a cell twice or names unknown hosts
//! is an invalid report: it must never be shown as a run, neither a good nor a bad one.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, BufRead, Read, Write};

use serde::Deserialize;

use crate::event::{CellFinished, EVENTS_VERSION, Event, RunFinished, RunStarted, Status};
use crate::text::short_line;

/// Longest line in bytes; a longer one is refused instead of being held in memory.
pub const LINE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Longest part of an input's name that an error repeats, in bytes.
const NAME_BYTES_MAX: usize = 80;

/// A complete run: header, results and footer, all checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Stream {
    /// The first line.
    pub header: RunStarted,
    /// The lines between, in the order of the file.
    pub cells: Vec<CellFinished>,
    /// The last line.
    pub footer: RunFinished,
    /// The line number of each cell, from 1; as long as `cells`.
    lines: Vec<usize>,
}

/// Why a file is no event stream.
#[derive(Debug, thiserror::Error)]
#[error("invalid report: line {line}: {problem}")]
pub struct InvalidStream {
    /// Line of the file, from 1.
    pub line: usize,
    /// The problem in that line, and how to fix it.
    pub problem: Problem,
}

/// A problem of a line.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Problem {
    /// The file is empty.
    #[error("the stream is empty; a run starts with `run_started`")]
    Empty,
    /// The line is not an event.
    #[error("not an event: {0}")]
    NotAnEvent(String),
    /// The line is longer than [`LINE_BYTES_MAX`].
    #[error("longer than {LINE_BYTES_MAX} bytes")]
    TooLong,
    /// It has another version of the format.
    #[error("`v` is {0}, this reader knows {EVENTS_VERSION}; use the hostcheck that wrote the stream")]
    Version(u64),
    /// The first line is something else.
    #[error("`run_started` is missing; it must be the first line")]
    HeaderMissing,
    /// There is a second header.
    #[error("`run_started` again; the streams of two runs can't be joined into one file")]
    HeaderTwice,
    /// The stream ends without a footer.
    #[error("`run_finished` is missing; the run was cut short, so it says nothing")]
    FooterMissing,
    /// Something follows the footer.
    #[error("a line after `run_finished`, which must be the last")]
    AfterFooter,
    /// The header names a host twice.
    #[error("`hosts` names `{0}` twice")]
    HostTwice(String),
    /// A row of the support table has more or fewer answers than the table has hosts.
    #[error("`host_support` has {found} answers for `{feature}`, and {hosts} hosts")]
    Answers {
        /// The row.
        feature: String,
        /// Answers in the row.
        found: usize,
        /// Hosts of the table.
        hosts: usize,
    },
    /// The shard is not valid.
    #[error("`shard` {0}/{1} is no part of a run")]
    Shard(u32, u32),
    /// The header names a scenario twice.
    #[error("`scenarios` names `{0}` twice")]
    ScenarioTwice(String),
    /// The cell is of a host that the header does not name.
    #[error("`host` is `{0}`, which `run_started` does not name")]
    UnknownHost(String),
    /// The cell is of a scenario that the header does not name.
    #[error("`scenario` is `{0}`, which `run_started` does not name")]
    UnknownScenario(String),
    /// The cell is there twice.
    #[error("the cell {cell} was already on line {first_line}")]
    CellTwice {
        /// Scenario, host, mode and seed.
        cell: String,
        /// The line of the first one.
        first_line: usize,
    },
    /// The sums of the footer differ from those of the cells.
    #[error("`counts` says {said} × {state}, the stream has {found}")]
    Counts {
        /// The state.
        state: &'static str,
        /// The number in the footer.
        said: u64,
        /// The number of cells.
        found: u64,
    },
    /// The footer reports success although a cell failed.
    #[error("`exit_code` is 0, yet a cell is {0}")]
    ExitCode(&'static str),
}

/// Why a stream could not be read.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The file could not be read.
    #[error("could not read the event stream: {0}")]
    Io(#[from] io::Error),
    /// The report is invalid.
    #[error(transparent)]
    Invalid(#[from] InvalidStream),
}

impl Stream {
    /// Reads a JSONL stream to its end and checks it.
    pub fn read(mut reader: impl BufRead) -> Result<Self, StreamError> {
        let mut checker = Checker::default();
        let mut bytes = Vec::new();
        loop {
            bytes.clear();
            let limit = LINE_BYTES_MAX as u64 + 1;
            if reader.by_ref().take(limit).read_until(b'\n', &mut bytes)? == 0 {
                break;
            }
            checker.line += 1;
            if bytes.len() > LINE_BYTES_MAX {
                return Err(checker.invalid(Problem::TooLong).into());
            }
            let event = parse(&bytes, checker.line == 1).map_err(|problem| checker.invalid(problem))?;
            checker.take(event)?;
        }
        Ok(checker.finish()?)
    }

    /// Checks events that are already in memory, as if each were a line.
    pub fn from_events(events: impl IntoIterator<Item = Event>) -> Result<Self, InvalidStream> {
        let mut checker = Checker::default();
        for event in events {
            checker.line += 1;
            checker.take(event)?;
        }
        checker.finish()
    }

    /// The line number of the cell at `index`, from 1; 0 if there is no such cell.
    pub fn line(&self, index: usize) -> usize {
        self.lines.get(index).copied().unwrap_or(0)
    }

    /// The cell in a line of the file.
    pub fn at_line(&self, line: usize) -> Option<&CellFinished> {
        self.cells.get(self.lines.binary_search(&line).ok()?)
    }

    /// The part of the run with these scenarios and hosts; an empty list stands for all. The line numbers
    /// stay those of the whole file.
    #[must_use]
    pub fn focus(self, scenarios: &BTreeSet<String>, hosts: &BTreeSet<String>) -> Self {
        let Self { mut header, cells, lines, .. } = self;
        let wanted = |names: &BTreeSet<String>, name: &String| names.is_empty() || names.contains(name);
        header.hosts.retain(|host| wanted(hosts, &host.id));
        header.scenarios.retain(|row| wanted(scenarios, &row.id));
        let kept = cells.into_iter().zip(lines);
        let kept = kept.filter(|(cell, _)| wanted(scenarios, &cell.scenario) && wanted(hosts, &cell.host));
        let (cells, lines): (Vec<_>, Vec<_>) = kept.unzip();
        let footer = RunFinished::of(&header, &cells);
        Self { header, cells, footer, lines }
    }

    /// The part of the run that was played in one mode, like `sim`, with its requirements.
    #[must_use]
    pub fn in_mode(self, mode: &str) -> Self {
        let Self { mut header, cells, lines, .. } = self;
        let kept = cells.into_iter().zip(lines).filter(|(cell, _)| cell.mode == mode);
        let (cells, lines): (Vec<_>, Vec<_>) = kept.unzip();
        let played: BTreeSet<&str> = cells.iter().map(|cell| cell.scenario.as_str()).collect();
        header.scenarios.retain(|row| played.contains(row.id.as_str()));
        let footer = RunFinished::of(&header, &cells);
        Self { header, cells, footer, lines }
    }

    /// The same stream as events.
    pub fn into_events(self) -> Vec<Event> {
        let mut events = vec![Event::RunStarted(self.header)];
        events.extend(self.cells.into_iter().map(Event::CellFinished));
        events.push(Event::RunFinished(self.footer));
        events
    }
}

/// Writes one event as one line.
pub fn write_event(event: &Event, mut writer: impl Write) -> io::Result<()> {
    let mut line = serde_json::to_vec(event).map_err(io::Error::other)?;
    line.push(b'\n');
    writer.write_all(&line)
}

/// Writes events as JSONL.
pub fn write<'a>(events: impl IntoIterator<Item = &'a Event>, mut writer: impl Write) -> io::Result<()> {
    events.into_iter().try_for_each(|event| write_event(event, &mut writer))
}

/// The version is read first, so that a stream of a newer format is refused because of its version and not of
/// its shape.
#[derive(Deserialize)]
struct Version {
    v: Option<u64>,
}

fn parse(bytes: &[u8], first: bool) -> Result<Event, Problem> {
    if first
        && let Ok(Version { v: Some(version) }) = serde_json::from_slice(bytes)
        && version != u64::from(EVENTS_VERSION)
    {
        return Err(Problem::Version(version));
    }
    serde_json::from_slice(bytes)
        .map_err(|error| Problem::NotAnEvent(short_line(&error.to_string(), 4 * NAME_BYTES_MAX)))
}

/// Two cells with the same key are the same cell.
type CellKey = (String, String, String, u64, Option<String>);

#[derive(Default)]
struct Checker {
    line: usize,
    header: Option<RunStarted>,
    hosts: BTreeSet<String>,
    scenarios: BTreeSet<String>,
    seen: BTreeMap<CellKey, usize>,
    cells: Vec<CellFinished>,
    footer: Option<RunFinished>,
}

impl Checker {
    fn invalid(&self, problem: Problem) -> InvalidStream {
        InvalidStream { line: self.line, problem }
    }

    fn take(&mut self, event: Event) -> Result<(), InvalidStream> {
        if self.footer.is_some() {
            return Err(self.invalid(Problem::AfterFooter));
        }
        let taken = match event {
            Event::RunStarted(header) => self.take_header(header),
            _ if self.header.is_none() => Err(Problem::HeaderMissing),
            Event::CellFinished(cell) => self.take_cell(cell),
            Event::RunFinished(footer) => self.take_footer(footer),
        };
        taken.map_err(|problem| self.invalid(problem))
    }

    fn take_header(&mut self, header: RunStarted) -> Result<(), Problem> {
        if self.header.is_some() {
            return Err(Problem::HeaderTwice);
        }
        if header.v != EVENTS_VERSION {
            return Err(Problem::Version(header.v.into()));
        }
        for host in &header.hosts {
            if !self.hosts.insert(host.id.clone()) {
                return Err(Problem::HostTwice(name(&host.id)));
            }
        }
        for scenario in &header.scenarios {
            if !self.scenarios.insert(scenario.id.clone()) {
                return Err(Problem::ScenarioTwice(name(&scenario.id)));
            }
        }
        if let Some(table) = &header.host_support
            && let Some(odd) = table.features.iter().find(|row| row.answers.len() != table.hosts.len())
        {
            let (feature, found) = (name(&odd.name), odd.answers.len());
            return Err(Problem::Answers { feature, found, hosts: table.hosts.len() });
        }
        if let Some(shard) = header.shard
            && !(1..=shard.of).contains(&shard.index)
        {
            return Err(Problem::Shard(shard.index, shard.of));
        }
        self.header = Some(header);
        Ok(())
    }

    fn take_cell(&mut self, cell: CellFinished) -> Result<(), Problem> {
        if !self.hosts.contains(&cell.host) {
            return Err(Problem::UnknownHost(name(&cell.host)));
        }
        if !self.scenarios.contains(&cell.scenario) {
            return Err(Problem::UnknownScenario(name(&cell.scenario)));
        }
        let named = (cell.scenario.clone(), cell.host.clone(), cell.mode.clone());
        let key = (named.0, named.1, named.2, cell.seed, cell.fault_profile.clone());
        if let Some(&first_line) = self.seen.get(&key) {
            let cell = format!("{} on {}, {}, seed {}", name(&key.0), name(&key.1), name(&key.2), key.3);
            return Err(Problem::CellTwice { cell, first_line });
        }
        self.seen.insert(key, self.line);
        self.cells.push(cell);
        Ok(())
    }

    fn take_footer(&mut self, footer: RunFinished) -> Result<(), Problem> {
        for state in Status::ALL {
            let found = self.cells.iter().filter(|cell| cell.status == state).count() as u64;
            let said = footer.counts.get(&state).copied().unwrap_or(0);
            if said != found {
                return Err(Problem::Counts { state: state.word(), said, found });
            }
        }
        let fails = |cell: &&CellFinished| {
            cell.status.is_defect()
                && self
                    .header
                    .as_ref()
                    .is_none_or(|header| header.fails_by(header.level(&cell.scenario), cell.status))
        };
        if footer.exit_code == 0
            && let Some(cell) = self.cells.iter().find(fails)
        {
            return Err(Problem::ExitCode(cell.status.word()));
        }
        self.footer = Some(footer);
        Ok(())
    }

    fn finish(mut self) -> Result<Stream, InvalidStream> {
        let (header, footer) = (self.header.take(), self.footer.take());
        let cells = std::mem::take(&mut self.cells);
        let Some(header) = header else {
            self.line += 1;
            return Err(self.invalid(Problem::Empty));
        };
        let Some(footer) = footer else {
            self.line += 1;
            return Err(self.invalid(Problem::FooterMissing));
        };
        // The header is the first line.
        let lines = (2..cells.len() + 2).collect();
        Ok(Stream { header, cells, footer, lines })
    }
}

fn name(foreign: &str) -> String {
    short_line(foreign, NAME_BYTES_MAX)
}
