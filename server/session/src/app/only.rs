//! A server with the tools of one set and nothing else: no inbox, no source, no journal.
//! It must never read or write a message.

use entraclaw_mcp::{Exit, Options, Provider};
use tokio::io::{AsyncRead, AsyncWrite};

use super::{App, ask, context, delegate};

/// Serves one host with the chosen set until its pipes end.
pub(super) async fn serve(
    mut app: App,
    reader: impl AsyncRead + Unpin,
    writer: impl AsyncWrite + Unpin,
) -> Exit {
    let mut providers = std::mem::take(&mut app.providers);
    providers.extend(ask::provider(&app, false).map(|ask| Box::new(ask) as Box<dyn Provider>));
    providers.extend(context::provider(&app).map(|context| Box::new(context) as Box<dyn Provider>));
    providers.extend(delegate::provider(&mut app));
    let options = Options { trouble: app.trouble.clone(), ..Options::default() };
    entraclaw_mcp::serve(options, providers, reader, writer).await
}
