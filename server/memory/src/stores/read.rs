//! Reads what a session's file has gained since it was read last.
//!
//! It must never fail because of one line: such a line is counted.

use std::io;
use std::path::Path;

use serde_json::Value;

use super::find::Found;
use super::gather::{Gather, is_id};
use super::json::json;
use super::lines::{read_line, read_lines};
use super::mark::Mark;
use super::session::{Agent, Message, Place, Session};
use super::tally::Tally;
use super::{claude, codex, copilot, gemini, opencode, qwen, replay, vscode};
use crate::files::{Files, Standing, read_whole};

/// Longest log that is read.
const LOG_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// How much of a log is read at once, where that is enough.
const PIECE_BYTES: u64 = 32 * 1024 * 1024;
/// Longest line of a log.
const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;
/// How much of a file is read to learn which session it holds.
const PEEK_BYTES: u64 = 256 * 1024;
/// Longest file that is read as one document. Files of the editor over 80 MB are known.
const DOCUMENT_BYTES_MAX: u64 = 128 * 1024 * 1024;

/// What a file has gained.
#[derive(Debug)]
pub struct Batch {
    /// How far it is read now, with the session.
    pub mark: Mark,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// Whether these are the first messages of the file, so that earlier ones count no more.
    pub is_from_start: bool,
    /// Whether the file has more than this piece.
    pub has_more: bool,
    /// What was not understood.
    pub tally: Tally,
}

impl Batch {
    /// The session as far as it is known.
    pub fn session(&self) -> &Session {
        &self.mark.session
    }
}

/// Reads what was written since `mark`; `None` if there is nothing new. A database is read as the last [`find`] has found it,
/// as long as that can still be read.
///
/// [`find`]: super::find
///
/// # Errors
///
/// Fails with the error of the disk, or if the file is longer than a reader takes.
pub fn read(files: &dyn Files, found: &Found, mark: Option<&Mark>) -> io::Result<Option<Batch>> {
    read_up_to(files, found, mark, None)
}

/// Reads what was written since `mark`, of a log no more than a piece; `None` if there is nothing new.
///
/// # Errors
///
/// Fails with the error of the disk, or if the file is longer than a reader takes.
pub fn read_piece(files: &dyn Files, found: &Found, mark: Option<&Mark>) -> io::Result<Option<Batch>> {
    read_up_to(files, found, mark, Some(PIECE_BYTES))
}

fn read_up_to(
    files: &dyn Files,
    found: &Found,
    mark: Option<&Mark>,
    piece_bytes: Option<u64>,
) -> io::Result<Option<Batch>> {
    let path = &found.path;
    let Some(mut standing) = standing(files, found)? else { return Ok(None) };
    if mark.is_some_and(|mark| mark.is_current(standing)) {
        return Ok(None);
    }
    let whole_bytes = standing.bytes;
    let is_document = path.extension().is_some_and(|extension| extension == "json");
    let (gather, offset, is_from_start) = match (found.agent, line_reader(found.agent)) {
        (Agent::Opencode, _) => {
            let mut gather = begin(found);
            opencode::read(files, path, &mut gather)?;
            (gather, standing.bytes, true)
        }
        (_, Some(line)) => {
            let (read, end) = log(files, found, standing, mark, line, piece_bytes)?;
            // The mark of a piece is that of a file which has grown since.
            standing.bytes = end;
            read
        }
        (Agent::Gemini, None) if is_document => {
            (document(files, found, gemini::document)?, standing.bytes, true)
        }
        (Agent::Gemini, None) => gemini_log(files, found, standing)?,
        (_, None) if is_document => (document(files, found, vscode::state)?, standing.bytes, true),
        (_, None) => editor_log(files, found, standing)?,
    };
    let mut gather = gather;
    surroundings(files, found, &mut gather);
    let mark = match found.agent {
        Agent::Opencode => Mark::of_records(gather.session, standing),
        _ => Mark::new(gather.session, standing, offset, files, path)?,
    };
    let has_more = standing.bytes < whole_bytes;
    Ok(Some(Batch { mark, messages: gather.messages, is_from_start, has_more, tally: gather.tally }))
}

