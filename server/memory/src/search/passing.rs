//! Which pages of the index pass a filter.
//!
//! It must never read a text: it knows a page by its columns.

use jiff::Timestamp;
use tantivy::columnar::Column;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet, SegmentReader, TERMINATED, Term};

use super::memory::Memory;
use super::page::role_number;
use super::parts::MemoryError;
use super::query::Filter;
use super::weights::{multiplier, recency};

/// Seconds of a page whose messages tell no time.
const NO_TIME: i64 = i64::MIN;

/// The columns of a segment that decide whether a page passes.
pub(super) struct Passing<'f> {
    filter: &'f Filter,
    role: Option<u64>,
    tools: Option<Vec<bool>>,
    file: Column<u64>,
    roles: Column<u64>,
    first: Column<i64>,
    last: Column<i64>,
    now: Timestamp,
}

impl<'f> Passing<'f> {
    pub(super) fn of(
        segment: &SegmentReader,
        filter: &'f Filter,
        memory: &Memory,
    ) -> Result<Self, MemoryError> {
        let fast = segment.fast_fields();
        let tools = filter.tool.as_ref().map(|tool| tools(segment, tool, memory)).transpose()?;
        Ok(Self {
            filter,
            role: filter.role.map(role_number),
            tools,
            file: fast.u64("file")?,
            roles: fast.u64("role")?,
            first: fast.i64("first")?,
            last: fast.i64("last")?,
            now: memory.parts.clock.now(),
        })
    }

    /// The file of a page that passes, and what its score is multiplied by.
    pub(super) fn passes(&self, doc: u32) -> Option<(u64, f32)> {
        let role = self.roles.first(doc)?;
        if self.role.is_some_and(|wanted| wanted != role) {
            return None;
        }
        if self.tools.as_ref().is_some_and(|tools| !tools[doc as usize]) {
            return None;
        }
        let last = self.last.first(doc).unwrap_or(NO_TIME);
        let since = self.filter.since.map(Timestamp::as_second);
        let until = self.filter.until.map(Timestamp::as_second);
        if since.is_some() || until.is_some() {
            let first = self.first.first(doc)?;
            if since.is_some_and(|since| last < since) || until.is_some_and(|until| first >= until) {
                return None;
            }
        }
        let at = Timestamp::from_second(last).ok().filter(|_| last != NO_TIME);
        Some((self.file.first(doc)?, multiplier(role, recency(at, self.now))))
    }
}

/// Which pages have a message of this tool.
fn tools(segment: &SegmentReader, tool: &str, memory: &Memory) -> Result<Vec<bool>, MemoryError> {
    let mut has = vec![false; segment.max_doc() as usize];
    let term = Term::from_field_text(memory.fields.tool, tool);
    let inverted = segment.inverted_index(memory.fields.tool)?;
    if let Some(mut pages) = inverted.read_postings(&term, IndexRecordOption::Basic)? {
        while pages.doc() != TERMINATED {
            has[pages.doc() as usize] = true;
            pages.advance();
        }
    }
    Ok(has)
}
