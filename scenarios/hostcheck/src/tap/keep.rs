//! Writes the log beside a pipe: a bounded queue, a thread, a file that only its owner can read. It never
//! delays the pipe: what the disk can't take in time is counted and left out.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use anyhow::Context as _;
use tokio::time::Instant;

use super::create::create;
use super::entry::{Dir, End, Entry, Event, FORMAT, Line, Start, What};
use super::mask::Masker;
use fake_hosts::split::{Split, Splitter};

/// Longest line that the log keeps whole, in bytes.
const LINE_BYTES_MAX: usize = 4 * 1024 * 1024;
/// Most chunks that wait for the disk; each has at most [`super::pass::CHUNK_BYTES`].
pub const QUEUE_CHUNKS_MAX: usize = 512;
/// Longest wait at the end for queued entries, in milliseconds; the rest counts as lost.
const DRAIN_MS_MAX: u64 = 1_000;
/// Longest wait for the last line after that, in milliseconds.
const LAST_LINE_MS_MAX: u64 = 250;
/// Most starts of lines that are remembered, to make room for the last line on a full disk.
const STARTS_MAX: usize = 64;
/// Space for the last line, in bytes.
const END_BYTES: u64 = 512;

enum Item {
    Chunk { dir: Dir, at: Instant, bytes: Vec<u8>, gap: Option<Gap> },
    Closed { dir: Dir, at: Instant, event: Option<What> },
    Event { at: Instant, what: What, detail: Option<String> },
    End { at: Instant, code: Option<i32>, signal: Option<i32> },
}

/// Chunks were left out before this one.
#[derive(Clone, Copy)]
struct Gap {
    mid_line: bool,
}

/// Passes the bytes of one direction to the log.
pub struct Feed {
    dir: Dir,
    queue: Queue,
    /// The rest of the current line is lost and counted.
    line_is_lost: bool,
    gap: bool,
}

/// Passes events to the log.
#[derive(Clone)]
pub struct Queue {
    sender: SyncSender<Item>,
    lost_lines: Arc<AtomicU64>,
}

/// The writer of the log.
pub struct Keeper {
    done: Receiver<()>,
    queue: Queue,
    hurry: Arc<AtomicBool>,
}

impl Feed {
    /// These bytes were read and are about to be passed on.
    pub fn chunk(&mut self, bytes: &[u8]) {
        let gap = self.gap.then_some(Gap { mid_line: self.line_is_lost });
        let item = Item::Chunk { dir: self.dir, at: Instant::now(), bytes: bytes.to_vec(), gap };
        if self.queue.try_tell(item) {
            self.gap = false;
            self.line_is_lost &= !bytes.contains(&b'\n');
            return;
        }
        self.gap = true;
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !self.line_is_lost {
                self.queue.lost_lines.fetch_add(1, Ordering::Relaxed);
            }
            self.line_is_lost = !piece.ends_with(b"\n");
        }
    }

    /// This direction has ended.
    pub fn closed(self, event: Option<What>) {
        self.queue.try_tell(Item::Closed { dir: self.dir, at: Instant::now(), event });
    }

    /// Something happened to the pipe of this direction.
    pub fn event(&self, what: What) {
        self.queue.event(what, None);
    }
}

impl Queue {
    /// The feed of one direction; there must be at most one for each.
    pub fn feed(&self, dir: Dir) -> Feed {
        Feed { dir, queue: self.clone(), line_is_lost: false, gap: false }
    }

    /// Adds an event.
    pub fn event(&self, what: What, detail: Option<String>) {
        self.try_tell(Item::Event { at: Instant::now(), what, detail });
    }

    fn try_tell(&self, item: Item) -> bool {
        // A log whose thread has ended takes nothing, like one whose queue is full.
        !matches!(self.sender.try_send(item), Err(TrySendError::Full(_) | TrySendError::Disconnected(_)))
    }
}

