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
    use super::*;

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
}
