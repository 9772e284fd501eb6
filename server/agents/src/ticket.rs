//! What a caller can see and do with a ticket, and how a result reads.
//! It must never change who gets a result: the inbox brings a late answer by itself.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;

use entraclaw_mcp::{ANSWER_BYTES_MAX, Answer, FRAME_BYTES, Refusal};
use entraclaw_seams::storage::Storage;
use entraclaw_work::{Claim, Claimed, Ended, Events, Look, WorkResult, Works, kept_output, look, looks};
use serde_json::{Value, json};

use crate::task::{KIND, Task};

/// Most bytes of an answer's text in one piece.
const PIECE_BYTES_MAX: usize = ANSWER_BYTES_MAX - FRAME_BYTES;

/// The bytes of a text, of which there are `total`, without a character that is cut in two at the end of these.
fn whole_characters(bytes: &[u8], total: u64) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if (bytes.len() as u64) < total && error.error_len().is_none() => {
            &bytes[..error.valid_up_to()]
        }
        _ => bytes,
    }
}

/// The same as a text.
pub(crate) fn whole(bytes: &[u8], total: u64) -> String {
    String::from_utf8_lossy(whole_characters(bytes, total)).into_owned()
}

/// These bytes of an answer as a text that says where it goes on. The first are at this offset.
fn piece(bytes: &[u8], offset: u64, total: u64) -> String {
    // The piece before this one may have ended inside a character.
    let begin = bytes.iter().take_while(|byte| **byte & 0xC0 == 0x80).count();
    let begins_at = offset + begin as u64;
    let shown = whole_characters(&bytes[begin..], total - begins_at);
    let end = begins_at + shown.len() as u64;
    let mut text = String::from_utf8_lossy(shown).into_owned();
    if end < total {
        let _ = write!(text, "\n(up to byte {end} of {total}; the offset {end} reads on)");
    }
    text
}

/// The answer of a result that is done: its text, and in one line what is known of it.
pub(crate) fn answer(result: &WorkResult, storage: &Arc<dyn Storage>) -> String {
    let facts = result.facts_line().unwrap_or_default();
    let room = PIECE_BYTES_MAX.saturating_sub(facts.len());
    let (bytes, total) = kept_output(storage, &result.id, 0, room).unwrap_or_default();
    // Without its file the beginning is still in the result.
    let (mut text, total) = if total == 0 {
        let text = result.text.as_bytes();
        (whole(&text[..text.len().min(room)], text.len() as u64 + 1), result.total_bytes)
    } else {
        (whole(&bytes, total), total)
    };
    let length = text.len() as u64;
    if length < total {
        let id = &result.id;
        let _ = write!(
            text,
            "\n(this is the beginning of {total} bytes; ask_status with the ticket {id} and the offset {length} reads on)"
        );
    }
    if !facts.is_empty() {
        text.push_str("\n\n");
        text.push_str(&facts);
    }
    text
}

/// The answer with a result that was taken.
pub(crate) fn answer_of(claimed: &Claimed, works: &Works) -> Answer {
    let result = claimed.result();
    if claimed.is_done() {
        Answer::text(&answer(result, works.storage()))
    } else {
        Answer::error(&failure(result))
    }
}

/// The sentence of a result that is not done.
pub(crate) fn failure(result: &WorkResult) -> String {
    match (&result.reason, result.ended) {
        (Some(reason), _) => reason.clone(),
        (None, Ended::Cancelled) => "it was cancelled".to_owned(),
        (None, ended) => format!("it is {ended}"),
    }
}

fn found(storage: &Arc<dyn Storage>, ticket: &str) -> Result<Look, Refusal> {
    let look = look(storage, ticket).map_err(|error| format!("the jobs can't be read: {error}"))?;
    look.filter(|look| look.request.ask.kind == KIND).ok_or_else(|| {
        let ticket: String = ticket.chars().take(64).collect();
        format!("ticket: there is no question {ticket:?}; take the id from a ticket, or see list_sessions")
    })
}

/// How far a question is, or its answer from an offset on.
pub(crate) fn status(
    storage: &Arc<dyn Storage>,
    ticket: &str,
    offset: u64,
    has_inbox: bool,
) -> Result<Answer, Refusal> {
    let look = found(storage, ticket)?;
    let title = &look.request.ask.title;
    let Some(result) = &look.result else {
        if !look.runs {
            return Ok(Answer::json(&json!({"ticket": ticket, "state": "lost", "title": title})));
        }
        let step = Events::of(storage, ticket)
            .news()
            .into_iter()
            .rev()
            .find_map(|event| event["says"].as_str().map(str::to_owned));
        return Ok(Answer::json(&json!({
            "ticket": ticket, "state": "working", "title": title, "asked_at": look.request.asked_at, "step": step,
        })));
    };
    if result.ended != Ended::Done {
        return Ok(Answer::error(&failure(result)));
    }
    let is_on_its_way = has_inbox && matches!(look.claim, Some(Claim::Released | Claim::ReleasedLate));
    if is_on_its_way && offset == 0 {
        return Ok(Answer::text("it has answered; the answer is on its way to your inbox"));
    }
    if offset == 0 {
        return Ok(Answer::text(&answer(result, storage)));
    }
    let (bytes, total) = kept_output(storage, ticket, offset, PIECE_BYTES_MAX)
        .map_err(|error| format!("the answer can't be read: {error}"))?;
    if offset >= total {
        return Err(format!("offset: the answer has {total} bytes; give a smaller one"));
    }
    Ok(Answer::text(&piece(&bytes, offset, total)))
}

