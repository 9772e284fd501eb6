//! A signal during a run: at the first one nothing new is played and what there is gets reported, the next one ends the
//! program as it always does.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Listens from now on. The flag is set by the first signal that asks for an end.
#[cfg(unix)]
pub(super) fn listen() -> std::io::Result<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::flag::{register, register_conditional_default};

    let is_over = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // The order makes it the next signal that ends the program.
        register_conditional_default(signal, Arc::clone(&is_over))?;
        register(signal, Arc::clone(&is_over))?;
    }
    Ok(is_over)
}

/// On other systems a run ends at once.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "on Unix it may fail")]
pub(super) fn listen() -> std::io::Result<Arc<AtomicBool>> {
    Ok(Arc::default())
}
