//! Shows the screen on the terminal of this process until the person leaves.

use std::io::{self, BufWriter, IsTerminal as _};

use crossterm::event::EventStream;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use tokio::sync::mpsc;
use tokio::time::{Duration, timeout};

use entraclaw_delegate::Engine;

use crate::drive::{Drawn, Feeds, drive};
use crate::link::link;
use crate::news::News;
use crate::screen::{Effect, Screen};
use crate::terminal::Restore;
use crate::theme::Theme;

/// News that wait for the screen.
const NEWS_MAX: usize = 1_024;
/// Wishes that wait for the engine.
const EFFECTS_MAX: usize = 64;
/// How long the last wishes may take when the person leaves.
const LAST_WISHES: Duration = Duration::from_secs(2);
/// Bytes of a frame that are written at once.
const FRAME_BYTES: usize = 64 * 1024;

/// What the screen must know.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The project's name.
    pub project: String,
    /// The value of `TERM`.
    pub term: Option<String>,
    /// The value of `NO_COLOR`.
    pub no_color: Option<String>,
}

/// Shows the screen of an engine until the person leaves, or the process is told to end. The engine goes on: the
/// caller shuts it down.
///
/// The terminal is written without yielding. An engine that must not wait for a slow terminal runs on another thread.
///
/// # Errors
/// Fails with a sentence if the terminal can't show a screen, or is gone.
pub async fn run(engine: Engine, options: Options) -> io::Result<()> {
    let (news, told) = mpsc::channel(NEWS_MAX);
    let (effects, wanted) = mpsc::channel(EFFECTS_MAX);
    refuse(&options)?;
    let mut linked = tokio::spawn(link(engine, news, wanted));
    let shown = show(&options, told, &effects, std::future::pending()).await;
    drop(effects);
    if timeout(LAST_WISHES, &mut linked).await.is_err() {
        linked.abort();
    }
    shown.map(|_| ())
}

/// Shows the screen on what it is told, by an engine or by a test, until the person leaves or `until` is ready.
///
/// # Errors
/// Fails with a sentence if the terminal can't show a screen, or is gone.
pub async fn show(
    options: &Options,
    news: mpsc::Receiver<News>,
    effects: &mpsc::Sender<Effect>,
    until: impl Future<Output = ()>,
) -> io::Result<Drawn> {
    refuse(options)?;
    let theme = Theme::by(options.no_color.as_deref());
    crossterm::style::force_color_output(theme.has_colour());
    let (width, height) = crossterm::terminal::size()?;
    let restore = Restore::set_up()?;
    let stopped = stopped()?;
    let stop = async {
        tokio::select! {
            biased;
            () = stopped => {}
            () = until => {}
        }
    };
    let backend = CrosstermBackend::new(BufWriter::with_capacity(FRAME_BYTES, io::stdout()));
    let area = Rect::new(0, 0, width, height);
    let viewport = Viewport::Fixed(area);
    let mut terminal = Terminal::with_options(backend, TerminalOptions { viewport })?;
    terminal.resize(area)?;
    let mut screen = Screen::new(&options.project);
    let feeds = Feeds { events: EventStream::new(), news, stop };
    let drawn = drive(&mut terminal, &mut screen, theme, feeds, effects).await;
    // What it still holds must be written before the terminal is restored.
    drop(terminal);
    drop(restore);
    drawn
}

fn refuse(options: &Options) -> io::Result<()> {
    refuse_by(options, io::stdout().is_terminal(), io::stdin().is_terminal())
}

fn refuse_by(options: &Options, shows: bool, hears: bool) -> io::Result<()> {
    let why = if options.term.as_deref() == Some("dumb") {
        "TERM=dumb: this terminal can't move its cursor, so no screen can be shown; use --headless, or set TERM to what the terminal is"
    } else if !shows || !hears {
        "stdin and stdout: they must be a terminal to show a screen; use --headless"
    } else {
        return Ok(());
    };
    Err(io::Error::new(io::ErrorKind::Unsupported, why))
}

/// Ready when the process is told to end.
#[cfg(unix)]
fn stopped() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let mut ends = signal(SignalKind::terminate())?;
    let mut hangs_up = signal(SignalKind::hangup())?;
    let mut interrupts = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            biased;
            _ = ends.recv() => {}
            _ = hangs_up.recv() => {}
            _ = interrupts.recv() => {}
        }
    })
}

/// Ready when the process is told to end.
#[cfg(not(unix))]
fn stopped() -> io::Result<impl Future<Output = ()>> {
    Ok(async {
        // Without the handler only the person's own keys end it.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_needs_a_terminal_to_show_itself_and_one_to_hear_the_person() {
        for (shows, hears) in [(true, true), (true, false), (false, true), (false, false)] {
            let is_taken = refuse_by(&Options::default(), shows, hears).is_ok();
            assert_eq!(is_taken, shows && hears, "shows: {shows}, hears: {hears}");
        }
    }

    #[test]
    fn a_terminal_that_can_not_show_a_screen_is_refused_with_a_way_out() {
        let options = Options { term: Some("dumb".to_owned()), ..Options::default() };
        assert!(refuse(&options).unwrap_err().to_string().contains("--headless"));
    }
}