impl Keeper {
    /// Creates the log, or the next one of its name if it exists, and starts its thread.
    ///
    /// # Errors
    /// If the file can't be created.
    pub fn start(path: &Path, mut start: Start, masker: Masker) -> anyhow::Result<Self> {
        let (file, proc) =
            create(path).with_context(|| format!("--log: cannot create {}", path.display()))?;
        start.format = FORMAT;
        start.proc = proc;
        start.line_bytes_max = LINE_BYTES_MAX;
        let (sender, items) = sync_channel(QUEUE_CHUNKS_MAX);
        let lost_lines = Arc::new(AtomicU64::new(0));
        let hurry = Arc::new(AtomicBool::new(false));
        let (tell_done, done) = sync_channel(1);
        let mut log = Log::new(file, Instant::now(), masker, Arc::clone(&lost_lines));
        log.hurry = Arc::clone(&hurry);
        #[expect(
            clippy::disallowed_methods,
            reason = "a slow disk must not hold up the pipes; nothing here is simulated"
        )]
        std::thread::spawn(move || {
            log.write(&Entry::Start(start));
            while let Ok(item) = items.recv() {
                if log.take(item) {
                    break;
                }
            }
            // The waiting side may have given up.
            let _ = tell_done.send(());
        });
        Ok(Self { done, queue: Queue { sender, lost_lines }, hurry })
    }

    /// A sender for events and feeds.
    pub fn queue(&self) -> Queue {
        self.queue.clone()
    }

    /// Writes how the server ended, and waits a moment for queued entries. If the disk hangs, the log has no
    /// `end`.
    pub fn end(self, code: Option<i32>, signal: Option<i32>) {
        let until = Instant::now() + Duration::from_millis(DRAIN_MS_MAX);
        let mut item = Some(Item::End { at: Instant::now(), code, signal });
        while let Some(told) = item.take() {
            match self.queue.sender.try_send(told) {
                Err(TrySendError::Full(back)) if self.done_within(Duration::from_millis(1)).is_none() => {
                    if Instant::now() >= until + Duration::from_millis(LAST_LINE_MS_MAX) {
                        return;
                    }
                    self.hurry.fetch_or(Instant::now() >= until, Ordering::Relaxed);
                    item = Some(back);
                }
                _ => {}
            }
        }
        if self.done_within(until.saturating_duration_since(Instant::now())).is_none() {
            self.hurry.store(true, Ordering::Relaxed);
            self.done_within(Duration::from_millis(LAST_LINE_MS_MAX));
        }
    }

    /// Waits for the end of the log's thread; `None` if it is still writing.
    fn done_within(&self, wait: Duration) -> Option<()> {
        match self.done.recv_timeout(wait) {
            Err(RecvTimeoutError::Timeout) => None,
            _ => Some(()),
        }
    }
}

/// A file that may be full, and from which a partial write can be taken back.
trait Disk: Write {
    /// Removes everything after this length.
    fn cut_at(&mut self, length: u64) -> io::Result<()>;
}

impl Disk for File {
    fn cut_at(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)?;
        self.seek(SeekFrom::Start(length)).map(|_| ())
    }
}

/// Writes entries, and counts those that can't be written.
struct Log<D> {
    disk: D,
    began: Instant,
    masker: Masker,
    lost_lines: Arc<AtomicU64>,
    /// The program is about to exit: further entries are only counted.
    hurry: Arc<AtomicBool>,
    to_server: Splitter,
    to_host: Splitter,
    stderr: Splitter,
    /// Bytes that are certainly whole lines.
    length: u64,
    /// Where the last lines begin, and whether each is a line of a pipe.
    starts: VecDeque<(u64, bool)>,
    end: End,
}

impl<D: Disk> Log<D> {
    fn new(disk: D, began: Instant, masker: Masker, lost_lines: Arc<AtomicU64>) -> Self {
        Self {
            disk,
            began,
            masker,
            lost_lines,
            hurry: Arc::default(),
            to_server: Splitter::new(LINE_BYTES_MAX),
            to_host: Splitter::new(LINE_BYTES_MAX),
            stderr: Splitter::new(LINE_BYTES_MAX),
            length: 0,
            starts: VecDeque::new(),
            end: End::default(),
        }
    }

