//! The process that stands by: it gets ready, waits for a job, runs it, and gets ready again.
//! It must never end while a job is handed to it, nor outlive its session by long.

use std::io;
use std::pin::pin;
use std::time::Duration;

use entraclaw_seams::storage::Changes;
use futures_util::FutureExt as _;
use tokio::time::{Instant, sleep, timeout};

use super::place::{NoPlace, Place, Told};
use crate::folder::caller_lives;
use crate::run::{RunParts, end_all, run_with};

/// How long it waits for a job; then it gives its memory back.
const IDLE_MAX: Duration = Duration::from_secs(10 * 60);
/// How long it takes jobs: programs are updated, and sign-ins renewed.
const AGE_MAX: Duration = Duration::from_secs(30 * 60);
/// The pause between two looks whether its session still runs.
const SESSION_LOOK: Duration = Duration::from_secs(5);
/// The pause between two looks for a job, if the disk does not report changes.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// The same, if the disk may miss a change.
const NEWS_MAX: Duration = Duration::from_millis(500);

/// Why a process does not stand by.
#[derive(Debug, thiserror::Error)]
pub enum StandbyError {
    /// Nothing is planned under this key.
    #[error("nothing stands by under the key {0}; a session starts such a process by itself")]
    Unknown(String),
    /// Enough others stand by.
    #[error("{0} processes stand by already, which is the limit; raise `ask.warm`")]
    Full(u32),
    /// The kind can't get ready.
    #[error("it can't get ready: {0}")]
    NotReady(String),
    /// The home folder can't be used.
    #[error("the folder standby/ in the home folder can't be used: {0}; repair it")]
    Storage(#[from] io::Error),
}

/// Stands by for the plan of this key, and returns how many jobs it ran. `signalled` is ready when this process is asked to
/// stop.
///
/// # Errors
/// Fails if it can't stand by; then it has taken no job.
pub async fn stand_by(
    key: &str,
    parts: RunParts,
    signalled: impl Future<Output = ()>,
) -> Result<u32, StandbyError> {
    let unknown = || StandbyError::Unknown(key.chars().take(64).collect());
    let (place, plan) = Place::take(&parts.storage, key)?.map_err(|why| match why {
        NoPlace::NoPlan => unknown(),
        NoPlace::Full(limit) => StandbyError::Full(limit),
    })?;
    let mut signalled = pin!(signalled.fuse());
    let session_ends = async {
        while caller_lives(&*parts.storage, &plan.session) {
            sleep(SESSION_LOOK).await;
        }
    };
    let mut session_ends = pin!(session_ends.fuse());
    let Some(kind) = parts.kinds.get(&plan.kind) else { return Err(unknown()) };
    let prepared = tokio::select! {
        biased;
        () = &mut signalled => Err("it was asked to stop".to_owned()),
        () = &mut session_ends => Err("its session has ended".to_owned()),
        prepared = kind.prepare(plan.what.clone()) => prepared,
    };
    let mut prepared = match prepared {
        Ok(prepared) => prepared,
        Err(why) => {
            end_all(&*parts.processes, &[]).await;
            place.clear()?;
            return Err(StandbyError::NotReady(why));
        }
    };
    let began = Instant::now();
    let mut news = place.changes();
    let mut jobs = 0;
    loop {
        place.offer()?;
        let idle = tokio::select! {
            biased;
            told = next(&place, &mut news) => told?,
            () = &mut signalled => Told::Leave,
            () = &mut session_ends => Told::Leave,
            () = prepared.ended() => Told::Leave,
            () = sleep(IDLE_MAX) => Told::Leave,
        };
        let told = match idle {
            // A job may be handed over in the same instant.
            Told::Leave if !place.withdraw()? => place.told()?,
            other => other,
        };
        let Told::Run(id) = told else { break };
        let spared = prepared.spared();
        let run = run_with(&id, &parts, &mut signalled, &spared, |running| prepared.run(running));
        if let Err(error) = run.await {
            tracing::warn!(%error, id, "a job that was handed over was not run");
        }
        jobs += 1;
        let is_over = began.elapsed() >= AGE_MAX || signalled.as_mut().now_or_never().is_some();
        if is_over || !prepared.renew().await {
            break;
        }
    }
    prepared.end().await;
    end_all(&*parts.processes, &[]).await;
    place.clear()?;
    Ok(jobs)
}

/// Waits until it is told something.
async fn next(place: &Place, news: &mut Option<Changes>) -> io::Result<Told> {
    loop {
        match place.told()? {
            Told::Nothing => {}
            told => return Ok(told),
        }
        match news {
            Some(news) if news.is_complete() => news.next().await,
            Some(news) => {
                let _ = timeout(NEWS_MAX, news.next()).await;
            }
            None => sleep(LOOK_EVERY).await,
        }
    }
}
