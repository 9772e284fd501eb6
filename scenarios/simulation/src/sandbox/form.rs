//! The forms of the page, from urlencoded bytes to deeds and orders.
//! It must never guess: a form that lacks a field is refused with its name.

use std::collections::BTreeMap;

use super::drive::Order;
use super::world::{Deed, MAIL};
use crate::vectors;

/// Longest text that a person writes, in bytes; Graph refuses what is not much longer.
const TEXT_BYTES_MAX: usize = 28 * 1024;
/// Longest seconds that a hand-driven wait takes.
const WAIT_SECONDS_MAX: u64 = 3_600;

/// Hostile texts to try, by title, from the sanitiser's vectors.
pub(super) const SAMPLES: &[(&str, &str)] = &[
    ("a forged envelope", "i18"),
    ("a forged reminder", "i21"),
    ("a nested script", "v024"),
    ("text that a reader can't see", "v036"),
    ("invisible letters", "i01"),
    ("a reversed file name", "i07"),
    ("terminal sequences", "i10"),
    ("a link that lies", "i25"),
    ("links that run something", "i26"),
    ("a picture that tells on the reader", "i22"),
    ("turns of another conversation", "o24"),
];

/// Fields by name; of a name that comes twice, the last counts.
pub(super) struct Form(BTreeMap<String, String>);

impl Form {
    /// Takes a body apart.
    pub(super) fn parse(body: &[u8]) -> Self {
        Self(url::form_urlencoded::parse(body).into_owned().collect())
    }

    fn field(&self, name: &'static str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn needed(&self, name: &'static str) -> Result<String, String> {
        match self.field(name) {
            "" => Err(format!("{name}: it is missing; fill it in")),
            text if text.len() > TEXT_BYTES_MAX => {
                Err(format!("{name}: it has {} bytes, at most {TEXT_BYTES_MAX} are taken", text.len()))
            }
            text => Ok(text.to_owned()),
        }
    }

    /// The action of a `say` form.
    pub(super) fn say(&self) -> Result<Deed, String> {
        let place = self.needed("place")?;
        let mut html = self.field("html") == "on";
        let typed = self.field("text");
        let text = if typed.trim().is_empty() && !self.field("sample").is_empty() {
            let (text, as_html) = sample(self.field("sample"))?;
            html = as_html;
            text
        } else {
            self.needed("text")?
        };
        let subject = if place == MAIL { self.needed("subject")? } else { String::new() };
        let mention = self.field("mention") == "on";
        Ok(Deed::Say { place, from: self.needed("from")?, subject, text, html, mention })
    }

    /// The action of a `change` form: another text, or none at all.
    pub(super) fn change(&self) -> Result<Deed, String> {
        let (place, message) = (self.needed("place")?, self.needed("message")?);
        match self.field("do") {
            "edit" => Ok(Deed::Edit { place, message, text: self.needed("text")? }),
            "delete" => Ok(Deed::Delete { place, message }),
            _ => Err("do: write edit or delete".to_owned()),
        }
    }

    /// The order of a `drive` form.
    pub(super) fn order(&self) -> Result<Order, String> {
        match self.field("do") {
            "start" => Ok(Order::Start),
            "stop" => Ok(Order::Stop),
            "initialize" => Ok(Order::Initialize),
            "tools" => Ok(Order::ListTools),
            "wait" => {
                let seconds = self.needed("timeout_s")?.parse().ok().filter(|s| *s <= WAIT_SECONDS_MAX);
                let wrong = || format!("timeout_s: write whole seconds up to {WAIT_SECONDS_MAX}");
                Ok(Order::Wait { timeout_s: seconds.ok_or_else(wrong)? })
            }
            "pull" => Ok(Order::Pull),
            "send" => Ok(Order::Send { chat_id: self.needed("chat_id")?, text: self.needed("text")? }),
            "raw" => {
                let line = self.needed("line")?;
                if line.trim_end().contains(['\n', '\r']) {
                    return Err("line: one line is one message; take the line ends out".to_owned());
                }
                Ok(Order::Raw(line.trim_end().to_owned()))
            }
            _ => Err("do: there is no such order".to_owned()),
        }
    }
}

fn sample(id: &str) -> Result<(String, bool), String> {
    let known = SAMPLES.iter().any(|(_, known)| *known == id);
    let all = vectors::all().map_err(|error| error.to_string())?;
    let vector = all.into_iter().find(|vector| known && vector.id == id);
    vector
        .map(|vector| (vector.input, vector.markup != "text"))
        .ok_or_else(|| "sample: there is no such text; choose one of the list".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(text: &str) -> Form {
        Form::parse(text.as_bytes())
    }

    #[test]
    fn a_message_is_read() {
        let deed = form("place=group&from=bob&text=a%26b+%3Cc%3E&mention=on").say();
        let wanted = Deed::Say {
            place: "group".to_owned(),
            from: "bob".to_owned(),
            subject: String::new(),
            text: "a&b <c>".to_owned(),
            html: false,
            mention: true,
        };
        assert_eq!(deed, Ok(wanted));
    }

    #[test]
    fn every_sample_is_there() {
        for (title, id) in SAMPLES {
            let deed = form(&format!("place=alice&from=alice&text=&sample={id}")).say();
            assert!(matches!(&deed, Ok(Deed::Say { text, .. }) if !text.is_empty()), "{title}: {deed:?}");
        }
        assert!(form("place=alice&from=alice&sample=v004").say().unwrap_err().starts_with("sample:"));
    }

    #[test]
    fn a_missing_field_is_named() {
        let long = format!("place=alice&from=alice&text={}", "x".repeat(TEXT_BYTES_MAX + 1));
        for (text, wanted) in [
            ("", "place:"),
            ("place=alice&from=alice", "text:"),
            ("place=alice&text=x", "from:"),
            ("place=mail&from=alice&text=x", "subject:"),
            (long.as_str(), "text:"),
        ] {
            assert!(form(text).say().unwrap_err().starts_with(wanted), "{text:.40}");
        }
        assert!(form("place=a&message=1&do=burn").change().unwrap_err().starts_with("do:"));
        assert!(form("do=wait&timeout_s=-1").order().unwrap_err().starts_with("timeout_s:"));
        assert!(form("do=raw&line=%7B%7D%0A%7B%7D").order().unwrap_err().starts_with("line:"));
    }

    #[test]
    fn orders_are_read() {
        assert_eq!(form("do=wait&timeout_s=50").order(), Ok(Order::Wait { timeout_s: 50 }));
        assert_eq!(form("do=raw&line=%7B%7D%0D%0A").order(), Ok(Order::Raw("{}".to_owned())));
        let send = Order::Send { chat_id: "c".to_owned(), text: "t".to_owned() };
        assert_eq!(form("do=send&chat_id=c&text=t").order(), Ok(send));
    }
}
