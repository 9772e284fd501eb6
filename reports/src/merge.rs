//! Merges the streams of a run's shards into the stream of the run. It must never accept shards that are
//! missing, doubled, cut or of different runs. The result is what one machine would have written.

use std::collections::BTreeMap;

use crate::event::{CellFinished, Event, RunFinished, RunStarted, Shard};
use crate::stream::{InvalidStream, Stream};

/// Most missing shards that are named; the rest is counted.
const MISSING_NAMED_MAX: usize = 20;

/// Why streams don't make a run.
#[derive(Debug, thiserror::Error)]
pub enum MergeError {
    /// There is no stream.
    #[error("there is nothing to merge")]
    Nothing,
    /// A stream is a whole run.
    #[error("stream {0} is no shard but a whole run; only what `run --shard` wrote can be merged")]
    Whole(usize),
    /// A stream belongs to another run.
    #[error(
        "stream {stream} is of another run than the first: `{member}` differs; use the same command and the same build for every shard"
    )]
    OtherRun {
        /// The number of the stream, from 1.
        stream: usize,
        /// The member in which the headers differ.
        member: &'static str,
    },
    /// A shard is there twice.
    #[error("shard {0}/{1} is there twice")]
    Twice(u32, u32),
    /// Shards are missing.
    #[error("of {of} shards these are missing: {missing}")]
    Missing {
        /// Their numbers, joined with commas.
        missing: String,
        /// The number of shards of the run.
        of: u32,
    },
    /// A shard has more or fewer cells than its share.
    #[error(
        "shard {index}/{of} has {found} cells, its share is {share}; it was cut, or planned by another build"
    )]
    Share {
        /// The number of the shard.
        index: u32,
        /// The number of shards.
        of: u32,
        /// Cells that it has.
        found: usize,
        /// Cells that it should have.
        share: usize,
    },
    /// The joined stream is not valid.
    #[error(transparent)]
    Invalid(#[from] InvalidStream),
}

impl MergeError {
    /// Whether the run may still become complete: a shard is missing.
    pub fn is_incomplete(&self) -> bool {
        matches!(self, Self::Missing { .. })
    }
}

/// The cells of a shard out of `count`, by number from 0.
pub fn share(shard: Shard, count: usize) -> impl Iterator<Item = usize> {
    (shard.index as usize - 1..count).step_by(shard.of as usize)
}

/// The run of these shards, which may be in any order.
pub fn merge(streams: Vec<Stream>) -> Result<Stream, MergeError> {
    let mut first: Option<RunStarted> = None;
    let mut of = 0;
    let mut shards: BTreeMap<u32, Vec<CellFinished>> = BTreeMap::new();
    for (number, stream) in (1..).zip(streams) {
        let Stream { mut header, cells, .. } = stream;
        let Some(shard) = header.shard.take() else { return Err(MergeError::Whole(number)) };
        if let Some(first) = &first {
            let other = if shard.of == of { difference(first, &header) } else { Some("shard") };
            if let Some(member) = other {
                return Err(MergeError::OtherRun { stream: number, member });
            }
        } else {
            of = shard.of;
            first = Some(header);
        }
        if shards.insert(shard.index, cells).is_some() {
            return Err(MergeError::Twice(shard.index, of));
        }
    }
    let header = first.ok_or(MergeError::Nothing)?;
    if shards.len() < of as usize {
        return Err(missing(&shards, of));
    }
    let cells = interleave(shards, of)?;
    let footer = Event::RunFinished(RunFinished::of(&header, &cells));
    let events = std::iter::once(Event::RunStarted(header));
    let events = events.chain(cells.into_iter().map(Event::CellFinished)).chain([footer]);
    Ok(Stream::from_events(events)?)
}

/// Joins the cells again, one from each shard in turn.
fn interleave(shards: BTreeMap<u32, Vec<CellFinished>>, of: u32) -> Result<Vec<CellFinished>, MergeError> {
    let count = shards.values().map(Vec::len).sum();
    for (&index, cells) in &shards {
        let share = share(Shard { index, of }, count).count();
        if share != cells.len() {
            return Err(MergeError::Share { index, of, found: cells.len(), share });
        }
    }
    let mut shards: Vec<_> = shards.into_values().map(Vec::into_iter).collect();
    let turns = (0..shards.len()).cycle().take(count);
    Ok(turns.filter_map(|turn| shards[turn].next()).collect())
}

/// Names only the first few, because the number of shards is a claim of a file.
fn missing(shards: &BTreeMap<u32, Vec<CellFinished>>, of: u32) -> MergeError {
    let absent = (1..=of).filter(|index| !shards.contains_key(index));
    let mut names: Vec<String> = absent.take(MISSING_NAMED_MAX).map(|index| index.to_string()).collect();
    let more = of as usize - shards.len() - names.len();
    if more > 0 {
        names.push(format!("{more} more"));
    }
    MergeError::Missing { missing: names.join(", "), of }
}

/// The first member in which two headers differ.
fn difference(a: &RunStarted, b: &RunStarted) -> Option<&'static str> {
    let members = [
        ("tool", a.tool == b.tool),
        ("server", a.server == b.server),
        ("command", a.command == b.command),
        ("seed", (a.seed, a.seeds) == (b.seed, b.seeds)),
        ("hosts", a.hosts == b.hosts),
        ("scenarios", a.scenarios == b.scenarios),
        ("server_facts", a.server_facts == b.server_facts),
        ("host_support", a.host_support == b.host_support),
        ("v", a == b),
    ];
    members.into_iter().find(|(_, same)| !same).map(|(member, _)| member)
}
