//! Bytes as hexadecimal digits, for names of files and fingerprints. It must never be used to show a secret.

use std::fmt::Write as _;

/// Two lower-case digits for each byte.
pub fn of(bytes: &[u8]) -> String {
    let mut letters = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string can't fail.
        let _ = write!(letters, "{byte:02x}");
    }
    letters
}
