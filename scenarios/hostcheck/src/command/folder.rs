//! Finds the event streams in a folder that a run wrote: one, or the two of `run --server`. It must never
//! join the findings of two runs, nor choose one of two without a word.

use std::io::BufReader;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use reports::Stream;

use crate::print::warn;

/// The folders that `run --server` writes: the findings by the protocol, and by the hosts.
pub(super) const PARTS: [&str; 2] = ["protocol", "hosts"];
const EVENTS: &str = "events.jsonl";
/// One stream of a folder.
pub(super) struct Part {
    /// Which of [`PARTS`]; `None` where the run has one stream only.
    pub(super) name: Option<&'static str>,
    pub(super) stream: Stream,
}

/// What `run --server` writes above its parts.
const ABOVE: [&str; 5] = ["index.html", "overview.md", "hosts.md", "badge.svg", "badge.json"];

/// Takes away what an earlier `run --server` left in a folder: a page or a badge of another server would stay beside the
/// parts of this one. A folder without such a run is left as it is, and so is each file that a run does not write.
///
/// # Errors
/// If a file can't be removed.
#[expect(clippy::disallowed_methods, reason = "the command line's edge writes the output folder")]
pub(super) fn clear(path: &Path) -> anyhow::Result<()> {
    let earlier = PARTS.map(|part| path.join(part)).into_iter().filter(|part| part.join(EVENTS).is_file());
    let earlier: Vec<PathBuf> = earlier.collect();
    if earlier.is_empty() {
        return Ok(());
    }
    let above = ABOVE.map(|name| path.join(name));
    let below = earlier
        .iter()
        .flat_map(|part| reports::FILES.into_iter().chain([EVENTS]).map(|name| part.join(name)));
    for file in above.into_iter().chain(below).filter(|file| file.is_file()) {
        std::fs::remove_file(&file).with_context(|| format!("cannot remove {}", file.display()))?;
    }
    Ok(())
}

/// The streams that a path names: a file, the file of a folder, or the files of both parts below it.
pub(super) fn parts(path: &Path) -> anyhow::Result<Vec<Part>> {
    let below: Vec<(&'static str, PathBuf)> = PARTS
        .into_iter()
        .map(|name| (name, path.join(name).join(EVENTS)))
        .filter(|(_, file)| file.is_file())
        .collect();
    let own = if path.is_dir() { path.join(EVENTS) } else { path.to_owned() };
    if !path.is_dir() || own.is_file() || below.is_empty() {
        anyhow::ensure!(
            !path.is_dir() || own.is_file(),
            "there is no {EVENTS} in {}; name the folder that `hostcheck run` wrote its reports to",
            path.display()
        );
        let stream = file(&own)?;
        if path.is_dir() && !below.is_empty() {
            let others: Vec<String> =
                below.iter().map(|(name, _)| path.join(name).display().to_string()).collect();
            warn(&format!("reading {}; there are other runs in {}", own.display(), others.join(" and ")));
        }
        return Ok(vec![Part { name: None, stream }]);
    }
    let parts = below
        .into_iter()
        .map(|(name, path)| Ok(Part { name: Some(name), stream: file(&path)? }))
        .collect::<anyhow::Result<Vec<_>>>()?;
    if let [one, other] = parts.as_slice()
        && one.stream.header.server != other.stream.header.server
    {
        anyhow::bail!("{} are of two servers; name one of them", both(path, "and"));
    }
    Ok(parts)
}

/// The one stream that a path names.
pub(super) fn read(path: &Path) -> anyhow::Result<Stream> {
    let mut parts = parts(path)?;
    anyhow::ensure!(parts.len() < 2, "{} holds two runs; name {}", path.display(), both(path, "or"));
    Ok(parts.remove(0).stream)
}

/// The folders of both parts, as a text.
pub(super) fn both(path: &Path, word: &str) -> String {
    PARTS.map(|name| path.join(name).display().to_string()).join(&format!(" {word} "))
}

fn file(path: &Path) -> anyhow::Result<Stream> {
    let file = std::fs::File::open(path).with_context(|| format!("cannot read {}", path.display()))?;
    Stream::read(BufReader::new(file)).with_context(|| format!("{} is no valid event stream", path.display()))
}
