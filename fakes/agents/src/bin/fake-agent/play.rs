//! Plays the acts of a plan on real pipes and the real clock. What they are was decided before.
#![expect(clippy::disallowed_methods, reason = "this is the adapter to the real process, clock and disk")]

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::time::Duration;

use fake_agents::{Acp, Act, Invocation, Script, Signal, interrupted, plan};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::time::Instant;

use crate::disk::Disk;
use crate::journal::Journal;
use crate::place::Place;
use crate::signals::{self, Signals};
use crate::{child, process_time};

/// How long a program hangs at most, so that no test leaves one for ever.
const HANGS_AT_MOST_MS: u64 = 600_000;

/// Does what the script says; gives the exit code.
pub(crate) async fn run(script: &Script, place: &Place, argv: Vec<String>) -> Result<u8, String> {
    let environment: BTreeMap<String, String> = std::env::vars_os()
        .map(|(name, value)| (name.to_string_lossy().into_owned(), value.to_string_lossy().into_owned()))
        .collect();
    let folder = std::env::current_dir().map_err(|error| format!("the work folder is gone: {error}"))?;
    let started_unix_ms = process_time::unix_ms();
    let journal = Journal::new(place.beside("log"));
    journal.starts(&argv, &environment, &folder.display().to_string());
    let store = environment.get(script.agent.store_variable()).map(String::as_str);
    let disk = Disk { store: place.store(store) };
    let seed = u64::from(std::process::id()) ^ (process_time::subsecond_ns() << 32);
    let invocation = Invocation { argv, environment, folder, started_unix_ms, seed, ..Invocation::default() };
    let player = Player {
        script,
        place,
        journal,
        done: Vec::new(),
        left: plan(script, &invocation, &disk).into(),
        disk,
        invocation,
        signals: Signals::default(),
        children: Vec::new(),
    };
    player.play().await
}

struct Player<'run> {
    script: &'run Script,
    place: &'run Place,
    journal: Journal,
    disk: Disk,
    invocation: Invocation,
    done: Vec<Act>,
    left: VecDeque<Act>,
    signals: Signals,
    /// They outlive this process; they are kept so that nothing waits for them.
    children: Vec<std::process::Child>,
}

