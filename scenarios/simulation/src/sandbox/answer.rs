//! The answers to requests with the token: the page, its state, and the outcome of a form.
//! It must never do anything on a GET but show.

use std::rc::Rc;
use std::time::Duration;

use super::form::Form;
use super::guard::Refusal;
use super::state::State;
use super::world::{Deed, FIRST};
use super::{Control, Drive, page};

/// The time that a request waits for a newer state.
const NEWS_WAIT: Duration = Duration::from_secs(2);

/// An HTTP answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) location: Option<String>,
    pub(super) body: String,
}

impl Answer {
    fn of(status: u16, content_type: &'static str, body: String) -> Self {
        Self { status, content_type, location: None, body }
    }
}

/// Answers a request for a path below the token.
pub(super) async fn answer(
    control: &Rc<Control>,
    is_post: bool,
    path: &str,
    query: &str,
    body: &[u8],
) -> Answer {
    let query: Vec<(String, String)> = url::form_urlencoded::parse(query.as_bytes()).into_owned().collect();
    let value = |name: &str| query.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    match (is_post, path) {
        (false, "") => {
            control.look();
            let known = |place: &&str| control.world.borrow().has(place);
            let (setup, place) = (control.setup.lines(), value("place").filter(known).unwrap_or(FIRST));
            match page::render(&state(control, |handle| handle == place), place, &setup) {
                Ok(html) => Answer::of(200, "text/html; charset=utf-8", html),
                Err(error) => plain(500, &format!("the page could not be made: {error}")),
            }
        }
        (false, "state") => {
            if let Some(since) = value("since").and_then(|since| since.parse::<u64>().ok()) {
                let mut version = control.version.subscribe();
                // A page that knows more than there is comes from an earlier run, and wants the state at once.
                let newer = version.wait_for(|version| *version != since);
                let _ = tokio::time::timeout(NEWS_WAIT, newer).await;
            }
            let json = if value("brief").is_some() {
                let polling = control.world.borrow().polling((control.clock)());
                serde_json::json!({"version": *control.version.borrow(), "polling": polling}).to_string()
            } else {
                serde_json::to_string(&state(control, |_| true)).unwrap_or_default()
            };
            Answer::of(200, "application/json", json)
        }
        (true, "say") => done(control, Form::parse(body).say().and_then(|deed| act(control, deed))),
        (true, "change") => done(control, Form::parse(body).change().and_then(|deed| act(control, deed))),
        (true, "drive") => done(
            control,
            Form::parse(body).order().and_then(|order| {
                let drive = control.drive.as_ref().ok_or("start `simulation play` with --drive for that")?;
                drive.order(order).map(|()| String::new())
            }),
        ),
        _ => plain(404, "there is nothing here; open the address that the terminal shows"),
    }
}

/// Everything at this moment.
fn state(control: &Rc<Control>, with_messages: impl Fn(&str) -> bool) -> State {
    let world = control.world.borrow();
    State {
        version: *control.version.borrow(),
        polling: world.polling((control.clock)()),
        places: world.places(with_messages),
        session: control.drive.as_ref().map(Drive::session),
    }
}

/// Does it, and says the place to show afterwards.
fn act(control: &Rc<Control>, deed: Deed) -> Result<String, String> {
    let place = deed.place().to_owned();
    let news = control.world.borrow_mut().act((control.clock)(), deed).map_err(|error| error.to_string())?;
    (control.tell)(&news);
    Ok(place)
}

fn done(control: &Rc<Control>, outcome: Result<String, String>) -> Answer {
    control.publish();
    match outcome {
        Ok(place) => {
            let query: String = url::form_urlencoded::byte_serialize(place.as_bytes()).collect();
            let location = if place.is_empty() { "./".to_owned() } else { format!("./?place={query}") };
            Answer { location: Some(location), ..plain(303, "done") }
        }
        Err(why) => plain(422, &why),
    }
}

/// The answer to a refused request.
pub(super) fn refused(refusal: &Refusal) -> Answer {
    plain(refusal.status, refusal.why)
}

fn plain(status: u16, text: &str) -> Answer {
    Answer::of(status, "text/plain; charset=utf-8", format!("{text}\n"))
}