/// Asks the agent of a ticket to stop.
pub(crate) fn cancel(works: &Works, ticket: &str) -> Result<Answer, Refusal> {
    let look = found(works.storage(), ticket)?;
    let asked = works.cancel(ticket).map_err(|error| format!("it could not be asked to stop: {error}"))?;
    let title = &look.request.ask.title;
    Ok(Answer::text(&if asked {
        format!("asked to stop: {title}")
    } else {
        format!("it has ended already: {title}")
    }))
}

/// The sessions of the questions that are kept, the newest first.
pub(crate) fn sessions(storage: &Arc<dyn Storage>, limit: usize) -> Result<Vec<Value>, Refusal> {
    let mut all = looks(storage, KIND).map_err(|error| format!("the jobs can't be read: {error}"))?;
    all.sort_by(|one, other| other.request.asked_at.cmp(&one.request.asked_at));
    let mut known = BTreeSet::new();
    let rows = all.iter().filter_map(|look| {
        let task: Task = serde_json::from_value(look.request.ask.what.clone()).ok()?;
        let stated = look.result.as_ref().and_then(|result| result.facts.get("session")?.as_str());
        let session = stated.map(str::to_owned).or(task.session)?;
        known.insert((task.agent.clone(), session.clone())).then(|| {
            let state = match &look.result {
                Some(result) => result.ended.to_string(),
                None if look.runs => "working".to_owned(),
                None => "lost".to_owned(),
            };
            json!({
                "sessionId": session, "agent": task.agent, "title": look.request.ask.title, "folder": task.folder,
                "asked_at": look.request.asked_at, "state": state, "ticket": look.request.id,
            })
        })
    });
    Ok(rows.take(limit).collect())
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::storage::MemoryStorage;
    use serde_json::Map;

    use super::*;

    fn result(text: &str, total_bytes: u64) -> WorkResult {
        WorkResult {
            v: 1,
            id: "work-ask-0123456789abcdef".to_owned(),
            ended: Ended::Done,
            reason: None,
            text: text.to_owned(),
            total_bytes,
            kept_bytes: 0,
            facts: Map::new(),
            ended_at: "2026-11-26T09:00:00Z".to_owned(),
        }
    }

    #[test]
    fn a_piece_is_of_whole_characters_and_says_where_it_goes_on() {
        let answer = "aébé".as_bytes();
        for (from, to, text) in [
            (0, 6, "aébé"),
            (0, 3, "aé\n(up to byte 3 of 6; the offset 3 reads on)"),
            (0, 2, "a\n(up to byte 1 of 6; the offset 1 reads on)"),
            (2, 4, "b\n(up to byte 4 of 6; the offset 4 reads on)"),
            (3, 5, "b\n(up to byte 4 of 6; the offset 4 reads on)"),
        ] {
            assert_eq!(piece(&answer[from..to], from as u64, 6), text, "{from} to {to}");
        }
        // What is cut in two at the very end stays so.
        assert_eq!(piece(&answer[2..5], 2, 5), "b\u{fffd}");
        // A byte that is no character is a longer text than it is in the file.
        assert_eq!(piece(b"a\xffb", 0, 9), "a\u{fffd}b\n(up to byte 3 of 9; the offset 3 reads on)");
    }

    #[test]
    fn an_answer_without_its_file_says_whether_it_is_only_the_beginning() {
        let storage: Arc<dyn Storage> = Arc::new(MemoryStorage::new());
        assert_eq!(answer(&result("Done.", 5), &storage), "Done.");
        let begun = answer(&result("Done.", 9_000), &storage);
        assert!(begun.starts_with("Done.\n(this is the beginning of 9000 bytes; "), "{begun}");
        assert!(
            begun.ends_with("with the ticket work-ask-0123456789abcdef and the offset 5 reads on)"),
            "{begun}"
        );
        let long = answer(&result(&"é".repeat(PIECE_BYTES_MAX), 2 * PIECE_BYTES_MAX as u64), &storage);
        assert!(long.len() < PIECE_BYTES_MAX + 200, "{}", long.len());
        assert!(long.contains("é\n(this is the beginning of "), "no character is cut");
    }

    #[test]
    fn a_question_whose_process_is_gone_is_not_at_work() {
        let disk = MemoryStorage::new();
        let job = |id: &str, session: &str| {
            let task = json!({
                "agent": "codex", "argv": ["codex"], "folder": "/p", "reports": true, "session": session,
                "permissions": "read", "at_once": 1,
            });
            let request = json!({
                "v": 1, "id": id, "kind": KIND, "what": task, "title": "A question", "consumer": "codex",
                "limits": {"time_s": 1, "text_bytes": 1, "output_bytes": 1}, "session": "s",
                "asked_at": "2026-11-26T09:00:00Z",
            });
            disk.set_bytes(&format!("work/{id}/request.json"), request.to_string().as_bytes());
        };
        job("work-ask-0123456789abcdef", "begins");
        job("work-ask-fedcba9876543210", "gone");
        let process = json!({"process": null, "boot": null});
        disk.set_bytes("work/work-ask-fedcba9876543210/process.json", process.to_string().as_bytes());
        let storage: Arc<dyn Storage> = Arc::new(disk.clone());
        let states: BTreeSet<String> = sessions(&storage, 10)
            .unwrap()
            .iter()
            .map(|row| format!("{} {}", row["sessionId"].as_str().unwrap(), row["state"].as_str().unwrap()))
            .collect();
        assert_eq!(states, BTreeSet::from(["begins working".to_owned(), "gone lost".to_owned()]));
    }
}
