//! The time that a tap adds to a message, for `simulation bench`: the same line to `cat` and back, with and without it.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use tokio::time::Instant;

/// Messages that are measured either way.
const MESSAGES: usize = 2_000;
/// Messages before those.
const WARM_UP: usize = 100;
/// Size of a message, in bytes.
const MESSAGE_BYTES: usize = 1_024;

/// The time that the tap added to one message, there and back: the middle and the hundredth slowest.
pub(super) struct Added {
    /// In the middle.
    pub(super) p50: Duration,
    /// Of a hundred the slowest.
    pub(super) p99: Duration,
}

/// Measures with this program as the tap; none where there is no `cat`.
pub(super) fn measure() -> anyhow::Result<Option<Added>> {
    if !cfg!(unix) {
        return Ok(None);
    }
    let folder = tempfile::tempdir()?;
    let own = std::env::current_exe()?;
    let mut tap = Command::new(own);
    tap.args(["record", "--log"]).arg(folder.path().join("wire.jsonl")).args(["--", "cat"]);
    let mut ways = [Way::start(&mut Command::new("cat"))?, Way::start(&mut tap)?];
    let text = "x".repeat(MESSAGE_BYTES);
    for number in 0..WARM_UP + MESSAGES {
        let message = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":{number},\"method\":\"ping\",\"params\":{{\"text\":\"{text}\"}}}}\n"
        );
        // One after the other, so that whatever else the machine does meets both.
        for way in &mut ways {
            let took = way.round_trip(&message)?;
            if number >= WARM_UP {
                way.times.push(took);
            }
        }
    }
    let [direct, tapped] = ways.map(Way::finish);
    let (direct, tapped) = (direct?, tapped?);
    let at = |times: &[Duration], percent: usize| {
        times.get(times.len() * percent / 100).copied().unwrap_or_default()
    };
    let added = |percent| at(&tapped, percent).saturating_sub(at(&direct, percent));
    Ok(Some(Added { p50: added(50), p99: added(99) }))
}

/// A command that gives back what it is given.
struct Way {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    line: String,
    times: Vec<Duration>,
}

impl Way {
    fn start(command: &mut Command) -> anyhow::Result<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the tap or `cat`")?;
        let input = child.stdin.take().context("no stdin")?;
        let output = BufReader::new(child.stdout.take().context("no stdout")?);
        Ok(Self { child, input, output, line: String::new(), times: Vec::with_capacity(MESSAGES) })
    }

    fn round_trip(&mut self, message: &str) -> anyhow::Result<Duration> {
        let sent = Instant::now();
        self.input.write_all(message.as_bytes())?;
        self.line.clear();
        self.output.read_line(&mut self.line)?;
        let took = sent.elapsed();
        anyhow::ensure!(self.line == message, "a message came back changed");
        Ok(took)
    }

    /// The times, sorted.
    fn finish(mut self) -> anyhow::Result<Vec<Duration>> {
        drop(self.input);
        self.child.wait()?;
        self.times.sort_unstable();
        Ok(self.times)
    }
}
