//! A token that renews itself: it is kept in memory and renewed before its end, by one sign-in for all
//! callers.
//! It must never sign in more often than Entra allows, and a cancelled caller must never abort the others'
//! sign-in.

use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use tokio::sync::Notify;
use tokio::time::Instant;

use super::grant::Grant;
use super::{AuthError, AuthFailure, TokenSource};
use crate::http::backoff;
use entraclaw_seams::random::Random;
use entraclaw_seams::secret::Secret;

/// How long a caller waits for a token at most; the sign-in goes on.
const TOKEN_WAIT_MAX: Duration = Duration::from_secs(20);
/// A token is renewed at most this long before its end, and at most a fifth of its lifetime before it.
const AHEAD_MAX: Duration = Duration::from_secs(600);
/// A token is not used during this time before its end.
const END_MARGIN: Duration = Duration::from_secs(30);
/// The pause after a refusal that only a person can change; doubled for each further refusal.
const REFUSED_PAUSE: Duration = Duration::from_secs(25);
const REFUSED_PAUSE_MAX: Duration = Duration::from_secs(600);
/// The pause after the key store gave no secret. It is short, because the query sends no request.
const LOCAL_PAUSE: Duration = Duration::from_secs(5);
/// The pause after Entra has said that the program signs in in a loop.
const LOOPING_PAUSE: Duration = Duration::from_secs(600);

/// A flow that gets a new token. It is called for one sign-in at a time.
pub(super) trait Flow: Send + Sync + 'static {
    /// Signs in, with these claims (JSON) if a resource asked for them.
    fn sign_in(self: Arc<Self>, claims: Option<String>) -> BoxFuture<'static, Result<Grant, AuthError>>;
}

/// A token source that signs in by a flow.
pub(super) struct Renewing<F> {
    flow: Arc<F>,
    random: Arc<dyn Random>,
    state: Mutex<State>,
    /// Notifies that a sign-in has begun, or that a token was used.
    stirred: Notify,
}

type Flight = Shared<BoxFuture<'static, Result<Grant, AuthError>>>;

#[derive(Default)]
struct State {
    current: Option<Current>,
    flight: Option<(u64, Flight)>,
    flights: u64,
    failed: Option<Failed>,
    failures: u32,
    /// The claims that a resource asked for last; later sign-ins ask for them too.
    claims: Option<String>,
}

#[derive(Clone)]
struct Current {
    token: Secret,
    renew_at: Instant,
    ends_at: Instant,
    /// Whether a caller has used the token.
    used: bool,
}

struct Failed {
    error: AuthError,
    /// No new sign-in begins before this time.
    until: Instant,
}

