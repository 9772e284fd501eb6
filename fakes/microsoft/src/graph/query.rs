//! The OData options of a request: page size, filters, page tokens.
//! It must never panic on the text of a client; it returns the reason of an error instead.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use url::Url;

use super::draw;
use super::moment::Ms;

/// The largest page, in items.
pub(super) const PAGE_MAX: usize = 50;
/// The size of a page when the client does not ask for one.
pub(super) const PAGE_DEFAULT: usize = 20;

#[derive(Debug, Clone)]
pub(super) struct Query {
    pairs: Vec<(String, String)>,
}

impl Query {
    pub(super) fn of(url: &Url) -> Self {
        Self { pairs: url.query_pairs().map(|(k, v)| (k.into_owned(), v.into_owned())).collect() }
    }

    pub(super) fn option(&self, name: &str) -> Option<&str> {
        self.pairs.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// The first OData option that is not in `known`.
    pub(super) fn stranger(&self, known: &[&str]) -> Option<&str> {
        self.pairs
            .iter()
            .map(|(key, _)| key.as_str())
            .find(|key| key.starts_with('$') && !known.contains(key))
    }

    /// The value of `$top`, if it is given; an error when it is not 1 to 50.
    pub(super) fn top(&self) -> Result<Option<usize>, String> {
        let Some(text) = self.option("$top") else { return Ok(None) };
        match text.parse::<usize>() {
            Ok(top) if (1..=PAGE_MAX).contains(&top) => Ok(Some(top)),
            _ => Err(format!(
                "the limit of '{PAGE_MAX}' for the top query is exceeded or '{text}' is no number"
            )),
        }
    }
}

/// The two dates of a message that options can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Property {
    Modified,
    Created,
}

impl Property {
    pub(super) fn parse(name: &str) -> Option<Self> {
        match name {
            "lastModifiedDateTime" => Some(Self::Modified),
            "createdDateTime" => Some(Self::Created),
            _ => None,
        }
    }
}

/// A span of time, without the instants at its two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Window {
    pub(super) property: Property,
    pub(super) after_ms: Option<Ms>,
    pub(super) before_ms: Option<Ms>,
}

impl Window {
    /// Reads `lastModifiedDateTime gt A and lastModifiedDateTime lt B`, or `createdDateTime lt B`.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut window: Option<Self> = None;
        for clause in text.split(" and ") {
            let words: Vec<&str> = clause.split_whitespace().collect();
            let [name, operator, value] = words.as_slice() else {
                return Err(format!("'{clause}' is no comparison"));
            };
            let property =
                Property::parse(name).ok_or_else(|| format!("property '{name}' is not supported"))?;
            let at = value
                .parse::<jiff::Timestamp>()
                .map_err(|_| format!("'{value}' is no date and time"))?
                .as_millisecond();
            let mine = window.get_or_insert(Self { property, after_ms: None, before_ms: None });
            if mine.property != property {
                return Err("two properties in one filter".to_owned());
            }
            match (*operator, property) {
                ("lt", _) => mine.before_ms = Some(mine.before_ms.map_or(at, |old| old.min(at))),
                ("gt", Property::Modified) => {
                    mine.after_ms = Some(mine.after_ms.map_or(at, |old| old.max(at)));
                }
                _ => return Err(format!("operator '{operator}' is not supported for '{name}'")),
            }
        }
        window.ok_or_else(|| "the filter is empty".to_owned())
    }

    pub(super) fn holds(&self, ms: Ms) -> bool {
        self.after_ms.is_none_or(|after| ms > after) && self.before_ms.is_none_or(|before| ms < before)
    }
}

/// Reads `id in ('a','b')`.
pub(super) fn id_list(text: &str) -> Option<Vec<String>> {
    let list = text.trim().strip_prefix("id")?.trim_start().strip_prefix("in")?.trim();
    let list = list.strip_prefix('(')?.strip_suffix(')')?;
    list.split(',')
        .map(|item| Some(item.trim().strip_prefix('\'')?.strip_suffix('\'')?.replace("''", "'")))
        .collect()
}

/// The end of a page, and the options of the request for the first page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PageToken {
    /// The collection; a token is valid for no other one.
    pub(super) of: String,
    pub(super) top: usize,
    /// The sort key and id of the page's last item; none before the first page.
    pub(super) after: Option<(i64, String)>,
    pub(super) ordered: bool,
    pub(super) property: Option<Property>,
    pub(super) window: Option<Window>,
    pub(super) ids: Option<Vec<String>>,
    pub(super) members: bool,
    pub(super) preview: bool,
}

/// A token as a client is given it. `kind` tells its seal from those of other tokens.
pub(super) fn seal(token: &impl Serialize, kind: &str, seed: u64) -> String {
    let json = serde_json::to_string(token).unwrap_or_default();
    let seal = draw::bits(seed, &format!("{kind}/{json}"));
    URL_SAFE_NO_PAD.encode(format!("{seal:016x}{json}"))
}

/// The token in a client's text, if it was given out as this kind.
pub(super) fn unseal<T: DeserializeOwned>(text: &str, kind: &str, seed: u64) -> Option<T> {
    let sealed = String::from_utf8(URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
    let (seal, json) = sealed.split_at_checked(16)?;
    let right = u64::from_str_radix(seal, 16).ok()? == draw::bits(seed, &format!("{kind}/{json}"));
    if right { serde_json::from_str(json).ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_of_the_documented_forms_only() {
        let window = Window::parse(
            "lastModifiedDateTime gt 2026-01-01T00:00:00Z and lastModifiedDateTime lt 2026-01-01T00:00:10.5Z",
        )
        .unwrap();
        assert!(window.holds(1_767_225_600_001) && !window.holds(1_767_225_600_000));
        assert!(!window.holds(1_767_225_610_500));
        assert!(Window::parse("createdDateTime lt 2026-01-01T00:00:00Z").is_ok());
        for bad in [
            "createdDateTime gt 2026-01-01T00:00:00Z",
            "lastModifiedDateTime ge 2026-01-01T00:00:00Z",
            "from eq 'x'",
            "lastModifiedDateTime gt yesterday",
            "lastModifiedDateTime gt 2026-01-01T00:00:00Z and createdDateTime lt 2026-01-01T00:00:00Z",
            "",
        ] {
            assert!(Window::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn id_lists() {
        assert_eq!(id_list("id in ('a','b''c')"), Some(vec!["a".to_owned(), "b'c".to_owned()]));
        assert_eq!(id_list("id eq 'a'"), None);
        assert_eq!(id_list("id in (a)"), None);
    }
}
