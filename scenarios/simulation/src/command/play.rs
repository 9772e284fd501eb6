//! `simulation play`: the sandbox, from the command line to Ctrl-C, or to the end of the host that was started in it.
//! It must never print a token but in the address and the commands that need it, nor a line while a host has the terminal.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use hostcheck::exit::{EXIT_FAILED, EXIT_INCOMPLETE, EXIT_PASSED, Outcome};
use hostcheck::print::{out, warn};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::live::wall_clock;
use super::server_binary::server_binary;
use crate::sandbox::{
    Control, Drive, Foreground, Guard, Home, News, Overlay, PlayHost, Setup, Wanted, World, serve, token,
};

/// How often the fake Graph is looked at for news.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// The first prompt of a host's model.
const PROMPT: &str = "Listen for messages from people, and answer each of them where it was written.";

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Also start this host here, set up for the sandbox alone: nothing of yours is changed, your login counts, and all of it
    /// ends with the host.
    #[arg(value_enum, value_name = "HOST")]
    host: Option<PlayHost>,
    /// The first prompt of the host's model; empty for none.
    #[arg(long, value_name = "TEXT", requires = "host", default_value = PROMPT, hide_default_value = true)]
    prompt: String,
    /// The page's port on this machine; a free one unless told.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Folder for the server's files, kept afterwards; a temporary one unless told.
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Also start the server, in a session that you drive on the page.
    #[arg(long, conflicts_with = "host")]
    drive: bool,
    /// Open the page in a browser.
    #[arg(long)]
    open: bool,
    /// The `entraclaw` binary; the one beside this program unless told.
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
    /// Further arguments of the host, after `--`.
    #[arg(last = true, value_name = "ARGUMENT", requires = "host")]
    arguments: Vec<OsString>,
}

/// A host that is to be started.
struct Guest {
    host: PlayHost,
    program: PathBuf,
    variables: BTreeMap<String, String>,
}

pub(super) fn main(args: &Args) -> Outcome {
    if let Some(told) = args.server.as_deref().filter(|told| !told.is_file()) {
        anyhow::bail!("--server: there is no file {}", told.display());
    }
    // A missing program is reported before the server is built.
    let guest = args.host.map(guest).transpose()?;
    let Some(program) = server_binary(args.server.as_deref())? else { return Ok(EXIT_INCOMPLETE) };
    let program = std::path::absolute(program)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, play(args, program, guest))
}

#[expect(clippy::disallowed_methods, reason = "the command line's edge reads the environment")]
fn guest(host: PlayHost) -> anyhow::Result<Guest> {
    let texts =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let variables: BTreeMap<String, String> = std::env::vars_os().filter_map(texts).collect();
    let path = variables.get("PATH").map(String::as_str).unwrap_or_default();
    Ok(Guest { host, program: host.find(path)?, variables })
}

async fn play(args: &Args, program: PathBuf, guest: Option<Guest>) -> Outcome {
    let home = Home::open(args.home.as_deref())?;
    let (url_token, access_token) = (token()?, token()?);
    let world = World::new(&access_token, wall_clock())?;
    let graph = fake_microsoft::graph::serve(world.graph(), wall_clock).await?;
    home.configure(&world, &graph.base_url(), &access_token)?;
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, args.port)))
        .await
        .with_context(|| format!("--port: cannot listen on 127.0.0.1:{}", args.port))?;
    let guard = Guard::new(url_token, listener.local_addr()?.port());
    let setup = Setup::new(&program, home.path(), &graph.base_url(), &access_token);
    let overlay = match &guest {
        Some(Guest { host, variables, .. }) => {
            let wanted =
                Wanted { host: *host, setup: &setup, home: home.path(), prompt: &args.prompt, variables };
            Some(Overlay::new(&wanted)?)
        }
        None => None,
    };
    greet(&guard, &home);
    match guest.as_ref().zip(overlay.as_ref()) {
        Some((guest, overlay)) => introduce(guest.host, overlay),
        None => explain(&setup),
    }
    if args.open {
        let way_in = home.write_way_in(&guard.url())?;
        if let Err(error) = open::that_detached(&way_in) {
            warn(&format!("--open: no browser could be started ({error}); open the address yourself"));
        }
    }
    let (drive, pilot) = if args.drive { Some(Drive::new(&setup)).unzip() } else { (None, None) };
    let control = Rc::new(Control {
        world: RefCell::new(world),
        drive,
        setup,
        guard,
        clock: wall_clock,
        version: watch::Sender::new(0),
        tell: if guest.is_some() { |_| {} } else { tell },
    });
    control.publish();
    let driving = async {
        match pilot {
            Some(pilot) => pilot.run().await,
            None => std::future::pending().await,
        }
    };
    let looking = async {
        let mut ticks = tokio::time::interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            control.look();
        }
    };
    let staying = async {
        match guest.as_ref().zip(overlay.as_ref()) {
            Some((guest, overlay)) => host(args, guest, overlay).await,
            None => end().await.map(|()| None).map_err(anyhow::Error::from),
        }
    };
    let ended = tokio::select! {
        biased;
        ended = staying => ended,
        () = looking => Ok(None),
        () = driving => Ok(None),
        () = serve(listener, Rc::clone(&control)) => Ok(None),
    };
    match &guest {
        Some(guest) => out(&format!("\nThe sandbox has ended with {}.", guest.host.title())),
        None => out(&format!("ended; a host that was set up forgets it with: {}", Setup::removal())),
    }
    drop(control);
    if let Some(Err(error)) = overlay.map(Overlay::close) {
        warn(&format!("the host's temporary files could not be deleted: {error}"));
    }
    let path = home.path().display().to_string();
    match home.close().await {
        Ok(true) => {}
        Ok(false) => out(&format!("kept: {path}")),
        Err(error) => warn(&format!("{path} could not be deleted ({error}); end the host, then delete it")),
    }
    Ok(match ended? {
        Some(status) if !status.success() && !is_interrupted(status) => {
            warn(&format!("the host ended with {status}"));
            EXIT_FAILED
        }
        _ => EXIT_PASSED,
    })
}

