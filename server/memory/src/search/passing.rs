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

/// Pages whose columns are read together, which takes a third of the time of one after the other.
const BLOCK: usize = 64;

/// What the columns tell of some pages.
struct Block {
    files: [Option<u64>; BLOCK],
    roles: [Option<u64>; BLOCK],
    firsts: [Option<i64>; BLOCK],
    lasts: [Option<i64>; BLOCK],
}

impl Default for Block {
    fn default() -> Self {
        Self { files: [None; BLOCK], roles: [None; BLOCK], firsts: [None; BLOCK], lasts: [None; BLOCK] }
    }
}

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

    /// Tells of each of these pages that passes: its number, its file, and what its score is multiplied by.
    pub(super) fn pass(&self, pages: &[u32], mut tell: impl FnMut(u32, u64, f32)) {
        let since = self.filter.since.map(Timestamp::as_second);
        let until = self.filter.until.map(Timestamp::as_second);
        let is_timed = since.is_some() || until.is_some();
        for pages in pages.chunks(BLOCK) {
            let mut block = Block::default();
            self.file.first_vals(pages, &mut block.files[..pages.len()]);
            self.roles.first_vals(pages, &mut block.roles[..pages.len()]);
            self.last.first_vals(pages, &mut block.lasts[..pages.len()]);
            if is_timed {
                self.first.first_vals(pages, &mut block.firsts[..pages.len()]);
            }
            for (n, page) in pages.iter().enumerate() {
                let (Some(file), Some(role)) = (block.files[n], block.roles[n]) else { continue };
                if self.role.is_some_and(|wanted| wanted != role)
                    || self.tools.as_ref().is_some_and(|tools| !tools[*page as usize])
                {
                    continue;
                }
                let last = block.lasts[n];
                if is_timed {
                    let (Some(first), Some(last)) = (block.firsts[n], last) else { continue };
                    if since.is_some_and(|since| last < since) || until.is_some_and(|until| first >= until) {
                        continue;
                    }
                }
                let at = last.and_then(|last| Timestamp::from_second(last).ok());
                tell(*page, file, multiplier(role, recency(at, self.now)));
            }
        }
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
