//! Bytes as hexadecimal letters, for names of files and short marks. It must never be used for a secret that is shown.

use std::fmt::Write as _;

/// Two lower-case letters a byte.
pub fn of(bytes: &[u8]) -> String {
    let mut letters = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string can't fail.
        let _ = write!(letters, "{byte:02x}");
    }
    letters
}