/// Plays the host from its start to its end; no status when the person ended the sandbox before.
async fn host(args: &Args, guest: &Guest, overlay: &Overlay) -> anyhow::Result<Option<ExitStatus>> {
    if !args.open && std::io::stdin().is_terminal() && std::io::stdout().is_terminal() {
        out(&format!("Enter starts {}, Ctrl-C leaves.", guest.host.title()));
        tokio::select! {
            biased;
            told = end() => return told.map(|()| None).map_err(anyhow::Error::from),
            line = line() => line?,
        }
    }
    let mut end = std::pin::pin!(end_but_by_ctrl_c()?);
    let mut running = Foreground::start(&guest.program, overlay, &args.arguments, guest.variables.keys())?;
    tokio::select! {
        biased;
        ended = running.ended() => return Ok(Some(ended?)),
        told = &mut end => told?,
    }
    // The end of the sandbox ends the host, and its code is no verdict.
    running.end().await?;
    Ok(None)
}

/// Whether a key of the person's ended the host, which is no failure.
fn is_interrupted(status: ExitStatus) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::process::ExitStatusExt as _;
        status.signal() == Some(nix::sys::signal::Signal::SIGINT as i32)
    }
    #[cfg(not(unix))]
    {
        let _ = status;
        false
    }
}

/// Waits for a line of the person's, without a thread that would hold the terminal's input afterwards.
#[cfg(unix)]
async fn line() -> anyhow::Result<()> {
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd as _;
    let stdin = std::io::stdin();
    loop {
        if poll(&mut [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)], PollTimeout::ZERO)? > 0 {
            stdin.read_line(&mut String::new())?;
            return Ok(());
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

#[cfg(not(unix))]
async fn line() -> anyhow::Result<()> {
    Ok(())
}

fn greet(guard: &Guard, home: &Home) {
    out(&format!("page: {}", guard.url()));
    out(&format!(
        "home: {} ({})\n",
        home.path().display(),
        if home.is_temporary() { "deleted at the end" } else { "kept" }
    ));
}

fn explain(setup: &Setup) {
    out(
        "Start a host that is set up for it alone: simulation play claude-code, or another that --help names.",
    );
    out("Or set a host up against it, with the command of your host:\n");
    for (host, line) in setup.lines() {
        out(&format!("{host}:\n{line}\n"));
    }
    out("Then write to the agent on the page. Ctrl-C ends it.\n");
}

/// The text for the person before the host takes the terminal.
fn introduce(host: PlayHost, overlay: &Overlay) {
    out(&format!(
        "{} starts here, connected to this sandbox alone; your own settings stay as they are.",
        host.title()
    ));
    for note in &overlay.notes {
        out(note);
    }
    out(
        "Open the page and write to the agent there, as Alice for example. When the host ends, all of it ends.\n",
    );
}

/// One line for each event.
fn tell(news: &News) {
    out(&format!("{} {news}", wall_clock().strftime("%H:%M:%S")));
}

/// Ends when the person or the system says so.
async fn end() -> std::io::Result<()> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let (mut terminate, mut hang_up) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
        tokio::select! {
            biased;
            ended = tokio::signal::ctrl_c() => ended,
            _ = terminate.recv() => Ok(()),
            _ = hang_up.recv() => Ok(()),
        }
    }
    #[cfg(not(unix))]
    tokio::signal::ctrl_c().await
}

/// The same while a host has the terminal, whose Ctrl-C is the host's. What is handled from here on is the default again in a
/// host that is started afterwards, also where this program was started with its signals ignored.
#[cfg(unix)]
fn end_but_by_ctrl_c() -> std::io::Result<impl Future<Output = std::io::Result<()>>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut terminate, mut hang_up) = (signal(SignalKind::terminate())?, signal(SignalKind::hangup())?);
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        loop {
            tokio::select! {
                biased;
                _ = terminate.recv() => return Ok(()),
                _ = hang_up.recv() => return Ok(()),
                _ = interrupt.recv() => {}
            }
        }
    })
}

#[cfg(not(unix))]
fn end_but_by_ctrl_c() -> std::io::Result<impl Future<Output = std::io::Result<()>>> {
    Ok(async {
        loop {
            tokio::signal::ctrl_c().await?;
        }
    })
}
