//! The provider that asks other coding agents, from the parts of the server.

use entraclaw_agents::{AskParts, AskProvider};
use entraclaw_inbox::tool::ToolSet;
use entraclaw_work::{Works, WorksParts};

use super::App;

/// The provider, if the operator chose its tools. `has_inbox` says whether the same server offers the inbox.
pub(super) fn provider(app: &App, has_inbox: bool) -> Option<AskProvider> {
    let parts = || AskParts {
        settings: app.config.ask.settings.clone(),
        finder: app.finder.clone(),
        works: Works::new(WorksParts {
            storage: app.storage.clone(),
            home: app.home.clone(),
            clock: app.clock.clone(),
            random: app.random.clone(),
            processes: app.processes.clone(),
            program: app.program.clone(),
        }),
        random: app.random.clone(),
        consumer: app.config.inbox.consumer.clone(),
        has_inbox: has_inbox && app.config.tools.contains(&ToolSet::Inbound),
    };
    app.config.tools.contains(&ToolSet::Ask).then(|| AskProvider::new(parts()))
}
