//! The loop: keys before news, a frame when something has changed, and no more than sixty a second.
//!
//! It must never wait for the engine, nor draw what has not changed.

use std::io;

use crossterm::event::Event;
use futures_util::{Stream, StreamExt as _};
use ratatui::Terminal;
use ratatui::backend::Backend;
use ratatui::layout::Rect;
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant, sleep_until};

use crate::draw::draw;
use crate::keys::Key;
use crate::news::News;
use crate::screen::{Effect, Happens, Screen};
use crate::theme::Theme;

/// The time of a frame, at sixty a second.
const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 60);
/// How often the time on the screen is looked at.
const TICK: Duration = Duration::from_millis(250);
/// Most news that are taken in before a frame.
const NEWS_MAX: usize = 512;

/// Where what happens comes from.
pub struct Feeds<E, S> {
    /// What the terminal sends.
    pub events: E,
    /// What the engine tells.
    pub news: mpsc::Receiver<News>,
    /// Ends the screen.
    pub stop: S,
}

/// What was drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawn {
    /// How many frames.
    pub frames: u64,
    /// In which time.
    pub elapsed: Duration,
}

/// Shows the screen until the person leaves or `stop` is ready.
///
/// # Errors
/// Fails if the terminal can't be read or written.
pub async fn drive<B, E, S>(
    terminal: &mut Terminal<B>,
    screen: &mut Screen,
    theme: Theme,
    feeds: Feeds<E, S>,
    effects: &mpsc::Sender<Effect>,
) -> io::Result<Drawn>
where
    B: Backend,
    B::Error: Send + Sync + 'static,
    E: Stream<Item = io::Result<Event>>,
    S: Future<Output = ()>,
{
    let Feeds { events, mut news, stop } = feeds;
    tokio::pin!(events, stop);
    let start = Instant::now();
    let (mut frames, mut due, mut tick) = (0, start, start);
    let mut hears = true;
    let mut has_changed = true;
    loop {
        has_changed |= screen.take_change();
        let now = Instant::now();
        if has_changed && now >= due {
            terminal.draw(|frame| draw(frame, screen, theme)).map_err(io::Error::other)?;
            frames += 1;
            has_changed = false;
            // A frame that came late does not push back all others, and is not made up for either.
            due = (due + FRAME).max(now + FRAME / 2);
        }
        let happens = tokio::select! {
            biased;
            () = &mut stop => break,
            event = events.next() => match event {
                Some(Ok(Event::Resize(width, height))) => {
                    terminal.resize(Rect::new(0, 0, width, height)).map_err(io::Error::other)?;
                    has_changed = true;
                    continue;
                }
                Some(Ok(event)) => match Key::of(&event) {
                    Some(key) => Happens::Key(key),
                    None => continue,
                },
                Some(Err(error)) => return Err(error),
                None => break,
            },
            () = sleep_until(due), if has_changed => continue,
            told = news.recv(), if hears => {
                hears = told.is_some();
                Happens::News(Box::new(told.unwrap_or(News::EngineEnded)))
            }
            () = sleep_until(tick), if screen.is_ticking() => {
                tick = Instant::now() + TICK;
                Happens::Tick
            }
        };
        let now_ms = u64::try_from(start.elapsed().as_millis()).unwrap_or(u64::MAX);
        let is_news = matches!(happens, Happens::News(_));
        for effect in screen.update(happens, now_ms) {
            match effect {
                Effect::Quit => return Ok(Drawn { frames, elapsed: start.elapsed() }),
                Effect::Redraw => {
                    // `clear` would ask the terminal where its cursor is, and wait for the answer.
                    let area = terminal.get_frame().area();
                    terminal.resize(area).map_err(io::Error::other)?;
                }
                effect => {
                    if effects.try_send(effect).is_err() {
                        let says = "the engine does not listen now; try again in a moment".to_owned();
                        screen.update(Happens::News(Box::new(News::Refused(says))), now_ms);
                    }
                }
            }
        }
        let mut more = if is_news { NEWS_MAX } else { 0 };
        while more > 0
            && let Ok(told) = news.try_recv()
        {
            screen.update(Happens::News(Box::new(told)), now_ms);
            more -= 1;
        }
    }
    Ok(Drawn { frames, elapsed: start.elapsed() })
}
