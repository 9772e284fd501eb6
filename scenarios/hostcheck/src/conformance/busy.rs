//! How busy the machine is. A host's limits are of its clock, and a server on a busy machine waits for a processor
//! meanwhile; without this a verdict would say more of the machine than of the server. It judges nothing.

use std::sync::Arc;
use std::time::Duration;

use fake_hosts::Profile;
use tokio::time::Instant;

/// Work after which the measure ends.
const WORK_NS: u64 = 60_000_000;
/// Time after which it ends in any case.
const MEASURED_WITHIN: Duration = Duration::from_secs(2);
/// Below this the machine counts as idle.
const IDLE_MAX: f64 = 1.2;
/// The most that limits are stretched.
const STRETCH_MAX: f64 = 16.0;

/// How many times longer work takes now than on an idle machine, as this thread finds by working for a moment. It is 1 on
/// a system that does not tell how long a thread waited for a processor.
pub(crate) fn slowdown() -> f64 {
    let Some((worked, waited)) = work_and_wait_ns() else { return 1.0 };
    let began = Instant::now();
    loop {
        std::hint::black_box((0..20_000_u64).fold(0, u64::wrapping_add));
        let Some((work, wait)) = work_and_wait_ns() else { return 1.0 };
        let (work, wait) = (work.saturating_sub(worked), wait.saturating_sub(waited));
        if work >= WORK_NS || began.elapsed() >= MEASURED_WITHIN {
            return factor(work, wait);
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "nanoseconds of two seconds fit well")]
fn factor(work: u64, wait: u64) -> f64 {
    let factor = (work + wait) as f64 / work.max(1) as f64;
    if factor < IDLE_MAX { 1.0 } else { factor.min(STRETCH_MAX) }
}

/// How long this thread ran, and how long it waited for a processor, in nanoseconds.
#[expect(clippy::disallowed_methods, reason = "the kernel's own account of this thread, no file of a server")]
fn work_and_wait_ns() -> Option<(u64, u64)> {
    let account = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let mut numbers = account.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

/// Whether a busy machine may be why something was not done after this time that takes so long on an idle one.
pub(crate) fn may_explain(waited_ms: u64, idle_ms: u64) -> bool {
    #[expect(clippy::cast_precision_loss, reason = "limits are minutes at most")]
    let (waited, idle) = (waited_ms as f64, idle_ms as f64);
    waited <= idle * STRETCH_MAX
}

/// The host with its limits for the start and the end of a server stretched.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "limits are minutes at most"
)]
pub(crate) fn stretched(profile: &Arc<Profile>, factor: f64) -> Arc<Profile> {
    let longer = |ms: u64| (ms as f64 * factor) as u64;
    let mut profile = Profile::clone(profile);
    let opening = &mut profile.opening;
    opening.probe_timeout_ms.value = longer(opening.probe_timeout_ms.value);
    opening.start_timeout_ms.value = longer(opening.start_timeout_ms.value);
    opening.turn_waits_ms.value = opening.turn_waits_ms.value.map(longer);
    profile.lists.timeout_ms.value = profile.lists.timeout_ms.value.map(longer);
    for step in &mut profile.life.shutdown.value {
        step.after_ms = longer(step.after_ms);
    }
    Arc::new(profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_that_is_waited_for_a_processor_makes_the_machine_slower() {
        let close = |work, wait, wanted: f64| (factor(work, wait) - wanted).abs() < 0.01;
        assert!(close(60, 0, 1.0) && close(60, 5, 1.0));
        assert!(close(60, 90, 2.5) && close(60, 60_000, STRETCH_MAX));
        assert!((1.0..=STRETCH_MAX).contains(&slowdown()));
        assert!(may_explain(30_000, 2_000) && !may_explain(30_000, 100));
    }

    #[test]
    fn a_host_on_a_busy_machine_waits_longer_and_stays_the_same_otherwise() {
        let codex = crate::host::all().unwrap().iter().find(|host| host.family == "codex").unwrap();
        let profile = codex.profile.as_ref().unwrap();
        let busy = stretched(profile, 2.5);
        assert_eq!(*busy.opening.start_timeout_ms, *profile.opening.start_timeout_ms * 5 / 2);
        assert_eq!(*busy.opening.turn_waits_ms, profile.opening.turn_waits_ms.map(|ms| ms * 5 / 2));
        assert_eq!(*busy.calls.timeout_ms, *profile.calls.timeout_ms);
        let same = stretched(profile, 1.0);
        assert_eq!(*same.opening.probe_timeout_ms, *profile.opening.probe_timeout_ms);
    }
}
