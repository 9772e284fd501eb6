//! Waits for one question: tells progress, keeps the host's call open where progress does that, and answers before the
//! host gives the call up.
//!
//! It must never end a question because the host stopped waiting; only a cancel ends it. Nor may it permit anything that
//! the user at the host has not.

use std::pin::pin;
use std::time::Duration;

use entraclaw_mcp::{Answer, Cancellation, Progress, User, Word};
use entraclaw_work::{Asks, Job, Ticket, Works, kept_output, look};
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use serde_json::Value;
use tokio::time::{Instant, sleep_until, timeout};

use crate::answered::Answered;
use crate::task::WarmLine;
use crate::tasks::{Tasks, working};
use crate::ticket;
use crate::warm::Pool;

/// The time before the host's limit at which the call is answered.
const MARGIN: Duration = Duration::from_secs(2);
/// The pause between two looks for news of the agent.
const NEWS_EVERY: Duration = Duration::from_secs(1);
/// How long a cancelled job may take to end; then its end is told in the inbox.
const CANCEL_PATIENCE: Duration = Duration::from_secs(5);
/// How long the user may take to permit what an agent asks for; then it is refused.
pub(crate) const USER_PATIENCE: Duration = Duration::from_secs(120);
/// The answer to a job whose user permits what it asks for.
pub(crate) const PERMITTED: &str = "yes";
/// Any other answer.
const REFUSED: &str = "no";
/// What the user's choice is called.
const CHOICE: &str = "Permit this once";
/// Most bytes of a partial answer that go with a ticket.
const PARTIAL_BYTES_MAX: usize = 4 * 1024;

/// A question on its way.
pub(crate) struct Waiting {
    pub(crate) works: Works,
    /// When the host gives the call up.
    pub(crate) until: Instant,
    /// How often progress keeps the call open, and for how long at most.
    pub(crate) longest: Option<(Duration, Duration)>,
    pub(crate) progress: Progress,
    pub(crate) cancellation: Cancellation,
    /// The user, who may be asked to permit something.
    pub(crate) user: User,
    /// Who asks for what, in words for that user.
    pub(crate) title: String,
    pub(crate) has_inbox: bool,
    pub(crate) answered: Answered,
    /// What is to stand by afterwards.
    pub(crate) prepares: Option<(Pool, WarmLine)>,
    /// Where the question goes on as a task, if the caller declared that.
    pub(crate) tasks: Option<Tasks>,
    /// The number of the answer's receipt.
    pub(crate) number: u64,
}

/// Waits, and answers the call.
pub(crate) async fn wait(mut job: Job, waiting: Waiting) -> Answer {
    let Waiting {
        works,
        until,
        longest,
        progress,
        mut cancellation,
        user,
        title,
        has_inbox,
        answered,
        tasks,
        number,
        prepares,
    } = waiting;
    let began = Instant::now();
    let deadline = match longest {
        Some((_, longest)) => until.max(began + longest),
        None => until,
    };
    let id = job.id().to_owned();
    let mut teller =
        Teller { progress, every: longest.map(|(every, _)| every), began, told_at: began, count: 0 };
    let mut events = job.events();
    let hears = teller.progress.is_wanted() || user.can_be_asked();
    let mut words = FuturesUnordered::new();
    let claimed = {
        let mut result = pin!(job.within(deadline - MARGIN));
        loop {
            let look_at = Instant::now() + NEWS_EVERY;
            tokio::select! {
                biased;
                claimed = &mut result => break claimed,
                () = cancellation.cancelled() => {
                    let _ = works.cancel(&id);
                    // The caller wants no answer, and the inbox need not tell of what the caller ended.
                    if let Ok(Some(claimed)) = timeout(CANCEL_PATIENCE, result).await {
                        claimed.hand_on();
                    }
                    return Answer::error("cancelled");
                }
                Some((number, word)) = words.next() => {
                    let answer = if word == Word::Yes { PERMITTED } else { REFUSED };
                    let _ = works.answer(&id, number, answer);
                }
                () = sleep_until(look_at), if hears => {
                    let news = events.news();
                    for asks in news.iter().filter_map(Asks::of) {
                        let what = format!("{title} asks for your permission: {}", asks.says);
                        let says = user.permits(what, CHOICE, USER_PATIENCE);
                        words.push(async move { (asks.number, says.await) });
                    }
                    teller.tell(&news);
                }
            }
        }
    };
    if let Some((pool, line)) = prepares {
        pool.prepare_soon(line);
    }
    if let Some(claimed) = claimed {
        let answer = ticket::answer_of(&claimed, &works);
        return answered.keep(number, claimed, answer);
    }
    let job = match go_on(Box::new(job), &works, tasks) {
        Ok(task) => return task,
        Err(job) => job,
    };
    Answer::text(&later(&job.let_go(), &works, has_inbox))
}

/// The answer of a question that goes on as a task; gives it back if it can't.
fn go_on(job: Box<Job>, works: &Works, tasks: Option<Tasks>) -> Result<Answer, Box<Job>> {
    let Some(tasks) = tasks else { return Err(job) };
    let Ok(Some(looked)) = look(works.storage(), job.id()) else { return Err(job) };
    let task = working(&looked, &job.events().news());
    tasks.hold(job)?;
    Ok(Answer::task(task))
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
    every: Option<Duration>,
    began: Instant,
    told_at: Instant,
    count: u64,
}

impl Teller {
    fn tell(&mut self, news: &[Value]) {
        if !self.progress.is_wanted() {
            return;
        }
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
