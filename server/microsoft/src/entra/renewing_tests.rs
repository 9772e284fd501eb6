//! The renewing source against a scripted sign-in, on a paused clock.

use std::sync::atomic::{AtomicU32, Ordering};

use futures_util::future::join_all;
use proptest::prelude::*;

use super::*;
use entraclaw_seams::random::SplitMix;

type Script = Box<dyn Fn(u32, Option<String>) -> (Duration, Result<Duration, AuthFailure>) + Send + Sync>;

/// Signs in as its script says: after which time, and with which result.
struct Scripted {
    count: Arc<AtomicU32>,
    script: Script,
}

impl Flow for Scripted {
    fn sign_in(self: Arc<Self>, claims: Option<String>) -> BoxFuture<'static, Result<Grant, AuthError>> {
        Box::pin(async move {
            let number = self.count.fetch_add(1, Ordering::SeqCst) + 1;
            let name = claims.clone().unwrap_or_default();
            let (took, outcome) = (self.script)(number, claims);
            tokio::time::sleep(took).await;
            match outcome {
                Ok(life) => Ok(Grant {
                    access_token: Secret::new(format!("token-{number}{name}")),
                    life,
                    refresh_token: None,
                }),
                Err(failure) => Err(AuthError::new(failure, "no", "do")),
            }
        })
    }
}

const HOUR: Duration = Duration::from_secs(3_600);
const SECOND: Duration = Duration::from_secs(1);

fn source(
    script: impl Fn(u32, Option<String>) -> (Duration, Result<Duration, AuthFailure>) + Send + Sync + 'static,
) -> (Arc<Renewing<Scripted>>, Arc<AtomicU32>) {
    let count = Arc::new(AtomicU32::new(0));
    let flow = Scripted { count: count.clone(), script: Box::new(script) };
    (Arc::new(Renewing::new(flow, Arc::new(SplitMix::seeded(3)))), count)
}

/// Runs `work` together with the early renewal.
async fn beside<T>(source: &Renewing<Scripted>, work: impl Future<Output = T>) -> T {
    tokio::select! {
        biased;
        never = source.keep_fresh() => match never {},
        done = work => done,
    }
}

async fn text(source: &Renewing<Scripted>) -> String {
    source.token().await.unwrap().expose().to_owned()
}

