//! A page of a list, and the last first page: mostly Graph sends the same bytes again.
//! It must never take one page for another: a remembered page counts only for the same request and the same
//! bytes.

use std::cell::RefCell;
use std::rc::Rc;

use serde_json::Value;

use crate::graph::{GraphClient, GraphError, Scope, fields};

/// The largest page that is remembered, in bytes; there is one for each swept chat.
const REMEMBERED_BYTES_MAX: usize = 64 * 1024;

/// A page with its items.
#[derive(Debug)]
pub(super) struct Page<T> {
    pub(super) items: Vec<T>,
    pub(super) unreadable: usize,
    /// The value of `@odata.nextLink`, unchecked.
    pub(super) next: Option<Value>,
}

impl<T> Page<T> {
    /// Reads a body; `what` names the list.
    pub(super) fn read(
        body: &Value,
        what: &str,
        item: impl Fn(&Value) -> Option<T>,
    ) -> Result<Self, GraphError> {
        if !fields::is_page(body) {
            return Err(GraphError::malformed(&format!("{what} has no `value`")));
        }
        let (items, unreadable) = fields::items(body, item);
        Ok(Self { items, unreadable, next: body.get("@odata.nextLink").cloned() })
    }

    /// The link to the next page, checked to stay on our origin. Callers ask for it only when they need that
    /// page, so that a bad link on the last page does no harm.
    pub(super) fn next(&self, client: &GraphClient) -> Result<Option<String>, GraphError> {
        self.next.as_ref().and_then(Value::as_str).map(|link| client.own_link(link)).transpose()
    }
}

/// The first page of the last list of a kind, as its bytes and as its items.
#[derive(Debug)]
pub(super) struct LastPage<T>(RefCell<Option<Remembered<T>>>);

#[derive(Debug)]
struct Remembered<T> {
    url: String,
    bytes: Rc<Vec<u8>>,
    page: Rc<Page<T>>,
}

impl<T> Default for LastPage<T> {
    fn default() -> Self {
        Self(RefCell::new(None))
    }
}

impl<T> LastPage<T> {
    pub(super) fn forget(&self) {
        self.0.replace(None);
    }

    /// Asks once for a first page. When its bytes are those of the last one, it is not parsed again.
    pub(super) async fn ask(
        &self,
        client: &GraphClient,
        (url, scope): (&str, Scope<'_>),
        what: &str,
        item: impl Fn(&Value) -> Option<T>,
    ) -> Result<Rc<Page<T>>, GraphError> {
        let last = self
            .0
            .borrow()
            .as_ref()
            .filter(|last| last.url == url)
            .map(|last| (Rc::clone(&last.bytes), Rc::clone(&last.page)));
        let bytes = last.as_ref().map_or(&[][..], |(bytes, _)| bytes.as_slice());
        match (client.get_news_once(url, scope, bytes).await?, &last) {
            (Some((answer, bytes)), _) => {
                let page = Rc::new(Page::read(&answer, what, item)?);
                let is_small = bytes.len() <= REMEMBERED_BYTES_MAX;
                let (url, bytes) = (url.to_owned(), Rc::new(bytes));
                self.0.replace(is_small.then(|| Remembered { url, bytes, page: Rc::clone(&page) }));
                Ok(page)
            }
            (None, Some((_, page))) => Ok(Rc::clone(page)),
            (None, None) => Err(GraphError::malformed(&format!("{what} is the same as nothing"))),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::support::script::{Reply, Script};

    /// A page of so many bytes.
    fn body(letter: &str, length: usize) -> String {
        let empty = serde_json::json!({"value": [], "x": ""}).to_string();
        empty.replace("\"\"", &format!("\"{}\"", letter.repeat(length - empty.len())))
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_is_remembered_until_another_one_comes_or_it_is_forgotten() {
        let sent = std::sync::Arc::new(Mutex::new(String::new()));
        let sends = sent.clone();
        let client = Script::new(move |_| Reply::raw(200, sends.lock().unwrap().clone())).client();
        let last = LastPage::default();
        let ask = async |path: &str, body: String| {
            *sent.lock().unwrap() = body;
            let url = client.url(&["me", path], &[]);
            last.ask(&client, (&url, Scope::Common), "the list", |item| Some(item.clone())).await.unwrap()
        };
        let is_remembered = |page: &Rc<Page<Value>>| Rc::strong_count(page) > 1;

        let first = ask("one", body("a", REMEMBERED_BYTES_MAX)).await;
        let again = ask("one", body("a", REMEMBERED_BYTES_MAX)).await;
        assert!(Rc::ptr_eq(&first, &again));
        drop(again);
        assert!(is_remembered(&first));
        let elsewhere = ask("two", body("a", REMEMBERED_BYTES_MAX)).await;
        assert!(is_remembered(&elsewhere) && !is_remembered(&first));
        let changed = ask("two", body("b", REMEMBERED_BYTES_MAX)).await;
        assert!(is_remembered(&changed) && !is_remembered(&elsewhere));
        let large = ask("two", body("b", REMEMBERED_BYTES_MAX + 1)).await;
        assert!(!is_remembered(&large) && !is_remembered(&changed));

        let small = ask("two", body("c", 100)).await;
        assert!(is_remembered(&small));
        last.forget();
        assert!(!is_remembered(&small));
    }
}
