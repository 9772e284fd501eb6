//! The provider that hands work to the local model of the project, by the way to its engine.

use entraclaw_delegate::provider::{FarProvider, StandIn};
use entraclaw_inbox::tool::ToolSet;
use entraclaw_mcp::Provider;

use super::App;

/// The provider, if the operator chose its tools.
pub(super) fn provider(app: &mut App) -> Option<Box<dyn Provider>> {
    if !app.config.tools.contains(&ToolSet::Delegate) {
        return None;
    }
    Some(match app.engine.take() {
        Some(engine) => Box::new(FarProvider::new(engine).reading_as(app.config.inbox.consumer.clone())),
        None => Box::new(StandIn::default()),
    })
}
