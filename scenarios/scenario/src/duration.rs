//! Durations as people write them, `500ms`, `10s`, `8h`; a bare number has no meaning and is refused.

use std::time::Duration;

use serde::{Deserialize, de::Error};

/// A length of time with its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Span(pub Duration);

impl Span {
    /// Whole milliseconds.
    pub fn ms(self) -> u64 {
        u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let parsed: jiff::SignedDuration = text.parse().map_err(|_| {
            D::Error::custom(format!(
                "`{text}` is no duration; write a number with its unit, like 500ms, 10s or 8h"
            ))
        })?;
        Duration::try_from(parsed).map(Span).map_err(|_| D::Error::custom(format!("`{text}` is negative")))
    }
}

impl schemars::JsonSchema for Span {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "A number with its unit: 500ms, 10s, 8h.",
            "pattern": "^[0-9]"
        })
    }
}
