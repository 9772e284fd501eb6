//! What an answer has used, in one short form for all programs.
//! It must never count what the program did not report.

use std::fmt;

use serde_json::Value;

/// What was used. `None` was not reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Tokens that the model read, those from a cache included.
    pub(crate) read: Option<u64>,
    /// Tokens that the model wrote.
    pub(crate) written: Option<u64>,
    /// Requests that count against a plan.
    pub(crate) requests: Option<u64>,
}

impl Usage {
    /// Tokens by the members of a report. Those of the first list are read, those of the second written.
    pub(super) fn tokens(report: &Value, read: &[&str], written: &[&str]) -> Self {
        let sum = |pointers: &[&str]| {
            let counts =
                pointers.iter().filter_map(|pointer| report.pointer(pointer).and_then(Value::as_u64));
            counts.reduce(u64::saturating_add)
        };
        Self { read: sum(read), written: sum(written), requests: None }
    }

    /// Adds what another part of the work has used.
    pub(crate) fn add(&mut self, other: Self) {
        let sum = |one: Option<u64>, other: Option<u64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.saturating_add(other)),
            (one, other) => one.or(other),
        };
        self.read = sum(self.read, other.read);
        self.written = sum(self.written, other.written);
        self.requests = sum(self.requests, other.requests);
    }
}

/// Empty if nothing was reported.
impl fmt::Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.requests.map(|requests| {
                format!("{requests} premium request{}", if requests == 1 { "" } else { "s" })
            }),
            self.read.map(|tokens| format!("{tokens} tokens in")),
            self.written.map(|tokens| format!("{tokens} tokens out")),
        ];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_was_reported_is_told() {
        assert_eq!(Usage::default().to_string(), "");
        let report = json!({"input_tokens": 11, "cache_read_input_tokens": 5, "output_tokens": "many"});
        let mut used =
            Usage::tokens(&report, &["/input_tokens", "/cache_read_input_tokens"], &["/output_tokens"]);
        assert_eq!(used.to_string(), "16 tokens in");
        used.add(Usage { written: Some(7), ..Usage::default() });
        used.add(Usage { read: Some(u64::MAX), written: Some(1), requests: None });
        assert_eq!(used.to_string(), format!("{} tokens in and 8 tokens out", u64::MAX));
        used = Usage { requests: Some(0), ..Usage::default() };
        assert_eq!(used.to_string(), "0 premium requests");
    }
}