/// How many bytes of a file are to be read after `mark`; `None` if it is as it was then, or gone. A file whose standing can't
/// be told has none, but is for its reader to report.
pub(crate) fn unread_bytes(files: &dyn Files, found: &Found, mark: Option<&Mark>) -> Option<u64> {
    match standing(files, found) {
        Ok(standing) => standing
            .and_then(|standing| mark.map_or(Some(standing.bytes), |mark| mark.unread_bytes(standing))),
        Err(_) => Some(0),
    }
}

/// How the file of a session stands now; `None` if it is gone.
///
/// # Errors
///
/// Fails with the error of the disk.
pub(super) fn standing(files: &dyn Files, found: &Found) -> io::Result<Option<Standing>> {
    match found.agent {
        Agent::Opencode => opencode::standing(files, &found.path),
        _ => files.look(&found.path),
    }
}

/// The session as far as the beginning of its file and the files beside it tell.
///
/// # Errors
///
/// Fails with the error of the disk.
pub(super) fn peek(files: &dyn Files, found: &Found) -> io::Result<Session> {
    let mut gather = begin(found);
    let Some(standing) = standing(files, found)? else { return Ok(gather.session) };
    let head = Standing { bytes: standing.bytes.min(PEEK_BYTES), ..standing };
    if let Some(line) = line_reader(found.agent) {
        read_lines(files, &found.path, 0, head.bytes, LINE_BYTES_MAX, |at, bytes| {
            gather.line(at);
            if let Some(value) = json(bytes) {
                line(&value, &mut gather);
            }
        })?;
    } else if found.agent == Agent::Opencode {
        opencode::peek(files, &found.path, &mut gather)?;
    } else if found.agent == Agent::Gemini {
        let is_document = found.path.extension().is_some_and(|extension| extension == "json");
        gather = if is_document {
            document(files, found, gemini::document)?
        } else {
            gemini_log(files, found, head)?.0
        };
    }
    surroundings(files, found, &mut gather);
    Ok(gather.session)
}

fn surroundings(files: &dyn Files, found: &Found, gather: &mut Gather) {
    match found.agent {
        Agent::Vscode => vscode::surroundings(files, &found.path, gather),
        Agent::Copilot => copilot::surroundings(files, &found.path, gather),
        Agent::Gemini => gemini::surroundings(files, &found.path, gather),
        Agent::Claude | Agent::Codex | Agent::Qwen | Agent::Opencode => {}
    }
}

/// A session of which only the file is known.
fn begin(found: &Found) -> Gather {
    let stem = found.path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let folder = || found.path.parent().and_then(Path::file_name).and_then(|name| name.to_str());
    let id = if found.agent == Agent::Copilot { folder().unwrap_or_default() } else { stem };
    let id = if is_id(id) { id } else { "unknown" };
    Gather::new(Session::new(found.agent, id, found.path.clone()))
}

fn check_log(standing: Standing) -> io::Result<()> {
    if standing.bytes <= LOG_BYTES_MAX {
        return Ok(());
    }
    let problem = format!("it has {} bytes, at most {LOG_BYTES_MAX} are read", standing.bytes);
    Err(io::Error::new(io::ErrorKind::FileTooLarge, problem))
}

/// Reads one message again, to show its words; `None` if it is not there any more.
///
/// # Errors
///
/// Fails with the error of the disk, or if the file is longer than a reader takes.
pub fn read_again(files: &dyn Files, found: &Found, place: Place) -> io::Result<Option<Message>> {
    let messages = match line_reader(found.agent) {
        Some(line) => {
            let Some(bytes) = read_line(files, &found.path, place.line, LINE_BYTES_MAX)? else {
                return Ok(None);
            };
            let mut gather = begin(found);
            gather.line(place.line);
            if let Some(value) = json(&bytes) {
                line(&value, &mut gather);
            }
            gather.messages
        }
        None => read(files, found, None)?.map(|batch| batch.messages).unwrap_or_default(),
    };
    Ok(messages.into_iter().find(|message| message.place == place))
}

/// What reads a line of an agent whose lines stay as they are.
fn line_reader(agent: Agent) -> Option<fn(&Value, &mut Gather)> {
    match agent {
        Agent::Copilot => Some(copilot::line),
        Agent::Claude => Some(claude::line),
        Agent::Codex => Some(codex::line),
        Agent::Qwen => Some(qwen::line),
        Agent::Vscode | Agent::Gemini | Agent::Opencode => None,
    }
}

type Read = (Gather, u64, bool);

