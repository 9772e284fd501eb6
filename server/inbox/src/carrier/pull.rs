//! The pull: it returns the unread messages at once. It must never wait or use the network.

use serde_json::{Map, Value};

use crate::record::Channel;
use crate::tool::catalog::{ASKED_MAX, ITEMS_MAX, PULL_LIMIT_DEFAULT};
use entraclaw_mcp::{Arguments, Refusal};

/// The arguments of `inbox_pull`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PullArguments {
    pub(crate) since_id: String,
    pub(crate) limit: u64,
    pub(crate) mark_consumed: bool,
    pub(crate) channel: Option<Channel>,
}

pub(crate) fn arguments(given: Map<String, Value>) -> Result<PullArguments, Refusal> {
    let mut given = Arguments::new(given);
    let since_id = given.text("since_id", "")?;
    let limit = given.integer("limit", PULL_LIMIT_DEFAULT, 1, ASKED_MAX)?.min(ITEMS_MAX);
    let mark_consumed = given.boolean("mark_consumed", true)?;
    let name = given.text("channel", "")?;
    let channel = Channel::ALL.into_iter().find(|channel| channel.as_str() == name);
    if channel.is_none() && !name.is_empty() {
        return Err("channel: expected \"teams\", \"email\", \"bot\", \"work\" or \"\" for all".to_owned());
    }
    given.finish()?;
    Ok(PullArguments { since_id, limit, mark_consumed, channel })
}
