//! A session as the design document's JSON: requests, and what was answered to each.
//!
//! It must never be longer than asked for: a page says where the next one begins.

use schemars::JsonSchema;
use serde::Serialize;

use super::markdown::day;
use crate::stores::{Library, Role, SessionError, Wanted, Whole};
use crate::text;

/// Shortest page, so that one request always fits.
const BYTES_MIN: usize = 1024;

/// Which part of a session is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Page {
    /// The first request, counted from 0.
    pub offset: usize,
    /// Most requests.
    pub requests_max: usize,
    /// Most bytes of text.
    pub bytes_max: usize,
}

impl Default for Page {
    fn default() -> Self {
        Self { offset: 0, requests_max: 100, bytes_max: 200_000 }
    }
}

/// A session, or a page of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Conversation {
    /// The session's id.
    pub id: String,
    /// What it is about.
    pub title: String,
    /// The day on which it last grew, as `YYYY-MM-DD`.
    pub date: String,
    /// The requests of this page, oldest first.
    pub requests: Vec<Request>,
    /// Where the next page begins, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
}

/// What the person said, and what was answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Request {
    /// What the person said; empty where the agent began.
    pub user_message: String,
    /// What the agent answered.
    pub response: String,
}

/// A page of a session.
///
/// # Errors
/// Says why the session can't be had.
pub fn conversation(
    library: &mut Library,
    wanted: &Wanted<'_>,
    page: Page,
) -> Result<Conversation, SessionError> {
    let whole = super::markdown::whole(library, wanted)?;
    let all = requests(&whole);
    let mut left = page.bytes_max.max(BYTES_MIN);
    let mut taken = Vec::new();
    for request in all.iter().skip(page.offset).take(page.requests_max.max(1)) {
        let bytes = request.user_message.len() + request.response.len();
        if bytes > left {
            if taken.is_empty() {
                taken.push(request.cut(left));
            }
            break;
        }
        left -= bytes;
        taken.push(request.clone());
    }
    let next = page.offset.saturating_add(taken.len());
    Ok(Conversation {
        id: whole.session.id.clone(),
        title: super::markdown::title(&whole.session),
        date: day(whole.session.last.unwrap_or(whole.modified)),
        requests: taken,
        next_offset: (next < all.len()).then_some(next),
    })
}

impl Request {
    /// One that is too long for any page keeps its beginning.
    fn cut(&self, bytes_max: usize) -> Self {
        let user_message = text::cut_bytes(&self.user_message, bytes_max / 2).to_owned();
        let response = text::cut_bytes(&self.response, bytes_max - user_message.len()).to_owned();
        let mark = |mut part: String, whole: &String| {
            if part.len() < whole.len() {
                part.push('…');
            }
            part
        };
        Self {
            user_message: mark(user_message, &self.user_message),
            response: mark(response, &self.response),
        }
    }
}

