//! How far the reading of sessions is, on a terminal: the first one may take minutes.
//!
//! It must never write to a pipe.

use std::sync::OnceLock;

use entraclaw_memory::search::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How often a second the bar is drawn.
const DRAWN_HZ: u8 = 10;
/// Fewer bytes are read before a person has seen the bar.
const SHOWN_FROM_BYTES: u64 = 8 * 1024 * 1024;
/// It fits into 80 columns: a longer line would be drawn anew below itself.
const TEMPLATE: &str = "reading sessions {bar:20} {bytes} of {total_bytes}, {eta}";

/// The bar. It is drawn once it is told of much to read.
#[derive(Default)]
pub(super) struct Bar(OnceLock<ProgressBar>);

impl Bar {
    /// Draws how far it is.
    pub(super) fn tell(&self, progress: Progress) {
        if progress.new_bytes < SHOWN_FROM_BYTES {
            return;
        }
        let bar = self.0.get_or_init(|| {
            let style =
                ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_bar());
            let target = ProgressDrawTarget::stderr_with_hz(DRAWN_HZ);
            ProgressBar::with_draw_target(Some(progress.new_bytes), target).with_style(style)
        });
        bar.set_position(progress.read_bytes);
        bar.tick();
    }
}

/// Takes the bar away.
impl Drop for Bar {
    fn drop(&mut self) {
        if let Some(bar) = self.0.get() {
            bar.finish_and_clear();
        }
    }
}
