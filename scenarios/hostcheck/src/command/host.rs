//! `hostcheck host`: one fake host against any server command, over real pipes.

use std::io::Write as _;
use std::path::PathBuf;

use anyhow::Context as _;
use fake_hosts::drive::{HostEventKind, NOT_STARTED, drive};
use fake_hosts::log::Dir;
use fake_hosts::process::{ProcessServer, ServerCommand};
use fake_hosts::script::{Script, play};
use fake_hosts::{HostMachine, HostOptions, Mode};
use tokio::sync::mpsc;

use super::select;
use crate::exit::{EXIT_FAILED, EXIT_PASSED, Outcome};
use crate::print::warn;

/// Events that may wait for the log.
const QUEUE_MAX: usize = 1_024;

/// The end of the help text.
const HELP: &str = "\
A script is done step by step:

  - type: Look into my inbox.                  # the person's prompt
  - call: {tool: inbox_pull, arguments: {}}    # with `wait: false` the next step does not wait for it
  - wait_ms: 500
  - idle                                       # the model ends its turn
  - exit

Other steps: calls, interrupt, read, prompt, answer, permission, reconnect, kill.

exit codes: 0 the host opened the server and the script was played, 1 it gave the server up, 2 bad usage";

#[derive(Debug, clap::Args)]
#[command(after_help = HELP)]
pub struct Args {
    /// The profile, like claude-code@2.1.330. A family stands for its newest version.
    profile: String,
    /// The steps of the model and of the user: a YAML list, explained below. Without it the host opens the
    /// server and ends.
    #[arg(long, value_name = "FILE")]
    script: Option<PathBuf>,
    /// Play the host's headless mode, as with `-p` or `exec`, where its profile says what differs there. Without it the host
    /// has a terminal.
    #[arg(long)]
    headless: bool,
    /// The wire log, one JSON object a line. A file that exists is replaced.
    #[arg(long, value_name = "FILE")]
    log: PathBuf,
    /// The command of the server.
    #[arg(last = true, required = true, value_name = "CMD")]
    command: Vec<String>,
}

pub(super) fn main(args: &Args) -> Outcome {
    let mut hosts = select::hosts(std::slice::from_ref(&args.profile))?;
    if hosts.len() > 1 {
        hosts = select::newest(&hosts);
        anyhow::ensure!(
            hosts.len() == 1,
            "`{}` is several hosts; name one of `hostcheck hosts`",
            args.profile
        );
        warn(&format!("playing {}, the newest of `{}`", hosts[0].id, args.profile));
    }
    let profile = hosts.iter().find_map(|host| host.profile.clone()).with_context(|| {
        format!(
            "`{}` is a bare pipe, which has no profile to play; choose a profile of `hostcheck hosts`",
            args.profile
        )
    })?;
    let script = match &args.script {
        Some(path) => {
            #[expect(clippy::disallowed_methods, reason = "the command line's edge reads the script")]
            let text = std::fs::read_to_string(path)
                .with_context(|| format!("--script: cannot read {}", path.display()))?;
            Script::parse(&path.display().to_string(), &text)?
        }
        None => Script::default(),
    };
    let mut log = std::io::BufWriter::new(
        std::fs::File::create(&args.log)
            .with_context(|| format!("--log: cannot write {}", args.log.display()))?,
    );
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let mut server = ProcessServer::new(ServerCommand {
            program: args.command[0].clone(),
            arguments: args.command[1..].to_vec(),
            ..ServerCommand::default()
        });
        let mode = if args.headless { Mode::Print } else { Mode::Tui };
        let (orders, order_queue) = mpsc::channel(QUEUE_MAX);
        let (events, event_queue) = mpsc::channel(QUEUE_MAX);
        let machine = HostMachine::new(profile, HostOptions { mode, ..HostOptions::default() });
        let (mut failed, mut unstarted) = (None, None);
        let mut written = Ok(());
        let played = play(script, orders, event_queue, |event| match &event.kind {
            HostEventKind::Wire(wire) => {
                let text = wire.text();
                if wire.dir == Dir::Event && text.starts_with(NOT_STARTED) {
                    unstarted = Some(text.into_owned());
                }
                if written.is_ok() {
                    written = wire.trace(event.at_ms).write(&mut log);
                }
            }
            HostEventKind::Failed(reason) => failed = Some(reason.clone()),
            _ => {}
        });
        tokio::join!(drive(machine, &mut server, order_queue, events), played);
        written
            .and_then(|()| log.flush())
            .with_context(|| format!("--log: cannot write {}", args.log.display()))?;
        if let Some(reason) = unstarted.or(failed) {
            warn(&format!("the host gave the server up: {reason}\n{}", server.stderr()));
            return Ok(EXIT_FAILED);
        }
        Ok(EXIT_PASSED)
    })
}
