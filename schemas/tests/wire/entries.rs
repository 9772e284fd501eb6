//! Reads the corpus: one entry a line, each for a range of versions.

use std::path::PathBuf;

use schemas::{FileValidator, Verdict, Version};
use serde::Deserialize;
use serde_json::{Value, json};

/// A message and its expected verdict.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    #[serde(skip)]
    pub(crate) file: &'static str,
    #[serde(skip)]
    pub(crate) line: usize,
    /// `from..to`, both included; either may be left out. A version alone means only that one.
    r#for: String,
    /// `host` or `server`.
    pub(crate) by: String,
    /// The method that a response answers.
    pub(crate) answers: Option<String>,
    /// Whether that request was to run as a task.
    #[serde(default)]
    pub(crate) task: bool,
    /// The definition by which the message is judged.
    pub(crate) is: String,
    /// `PATH RULE` of each error.
    #[serde(default)]
    pub(crate) wrong: Vec<String>,
    pub(crate) msg: Value,
}

impl Entry {
    pub(crate) fn versions(&self) -> Vec<Version> {
        let (from, to) = self.r#for.split_once("..").unwrap_or((&self.r#for, &self.r#for));
        Version::ALL
            .into_iter()
            .filter(|v| from.is_empty() || from.parse::<Version>().unwrap() <= *v)
            .filter(|v| to.is_empty() || *v <= to.parse::<Version>().unwrap())
            .collect()
    }

    /// The request that a response answers, as a message.
    pub(crate) fn request(&self) -> Option<Value> {
        let mut request =
            json!({ "jsonrpc": "2.0", "id": self.msg.get("id")?, "method": self.answers.as_ref()? });
        if self.task {
            request["params"] = json!({ "task": {} });
        }
        Some(request)
    }
}

pub(crate) fn corpus() -> Vec<Entry> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut out = Vec::new();
    for file in ["legacy.jsonl", "modern.jsonl"] {
        let text = std::fs::read_to_string(folder.join(file)).unwrap();
        for (index, line) in text.lines().enumerate() {
            let entry: Entry =
                serde_json::from_str(line).unwrap_or_else(|e| panic!("{file} line {}: {e}", index + 1));
            out.push(Entry { file, line: index + 1, ..entry });
        }
    }
    out
}

/// The verdict on the message in a file that has its request, if any, before it.
pub(crate) fn verdict(version: Version, entry: &Entry) -> Verdict {
    let (ours, theirs) = match entry.by.as_str() {
        "host" => ("host>server", "server>host"),
        "server" => ("server>host", "host>server"),
        other => panic!("`{other}` is neither host nor server"),
    };
    let mut file = FileValidator::new(version);
    if let Some(request) = entry.request() {
        file.line(json!({ "dir": theirs, "msg": request }).to_string().as_bytes()).unwrap();
    }
    file.line(json!({ "dir": ours, "msg": entry.msg }).to_string().as_bytes()).unwrap().verdict
}
