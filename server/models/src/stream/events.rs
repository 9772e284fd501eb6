//! Server-sent events over lines: <https://html.spec.whatwg.org/multipage/server-sent-events.html>. The crates for it hold
//! a line of any length; this one rests on bounded lines. Servers of models end lines by a line feed, so a lone carriage
//! return, which the standard also takes, is none here.

use super::{Lines, StreamError};
use crate::limits::LINE_BYTES_MAX;
use crate::transport::Chunks;

/// Reads the data of event after event.
pub(crate) struct Events {
    lines: Lines,
}

impl Events {
    pub(crate) fn new(body: Chunks) -> Self {
        Self { lines: Lines::new(body) }
    }

    /// The data of the next event; nothing at the end of the stream. Data that no empty line follows counts too: some
    /// servers leave it out at the end. llama.cpp has sent errors under the name `error` in place of `data`.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, StreamError> {
        let mut data: Option<String> = None;
        while let Some(line) = self.lines.next().await? {
            if line.is_empty() {
                if data.is_some() {
                    break;
                }
                continue;
            }
            let (name, value) = line.split_once(':').unwrap_or((&line, ""));
            let value = value.strip_prefix(' ').unwrap_or(value);
            if name.trim_start_matches('\u{feff}') != "data" && name != "error" {
                continue;
            }
            match &mut data {
                None => data = Some(value.to_owned()),
                Some(data) if data.len() + value.len() < LINE_BYTES_MAX => {
                    data.push('\n');
                    data.push_str(value);
                }
                Some(_) => {
                    return Err(StreamError::Form(format!("an event is longer than {LINE_BYTES_MAX} bytes")));
                }
            }
        }
        Ok(data)
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{StreamExt as _, stream};
    use proptest::prelude::*;

    use super::*;

    /// The events of these bytes, cut into chunks of these lengths, again and again.
    async fn events(bytes: &[u8], lengths: &[usize]) -> Vec<String> {
        let mut chunks = Vec::new();
        let (mut rest, mut lengths) = (bytes, lengths.iter().cycle());
        while !rest.is_empty() {
            let length = (*lengths.next().unwrap()).clamp(1, rest.len());
            chunks.push(Ok(rest[..length].to_vec()));
            rest = &rest[length..];
        }
        let mut events = Events::new(stream::iter(chunks).boxed());
        let mut found = Vec::new();
        while let Some(event) = events.next().await.unwrap() {
            found.push(event);
        }
        found
    }

    const STREAM: &str = ": a comment\r\ndata: {\"a\":\"ä→🦀\"}\r\n\r\nevent: x\ndata:one\ndata: two\n\n\n\nid: 1\n\nretry: 5\nerror: {}\n\ndata: [DONE]";

    #[tokio::test]
    async fn fields_are_told_apart() {
        assert_eq!(
            events(STREAM.as_bytes(), &[1000]).await,
            ["{\"a\":\"ä→🦀\"}", "one\ntwo", "{}", "[DONE]"]
        );
    }

    #[tokio::test]
    async fn a_line_without_an_end_is_no_flood() {
        let body = stream::repeat_with(|| Ok(vec![b'x'; 1 << 16])).boxed();
        let error = Events::new(body).next().await.unwrap_err();
        assert!(matches!(&error, StreamError::Form(text) if text.contains("4194304 bytes")), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn silence_ends() {
        let begun = stream::iter([Ok(b"data: 1\n\n".to_vec())]).chain(stream::pending()).boxed();
        let mut events = Events::new(begun);
        assert_eq!(events.next().await, Ok(Some("1".to_owned())));
        assert_eq!(events.next().await, Err(StreamError::Stalled(60)));
    }

    proptest! {
        #[test]
        fn any_cut_gives_the_same(lengths in prop::collection::vec(1_usize..9, 1..20)) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let cut = runtime.block_on(events(STREAM.as_bytes(), &lengths));
            prop_assert_eq!(cut, runtime.block_on(events(STREAM.as_bytes(), &[1000])));
        }
    }
}
