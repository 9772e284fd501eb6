//! Checks the engine with a scripted model and scripted tools, in virtual time.

mod crashing;
mod days;
mod fake;
mod inbox;
mod limits;
mod pausing;
mod rig;
mod wire;

#[tokio::test(start_paused = true)]
async fn order_exactness_and_durability_hold_on_random_days() {
    let mut tally = days::Tally::default();
    for seed in 0..200 {
        tally.add(days::day(seed).await);
    }
    // The days are of use only if they hold what they are there for.
    assert!(tally.pauses > 100 && tally.crashes > 100 && tally.cancelled > 50, "{tally:?}");
    assert!(tally.exact > 10 && tally.continued > 10 && tally.started_again > 10, "{tally:?}");
}
