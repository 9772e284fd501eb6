//! The tokens of a simulated machine, which no file and no line may hold.

/// The token that Graph accepts. It must appear in no line, file or text.
pub(crate) const TOKEN: &str = "sim-access-token-5f1d7c3e9a";
/// The token of the Copilot CLI in the environment of its jobs. It must appear in no line, file or text.
pub(crate) const AGENT_TOKEN: &str = "tid=0123456789-of-copilot";