#[tokio::test(start_paused = true)]
async fn all_callers_share_one_sign_in() {
    let (source, count) = source(|_, _| (SECOND, Ok(HOUR)));
    let tokens = join_all((0..100).map(|_| text(&source))).await;
    assert!(tokens.iter().all(|token| token == "token-1"));
    assert_eq!(count.load(Ordering::SeqCst), 1);
    let refused = Secret::new("token-1");
    let fresh = join_all((0..100).map(|_| source.refresh(&refused))).await;
    assert!(fresh.iter().all(|token| token.as_ref().unwrap().expose() == "token-2"));
    assert_eq!(count.load(Ordering::SeqCst), 2);
    // A caller that comes late with the old token gets the new one.
    assert_eq!(source.refresh(&refused).await.unwrap().expose(), "token-2");
    assert_eq!(count.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_before_the_first_use_nor_after_the_last() {
    let (source, count) = source(|_, _| (SECOND, Ok(HOUR)));
    beside(&source, async {
        tokio::time::sleep(HOUR * 5).await;
        assert_eq!(count.load(Ordering::SeqCst), 0);
        text(&source).await;
        tokio::time::sleep(HOUR * 24).await;
        assert!(count.load(Ordering::SeqCst) <= 2, "an unused token is not renewed");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_used_token_is_renewed_as_early_as_is_meant_or_earlier() {
    for life in [SECOND * 100, HOUR, HOUR * 24] {
        let (source, count) = source(move |_, _| (Duration::ZERO, Ok(life)));
        beside(&source, async {
            text(&source).await;
            text(&source).await;
            tokio::time::sleep(life.saturating_sub((life / 5).min(AHEAD_MAX)) + SECOND).await;
            assert_eq!(count.load(Ordering::SeqCst), 2, "{life:?}");
        })
        .await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_used_token_is_renewed_before_its_end_so_that_no_caller_waits() {
    let (source, count) = source(|_, _| (SECOND * 5, Ok(HOUR)));
    beside(&source, async {
        text(&source).await;
        for _ in 0..(24 * 720) {
            tokio::time::sleep(SECOND * 5).await;
            let asked = Instant::now();
            text(&source).await;
            assert_eq!(asked.elapsed(), Duration::ZERO);
        }
    })
    .await;
    let count = count.load(Ordering::SeqCst);
    assert!((25..=32).contains(&count), "{count}");
}

#[tokio::test(start_paused = true)]
async fn an_outage_shorter_than_the_lead_is_not_noticed() {
    let (source, _) = source(|number, _| match number {
        2..=4 => (SECOND, Err(AuthFailure::Unavailable)),
        _ => (SECOND, Ok(HOUR)),
    });
    beside(&source, async {
        for _ in 0..(2 * 720) {
            text(&source).await;
            tokio::time::sleep(SECOND * 5).await;
        }
    })
    .await;
    assert_eq!(source.trouble(), None);
}

#[tokio::test(start_paused = true)]
async fn a_refusal_is_remembered_for_a_while_and_shown() {
    let (source, count) = source(|number, _| match number {
        1 => (SECOND, Err(AuthFailure::Credential)),
        _ => (SECOND, Ok(HOUR)),
    });
    beside(&source, async {
        for _ in 0..10 {
            let error = source.token().await.unwrap_err();
            assert_eq!(error.failure, AuthFailure::Credential);
            tokio::time::sleep(SECOND).await;
        }
        assert_eq!(count.load(Ordering::SeqCst), 1);
        assert_eq!(source.trouble().unwrap().fix, "do");
        tokio::time::sleep(REFUSED_PAUSE).await;
        assert_eq!(text(&source).await, "token-2");
        assert_eq!(source.trouble(), None);
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_remembered_refusal_says_when_it_is_tried_again() {
    let (source, _) = source(|_, _| (SECOND, Err(AuthFailure::Credential)));
    assert_eq!(source.token().await.unwrap_err().retry_after, None);
    tokio::time::sleep(SECOND * 5).await;
    let left = source.token().await.unwrap_err().retry_after;
    assert_eq!(left.map(|left| left + SECOND * 5), Some(REFUSED_PAUSE));
}

#[tokio::test(start_paused = true)]
async fn refusals_become_rare_and_a_look_into_the_key_store_does_not() {
    for (failure, most) in [(AuthFailure::Credential, 12), (AuthFailure::NotSignedIn, 800)] {
        let (source, count) = source(move |_, _| (Duration::ZERO, Err(failure)));
        for _ in 0..720 {
            let _ = source.token().await;
            tokio::time::sleep(SECOND * 5).await;
        }
        let count = count.load(Ordering::SeqCst);
        assert!(count <= most && count > most / 2, "{failure:?}: {count}");
    }
}

#[tokio::test(start_paused = true)]
async fn sign_ins_in_a_loop_become_rare() {
    let (source, count) = source(|_, _| (SECOND, Err(AuthFailure::Looping)));
    for _ in 0..360 {
        let _ = source.token().await;
        tokio::time::sleep(SECOND * 10).await;
    }
    assert!(count.load(Ordering::SeqCst) <= 7, "{count:?}");
}

#[tokio::test(start_paused = true)]
async fn a_caller_waits_for_a_bounded_time_and_the_sign_in_goes_on() {
    let (source, count) = source(|_, _| (SECOND * 50, Ok(HOUR)));
    beside(&source, async {
        let asked = Instant::now();
        assert!(source.token().await.unwrap_err().is_transient());
        assert_eq!(asked.elapsed(), TOKEN_WAIT_MAX);
        tokio::time::sleep(SECOND * 31).await;
        let asked = Instant::now();
        assert_eq!(text(&source).await, "token-1");
        assert_eq!((asked.elapsed(), count.load(Ordering::SeqCst)), (Duration::ZERO, 1));
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_caller_that_goes_away_takes_nothing_with_it() {
    let (source, count) = source(|_, _| (SECOND * 2, Ok(HOUR)));
    let (impatient, patient) = tokio::join!(tokio::time::timeout(SECOND, source.token()), text(&source));
    assert!(impatient.is_err());
    assert_eq!((patient.as_str(), count.load(Ordering::SeqCst)), ("token-1", 1));
}

#[tokio::test(start_paused = true)]
async fn a_challenge_is_answered_by_a_sign_in_with_its_claims_and_so_are_later_ones() {
    let (source, count) = source(|_, _| (SECOND, Ok(HOUR)));
    beside(&source, async {
        let first = source.token().await.unwrap();
        let tokens = join_all((0..10).map(|_| source.challenged(&first, "{c}"))).await;
        assert!(tokens.iter().all(|token| token.as_ref().unwrap().expose() == "token-2{c}"));
        assert_eq!(count.load(Ordering::SeqCst), 2);
        source.token().await.unwrap();
        tokio::time::sleep(HOUR).await;
        assert_eq!(text(&source).await, "token-3{c}");
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn a_challenge_during_a_sign_in_is_not_answered_by_that_one() {
    let (source, _) = source(|_, _| (SECOND * 2, Ok(HOUR)));
    let old = Secret::new("old");
    let late = async {
        tokio::time::sleep(SECOND).await;
        source.challenged(&old, "{c}").await
    };
    let (_, challenged) = tokio::join!(source.token(), late);
    assert_eq!(challenged.unwrap().expose(), "token-2{c}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 4))]
    /// For all lifetimes and failures, a token that is handed out has not expired, and sign-ins keep their
    /// distance.
    #[test]
    fn tokens_are_alive_and_sign_ins_are_rare(
        outcomes in prop::collection::vec((0_u64..30, prop_oneof![
            (1_u64..7_200).prop_map(Ok),
            Just(Err(AuthFailure::Unavailable)),
            Just(Err(AuthFailure::Credential)),
        ]), 1..12),
        asks in prop::collection::vec(1_u64..900, 1..60),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        let (alive, distances) = runtime.block_on(async {
            let born = Arc::new(Mutex::new(Vec::<(Instant, Option<Duration>)>::new()));
            let (noted, cycle) = (born.clone(), outcomes.clone());
            let (source, _) = source(move |number, _| {
                let (took, outcome) = cycle[(number as usize - 1) % cycle.len()];
                let took = Duration::from_secs(took);
                let life = outcome.map(Duration::from_secs);
                noted.lock().unwrap().push((Instant::now() + took, life.ok()));
                (took, life)
            });
            let mut alive = true;
            beside(&source, async {
                for pause in &asks {
                    if let Ok(token) = source.token().await {
                        let number: usize = token.expose()["token-".len()..].parse().unwrap();
                        let (born, life) = born.lock().unwrap()[number - 1];
                        alive &= born + life.unwrap() >= Instant::now();
                    }
                    tokio::time::sleep(Duration::from_secs(*pause)).await;
                }
            })
            .await;
            let starts: Vec<_> = born.lock().unwrap().clone();
            let failed = starts.windows(2).filter(|pair| pair[0].1.is_none());
            (alive, failed.map(|pair| pair[1].0 - pair[0].0).collect::<Vec<_>>())
        });
        prop_assert!(alive);
        prop_assert!(distances.iter().all(|distance| *distance >= SECOND * 3), "{distances:?}");
    }
}
