//! Sets the terminal up and restores it, however the screen ends.
//!
//! What panics while the screen is shown is told after it. It must never leave raw mode or the other screen on.

use std::io::{self, Write};
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crossterm::cursor::Show;
use crossterm::event::{DisableBracketedPaste, EnableBracketedPaste};
use crossterm::execute;
use crossterm::style::ResetColor;
use crossterm::terminal::{EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode};

/// Most panics that are told.
const PANICS_MAX: usize = 8;

/// Writes what begins the screen. The mouse stays the terminal's own, so that a person can select text.
pub fn enter(writer: &mut impl Write) -> io::Result<()> {
    execute!(writer, EnterAlternateScreen, EnableBracketedPaste)
}

/// Writes what ends it.
pub fn leave(writer: &mut impl Write) -> io::Result<()> {
    execute!(writer, DisableBracketedPaste, LeaveAlternateScreen, ResetColor, Show)
}

/// The terminal in the state of the screen. When it is dropped, also by a panic, the terminal is as it was.
pub struct Restore {
    panics: Arc<Panics>,
}

struct Panics {
    are_kept: AtomicBool,
    told: Mutex<Vec<String>>,
}

impl Restore {
    /// Sets up the terminal.
    ///
    /// # Errors
    /// Fails if it can't be.
    pub fn set_up() -> io::Result<Self> {
        let restore = Self { panics: Panics::keep() };
        enable_raw_mode()?;
        enter(&mut io::stdout())?;
        Ok(restore)
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        // Each is tried, whatever became of the other one.
        let _ = leave(&mut io::stdout());
        let _ = disable_raw_mode();
        for told in self.panics.release() {
            let _ = writeln!(io::stderr(), "{told}");
        }
    }
}

impl Panics {
    fn keep() -> Arc<Self> {
        let panics = Arc::new(Self { are_kept: AtomicBool::new(true), told: Mutex::default() });
        let (kept, before) = (panics.clone(), panic::take_hook());
        panic::set_hook(Box::new(move |info| {
            if !kept.are_kept.load(Ordering::SeqCst) {
                return before(info);
            }
            let mut told = kept.told.lock().unwrap_or_else(PoisonError::into_inner);
            if told.len() < PANICS_MAX {
                told.push(info.to_string());
            }
        }));
        panics
    }

    /// The hook stays, and passes on to the one before it: a thread that panics can't take it off.
    fn release(&self) -> Vec<String> {
        self.are_kept.store(false, Ordering::SeqCst);
        std::mem::take(&mut self.told.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