fn requests(whole: &Whole) -> Vec<Request> {
    let mut requests: Vec<Request> = Vec::new();
    for message in whole.messages.iter().filter(|message| !message.is_side) {
        match message.role {
            Role::User => {
                requests.push(Request { user_message: message.text.clone(), response: String::new() });
            }
            Role::Assistant => {
                if requests.is_empty() {
                    requests.push(Request::default());
                }
                if let Some(last) = requests.last_mut() {
                    if !last.response.is_empty() {
                        last.response.push_str("\n\n");
                    }
                    last.response.push_str(&message.text);
                }
            }
            Role::Tool | Role::Summary => {}
        }
    }
    requests
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::Path;
    use std::sync::Arc;

    use entraclaw_seams::clock::SystemClock;
    use entraclaw_seams::storage::MemoryStorage;
    use rstest::rstest;

    use super::*;
    use crate::files::SimulatedFiles;
    use crate::stores::{Agent, Homes, Message, Place, Session, System, Tally};

    #[test]
    fn of_a_request_that_is_too_long_the_beginnings_of_both_parts_stay() {
        let long = Request { user_message: "a".repeat(90), response: "b".repeat(90) };
        let cut = |user: usize, model: usize| Request {
            user_message: format!("{}…", "a".repeat(user)),
            response: format!("{}…", "b".repeat(model)),
        };
        assert_eq!(long.cut(100), cut(50, 50));
        assert_eq!(long.cut(101), cut(50, 51));
        let asked = Request { user_message: "a".to_owned(), ..long };
        assert_eq!(asked.cut(20), Request { user_message: "a".to_owned(), ..cut(0, 19) });
    }
    fn whole(messages: &[(Role, &str, bool)]) -> Whole {
        let said = |(role, text, is_side): &(Role, &str, bool)| Message {
            role: *role,
            text: (*text).to_owned(),
            at: None,
            tool: None,
            is_side: *is_side,
            place: Place::default(),
        };
        let session = Session {
            agent: Agent::Claude,
            id: "one".to_owned(),
            folder: None,
            title: None,
            version: None,
            started: None,
            last: None,
            file: "/one.jsonl".into(),
        };
        let modified = "2026-11-27T00:00:00Z".parse().unwrap();
        Whole { session, messages: messages.iter().map(said).collect(), modified, tally: Tally::default() }
    }

    #[test]
    fn a_request_has_all_that_was_answered_to_it() {
        let found = requests(&whole(&[
            (Role::Assistant, "Hello.", false),
            (Role::Summary, "all", false),
            (Role::User, "a task", true),
            (Role::User, "why", false),
            (Role::Tool, "ls", false),
            (Role::Assistant, "One.", false),
            (Role::Assistant, "beside", true),
            (Role::Assistant, "Two.", false),
            (Role::User, "and", false),
        ]));
        let request =
            |user: &str, model: &str| Request { user_message: user.to_owned(), response: model.to_owned() };
        assert_eq!(found, [request("", "Hello."), request("why", "One.\n\nTwo."), request("and", "")]);
        assert!(requests(&whole(&[(Role::Tool, "ls", false)])).is_empty());
    }

    /// A library with a session of five requests, each of which has a thousand bytes with its answer.
    fn library() -> Library {
        let storage = MemoryStorage::new();
        let mut out = String::new();
        for n in 0..5 {
            for (role, text) in [("user", format!("u{n}{}", "x".repeat(398))), ("assistant", "y".repeat(600))]
            {
                let line =
                    serde_json::json!({"type": role, "message": {"content": text}, "sessionId": "one"});
                out.push_str(&line.to_string());
                out.push('\n');
            }
        }
        storage.set_bytes("home/alice/.claude/projects/-p/one.jsonl", out.as_bytes());
        let files = SimulatedFiles::new(storage, Arc::new(SystemClock));
        let homes = Homes { home: "/home/alice".into(), variables: BTreeMap::new(), system: System::Linux };
        Library::new(Arc::new(files), homes)
    }

    #[rstest]
    #[case::all(0, 100, 200_000, &[0, 1, 2, 3, 4], None)]
    #[case::as_many_as_there_are(0, 5, 5_000, &[0, 1, 2, 3, 4], None)]
    #[case::so_many(1, 2, 200_000, &[1, 2], Some(3))]
    #[case::so_many_bytes(0, 100, 3_000, &[0, 1, 2], Some(3))]
    #[case::a_byte_less(0, 100, 2_999, &[0, 1], Some(2))]
    #[case::the_last(4, 100, 3_000, &[4], None)]
    #[case::behind_the_last(5, 100, 3_000, &[], None)]
    #[case::far_behind(usize::MAX, 100, 3_000, &[], None)]
    #[case::at_least_one(2, 0, 0, &[2], Some(3))]
    fn a_page_has_so_many_requests_and_bytes_and_says_where_the_next_begins(
        #[case] offset: usize,
        #[case] requests_max: usize,
        #[case] bytes_max: usize,
        #[case] expected: &[usize],
        #[case] next: Option<usize>,
    ) {
        let wanted = Wanted { session: "one", agent: None, workspace: Path::new("/") };
        let page = Page { offset, requests_max, bytes_max };
        let found = conversation(&mut library(), &wanted, page).unwrap();
        let begins: Vec<String> =
            found.requests.iter().map(|request| request.user_message[..2].to_owned()).collect();
        let expected: Vec<String> = expected.iter().map(|n| format!("u{n}")).collect();
        assert_eq!((begins, found.next_offset, found.id.as_str()), (expected, next, "one"));
        assert!(found.requests.iter().all(|request| request.user_message.len() == 400));
    }
}
