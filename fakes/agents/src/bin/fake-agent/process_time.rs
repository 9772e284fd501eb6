//! The wall clock of this machine, for the time stamps of events.
#![expect(clippy::disallowed_methods, reason = "this is the adapter to the real clock")]

/// Now, in milliseconds since 1970.
pub(crate) fn unix_ms() -> i64 {
    jiff::Timestamp::now().as_millisecond()
}

/// Now, in nanoseconds since the last second: enough to tell two starts apart.
pub(crate) fn subsecond_ns() -> u64 {
    jiff::Timestamp::now().subsec_nanosecond().unsigned_abs().into()
}
