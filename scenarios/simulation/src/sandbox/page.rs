//! The page: one HTML file with its style and script inside, made on the server, complete without the script.
//! Every text in it passes the template's escaping; it must never hold ready markup.

use std::sync::LazyLock;

use askama::Template;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::form::SAMPLES;
use super::state::{Item, Place, PollingIs, Session, State};

const STYLE: &str = include_str!("../../../templates/play.css");
const SCRIPT: &str = include_str!("../../../templates/play.js");

#[derive(Template)]
#[template(path = "play.html")]
struct Page<'a> {
    state: &'a State,
    here: &'a Place,
    setup: &'a [(&'static str, String)],
    samples: &'static [(&'static str, &'static str)],
    style: Own,
    script: Own,
}

/// Our own style or script, which is not escaped.
struct Own(&'static str);

impl std::fmt::Display for Own {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(self.0)
    }
}

impl askama::filters::HtmlSafe for Own {}

/// The page with the place of that handle open, else the first.
pub(super) fn render(
    state: &State,
    place: &str,
    setup: &[(&'static str, String)],
) -> Result<String, askama::Error> {
    let named = state.places.iter().find(|known| known.handle == place);
    let Some(here) = named.or(state.places.first()) else { return Err(askama::Error::Fmt) };
    Page { state, here, setup, samples: SAMPLES, style: Own(STYLE), script: Own(SCRIPT) }.render()
}

/// Allows our own style, script, icon, forms and requests, and nothing else at all.
pub(super) fn policy() -> &'static str {
    static POLICY: LazyLock<String> = LazyLock::new(|| {
        let digest = |text: &str| STANDARD.encode(Sha256::digest(text.as_bytes()));
        format!(
            "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; connect-src 'self'; \
             form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
            digest(STYLE),
            digest(SCRIPT)
        )
    });
    &POLICY
}

impl Page<'_> {
    /// How it stands with the server, as a class, without how long ago.
    fn polling(&self) -> (&'static str, &'static str) {
        match self.state.polling.is {
            PollingIs::Never => {
                ("never", "No server asks yet. Set a host up with one of the commands below.")
            }
            PollingIs::Now => ("now", "A server asks for messages."),
            PollingIs::Stopped => ("stopped", "No server asks any more. Is the host still running?"),
            PollingIs::Refused => {
                ("refused", "A server asks with another token. Take the command of this run.")
            }
        }
    }

    /// How long ago a server last asked.
    fn ago(&self) -> String {
        let ago_ms = self.state.polling.ago_ms;
        ago_ms.map_or_else(String::new, |ms| format!("It last asked {} s ago.", ms / 1_000))
    }

    /// Chats with an id, for the session's form.
    fn chats(&self) -> impl Iterator<Item = (&str, &str)> {
        self.state.places.iter().filter_map(|place| Some((place.chat_id.as_deref()?, place.title.as_str())))
    }

    fn session(&self) -> Option<&Session> {
        self.state.session.as_ref()
    }
}

impl Item {
    /// The progress of a person's message.
    fn marks(&self) -> &'static str {
        match (self.by_agent, self.reached_session, self.read_by_server) {
            (true, ..) => "",
            (_, true, _) => "reached your session",
            (_, _, true) => "read by the server",
            _ => "not read yet",
        }
    }

    /// The time of day, in UTC.
    fn time(&self) -> &str {
        self.at.get(11..19).unwrap_or_default()
    }
}

impl Place {
    /// The handle as a value in an address.
    fn link(&self) -> String {
        url::form_urlencoded::byte_serialize(self.handle.as_bytes()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::World;
    use crate::sandbox::world::Deed;

    #[test]
    fn our_own_script_makes_no_markup_and_runs_no_text() {
        for word in ["innerHTML", "outerHTML =", "insertAdjacent", "document.write", "eval", "</script"] {
            assert!(!SCRIPT.contains(word), "{word}");
        }
        for word in ["url(", "@import", "</style"] {
            assert!(!STYLE.contains(word), "{word}");
        }
    }

    #[test]
    fn the_policy_allows_nothing_unsafe() {
        assert!(policy().starts_with("default-src 'none'; ") && !policy().contains("unsafe"), "{}", policy());
    }

    #[test]
    fn a_hostile_text_stays_text_wherever_it_stands() {
        let hostile = "</pre></textarea><script>x()</script><img src=x onerror=x()>";
        let now = jiff::Timestamp::UNIX_EPOCH;
        let mut world = World::new("token", now).unwrap();
        for (place, html) in [("alice", false), ("group", true), ("mail", true)] {
            let said = Deed::Say {
                place: place.to_owned(),
                from: "alice".to_owned(),
                subject: hostile.to_owned(),
                text: hostile.to_owned(),
                html,
                mention: true,
            };
            world.act(now, said).unwrap();
        }
        let polling = world.polling(now);
        let state = State { version: 1, polling, places: world.places(|_| true), session: None };
        for place in ["alice", "group", "mail"] {
            let page = render(&state, place, &[("x", hostile.to_owned())]).unwrap();
            assert_eq!(page.matches("<script").count(), 1, "{place}");
            assert!(!page.contains("<img") && !page.contains("onerror=x()>"), "{place}");
            assert!(page.contains("onerror"), "{place}: what was sent is shown as text");
        }
    }
}
