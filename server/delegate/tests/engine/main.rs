//! Checks the engine with a scripted model and scripted tools, in virtual time.
//!
//! `ENTRACLAW_TEST_DAYS=10000 cargo test -p entraclaw-delegate --test engine -- --nocapture random_days` plays so many days.

mod crashing;
mod days;
mod fake;
mod inbox;
mod limits;
mod pausing;
mod rig;
mod wire;

/// Days, if the environment does not say more.
const DAYS: u64 = 200;

#[expect(clippy::disallowed_methods, reason = "a test has no other argument than the environment")]
#[tokio::test(start_paused = true)]
async fn order_exactness_and_durability_hold_on_random_days() {
    let days = std::env::var("ENTRACLAW_TEST_DAYS").map_or(DAYS, |days| days.parse().expect("a number"));
    let mut tally = days::Tally::default();
    for seed in 0..days {
        tally.add(days::day(seed).await);
    }
    println!("{tally:?}");
    // The days are of use only if they hold what they are there for.
    assert!(tally.pauses > 100 && tally.crashes > 100 && tally.cancelled > 50, "{tally:?}");
    assert!(tally.exact > 10 && tally.continued > 10 && tally.started_again > 10, "{tally:?}");
}