/// A log whose lines stay as they are, or the next piece of it; with where that ends.
fn log(
    files: &dyn Files,
    found: &Found,
    standing: Standing,
    mark: Option<&Mark>,
    line: fn(&Value, &mut Gather),
    piece_bytes: Option<u64>,
) -> io::Result<(Read, u64)> {
    if piece_bytes.is_none() {
        check_log(standing)?;
    }
    let (mut gather, start) = match mark {
        Some(mark) if mark.has_grown(standing, files, &found.path)? => {
            (Gather::new(mark.session.clone()), mark.offset)
        }
        _ => (begin(found), 0),
    };
    let mut piece_bytes = piece_bytes.unwrap_or(u64::MAX);
    loop {
        let end = start.saturating_add(piece_bytes).min(standing.bytes);
        let done = read_lines(files, &found.path, start, end, LINE_BYTES_MAX, |at, bytes| {
            gather.line(at);
            match json(bytes) {
                Some(value) if value.is_object() => line(&value, &mut gather),
                _ => gather.tally.malformed += 1,
            }
        })?;
        if done.offset == start && end < standing.bytes {
            // No line ends in this piece.
            piece_bytes = piece_bytes.saturating_mul(2);
            continue;
        }
        gather.tally.too_long += done.too_long;
        return Ok(((gather, done.offset, start == 0), end));
    }
}

/// A log whose lines change what earlier ones said, so it is replayed from its beginning.
fn editor_log(files: &dyn Files, found: &Found, standing: Standing) -> io::Result<Read> {
    let mut gather = begin(found);
    let mut replay = replay::Replay::default();
    let offset = replayed(files, found, standing, &mut gather, |value| replay.apply(value))?;
    vscode::state(replay.state(), &mut gather);
    Ok((gather, offset, true))
}

fn gemini_log(files: &dyn Files, found: &Found, standing: Standing) -> io::Result<Read> {
    let mut gather = begin(found);
    let mut log = gemini::Log::default();
    let offset = replayed(files, found, standing, &mut gather, |value| log.apply(value))?;
    log.finish(&mut gather);
    Ok((gather, offset, true))
}

fn replayed(
    files: &dyn Files,
    found: &Found,
    standing: Standing,
    gather: &mut Gather,
    mut apply: impl FnMut(Value) -> bool,
) -> io::Result<u64> {
    check_log(standing)?;
    // The first line of the editor's log is the whole session.
    let line_bytes_max = usize::try_from(DOCUMENT_BYTES_MAX).unwrap_or(usize::MAX);
    let mut malformed = 0;
    let done = read_lines(files, &found.path, 0, standing.bytes, line_bytes_max, |_, bytes| {
        if !json(bytes).is_some_and(&mut apply) {
            malformed += 1;
        }
    })?;
    gather.tally.malformed += malformed;
    gather.tally.too_long += done.too_long;
    Ok(done.offset)
}

