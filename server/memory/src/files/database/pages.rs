//! The pages of a database: each from the log if it stands there, and else from the file.
//!
//! It must never hold more than the page that was asked for, as a database may be larger than the machine's memory.

use std::cell::Cell;
use std::io;
use std::sync::Arc;

use super::log::Log;
use super::{Bytes, be_u16, be_u32, malformed};

/// Bytes of a database's header.
pub(super) const HEADER_BYTES: usize = 100;
/// How a database begins.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// The form of texts that is read.
const UTF_8: u32 = 1;

pub(super) struct Pages {
    file: Arc<dyn Bytes>,
    pub(super) log: Option<Log>,
    page_bytes: usize,
    /// Bytes of a page before those that extensions reserve.
    usable_bytes: usize,
    /// Pages are numbered from 1 to this, as the database says.
    count: u32,
    /// Most pages that there can be, as its files are so long.
    most: usize,
}

impl Pages {
    pub(super) fn open(file: Arc<dyn Bytes>, file_bytes: u64, log: Option<Log>) -> io::Result<Self> {
        let mut header = [0; HEADER_BYTES];
        let is_in_log = log.as_ref().map_or(Ok(false), |log| log.fill(1, &mut header))?;
        if !is_in_log {
            file.fill(0, &mut header).map_err(|_| malformed("it is shorter than a header"))?;
        }
        if !header.starts_with(MAGIC) {
            return Err(malformed("it is no database of SQLite"));
        }
        let page_bytes = match be_u16(&header, 16) {
            1 => 65_536,
            bytes => usize::from(bytes),
        };
        if page_bytes < 512 || !page_bytes.is_power_of_two() {
            return Err(malformed("its pages have no size that is known"));
        }
        let usable_bytes = page_bytes - usize::from(header[20]);
        if usable_bytes < 480 {
            return Err(malformed("too much of its pages is reserved"));
        }
        // An empty database has no form of texts yet.
        if be_u32(&header, 56) > UTF_8 {
            return Err(malformed("its texts are not UTF-8"));
        }
        let in_file = file_bytes / page_bytes as u64;
        let most = usize::try_from(in_file).unwrap_or(usize::MAX);
        let most = most.saturating_add(log.as_ref().map_or(0, Log::held));
        let count = match log.as_ref().and_then(Log::size) {
            Some((bytes, count)) if bytes == page_bytes => count,
            Some(_) => return Err(malformed("its log has pages of another size")),
            // The header's count is of the last writer that kept it.
            None if be_u32(&header, 24) == be_u32(&header, 92) && be_u32(&header, 28) > 0 => {
                be_u32(&header, 28)
            }
            None => u32::try_from(in_file).unwrap_or(u32::MAX),
        };
        Ok(Self { file, log, page_bytes, usable_bytes, count, most })
    }

    /// The file's own counter of changes, which those of its log do not touch.
    pub(super) fn changes(&self) -> io::Result<[u8; 4]> {
        changes(self.file.as_ref())
    }

    /// The usable bytes of a page.
    fn page(&self, number: u32) -> io::Result<Vec<u8>> {
        if number == 0 || number > self.count {
            return Err(malformed("it names a page that it has not"));
        }
        let mut page = vec![0; self.usable_bytes];
        if let Some(log) = &self.log
            && log.fill(number, &mut page)?
        {
            return Ok(page);
        }
        let offset = u64::from(number - 1) * self.page_bytes as u64;
        match self.file.fill(offset, &mut page) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                Err(malformed("it ends before one of its pages"))
            }
            filled => filled.map(|()| page),
        }
    }
}

/// The counter of changes in a file.
pub(super) fn changes(file: &dyn Bytes) -> io::Result<[u8; 4]> {
    let mut counter = [0; 4];
    file.fill(24, &mut counter).map_err(|_| malformed("it is shorter than a header"))?;
    Ok(counter)
}

pub(super) fn circle() -> io::Error {
    malformed("its pages lead in a circle")
}

/// A way through the pages. Each of them belongs to one place, so a way that takes more leads in a circle.
pub(super) struct Walk<'p> {
    pages: &'p Pages,
    left: Cell<usize>,
}

impl<'p> Walk<'p> {
    pub(super) fn through(pages: &'p Pages) -> Self {
        Self { pages, left: Cell::new(pages.most) }
    }

    /// The usable bytes of the next page.
    pub(super) fn page(&self, number: u32) -> io::Result<Vec<u8>> {
        let left = self.left.get().checked_sub(1).ok_or_else(circle)?;
        self.left.set(left);
        self.pages.page(number)
    }

    pub(super) fn usable_bytes(&self) -> usize {
        self.pages.usable_bytes
    }
}
