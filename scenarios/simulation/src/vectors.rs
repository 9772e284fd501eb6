//! The sanitiser's vectors as scenario data: what a person writes and the text that a model must read.

use serde::Deserialize;
use serde_json::Value;

const FILE: &str = include_str!("../../../server/sanitize/tests/vectors/sanitize.json");

/// One vector.
#[derive(Debug, Clone, Deserialize)]
pub struct Vector {
    /// Its id.
    pub id: String,
    /// The text that the person sends.
    pub input: String,
    /// `html` or `text`.
    #[serde(default = "html")]
    pub markup: String,
    /// The text that every carrier must show.
    want: String,
    /// Facts beside the text that the sanitiser is given; a scenario writes the text alone.
    attachments: Option<Value>,
    mentions: Option<Value>,
    max_bytes: Option<Value>,
    max_quote_bytes: Option<Value>,
}

impl Vector {
    /// The exact text, where it follows from the input alone.
    pub fn expected(&self) -> Option<&str> {
        let beside = [&self.attachments, &self.mentions, &self.max_bytes, &self.max_quote_bytes];
        beside.iter().all(|fact| fact.is_none()).then_some(self.want.as_str())
    }
}

fn html() -> String {
    "html".to_owned()
}

#[derive(Deserialize)]
struct File {
    vectors: Vec<Vector>,
}

/// All vectors, in order.
pub fn all() -> Result<Vec<Vector>, serde_json::Error> {
    serde_json::from_str::<File>(FILE).map(|file| file.vectors)
}
