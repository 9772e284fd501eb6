//! One fake channel that a transport and a scenario hold together, and its skin over HTTP.
//! It never keeps the lock longer than one call.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use wiremock::matchers::any;
use wiremock::{Mock, MockServer, Respond, ResponseTemplate};

use super::FakeBot;
use crate::graph::{Answer, DELAY_MAX_MS, Fate, Request};

/// A cheap handle on a [`FakeBot`].
#[derive(Debug, Clone, Default)]
pub struct SharedBot(Arc<Mutex<FakeBot>>);

impl SharedBot {
    /// Does something with the fake. `work` must not use this handle again.
    pub fn with<T>(&self, work: impl FnOnce(&mut FakeBot) -> T) -> T {
        // Whoever panicked has already failed its run; the fake itself stays usable.
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Serves one request at an instant.
    pub fn handle(&self, now: Timestamp, request: &Request) -> Answer {
        self.with(|bot| bot.handle(now, request))
    }
}

/// A fake channel that listens on loopback until it is dropped.
pub struct BotServer {
    server: MockServer,
}

impl BotServer {
    /// Its origin.
    pub fn base_url(&self) -> String {
        self.server.uri()
    }
}

struct Skin<F> {
    bot: SharedBot,
    clock: F,
}

impl<F: Fn() -> Timestamp + Send + Sync> Respond for Skin<F> {
    fn respond(&self, request: &wiremock::Request) -> ResponseTemplate {
        let headers = request
            .headers
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()));
        let request = Request {
            method: request.method.to_string(),
            url: request.url.path().to_owned(),
            headers: headers.collect(),
            body: request.body.clone(),
        };
        let answer = self.bot.handle((self.clock)(), &request);
        // This skin can't break a connection; a server error is as little an answer.
        let status = if answer.fate == Fate::Delivered { answer.status } else { 502 };
        let mut template =
            ResponseTemplate::new(status).set_delay(Duration::from_millis(answer.delay_ms.min(DELAY_MAX_MS)));
        for (name, value) in &answer.headers {
            template = template.append_header(name.as_str(), value.as_str());
        }
        template.set_body_bytes(answer.body)
    }
}

/// Starts a server for a fake and moves the fake's addresses there.
pub async fn serve(bot: SharedBot, clock: impl Fn() -> Timestamp + Send + Sync + 'static) -> BotServer {
    let server = MockServer::builder().disable_request_recording().start().await;
    bot.with(|bot| bot.set_base_url(&server.uri()));
    Mock::given(any()).respond_with(Skin { bot, clock }).mount(&server).await;
    BotServer { server }
}