    /// Takes one item; gives whether it was the last.
    fn take(&mut self, item: Item) -> bool {
        match item {
            Item::Chunk { dir, at, bytes, gap } => {
                if let Some(gap) = gap {
                    self.splitter(dir).gap(gap.mid_line);
                }
                for line in self.splitter(dir).chunk(&bytes) {
                    self.line(dir, at, &line);
                }
            }
            Item::Closed { dir, at, event } => {
                self.last_line(dir, at);
                if let Some(what) = event {
                    self.event(at, what, None);
                }
            }
            Item::Event { at, what, detail } => self.event(at, what, detail),
            Item::End { at, code, signal } => {
                for dir in [Dir::HostToServer, Dir::ServerToHost, Dir::Stderr] {
                    self.last_line(dir, at);
                }
                self.end = End { ms: self.ms(at), code, signal, ..self.end };
                self.write_end();
                return true;
            }
        }
        false
    }

    fn splitter(&mut self, dir: Dir) -> &mut Splitter {
        match dir {
            Dir::HostToServer => &mut self.to_server,
            Dir::ServerToHost => &mut self.to_host,
            Dir::Stderr => &mut self.stderr,
        }
    }

    fn last_line(&mut self, dir: Dir, at: Instant) {
        if let Some(line) = self.splitter(dir).end() {
            self.line(dir, at, &line);
        }
    }

