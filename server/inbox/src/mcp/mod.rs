//! The wire: one loop that reads lines, keeps open calls as data, and writes answers in one order.
//!
//! It must never wait for one thing while another could happen: not for the host's pipe, not for a message, not for
//! Teams. It writes JSON-RPC lines and nothing else, and it asks the host nothing.

mod calls;
mod cancel;
mod dispatch;
mod era;
mod events;
mod framing;
mod hosts;
mod id_scan;
mod lifecycle;
mod message;
mod outgoing;
mod permissions;
mod presence;
mod pump;
mod session;
mod sight;
mod subscription;
mod tasks;

use std::time::Duration;

use futures_util::StreamExt;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::time::{Instant, sleep_until, timeout};

pub use era::{LEGACY_NEWEST, LEGACY_VERSIONS, MODERN_VERSIONS};
pub use framing::LINE_BYTES_MAX;
pub use hosts::{HOSTS, HandsDown, HostRow, Park, WAIT_CAP_S};
pub(crate) use hosts::{consumer_of, numbers};
pub use outgoing::OUT_BYTES_MAX;
pub use presence::{HostSeen, Presence, PresenceState};
pub use session::{Health, Limits, SessionOptions};

use framing::Framer;
use session::Session;

/// How long answers that are already made may take to leave after the host closed our input, in milliseconds.
const DRAIN_MS_MAX: u64 = 50;

/// Bytes asked for in one read.
const READ_BYTES: usize = 16 * 1024;

/// Why a connection ended. None of them is an error: hosts end however they like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Exit {
    /// The host closed our input.
    InputClosed,
    /// Our input could not be read.
    InputFailed,
    /// The host closed our output.
    OutputClosed,
    /// The host took nothing for too long, with both directions full.
    OutputStalled,
}

/// Serves one host until its pipes end. Messages that it was given and did not come back for stay in the journal.
pub async fn serve(
    options: SessionOptions,
    mut reader: impl AsyncRead + Unpin,
    mut writer: impl AsyncWrite + Unpin,
) -> Exit {
    let line_bytes_max = options.limits.line_bytes_max;
    let mut framer = Framer::new(line_bytes_max);
    let mut session = Session::new(options);
    let mut chunk = vec![0; READ_BYTES];
    let mut journal_lives = true;
    let mut progress = (0, Instant::now());
    loop {
        let mut lines = 0;
        while session.out.has_room()
            && let Some(frame) = framer.next_frame()
        {
            session.on_frame(frame);
            lines += 1;
        }
        session.pump();
        session.tell_presence(lines);
        session.tell_sight();
        // While the host takes nothing we read on, to see it end, up to this bound.
        let may_read = framer.buffered_bytes() < 2 * line_bytes_max;
        let written = session.out.written_bytes_total();
        if may_read || written != progress.0 {
            progress = (written, Instant::now());
        }
        let stalls_at = (!may_read).then(|| progress.1 + session.stall_limit());
        let deadline = session.next_deadline().filter(|_| session.out.has_room());
        let deadline = [deadline, stalls_at].into_iter().flatten().min();
        tokio::select! {
            biased;
            written = session.out.advance(&mut writer), if !session.out.is_idle() => match written {
                Ok(receipts) => session.on_written(receipts),
                Err(error) => {
                    tracing::info!(%error, "the host closed our output");
                    return Exit::OutputClosed;
                }
            },
            read = reader.read(&mut chunk), if may_read => match read {
                Ok(0) => {
                    session.end_listens();
                    // A host that is gone takes nothing; one that only closed our input still gets what is ready.
                    let _ = timeout(Duration::from_millis(DRAIN_MS_MAX), session.out.advance(&mut writer)).await;
                    return Exit::InputClosed;
                }
                Ok(count) => framer.push(&chunk[..count]),
                Err(error) => {
                    tracing::warn!(%error, "our input could not be read");
                    return Exit::InputFailed;
                }
            },
            Some(answer) = permissions::next(&mut session.options.permission), if session.out.has_room() => {
                session.on_permission_answer(&answer);
            }
            Some(done) = session.works.next(), if !session.works.is_empty() => session.on_worked(done),
            changed = session.grown.changed(), if journal_lives => journal_lives = changed.is_ok(),
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                let is_late = stalls_at.is_some_and(|at| at <= Instant::now());
                if is_late && session.out.written_bytes_total() == progress.0 {
                    tracing::warn!("the host takes no output and both directions are full");
                    return Exit::OutputStalled;
                }
            }
        }
    }
}
