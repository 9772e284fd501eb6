//! The names that hosts know the server and its tools by.

/// The server's name in every host's configuration; hosts take letters, digits, `_` and `-` only.
pub(super) const SERVER: &str = "entraclaw";

/// Tools that only read, which a host may run without asking.
pub(super) const READING_TOOLS: [&str; 3] = ["wait_for_inbound_message", "inbox_pull", "inbound_queue_stats"];

/// Tools that answer where the agent was asked; whom they reach is the gate's to say. None of them changes who may speak.
pub(super) const ANSWERING_TOOLS: [&str; 3] = ["send_bot_message", "send_email", "send_teams_message"];
