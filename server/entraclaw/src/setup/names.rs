//! The names of the server and its tools in the files of hosts.

/// The server's name in every host's configuration; hosts take letters, digits, `_` and `-` only.
pub(super) const SERVER: &str = "entraclaw";

/// Tools that only read, which a host may run without asking.
pub(super) const READING_TOOLS: [&str; 3] = ["wait_for_inbound_message", "inbox_pull", "inbound_queue_stats"];

/// Tools of shared context that only read. They exist only where the operator has chosen that set.
pub(super) const CONTEXT_READING_TOOLS: [&str; 6] = [
    "get_context_summary",
    "get_resume_command",
    "handoff",
    "read_context",
    "read_context_resource",
    "search_conversations",
];

/// Tools of the local model that only read. They exist only where the operator has chosen that set.
pub(super) const DELEGATE_READING_TOOLS: [&str; 4] =
    ["get_capabilities", "get_history", "poll_task", "status"];

/// Tools that answer a conversation. The gate decides whom they reach, and none of them changes who may write.
pub(super) const ANSWERING_TOOLS: [&str; 3] = ["send_bot_message", "send_email", "send_teams_message"];