impl Player<'_> {
    async fn play(mut self) -> Result<u8, String> {
        while let Some(act) = self.left.pop_front() {
            if act == Act::SpeakAcp {
                return self.speaks_acp().await;
            }
            let slow = {
                let doing = do_slowly(&act);
                tokio::pin!(doing);
                loop {
                    let signal = tokio::select! {
                        biased;
                        signal = self.signals.next() => signal,
                        slow = &mut doing => break Some(slow),
                    };
                    self.journal.signal(signals::name(signal));
                    if let Some(acts) = interrupted(self.script, &self.invocation, &self.done, signal) {
                        self.left = acts.into();
                        break None;
                    }
                }
            };
            match slow {
                None => continue,
                Some(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(self.end(1)),
                Some(Err(error)) => return Err(format!("a pipe failed: {error}")),
                Some(Ok(Some(input))) => {
                    self.reads(input);
                    continue;
                }
                Some(Ok(None)) => {}
            }
            if let Some(code) = self.does(&act)? {
                return Ok(code);
            }
            self.done.push(act);
        }
        Ok(self.end(0))
    }

    /// Plans again with what came on stdin, and skips what was done already.
    fn reads(&mut self, input: Input) {
        self.journal.reads(input.bytes.len());
        self.invocation.stdin = Some(input.bytes);
        self.invocation.stdin_is_silent = input.is_silent;
        self.left = plan(self.script, &self.invocation, &self.disk).into();
        for done in &self.done {
            if self.left.front() == Some(done) {
                self.left.pop_front();
            }
        }
    }

    /// The part of an act that takes no time. Gives the exit code at the end.
    fn does(&mut self, act: &Act) -> Result<Option<u8>, String> {
        match act {
            Act::Enter(_) => self.signals.catch()?,
            Act::Exit(code) => return Ok(Some(self.end(*code))),
            Act::Die(signal) => {
                self.journal.dies(signals::name(*signal));
                return Ok(Some(match signal {
                    Signal::Interrupt | Signal::Terminate => child::dies(self.place, *signal),
                    Signal::Kill | Signal::Segfault => signals::die(*signal),
                }));
            }
            Act::Child { leaves_group, ignores_term } => {
                let child = child::start(self.place, *leaves_group, *ignores_term)?;
                self.journal.child(child.id());
                self.children.push(child);
            }
            Act::Write { path, text } => {
                std::fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))?;
            }
            Act::Store { path, text } => {
                self.disk.add(path, text).map_err(|error| format!("{path}: {error}"))?;
            }
            _ => {}
        }
        Ok(None)
    }

    /// Serves the protocol until stdin ends, a signal comes or the script says so.
    async fn speaks_acp(mut self) -> Result<u8, String> {
        let mut acp = Acp::new(self.script, &self.invocation);
        let mut lines = BufReader::new(tokio::io::stdin()).lines();
        let started = Instant::now();
        let mut reads = true;
        loop {
            let now_ms = || u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
            let due = acp.due_ms().map(|due_ms| started + Duration::from_millis(due_ms));
            let acts = tokio::select! {
                biased;
                signal = self.signals.next() => {
                    self.journal.signal(signals::name(signal));
                    if signal == Signal::Terminate && !acp.ends_on_sigterm() {
                        continue;
                    }
                    return Ok(self.end(0));
                }
                line = lines.next_line(), if reads => {
                    let line = line.map_err(|error| format!("stdin: {error}"))?;
                    reads = line.is_some();
                    if let Some(line) = line {
                        acp.on_line(now_ms(), &line, &self.disk)
                    } else {
                        acp.on_end(now_ms())
                    }
                },
                () = at(due) => acp.on_time(now_ms()),
            };
            for act in acts {
                match do_slowly(&act).await {
                    Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(self.end(1)),
                    other => other.map_err(|error| format!("a pipe failed: {error}"))?,
                };
                if let Some(code) = self.does(&act)? {
                    return Ok(code);
                }
            }
        }
    }

    fn end(&self, code: u8) -> u8 {
        self.journal.ends(code);
        code
    }
}

/// Waits for a moment; without one, for ever.
async fn at(due: Option<Instant>) {
    match due {
        Some(due) => tokio::time::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// What came on stdin; nothing at all within the time is silence.
struct Input {
    bytes: Vec<u8>,
    is_silent: bool,
}

async fn read_input(at_most_ms: Option<u64>) -> io::Result<Input> {
    let mut bytes = Vec::new();
    let mut stdin = tokio::io::stdin();
    if let Some(ms) = at_most_ms {
        let first = tokio::time::timeout(Duration::from_millis(ms), stdin.read_buf(&mut bytes)).await;
        if first.is_err() {
            return Ok(Input { bytes, is_silent: true });
        }
    }
    stdin.read_to_end(&mut bytes).await?;
    Ok(Input { bytes, is_silent: false })
}

/// The part of an act that a signal can end. Gives what was read from stdin.
async fn do_slowly(act: &Act) -> io::Result<Option<Input>> {
    match act {
        Act::Wait { ms } => tokio::time::sleep(Duration::from_millis(*ms)).await,
        Act::Hang => tokio::time::sleep(Duration::from_millis(HANGS_AT_MOST_MS)).await,
        Act::Out(bytes) => {
            let mut stdout = tokio::io::stdout();
            stdout.write_all(bytes).await?;
            stdout.flush().await?;
        }
        Act::Err(bytes) => {
            let mut stderr = tokio::io::stderr();
            stderr.write_all(bytes).await?;
            stderr.flush().await?;
        }
        Act::ReadInput { at_most_ms } => return read_input(*at_most_ms).await.map(Some),
        _ => {}
    }
    Ok(None)
}
