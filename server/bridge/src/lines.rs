//! Lines of bytes, read within a bound.
//!
//! It must never hold more than the bound of one line, and never join two lines.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt as _};

/// The longest line: what the connection of the server takes, twice.
pub(super) const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// The next line with its end; `None` at the end of the input. A line without an end is left out, as is one over the bound.
pub(super) async fn next_line(from: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<u8>>> {
    let mut line: Vec<u8> = Vec::new();
    let mut is_too_long = false;
    loop {
        let bytes = from.fill_buf().await?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let end = bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let taken = end.unwrap_or(bytes.len());
        if line.len() + taken > LINE_BYTES_MAX {
            is_too_long = true;
            line = Vec::new();
        } else if !is_too_long {
            line.extend_from_slice(&bytes[..taken]);
        }
        from.consume(taken);
        if end.is_some() {
            if !is_too_long {
                return Ok(Some(line));
            }
            tracing::warn!("a line over {LINE_BYTES_MAX} bytes was left out");
            is_too_long = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    #[tokio::test]
    async fn a_line_over_the_bound_is_left_out_and_the_next_one_is_whole() {
        let mut bytes = b"one\n".to_vec();
        bytes.extend(std::iter::repeat_n(b'x', LINE_BYTES_MAX + 10));
        bytes.extend_from_slice(b"\ntwo\nthree");
        let mut from = BufReader::new(&bytes[..]);
        assert_eq!(next_line(&mut from).await.unwrap().unwrap(), b"one\n");
        assert_eq!(next_line(&mut from).await.unwrap().unwrap(), b"two\n");
        assert_eq!(next_line(&mut from).await.unwrap(), None);
    }
}
