//! Makes the token source that the configuration asks for.
//! It must never try one way of signing in after another: the configuration names one.

use std::sync::Arc;

use super::delegated::Refresh;
use super::exchange::{EntraParts, Exchange};
use super::hops::Hops;
use super::keys::KeyStore;
use super::renewing::Renewing;
use super::{FileToken, NoToken, StaticToken, TokenSource};
use crate::entra::Auth;
use crate::graph::Origin;

/// The Graph roots of the national clouds, which are also the resources of their tokens.
const NATIONAL_CLOUDS: &[&str] =
    &["graph.microsoft.us", "dod-graph.microsoft.us", "microsoftgraph.chinacloudapi.cn"];

/// The resource of the tokens: the cloud's Graph, even when requests go to a proxy or to a Graph on this
/// machine.
pub fn graph_resource(graph: &Origin) -> String {
    let host = graph.authority();
    let host = NATIONAL_CLOUDS.iter().find(|cloud| **cloud == host).unwrap_or(&"graph.microsoft.com");
    format!("https://{host}")
}

/// The source that the configuration asks for. It sends and reads nothing before the first token is needed.
pub fn token_source(
    auth: &Auth,
    parts: EntraParts,
    keys: Arc<dyn KeyStore>,
    resource: &str,
) -> Arc<dyn TokenSource> {
    let random = parts.random.clone();
    match auth {
        Auth::None => Arc::new(NoToken),
        Auth::Static(token) => Arc::new(StaticToken(token.clone())),
        Auth::TokenFile(path) => Arc::new(FileToken(path.clone())),
        Auth::AgentUser(who) => {
            let exchange = Exchange::new(parts, who.tenant_id.clone());
            let scope = format!("{resource}/.default");
            Arc::new(Renewing::new(Hops { exchange, keys, who: who.clone(), scope }, random))
        }
        Auth::Delegated(who) => {
            let exchange = Exchange::new(parts, who.tenant_id.clone());
            Arc::new(Renewing::new(Refresh { exchange, keys, who: who.clone() }, random))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_asked_for_the_cloud_and_not_for_the_proxy() {
        for (root, resource) in [
            ("https://graph.microsoft.com", "https://graph.microsoft.com"),
            ("https://graph.microsoft.us", "https://graph.microsoft.us"),
            ("http://127.0.0.1:9", "https://graph.microsoft.com"),
            ("https://contoso.com/graph", "https://graph.microsoft.com"),
        ] {
            assert_eq!(graph_resource(&Origin::parse(root).unwrap()), resource);
        }
    }
}