    fn line(&mut self, dir: Dir, at: Instant, line: &Split) {
        if self.hurry.load(Ordering::Relaxed) {
            self.lost_lines.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let masked = self.masker.line(&line.bytes, line.cut_from_bytes.is_some());
        let mut entry = Line::of(self.ms(at), dir, masked.text);
        entry.cut_from_bytes = line.cut_from_bytes;
        entry.unended = line.unended;
        entry.masked = masked.count;
        if self.write(&Entry::Line(entry)) {
            self.end.lines += 1;
            self.end.masked += u64::from(masked.count);
            self.end.cut_lines += u64::from(line.cut_from_bytes.is_some());
        } else {
            self.lost_lines.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn event(&mut self, at: Instant, what: What, detail: Option<String>) {
        let ms = self.ms(at);
        self.write(&Entry::Event(Event { ms, what, detail }));
    }

    fn ms(&self, at: Instant) -> f64 {
        milliseconds(at.saturating_duration_since(self.began))
    }

    /// Writes one entry completely or not at all.
    fn write(&mut self, entry: &Entry) -> bool {
        let Ok(mut text) = serde_json::to_vec(entry) else { return false };
        text.push(b'\n');
        if self.disk.write_all(&text).and_then(|()| self.disk.flush()).is_err() {
            // Half a line would damage the log. If it can't be removed, readers skip it.
            let _ = self.disk.cut_at(self.length);
            return false;
        }
        self.starts.push_back((self.length, matches!(entry, Entry::Line(_))));
        if self.starts.len() > STARTS_MAX {
            self.starts.pop_front();
        }
        self.length += text.len() as u64;
        true
    }

    /// Writes the last line. On a full disk it replaces the lines before it, which then count as lost.
    fn write_end(&mut self) {
        self.end.lost_lines = self.lost_lines.load(Ordering::Relaxed);
        if self.write(&Entry::End(self.end.clone())) {
            return;
        }
        let mut length = self.length;
        while length + END_BYTES > self.length {
            let Some((start, is_line)) = self.starts.pop_back() else { break };
            length = start;
            self.end.lines -= u64::from(is_line);
            self.end.lost_lines += u64::from(is_line);
        }
        if self.disk.cut_at(length).is_ok() {
            self.length = length;
            self.write(&Entry::End(self.end.clone()));
        }
    }
}

/// Milliseconds with three decimals.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tap::create::numbered;

    /// A disk with this much room.
    struct Small {
        bytes: Vec<u8>,
        room: usize,
    }

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let room = self.room.saturating_sub(self.bytes.len()).min(bytes.len());
            if room == 0 && !bytes.is_empty() {
                return Err(io::ErrorKind::StorageFull.into());
            }
            self.bytes.extend_from_slice(&bytes[..room]);
            Ok(room)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Disk for Small {
        fn cut_at(&mut self, length: u64) -> io::Result<()> {
            self.bytes.truncate(usize::try_from(length).unwrap());
            Ok(())
        }
    }

    fn log(room: usize) -> Log<Small> {
        let disk = Small { bytes: Vec::new(), room };
        Log::new(disk, Instant::now(), Masker::default(), Arc::default())
    }

    fn entries(log: &Log<Small>) -> Vec<Entry> {
        let text = std::str::from_utf8(&log.disk.bytes).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn chunk(dir: Dir, text: &str) -> Item {
        Item::Chunk { dir, at: Instant::now(), bytes: text.as_bytes().to_vec(), gap: None }
    }

    #[test]
    fn a_full_disk_costs_lines_that_are_counted_and_the_end_still_fits() {
        let mut log = log(4_000);
        for number in 0..100 {
            log.take(chunk(Dir::HostToServer, &format!("line {number}\n")));
        }
        assert!(log.take(Item::End { at: Instant::now(), code: Some(3), signal: None }));
        let entries = entries(&log);
        let Some(Entry::End(end)) = entries.last() else { panic!("{entries:?}") };
        assert_eq!((end.code, end.lines + end.lost_lines), (Some(3), 100));
        assert_eq!(u64::try_from(entries.len()).unwrap(), end.lines + 1);
        assert!(end.lost_lines > 20 && end.lines > 10, "{end:?}");
    }

    #[test]
    fn a_slow_disk_loses_whole_lines_and_says_how_many() {
        let (sender, items) = sync_channel(2);
        let queue = Queue { sender, lost_lines: Arc::default() };
        let mut feed = queue.feed(Dir::ServerToHost);
        for text in ["kept\nbeg", "un", "lost", " still\nlost too\nhalf", "y\n"] {
            feed.chunk(text.as_bytes());
        }
        let mut log = log(10_000);
        log.lost_lines = Arc::clone(&queue.lost_lines);
        let drain = |log: &mut Log<Small>| {
            while let Ok(item) = items.try_recv() {
                log.take(item);
            }
        };
        drain(&mut log);
        feed.chunk(b"rest\nwhole\n");
        drain(&mut log);
        log.take(Item::End { at: Instant::now(), code: None, signal: Some(9) });
        let entries = entries(&log);
        let texts: Vec<_> = entries
            .iter()
            .filter_map(|entry| match entry {
                Entry::Line(line) => line.text.as_deref(),
                _ => None,
            })
            .collect();
        assert_eq!(texts, ["kept", "rest", "whole"]);
        let Some(Entry::End(end)) = entries.last() else { panic!("{entries:?}") };
        // "begun lost still", "lost too" and "halfy".
        assert_eq!((end.lines, end.lost_lines), (3, 3));
    }

    #[test]
    fn entries_left_at_the_end_are_counted() {
        let mut log = log(10_000);
        log.take(chunk(Dir::HostToServer, "kept\n"));
        log.hurry.store(true, Ordering::Relaxed);
        log.take(chunk(Dir::ServerToHost, "one\ntwo\nthr"));
        log.take(Item::End { at: Instant::now(), code: None, signal: None });
        let Some(Entry::End(end)) = entries(&log).pop() else { panic!("no end") };
        assert_eq!((end.lines, end.lost_lines), (1, 3));
    }

    #[test]
    fn a_log_is_never_overwritten_and_only_its_owner_reads_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("wire.jsonl");
        for number in 1..=3 {
            let keeper = Keeper::start(&path, Start::default(), Masker::default()).unwrap();
            keeper.queue().feed(Dir::HostToServer).chunk(format!("{number}\n").as_bytes());
            keeper.end(Some(0), None);
            let name = numbered(&path, number);
            assert_eq!(crate::tap::read::file(&name).unwrap().len(), 3, "{name:?}");
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                let mode = std::fs::metadata(&name).unwrap().permissions().mode();
                assert_eq!(mode & 0o777, 0o600);
            }
        }
        assert!(folder.path().join("wire.3.jsonl").exists());
    }
}
