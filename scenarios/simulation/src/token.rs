//! The access token of a simulated agent, which no file and no line may hold.

/// The token that Graph accepts. It must appear in no line, file or text.
pub(crate) const TOKEN: &str = "sim-access-token-5f1d7c3e9a";