fn document(files: &dyn Files, found: &Found, state: fn(&Value, &mut Gather)) -> io::Result<Gather> {
    let mut gather = begin(found);
    let bytes = read_whole(files, &found.path, DOCUMENT_BYTES_MAX)?.map(|(bytes, _)| bytes);
    match json(&bytes.unwrap_or_default()) {
        Some(value) => state(&value, &mut gather),
        None => gather.tally.malformed += 1,
    }
    Ok(gather)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::{MemoryStorage, Storage as _};
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;
    use crate::files::SimulatedFiles;

    const PATH: &str = "home/alice/.claude/projects/-p/one.jsonl";

    fn found() -> Found {
        Found { agent: Agent::Claude, path: format!("/{PATH}").into() }
    }

    proptest! {
        #[test]
        fn a_log_in_pieces_is_the_log(lengths in prop::collection::vec(0_usize..300, 1..12), piece in 1_u64..700) {
            let storage = MemoryStorage::new();
            storage.create_dir("home/alice/.claude/projects/-p").unwrap();
            let lines = lengths.iter().enumerate().map(|(n, length)| {
                let said = format!("said{n} {}", "x".repeat(*length));
                serde_json::json!({"type": "user", "message": {"content": said}}).to_string()
            });
            // The last line is still written.
            let lines: Vec<String> = lines.chain(["{\"type\": \"user\"".to_owned()]).collect();
            let text = lines.join("\n");
            storage.set_bytes(PATH, text.as_bytes());
            let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
            let whole = read(&files, &found(), None).unwrap().unwrap();
            let (mut messages, mut mark, mut pieces) = (Vec::new(), None, 0);
            loop {
                let batch = read_up_to(&files, &found(), mark.as_ref(), Some(piece)).unwrap().unwrap();
                prop_assert_eq!(batch.is_from_start, pieces == 0);
                messages.extend(batch.messages);
                mark = Some(batch.mark);
                pieces += 1;
                if !batch.has_more {
                    break;
                }
            }
            prop_assert_eq!(&messages, &whole.messages);
            prop_assert_eq!(mark.as_ref(), Some(&whole.mark));
            prop_assert!(read_up_to(&files, &found(), mark.as_ref(), Some(piece)).unwrap().is_none());
        }
    }
    /// A machine with one file.
    fn machine(path: &str, bytes: &[u8]) -> SimulatedFiles {
        let storage = MemoryStorage::new();
        storage.set_bytes(path, bytes);
        SimulatedFiles::new(storage, Arc::new(SystemClock))
    }

    #[rstest]
    #[case::the_editor(Agent::Vscode, "s/chatSessions/one.jsonl", "{\"kind\":0,\"v\":{}}\n")]
    #[case::gemini(Agent::Gemini, "g/tmp/p/chats/one.jsonl", "{\"sessionId\":\"one\"}\n")]
    #[case::claude(Agent::Claude, PATH, "{\"type\":\"system\"}\n")]
    #[case::codex(Agent::Codex, "c/one.jsonl", "{\"type\":\"event_msg\",\"payload\":{}}\n")]
    #[case::copilot(Agent::Copilot, "c/one/events.jsonl", "{\"type\":\"abort\"}\n")]
    #[case::qwen(Agent::Qwen, "q/one.jsonl", "{\"type\":\"system\",\"subtype\":\"rewind\"}\n")]
    fn lines_that_are_not_understood_are_counted(
        #[case] agent: Agent,
        #[case] path: &str,
        #[case] line: &str,
    ) {
        for wrong in 0..4_u64 {
            let text = format!("{line}{}", ["[]\n", "no JSON\n", "{}\n"][..wrong.min(3) as usize].concat());
            let found = Found { agent, path: format!("/{path}").into() };
            let batch = read(&machine(path, text.as_bytes()), &found, None).unwrap().unwrap();
            assert_eq!((batch.tally.malformed, batch.tally.too_long), (wrong.min(3), 0), "{text}");
            assert!(batch.tally.unknown.is_empty(), "{:?}", batch.tally);
        }
    }

    #[test]
    fn a_line_that_is_too_long_is_counted_and_the_next_one_is_read() {
        let said = r#"{"type":"user","message":{"content":"why"}}"#;
        let text = format!("{}\n{said}\n", "x".repeat(LINE_BYTES_MAX + 1));
        let batch = read(&machine(PATH, text.as_bytes()), &found(), None).unwrap().unwrap();
        assert_eq!((batch.tally.too_long, batch.tally.malformed, batch.messages.len()), (1, 0, 1));
    }

    #[rstest]
    #[case(Agent::Gemini, "g/tmp/p/chats/one.json")]
    #[case(Agent::Vscode, "s/chatSessions/one.json")]
    fn a_document_that_is_no_json_is_counted(#[case] agent: Agent, #[case] path: &str) {
        let found = Found { agent, path: format!("/{path}").into() };
        for (text, malformed) in [("{}", 0), ("{", 1), ("", 1)] {
            let batch = read(&machine(path, text.as_bytes()), &found, None).unwrap().unwrap();
            assert_eq!((batch.tally.malformed, batch.messages.len()), (malformed, 0), "{text:?}");
        }
    }

    #[rstest]
    #[case(Agent::Claude, "/s/abc.jsonl", "abc")]
    #[case(Agent::Claude, "/s/--x.jsonl", "unknown")]
    #[case(Agent::Copilot, "/s/abc/events.jsonl", "abc")]
    #[case(Agent::Copilot, "/s/-x/events.jsonl", "unknown")]
    #[case(Agent::Copilot, "/events.jsonl", "unknown")]
    fn an_id_is_guessed_by_the_name(#[case] agent: Agent, #[case] path: &str, #[case] id: &str) {
        let gather = begin(&Found { agent, path: path.into() });
        assert_eq!((gather.session.id.as_str(), gather.session.agent), (id, agent));
    }

    #[rstest]
    #[case::as_long_as_may_be(LOG_BYTES_MAX, true)]
    #[case::a_byte_longer(LOG_BYTES_MAX + 1, false)]
    fn a_log_has_a_bound(#[case] bytes: u64, #[case] is_read: bool) {
        let standing = Standing { bytes, modified: jiff::Timestamp::UNIX_EPOCH, identity: 0 };
        assert_eq!(check_log(standing).is_ok(), is_read);
    }

    #[test]
    fn what_is_unread_is_told_by_how_a_file_stands() {
        let files = machine(PATH, b"{}\n");
        assert_eq!(unread_bytes(&files, &found(), None), Some(3));
        let mark = read(&files, &found(), None).unwrap().unwrap().mark;
        assert_eq!(unread_bytes(&files, &found(), Some(&mark)), None);
        let gone = Found { path: "/nowhere".into(), ..found() };
        assert_eq!(unread_bytes(&files, &gone, None), None);
        // That it can't be told is for the reader to report.
        let outside = Found { path: "/a/../b".into(), ..found() };
        assert_eq!(unread_bytes(&files, &outside, None), Some(0));
    }

    /// A title stands behind so many bytes of a log.
    fn titled(agent: Agent, path: &str, bytes: usize) -> (SimulatedFiles, Found) {
        let filler = |text: String| match agent {
            Agent::Gemini => serde_json::json!({"id": "1", "type": "info", "content": text}),
            _ => serde_json::json!({"type": "system", "content": text}),
        };
        let title = match agent {
            Agent::Gemini => serde_json::json!({"sessionId": "stated", "summary": "The plan"}),
            _ => serde_json::json!({"type": "summary", "summary": "The plan", "sessionId": "stated"}),
        };
        let own = filler(String::new()).to_string().len() + 1 + title.to_string().len() + 1;
        let text = format!("{}\n{title}\n", filler("x".repeat(bytes - own)));
        assert_eq!(text.len(), bytes);
        (machine(path, text.as_bytes()), Found { agent, path: format!("/{path}").into() })
    }

    #[rstest]
    #[case(Agent::Claude, PATH)]
    #[case(Agent::Gemini, "g/tmp/p/chats/one.jsonl")]
    fn of_a_log_only_the_beginning_tells_which_session_it_is(#[case] agent: Agent, #[case] path: &str) {
        let bytes = usize::try_from(PEEK_BYTES).unwrap();
        for (bytes, id) in [(bytes, "stated"), (bytes + 1, "one"), (1_000, "stated")] {
            let (files, found) = titled(agent, path, bytes);
            let session = peek(&files, &found).unwrap();
            assert_eq!((session.id.as_str(), session.title.is_some()), (id, id == "stated"), "{bytes}");
            assert_eq!(read(&files, &found, None).unwrap().unwrap().session().id, "stated");
        }
    }

    #[test]
    fn a_document_of_gemini_is_peeked_at_whole_and_a_file_that_is_gone_has_its_name_alone() {
        let path = "g/tmp/p/chats/one.json";
        let files = machine(path, br#"{"sessionId":"stated","summary":"The plan"}"#);
        let found = Found { agent: Agent::Gemini, path: format!("/{path}").into() };
        assert_eq!(peek(&files, &found).unwrap().id, "stated");
        let gone = Found { path: "/g/tmp/p/chats/gone.json".into(), ..found };
        assert_eq!(peek(&files, &gone).unwrap().id, "gone");
        assert!(read(&files, &gone, None).unwrap().is_none());
    }

    #[test]
    fn the_folder_of_gemini_stands_in_a_file_above() {
        let path = "g/tmp/p/chats/one.json";
        let storage = MemoryStorage::new();
        storage.set_bytes(path, b"{}");
        storage.set_bytes("g/tmp/p/.project_root", b"/home/alice/project\n");
        let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
        let found = Found { agent: Agent::Gemini, path: format!("/{path}").into() };
        for session in
            [peek(&files, &found).unwrap(), read(&files, &found, None).unwrap().unwrap().mark.session]
        {
            assert_eq!(session.folder.as_deref(), Some("/home/alice/project"));
        }
    }
}
