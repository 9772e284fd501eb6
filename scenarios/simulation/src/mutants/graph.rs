//! A faulty client of Graph. It must never make an answer up; it asks in a wrong way, or reads carelessly.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use entraclaw_microsoft::http::{HttpRequest, HttpResponse, HttpTransport, Method, TransportError};
use futures_util::future::BoxFuture;
use serde_json::Value;

/// The fault of the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// Asks everything twice.
    AsksTwice,
    /// Sends everything twice.
    SendsTwice,
    /// Sends again what it got no answer to.
    SendsAgain,
    /// Says that it sent, and did not.
    NeverSends,
    /// Sees no `Retry-After`.
    SeesNoLimits,
    /// Takes the token to another origin.
    TakesTokenElsewhere,
    /// Takes everybody for the first person of the allowlist.
    TakesAllForOne,
    /// Reads nothing after so many requests.
    GoesDeaf(u64),
}

/// A client with a fault.
pub(super) struct FaultyClient {
    inner: Arc<dyn HttpTransport>,
    fault: Fault,
    /// The first person of the allowlist.
    allowed: String,
    requests: AtomicU64,
}

impl FaultyClient {
    /// Over an honest one; `allowlist` as the server has it.
    pub(super) fn new(inner: Arc<dyn HttpTransport>, fault: Fault, allowlist: &str) -> Self {
        let allowed = allowlist.split(',').next().unwrap_or_default().trim().to_owned();
        Self { inner, fault, allowed, requests: AtomicU64::new(0) }
    }
}

impl HttpTransport for FaultyClient {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        Box::pin(async move {
            let nth = self.requests.fetch_add(1, Ordering::Relaxed);
            let is_read = request.method == Method::Get;
            match self.fault {
                Fault::AsksTwice if is_read => drop(self.inner.send(request.clone()).await),
                Fault::SendsTwice if !is_read => drop(self.inner.send(request.clone()).await),
                Fault::NeverSends if request.url.ends_with("/messages") && !is_read => {
                    let body =
                        br#"{"id":"1767603637000","createdDateTime":"2026-01-05T09:00:37.000Z"}"#.to_vec();
                    return Ok(HttpResponse { status: 201, headers: Vec::new(), body });
                }
                Fault::TakesTokenElsewhere if is_read => {
                    let url = request.url.replacen("graph.microsoft.com", "graph.contoso.com", 1);
                    drop(self.inner.send(HttpRequest { url, ..request.clone() }).await);
                }
                Fault::GoesDeaf(after) if is_read && nth >= after => {
                    let body = br#"{"value":[]}"#.to_vec();
                    return Ok(HttpResponse { status: 200, headers: Vec::new(), body });
                }
                _ => {}
            }
            let mut answer = match self.inner.send(request.clone()).await {
                Err(_) if self.fault == Fault::SendsAgain && !is_read => self.inner.send(request).await?,
                answered => answered?,
            };
            if self.fault == Fault::SeesNoLimits {
                answer.headers.retain(|(name, _)| name != "retry-after");
            }
            if self.fault == Fault::TakesAllForOne {
                answer.body = all_by(&answer.body, &self.allowed);
            }
            Ok(answer)
        })
    }
}

/// Gives every sender the ids of one person: a tenant and an object, `/` between.
fn all_by(body: &[u8], person: &str) -> Vec<u8> {
    let Ok(mut json) = serde_json::from_slice::<Value>(body) else { return body.to_vec() };
    let Some((tenant, object)) = person.split_once('/') else { return body.to_vec() };
    let list = json.get_mut("value").and_then(Value::as_array_mut);
    for message in list.into_iter().flatten() {
        if let Some(user) = message.pointer_mut("/from/user").filter(|user| user.is_object()) {
            user["id"] = object.into();
            user["tenantId"] = tenant.into();
        }
    }
    json.to_string().into_bytes()
}