impl<F: Flow> Renewing<F> {
    pub(super) fn new(flow: F, random: Arc<dyn Random>) -> Self {
        Self { flow: Arc::new(flow), random, state: Mutex::default(), stirred: Notify::new() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the running sign-in or starts one; returns the last error while its pause lasts.
    fn flight(&self, state: &mut State) -> Result<(u64, Flight), AuthError> {
        if let Some(flight) = &state.flight {
            return Ok(flight.clone());
        }
        let now = Instant::now();
        if let Some(failed) = state.failed.as_ref().filter(|failed| failed.until > now) {
            let left = failed.until - now;
            return Err(AuthError { retry_after: Some(left), ..failed.error.clone() });
        }
        state.flights += 1;
        let flight = (state.flights, self.flow.clone().sign_in(state.claims.clone()).shared());
        state.flight = Some(flight.clone());
        self.stirred.notify_waiters();
        Ok(flight)
    }

    /// Waits for the end of a sign-in. The first caller that gets the result records it.
    async fn land(&self, (number, flight): (u64, Flight)) -> Result<Secret, AuthError> {
        let landed = flight.await;
        let mut state = self.state();
        if state.flight.as_ref().is_some_and(|(current, _)| *current == number) {
            state.flight = None;
            self.note(&mut state, &landed);
        }
        landed.map(|grant| grant.access_token)
    }

    fn note(&self, state: &mut State, landed: &Result<Grant, AuthError>) {
        let now = Instant::now();
        match landed {
            Ok(grant) => {
                let ahead = (grant.life / 5).min(AHEAD_MAX);
                let jitter = jitter(ahead / 2, &*self.random);
                let margin = END_MARGIN.min(grant.life / 10);
                tracing::info!(life_s = grant.life.as_secs(), "signed in");
                state.current = Some(Current {
                    token: grant.access_token.clone(),
                    renew_at: now + grant.life.saturating_sub(ahead + jitter),
                    ends_at: now + grant.life.saturating_sub(margin),
                    used: false,
                });
                state.failed = None;
                state.failures = 0;
            }
            Err(error) => {
                state.failures = state.failures.saturating_add(1);
                let pause = match error.failure {
                    AuthFailure::Looping => LOOPING_PAUSE,
                    AuthFailure::NotSignedIn | AuthFailure::KeyStore => LOCAL_PAUSE,
                    failure if failure.is_transient() => backoff(state.failures, &*self.random),
                    _ => REFUSED_PAUSE
                        .saturating_mul(1 << state.failures.saturating_sub(1).min(8))
                        .min(REFUSED_PAUSE_MAX),
                };
                let pause = pause.max(error.retry_after.unwrap_or_default());
                tracing::warn!(%error, pause_s = pause.as_secs(), "the agent could not sign in");
                state.failed = Some(Failed { error: error.clone(), until: now + pause });
            }
        }
    }

    /// Waits for a sign-in, but only for a limited time.
    async fn wait(&self, flight: (u64, Flight)) -> Result<Secret, AuthError> {
        tokio::time::timeout(TOKEN_WAIT_MAX, self.land(flight)).await.unwrap_or_else(|_| {
            let problem = format!("the sign-in has not come to an end within {} s", TOKEN_WAIT_MAX.as_secs());
            Err(AuthError::new(AuthFailure::Unavailable, problem, "wait; it goes on by itself"))
        })
    }

    /// Drops the token `refused` and gets another one.
    async fn other_than(&self, refused: &Secret) -> Result<Secret, AuthError> {
        let flight = {
            let mut state = self.state();
            match state.current.as_mut().filter(|current| current.ends_at > Instant::now()) {
                // Another caller has already got a new token.
                Some(current) if current.token != *refused => {
                    current.used = true;
                    return Ok(current.token.clone());
                }
                _ => state.current = None,
            }
            self.flight(&mut state)?
        };
        self.wait(flight).await
    }

    /// When the next early renewal is due; `None` while no caller uses a token.
    fn due(&self) -> Option<Instant> {
        let state = self.state();
        let current = state.current.as_ref().filter(|current| current.used)?;
        let until = state.failed.as_ref().map_or(current.renew_at, |failed| failed.until);
        let hopeless = state.failed.as_ref().is_some_and(|failed| !failed.error.is_transient());
        // After a lasting refusal there is no early renewal; a caller that needs a token signs in again.
        (!hopeless).then(|| current.renew_at.max(until))
    }
}

impl<F: Flow> TokenSource for Renewing<F> {
    fn token(&self) -> BoxFuture<'_, Result<Secret, AuthError>> {
        Box::pin(async move {
            let flight = {
                let mut state = self.state();
                let now = Instant::now();
                if let Some(current) = state.current.as_mut().filter(|current| current.ends_at > now) {
                    if !current.used {
                        current.used = true;
                        self.stirred.notify_waiters();
                    }
                    return Ok(current.token.clone());
                }
                self.flight(&mut state)?
            };
            self.wait(flight).await
        })
    }

    fn refresh<'a>(&'a self, refused: &'a Secret) -> BoxFuture<'a, Result<Secret, AuthError>> {
        Box::pin(self.other_than(refused))
    }

    fn challenged<'a>(
        &'a self,
        refused: &'a Secret,
        claims: &'a str,
    ) -> BoxFuture<'a, Result<Secret, AuthError>> {
        Box::pin(async move {
            let under_way = {
                let mut state = self.state();
                let news = state.claims.as_deref() != Some(claims);
                if news {
                    tracing::info!("graph wants a sign-in with further claims");
                    state.claims = Some(claims.to_owned());
                }
                // A sign-in that began without the claims gives a token that Graph challenges again.
                state.flight.clone().filter(|_| news)
            };
            if let Some(flight) = under_way {
                let landed = self.wait(flight).await;
                let mut state = self.state();
                if landed.is_ok() {
                    state.current = None;
                }
            }
            self.other_than(refused).await
        })
    }

    fn keep_fresh(&self) -> BoxFuture<'_, Infallible> {
        Box::pin(async move {
            loop {
                let stirred = self.stirred.notified();
                let under_way = self.state().flight.clone();
                if let Some(flight) = under_way {
                    // The outcome is recorded, and callers that still wait get it too.
                    let _ = self.land(flight).await;
                    continue;
                }
                let Some(due) = self.due() else {
                    stirred.await;
                    continue;
                };
                tokio::select! {
                    biased;
                    () = stirred => {}
                    () = tokio::time::sleep_until(due) => {
                        let flight = self.flight(&mut self.state());
                        if let Ok(flight) = flight {
                            let _ = self.land(flight).await;
                        }
                    }
                }
            }
        })
    }

    fn trouble(&self) -> Option<AuthError> {
        let state = self.state();
        let usable = state.current.as_ref().is_some_and(|current| current.ends_at > Instant::now());
        let failed = state.failed.as_ref().filter(|failed| !usable && !failed.error.is_transient())?;
        Some(failed.error.clone())
    }
}

/// A random span up to `most`.
fn jitter(most: Duration, random: &dyn Random) -> Duration {
    let most_ms = u64::try_from(most.as_millis()).unwrap_or(u64::MAX).saturating_add(1);
    Duration::from_millis(random.next_u64() % most_ms)
}

#[cfg(test)]
#[path = "renewing_tests.rs"]
mod tests;
