//! Finds the id of a request in bytes that can't be parsed because they are too long, cut, or no JSON.
//!
//! It must keep a bounded number of bytes for a line of any length. It must never report an id without a `method` beside
//! it, because an answer to something else could end a request that the host answers.

use super::message::Id;

/// Longest member name or value that is read, in bytes; ids are far shorter.
const TOKEN_BYTES_MAX: usize = 256;

/// A reader of top-level members that never backtracks.
#[derive(Debug, Default)]
pub(crate) struct IdScan {
    depth: usize,
    in_string: bool,
    escaped: bool,
    reads_value: bool,
    not_an_object: bool,
    key: Vec<u8>,
    value: Vec<u8>,
    id: Option<Id>,
    has_method: bool,
}

impl IdScan {
    /// The id of the request in `line`, if it can be read.
    pub(crate) fn request_id_in(line: &[u8]) -> Option<Id> {
        let mut scan = Self::default();
        scan.feed(line);
        scan.request_id()
    }

    /// Reads the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.step(byte);
        }
    }

    /// The id that was found up to here.
    pub(crate) fn request_id(self) -> Option<Id> {
        self.id.filter(|_| self.has_method && !self.not_an_object)
    }

    fn step(&mut self, byte: u8) {
        if self.in_string {
            self.keep(byte);
            if self.escaped {
                self.escaped = false;
            } else if byte == b'\\' {
                self.escaped = true;
            } else if byte == b'"' {
                self.in_string = false;
            }
            return;
        }
        match byte {
            b'"' => {
                self.in_string = true;
                if self.depth == 1 && !self.reads_value {
                    self.key.clear();
                }
                self.keep(byte);
            }
            b'{' | b'[' => {
                self.not_an_object |= self.depth == 0 && byte == b'[';
                self.depth = self.depth.saturating_add(1);
                // A nested value is no id; this byte makes the kept value invalid on purpose.
                self.value.push(byte);
                self.value.truncate(TOKEN_BYTES_MAX);
            }
            b'}' | b']' => {
                self.member_ends();
                self.depth = self.depth.saturating_sub(1);
            }
            b':' if self.depth == 1 => {
                self.reads_value = true;
                self.value.clear();
            }
            b',' => self.member_ends(),
            _ => self.keep(byte),
        }
    }

    fn keep(&mut self, byte: u8) {
        if self.depth != 1 {
            return;
        }
        let token = if self.reads_value { &mut self.value } else { &mut self.key };
        if token.len() < TOKEN_BYTES_MAX {
            token.push(byte);
        }
    }

    fn member_ends(&mut self) {
        if self.depth != 1 || !self.reads_value {
            return;
        }
        self.reads_value = false;
        match self.key.trim_ascii() {
            b"\"id\"" => self.id = serde_json::from_slice(&self.value).ok().and_then(|id| Id::from_json(&id)),
            b"\"method\"" => self.has_method |= self.value.trim_ascii().starts_with(b"\""),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_ids_of_requests_are_found() {
        let text = |id: &str| Some(Id::Text(id.to_owned()));
        let cases = [
            (r#"{"jsonrpc":"2.0","id":3,"method":"ping","params":{"a":"#, Some(Id::Number(3))),
            (r#"{"method":"m","params":{"id":1},"id":"x,}\"y" ,oops"#, text("x,}\"y")),
            (r#" {"method" : "m" , "id" : -4 }}}"#, Some(Id::Number(-4))),
            (r#"{"id":5,"result":{"a":"#, None),
            (r#"{"id":5}"#, None),
            (r#"{"id":null,"method":"m",x"#, None),
            (r#"{"id":[1],"method":"m",x"#, None),
            (r#"{"id":1.5,"method":"m",x"#, None),
            (r#"[{"id":5,"method":"m"},"#, None),
            (r#"{"params":{"id":5,"method":"m"}"#, None),
            ("]]]}}}{{{\"id\":1,\"method\":\"", None),
        ];
        for (line, id) in cases {
            assert_eq!(IdScan::request_id_in(line.as_bytes()), id, "{line}");
        }
    }
}
