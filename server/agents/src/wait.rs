//! Waits for one question: tells progress, keeps the host's call open where progress does that, and answers before the
//! host gives the call up.
//!
//! It must never end a question because the host stopped waiting; only a cancel ends it.

use std::pin::pin;
use std::time::Duration;

use entraclaw_mcp::{Answer, Cancellation, Progress};
use entraclaw_work::{Claimed, Job, Reply, Ticket, Works, kept_output};
use tokio::time::{Instant, sleep_until, timeout};

use crate::answered::Answered;
use crate::task::WarmLine;
use crate::ticket;
use crate::warm::Pool;

/// The time before the host's limit at which the call is answered.
const MARGIN: Duration = Duration::from_secs(2);
/// The pause between two looks for news of the agent.
const NEWS_EVERY: Duration = Duration::from_secs(1);
/// How long a cancelled job may take to end; then its end is told in the inbox.
const CANCEL_PATIENCE: Duration = Duration::from_secs(5);
/// Most bytes of a partial answer that go with a ticket.
const PARTIAL_BYTES_MAX: usize = 4 * 1024;

/// A question on its way.
pub(crate) struct Waiting {
    pub(crate) job: Job,
    pub(crate) works: Works,
    /// When the host gives the call up.
    pub(crate) until: Instant,
    /// How often progress keeps the call open, and for how long at most.
    pub(crate) longest: Option<(Duration, Duration)>,
    pub(crate) progress: Progress,
    pub(crate) cancellation: Cancellation,
    pub(crate) has_inbox: bool,
    pub(crate) answered: Answered,
    /// What is to stand by afterwards.
    pub(crate) prepares: Option<(Pool, WarmLine)>,
    /// The number of the answer's receipt.
    pub(crate) number: u64,
}

/// Waits, and answers the call.
pub(crate) async fn wait(waiting: Waiting) -> Answer {
    let Waiting { job, works, until, longest, progress, mut cancellation, has_inbox, .. } = waiting;
    let (answered, prepares, number) = (waiting.answered, waiting.prepares, waiting.number);
    let began = Instant::now();
    let deadline = match longest {
        Some((_, longest)) => until.max(began + longest),
        None => until,
    };
    let id = job.id().to_owned();
    let mut teller = Teller {
        progress,
        events: job.events(),
        every: longest.map(|(every, _)| every),
        began,
        told_at: began,
        count: 0,
    };
    let mut reply = pin!(job.until(deadline - MARGIN));
    let reply = loop {
        let look_at = Instant::now() + NEWS_EVERY;
        tokio::select! {
            biased;
            reply = &mut reply => break reply,
            () = cancellation.cancelled() => {
                let _ = works.cancel(&id);
                // The caller wants no answer, and the inbox need not tell of what the caller ended.
                if let Ok(Reply::Done(claimed)) = timeout(CANCEL_PATIENCE, reply).await {
                    claimed.hand_on();
                }
                return Answer::error("cancelled");
            }
            () = sleep_until(look_at), if teller.progress.is_wanted() => teller.tell(),
        }
    };
    if let Some((pool, line)) = prepares {
        pool.prepare_soon(line);
    }
    match reply {
        Reply::Done(claimed) => {
            let answer = answer(&claimed, &works);
            answered.keep(number, *claimed, answer)
        }
        Reply::Ticket(ticket) => Answer::text(&later(&ticket, &works, has_inbox)),
    }
}

fn answer(claimed: &Claimed, works: &Works) -> Answer {
    let result = claimed.result();
    if claimed.is_done() {
        Answer::text(&ticket::answer(result, works.storage()))
    } else {
        Answer::error(&ticket::failure(result))
    }
}

/// What there is so far, and the promise of the rest.
fn later(ticket: &Ticket, works: &Works, has_inbox: bool) -> String {
    let (so_far, total) = kept_output(works.storage(), &ticket.id, 0, PARTIAL_BYTES_MAX).unwrap_or_default();
    let mut text = if has_inbox {
        ticket.text.clone()
    } else {
        format!("still working. Call ask_status with the ticket {} later to get the answer.", ticket.id)
    };
    let so_far = ticket::whole(&so_far, total);
    if !so_far.trim().is_empty() {
        text.push_str("\nThe answer so far:\n");
        text.push_str(&so_far);
    }
    text
}

/// Tells the host what the agent does.
struct Teller {
    progress: Progress,
    events: entraclaw_work::Events,
    every: Option<Duration>,
    began: Instant,
    told_at: Instant,
    count: u64,
}

impl Teller {
    fn tell(&mut self) {
        let news = self.events.news();
        let step = news.iter().rev().find_map(|event| {
            (event["event"] == "step").then(|| event["says"].as_str().map(str::to_owned)).flatten()
        });
        // Half the interval, so that a slow pipe does not use it up.
        let is_due = self.every.is_some_and(|every| self.told_at.elapsed() >= every / 2);
        let text = match step {
            Some(step) => step,
            None if is_due => format!("still working, {} s", self.began.elapsed().as_secs()),
            None => return,
        };
        self.count += 1;
        self.told_at = Instant::now();
        self.progress.tell(self.count, None, text);
    }
}
