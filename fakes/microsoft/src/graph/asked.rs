//! What a request asks for, read from its method and its URL. It is kept, because an idle client asks the same for hours.
//! It must never hold anything that changes with the world or the time.

use std::collections::BTreeMap;
use std::sync::Arc;

use url::Url;

use super::query::Query;
use super::route::{Route, route};

/// How many requests are kept; when there would be more, all are dropped.
const REQUESTS_MAX: usize = 64;

#[derive(Debug)]
pub(super) struct Asked {
    method: String,
    pub(super) url: Url,
    /// Whether it is sent to this service, and names no user.
    pub(super) is_ours: bool,
    pub(super) query: Query,
    pub(super) route: Route,
    /// The path with its escapes decoded.
    pub(super) decoded_path: String,
    /// Path and query as they were sent.
    pub(super) path_and_query: String,
}

/// The last requests by their URL.
#[derive(Debug, Clone, Default)]
pub(super) struct LastAsked(BTreeMap<String, Arc<Asked>>);

impl LastAsked {
    /// Reads a request to the service at `base`; `None` if its URL is none.
    pub(super) fn read(&mut self, base: Option<&Url>, method: &str, url: &str) -> Option<Arc<Asked>> {
        if let Some(asked) = self.0.get(url).filter(|asked| asked.method == method) {
            return Some(Arc::clone(asked));
        }
        let base = base?;
        let asked = Arc::new(Asked::of(base, method, base.join(url).ok()?));
        if self.0.len() >= REQUESTS_MAX {
            self.0.clear();
        }
        self.0.insert(url.to_owned(), Arc::clone(&asked));
        Some(asked)
    }

    /// Forgets all, for another base.
    pub(super) fn forget(&mut self) {
        self.0.clear();
    }
}

impl Asked {
    fn of(base: &Url, method: &str, url: Url) -> Self {
        let path = percent_encoding::percent_decode_str(url.path()).decode_utf8_lossy();
        let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
        Self {
            method: method.to_owned(),
            is_ours: base.origin() == url.origin() && url.username().is_empty(),
            query: Query::of(&url),
            route: route(method, &url),
            decoded_path: path.into_owned(),
            path_and_query: format!("{}{query}", url.path()),
            url,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Operation;

    #[test]
    fn a_request_that_is_kept_is_told_from_one_with_another_method_or_base() {
        let base = Url::parse("https://graph.microsoft.com").unwrap();
        let mut last = LastAsked::default();
        let read = |last: &mut LastAsked, base: &Url, method: &str| {
            last.read(Some(base), method, "/v1.0/me/chats/19%3Aone/messages?$top=5").unwrap()
        };
        let first = read(&mut last, &base, "GET");
        assert_eq!(first.route.operation, Operation::ListMessages);
        assert_eq!(first.path_and_query, "/v1.0/me/chats/19%3Aone/messages?$top=5");
        assert_eq!(first.decoded_path, "/v1.0/me/chats/19:one/messages");
        assert!(Arc::ptr_eq(&first, &read(&mut last, &base, "GET")));
        assert_eq!(read(&mut last, &base, "POST").route.operation, Operation::SendMessage);
        assert_eq!(read(&mut last, &base, "GET").route.operation, Operation::ListMessages);
        last.forget();
        let other = Url::parse("http://127.0.0.1:9").unwrap();
        assert_eq!(read(&mut last, &other, "GET").url.port(), Some(9));
        assert!(last.read(None, "GET", "/elsewhere").is_none());
    }

    #[test]
    fn a_client_that_asks_ever_new_things_costs_bounded_memory() {
        let base = Url::parse("https://graph.microsoft.com").unwrap();
        let mut last = LastAsked::default();
        for number in 0..1_000 {
            last.read(Some(&base), "GET", &format!("/v1.0/me?x={number}")).unwrap();
        }
        assert!(last.0.len() <= REQUESTS_MAX);
    }
}
