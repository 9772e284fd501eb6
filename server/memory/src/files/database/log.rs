//! The write-ahead log of a database: which pages stand in it, and where.
//!
//! Only what is committed counts, as in <https://www.sqlite.org/fileformat2.html#walformat>. It must never believe a frame
//! of an earlier round of the log.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use super::{Bytes, Moment, be_u32};

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;

/// A log, read as far as its last committed transaction.
#[derive(Clone)]
pub(super) struct Log {
    bytes: Arc<dyn Bytes>,
    header: [u8; HEADER_BYTES],
    is_big_endian: bool,
    page_bytes: usize,
    /// Where the frames go on that are not read or not committed yet, and the sums up to there.
    read_to: u64,
    sums: (u32, u32),
    /// Pages of the database after the last transaction; 0 if there is none.
    pages: u32,
    places: Arc<BTreeMap<u32, u64>>,
}

impl Log {
    /// The log in these bytes; `None` if it holds nothing, as it has no header of a log. What was read `before` of the same
    /// round is not read again, but the file may be another one: who closes a database deletes its log.
    pub(super) fn open(
        bytes: Arc<dyn Bytes>,
        before: Option<&Self>,
        moment: Moment,
    ) -> io::Result<Option<Self>> {
        let mut header = [0; HEADER_BYTES];
        if !is_filled(bytes.as_ref(), 0, &mut header)? {
            return Ok(None);
        }
        if let Some(before) = before.filter(|before| before.header == header) {
            let mut log = Self { bytes, ..before.clone() };
            if moment == Moment::Now {
                log.read_on()?;
            }
            return Ok(Some(log));
        }
        let is_big_endian = match be_u32(&header, 0) {
            0x377f_0682 => false,
            0x377f_0683 => true,
            _ => return Ok(None),
        };
        let page_bytes = be_u32(&header, 8) as usize;
        let sums = checksum((0, 0), &header[..24], is_big_endian);
        let is_page = (512..=65_536).contains(&page_bytes) && page_bytes.is_power_of_two();
        if !is_page || sums != (be_u32(&header, 24), be_u32(&header, 28)) {
            return Ok(None);
        }
        let (read_to, places) = (HEADER_BYTES as u64, Arc::default());
        let mut log = Self { bytes, header, is_big_endian, page_bytes, read_to, sums, pages: 0, places };
        log.read_on()?;
        Ok(Some(log))
    }

    /// Reads what was committed since.
    fn read_on(&mut self) -> io::Result<()> {
        let (mut at, mut sums) = (self.read_to, self.sums);
        let mut frame = vec![0; FRAME_HEADER_BYTES + self.page_bytes];
        let mut waiting = Vec::new();
        while is_filled(self.bytes.as_ref(), at, &mut frame)? {
            let (head, page) = frame.split_at(FRAME_HEADER_BYTES);
            sums = checksum(checksum(sums, &head[..8], self.is_big_endian), page, self.is_big_endian);
            let number = be_u32(head, 0);
            let is_of_this_round = head[8..16] == self.header[16..24];
            if !is_of_this_round || number == 0 || sums != (be_u32(head, 16), be_u32(head, 20)) {
                break;
            }
            waiting.push((number, at + FRAME_HEADER_BYTES as u64));
            at += frame.len() as u64;
            let pages = be_u32(head, 4);
            if pages > 0 {
                let places = Arc::make_mut(&mut self.places);
                places.extend(waiting.drain(..));
                // What stood behind the new end is gone, even if the database grows again.
                places.retain(|number, _| *number <= pages);
                (self.pages, self.read_to, self.sums) = (pages, at, sums);
            }
        }
        Ok(())
    }

    /// How many pages stand in it.
    pub(super) fn held(&self) -> usize {
        self.places.len()
    }

    /// The round of the log, and how far it was read.
    pub(super) fn extent(&self) -> ([u8; HEADER_BYTES], u64) {
        (self.header, self.read_to)
    }

    /// What is known of the log, without its file.
    pub(super) fn closed(&self) -> Self {
        Self { bytes: Arc::new(Closed), ..self.clone() }
    }

