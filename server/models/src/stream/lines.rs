//! Lines of a stream, each within a bound and a time.

use futures_util::StreamExt as _;
use tokio_util::bytes::BytesMut;
use tokio_util::codec::{Decoder as _, LinesCodec, LinesCodecError};

use super::StreamError;
use crate::limits::{FIRST_PIECE_TIMEOUT, LINE_BYTES_MAX, NEXT_PIECE_TIMEOUT};
use crate::transport::Chunks;

/// Reads line after line.
pub(crate) struct Lines {
    body: Chunks,
    buffer: BytesMut,
    codec: LinesCodec,
    has_begun: bool,
    has_ended: bool,
}

impl Lines {
    pub(crate) fn new(body: Chunks) -> Self {
        let codec = LinesCodec::new_with_max_length(LINE_BYTES_MAX);
        Self { body, buffer: BytesMut::new(), codec, has_begun: false, has_ended: false }
    }

    /// The next line without its end; nothing at the end of the stream.
    pub(crate) async fn next(&mut self) -> Result<Option<String>, StreamError> {
        loop {
            let line = if self.has_ended {
                self.codec.decode_eof(&mut self.buffer)
            } else {
                self.codec.decode(&mut self.buffer)
            };
            match line {
                Ok(Some(line)) => return Ok(Some(line)),
                Ok(None) if self.has_ended => return Ok(None),
                Ok(None) => self.more().await?,
                Err(LinesCodecError::MaxLineLengthExceeded) => {
                    return Err(StreamError::Form(format!("a line is longer than {LINE_BYTES_MAX} bytes")));
                }
                Err(LinesCodecError::Io(error)) => return Err(StreamError::Form(error.to_string())),
            }
        }
    }

    async fn more(&mut self) -> Result<(), StreamError> {
        let limit = if self.has_begun { NEXT_PIECE_TIMEOUT } else { FIRST_PIECE_TIMEOUT };
        match tokio::time::timeout(limit, self.body.next()).await {
            Err(_) => return Err(StreamError::Stalled(limit.as_secs())),
            Ok(None) => self.has_ended = true,
            Ok(Some(chunk)) => {
                self.buffer.extend_from_slice(&chunk?);
                self.has_begun = true;
            }
        }
        Ok(())
    }
}
