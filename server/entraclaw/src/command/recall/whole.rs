//! A whole session for reading, on a terminal page by page.
//!
//! It must never leave a person before a pager that is not there: then the text is printed.

use std::io::{IsTerminal as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use entraclaw_memory::export::{Extent, export};
use entraclaw_memory::stores::{Library, SessionError, Wanted};
use entraclaw_sanitize::clean_text;

use super::super::output::{self, Failure};
use super::view::Recalled;

/// Longest session that is shown, in bytes.
const BYTES_MAX: usize = 4 * 1024 * 1024;

/// Shows the `nth` session of an answer, counted from 1.
pub(super) fn open(
    library: &mut Library,
    recalled: &Recalled,
    nth: u16,
    pager: Option<&Path>,
) -> Result<ExitCode, Failure> {
    let Some(session) = recalled.sessions.get(usize::from(nth) - 1) else {
        let found = recalled.sessions.len();
        return Err(format!("there is no answer {nth} to {:?}: {found} were found", recalled.query).into());
    };
    let wanted = |session_named| Wanted {
        session: session_named,
        agent: Some(session.agent),
        workspace: Path::new("/"),
    };
    let whole = match export(library, &wanted(&session.file), Extent::Full, BYTES_MAX) {
        // What a sub-agent did stands in a file of its own; the session that began it has its id.
        Err(SessionError::NotFound { .. }) => export(library, &wanted(&session.id), Extent::Full, BYTES_MAX),
        found => found,
    };
    let whole = whole.map_err(|error| error.to_string())?;
    let text =
        format!("# {}\n\n{}- Goes on with: {}\n", whole.title, clean_text(&whole.markdown), session.resume);
    if let Some(pager) = pager.filter(|_| std::io::stdout().is_terminal())
        && paged(pager, &text).is_ok()
    {
        return Ok(ExitCode::SUCCESS);
    }
    Ok(output::text(&text, ExitCode::SUCCESS))
}

/// A short text is printed and not paged. A person may leave the pager before the end.
fn paged(pager: &Path, text: &str) -> std::io::Result<()> {
    let mut child = Command::new(pager).args(["-F", "-X"]).stdin(Stdio::piped()).spawn()?;
    if let Some(mut input) = child.stdin.take() {
        let _ = input.write_all(text.as_bytes());
    }
    child.wait().map(|_| ())
}