    /// Bytes of a page, and the pages of the whole database; `None` if nothing is committed.
    pub(super) fn size(&self) -> Option<(usize, u32)> {
        (self.pages > 0).then_some((self.page_bytes, self.pages))
    }

    /// Reads a page; `false` if it stands in the database's file.
    pub(super) fn fill(&self, number: u32, page: &mut [u8]) -> io::Result<bool> {
        let Some(place) = self.places.get(&number) else { return Ok(false) };
        self.bytes.fill(*place, page)?;
        Ok(true)
    }

    /// Whether what was read still stands, for a new round overwrites it from the beginning.
    pub(super) fn stands(&self) -> io::Result<bool> {
        let mut header = [0; HEADER_BYTES];
        Ok(is_filled(self.bytes.as_ref(), 0, &mut header)? && header == self.header)
    }
}

/// No file.
struct Closed;

impl Bytes for Closed {
    fn fill(&self, _offset: u64, _into: &mut [u8]) -> io::Result<()> {
        Err(io::ErrorKind::NotConnected.into())
    }
}

/// Fills a buffer; `false` if the file ends before.
fn is_filled(bytes: &dyn Bytes, offset: u64, into: &mut [u8]) -> io::Result<bool> {
    match bytes.fill(offset, into) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn checksum(sums: (u32, u32), bytes: &[u8], is_big_endian: bool) -> (u32, u32) {
    let word = |four: &[u8]| {
        let four = [four[0], four[1], four[2], four[3]];
        if is_big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
    };
    bytes.chunks_exact(8).fold(sums, |(a, b), eight| {
        let a = a.wrapping_add(word(&eight[..4])).wrapping_add(b);
        (a, b.wrapping_add(word(&eight[4..])).wrapping_add(a))
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// A log of frames, each with its page's number, how many pages there are once it is committed, and a byte.
    fn written(page_bytes: u32, is_big_endian: bool, frames: &[(u32, u32, u8)]) -> Vec<u8> {
        let magic: u32 = if is_big_endian { 0x377f_0683 } else { 0x377f_0682 };
        let salts = [1_u32.to_be_bytes(), 2_u32.to_be_bytes()].concat();
        let head = [magic, 3_007_000, page_bytes, 0].map(u32::to_be_bytes).concat();
        let mut log = [head, salts.clone()].concat();
        let mut sums = checksum((0, 0), &log, is_big_endian);
        let written = |sums: (u32, u32)| [sums.0.to_be_bytes(), sums.1.to_be_bytes()].concat();
        log.extend(written(sums));
        for (number, pages, byte) in frames {
            let head = [number.to_be_bytes(), pages.to_be_bytes()].concat();
            let page = vec![*byte; page_bytes as usize];
            sums = checksum(checksum(sums, &head, is_big_endian), &page, is_big_endian);
            log.extend([head, salts.clone(), written(sums), page].concat());
        }
        log
    }

    fn opened(log: Vec<u8>) -> Option<Log> {
        Log::open(Arc::new(log), None, Moment::Now).unwrap()
    }

    /// The pages of the database, and what stands in each of these; 0 where it stands in the file.
    fn shown(log: &Log, numbers: &[u32]) -> (Option<(usize, u32)>, Vec<u8>) {
        let byte = |number: &u32| {
            let mut page = vec![0; 512];
            let is_there = log.fill(*number, &mut page).unwrap();
            assert!(page.iter().all(|byte| *byte == page[0]) && (is_there || page[0] == 0));
            page[0]
        };
        (log.size(), numbers.iter().map(byte).collect())
    }

    #[rstest]
    #[case(256, false)]
    #[case(512, true)]
    #[case(513, false)]
    #[case(1_000, false)]
    #[case(4_096, true)]
    #[case(65_536, true)]
    #[case(131_072, false)]
    #[case(0, false)]
    fn a_page_has_a_size_that_the_form_knows(#[case] page_bytes: u32, #[case] is_known: bool) {
        for is_big_endian in [false, true] {
            assert_eq!(opened(written(page_bytes, is_big_endian, &[])).is_some(), is_known);
        }
    }

    #[rstest]
    #[case::nothing(&[], None, [0, 0, 0])]
    #[case::a_page(&[(2, 2, 1)], Some(2), [0, 1, 0])]
    #[case::the_last_one_counts(&[(2, 2, 1), (2, 2, 3)], Some(2), [0, 3, 0])]
    #[case::not_committed(&[(1, 2, 1), (2, 0, 3)], Some(2), [1, 0, 0])]
    #[case::committed_together(&[(1, 0, 1), (2, 2, 3)], Some(2), [1, 3, 0])]
    #[case::more_pages(&[(3, 3, 1)], Some(3), [0, 0, 1])]
    #[case::fewer_pages(&[(1, 3, 1), (3, 3, 2), (1, 1, 4)], Some(1), [4, 0, 0])]
    #[case::a_page_that_is_gone(&[(3, 2, 1), (1, 2, 5)], Some(2), [5, 0, 0])]
    #[case::no_number(&[(1, 2, 1), (0, 2, 5), (2, 2, 1)], Some(2), [1, 0, 0])]
    fn what_is_committed_stands_in_the_log(
        #[case] frames: &[(u32, u32, u8)],
        #[case] count: Option<u32>,
        #[case] pages: [u8; 3],
    ) {
        for is_big_endian in [false, true] {
            let log = opened(written(512, is_big_endian, frames)).unwrap();
            assert_eq!(shown(&log, &[1, 2, 3]), (count.map(|count| (512, count)), pages.to_vec()));
            assert!(log.stands().unwrap());
        }
    }

    #[test]
    fn a_frame_that_is_not_of_this_round_ends_the_log() {
        let whole = written(512, true, &[(1, 2, 1), (2, 2, 3)]);
        assert_eq!(shown(&opened(whole.clone()).unwrap(), &[1, 2]).1, [1, 3]);
        let second = HEADER_BYTES + FRAME_HEADER_BYTES + 512;
        // Its number, its salts, its sums, and its page.
        for at in [0, 8, 12, 16, 20, FRAME_HEADER_BYTES + 500] {
            let mut log = whole.clone();
            log[second + at + 3] ^= 1;
            assert_eq!(shown(&opened(log).unwrap(), &[1, 2]).1, [1, 0], "{at}");
        }
        let mut cut = whole.clone();
        cut.pop();
        assert_eq!(shown(&opened(cut).unwrap(), &[1, 2]).1, [1, 0]);
        for at in [0, 16, 24, 28] {
            let mut log = whole.clone();
            log[at + 3] ^= 2;
            assert!(opened(log).is_none(), "the header is wrong at {at}");
        }
        assert!(opened(whole[..HEADER_BYTES - 1].to_vec()).is_none());
    }

    #[test]
    fn a_log_is_read_on_and_told_from_one_of_another_round() {
        let whole = written(512, false, &[(1, 2, 1), (2, 0, 3), (1, 2, 5), (2, 2, 7)]);
        let frame = FRAME_HEADER_BYTES + 512;
        let before = opened(whole[..HEADER_BYTES + 2 * frame].to_vec()).unwrap();
        assert_eq!(shown(&before, &[1, 2]).1, [1, 0]);
        // What was read before is not looked at again.
        let mut changed = whole.clone();
        changed[HEADER_BYTES + FRAME_HEADER_BYTES - 1] ^= 1;
        let mut log = Log::open(Arc::new(changed), Some(&before), Moment::Now).unwrap().unwrap();
        assert_eq!(shown(&log, &[1, 2]).1, [5, 7]);
        for (other, expected) in
            [(written(512, true, &[(2, 2, 9)]), Some(vec![0, 9])), (whole[..8].to_vec(), None)]
        {
            log.bytes = Arc::new(other.clone());
            assert!(!log.stands().unwrap());
            let anew = Log::open(Arc::new(other), Some(&before), Moment::Now).unwrap();
            assert_eq!(anew.map(|log| shown(&log, &[1, 2]).1), expected);
        }
    }
}
