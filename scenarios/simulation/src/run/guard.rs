//! Ends a simulated play that would never end by itself: one that stands still in virtual time, one that waits for nothing.
//! It must never look at real time, so that the same seed ends at the same turn.

use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use reports::event::Failure;
use tokio::time::{Instant, sleep_until};

use super::play::Play;

/// The rule that such a play breaks.
const RULE: &str = "sim.livelock";
/// Turns between two looks at the clock, so that looking costs nothing.
const LOOK_TURNS: u64 = 1_024;
/// Turns at one virtual instant that no play needs. In a turn each task that is ready runs, up to 61 of them; a line of 20 MB
/// takes a few thousand.
const INSTANT_TURNS_MAX: u64 = 64 * LOOK_TURNS;
/// Turns a virtual second, on average, that no play needs; one that waits for a millisecond at a time takes a thousand.
const SECOND_TURNS_MAX: u64 = 64;
/// Turns that may come on top of that, for plays that are short and busy.
const BUSY_TURNS_MAX: u64 = 4_096 * LOOK_TURNS;
/// Virtual time that no play needs, whatever its steps wait for.
const PLAY_MAX: Duration = Duration::from_secs(400 * 24 * 3_600);
/// Lines of the transcript that the finding shows.
const SHOWN_LINES: usize = 12;

/// Why a play was ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Livelock {
    /// So many turns, and the clock stood still.
    Stands { turns: u64 },
    /// So many turns in so many virtual seconds.
    Busy { turns: u64, seconds: u64 },
    /// So much time, and no end.
    Endless { days: u64 },
}

impl fmt::Display for Livelock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stands { turns } => {
                write!(
                    f,
                    "virtual time stood still for {turns} turns: something wakes itself, or waits for 0 ms, for ever"
                )
            }
            Self::Busy { turns, seconds } => {
                write!(
                    f,
                    "the play took {turns} turns in {seconds} s of virtual time: something hardly ever rests"
                )
            }
            Self::Endless { days } => {
                write!(f, "the play was not over after {days} days: something waits for what never comes")
            }
        }
    }
}

impl Livelock {
    /// The finding, with what was seen last.
    pub(super) fn failure(self, play: &Play<'_>) -> Failure {
        let lines = play.with_view(None, |view| {
            let last = view.transcript.iter().rev().take(SHOWN_LINES).rev();
            last.map(|line| format!("{} ms {}", line.at_ms, line.text)).collect::<Vec<_>>()
        });
        let observed = Some(lines.join("\n"));
        Failure { observed, ..Failure::new(RULE, play.now_ms(), self.to_string()) }
    }
}

/// Awaits a play, the root of a `LocalSet`: each of its turns polls the root.
pub(super) async fn guarded<T>(play: impl Future<Output = T>) -> Result<T, Livelock> {
    guarded_by(1, play).await
}

/// The same with a part of the turns that a play may take.
async fn guarded_by<T>(part: u64, play: impl Future<Output = T>) -> Result<T, Livelock> {
    let mut play = pin!(play);
    let started = Instant::now();
    let mut latest = pin!(sleep_until(started + PLAY_MAX));
    let (mut turns, mut still, mut looked) = (0_u64, 0_u64, None);
    poll_fn(|context| {
        // Polled once, it wakes the root when it is over.
        if (turns == 0 && latest.as_mut().poll(context).is_ready()) || latest.is_elapsed() {
            return Poll::Ready(Err(Livelock::Endless { days: PLAY_MAX.as_secs() / 86_400 }));
        }
        turns += 1;
        if turns.is_multiple_of(LOOK_TURNS) {
            let now = Instant::now();
            still = if looked == Some(now) { still + LOOK_TURNS } else { 0 };
            looked = Some(now);
            if still >= INSTANT_TURNS_MAX / part {
                return Poll::Ready(Err(Livelock::Stands { turns: still }));
            }
            let seconds = (now - started).as_secs();
            if turns > BUSY_TURNS_MAX / part + SECOND_TURNS_MAX * seconds {
                return Poll::Ready(Err(Livelock::Busy { turns, seconds }));
            }
        }
        play.as_mut().poll(context).map(Ok)
    })
    .await
}

#[cfg(test)]
mod tests {
    use tokio::task::{LocalSet, spawn_local, yield_now};
    use tokio::time::sleep;

    use super::*;

    fn play<T>(play: impl Future<Output = T>) -> Result<T, Livelock> {
        paused(guarded(play))
    }

    fn paused<T>(root: impl Future<Output = T>) -> T {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        LocalSet::new().block_on(&runtime, root)
    }

    /// Of the turns of a real play, which would take seconds of the processor.
    const PART: u64 = 64;

    async fn wakes_itself() {
        poll_fn(|context| -> Poll<()> {
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }

    #[test]
    fn a_play_that_wakes_itself_for_ever_is_ended() {
        assert_eq!(play(wakes_itself()), Err(Livelock::Stands { turns: INSTANT_TURNS_MAX }));
        let beside = |task: std::pin::Pin<Box<dyn Future<Output = ()>>>| {
            let play = async move {
                sleep(Duration::from_millis(7)).await;
                spawn_local(task);
                sleep(Duration::from_millis(1)).await;
            };
            paused(guarded_by(PART, play))
        };
        let stands = Livelock::Stands { turns: INSTANT_TURNS_MAX / PART };
        assert_eq!(beside(Box::pin(wakes_itself())), Err(stands));
        assert_eq!(
            beside(Box::pin(async {
                loop {
                    yield_now().await;
                }
            })),
            Err(stands)
        );
        assert_eq!(
            beside(Box::pin(async {
                loop {
                    sleep(Duration::ZERO).await;
                }
            })),
            Err(stands)
        );
        assert_eq!(beside(Box::pin(async {})), Ok(()));
    }

    #[test]
    fn a_play_that_rests_a_millisecond_at_a_time_is_ended() {
        let wakes_often = async {
            loop {
                sleep(Duration::from_millis(1)).await;
            }
        };
        let ended = paused(guarded_by(PART, wakes_often));
        let Err(Livelock::Busy { seconds, .. }) = ended else { panic!("it goes on") };
        assert!((4_000..6_000).contains(&(PART * seconds)), "{seconds}");
    }

    #[test]
    fn a_play_that_waits_for_nothing_is_ended() {
        assert_eq!(play(std::future::pending::<()>()), Err(Livelock::Endless { days: 400 }));
    }

    #[test]
    fn a_busy_play_that_goes_on_is_left_alone() {
        let busy = async {
            for _ in 0..4 {
                for _ in 0..INSTANT_TURNS_MAX - 2 * LOOK_TURNS {
                    yield_now().await;
                }
                sleep(Duration::from_millis(1)).await;
            }
            sleep(PLAY_MAX / 2).await;
            7
        };
        assert_eq!(play(busy), Ok(7));
    }
}
