//! Collects the claims of all modules that draw some.

use super::claim::Claims;
use super::session::Session;
use super::{claims_calls, claims_opening, claims_wire};

impl Claims {
    /// Draws every fact that these logs show.
    pub fn of(sessions: &[Session]) -> Self {
        let mut claims = Self::default();
        claims_wire::draw(sessions, &mut claims);
        claims_opening::draw(sessions, &mut claims);
        claims_calls::draw(sessions, &mut claims);
        let contradictory: Vec<&str> = claims.contradictions.keys().copied().collect();
        claims.seen.retain(|claim| !contradictory.contains(&claim.fact));
        claims
    }
}
