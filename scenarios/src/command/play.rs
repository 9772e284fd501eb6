//! `hostcheck play`: the sandbox, from the command line to Ctrl-C.
//! It must never print a token but in the address and the commands that need it.

use std::cell::RefCell;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use anyhow::Context as _;
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::live::wall_clock;
use super::{EXIT_INCOMPLETE, EXIT_PASSED, Outcome, out, run, warn};
use crate::sandbox::{Desk, Drive, Guard, Home, News, Setup, World, serve, token};

/// How often the fake Graph is looked at for news.
const LOOK_EVERY: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The page's port on this machine; a free one unless told.
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    port: u16,
    /// Folder for the server's files, kept afterwards; a temporary one unless told.
    #[arg(long, value_name = "DIR")]
    home: Option<PathBuf>,
    /// Also start the server, in a session that you drive on the page.
    #[arg(long)]
    drive: bool,
    /// Open the page in a browser.
    #[arg(long)]
    open: bool,
    /// The `entraclaw` binary; the one beside this program unless told.
    #[arg(long, value_name = "FILE")]
    server: Option<PathBuf>,
}

pub(super) fn main(args: &Args) -> Outcome {
    if let Some(told) = args.server.as_deref().filter(|told| !told.is_file()) {
        anyhow::bail!("--server: there is no file {}", told.display());
    }
    let Some(program) = run::find_server(args.server.as_deref())? else { return Ok(EXIT_INCOMPLETE) };
    let program = std::path::absolute(program)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, play(args, program))
}

async fn play(args: &Args, program: PathBuf) -> Outcome {
    let home = Home::open(args.home.as_deref())?;
    let (url_token, access_token) = (token()?, token()?);
    let world = World::new(&access_token, wall_clock())?;
    let graph = fakes::graph::serve(world.graph(), wall_clock).await?;
    home.configure(&world, &graph.base_url(), &access_token)?;
    let listener = TcpListener::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, args.port)))
        .await
        .with_context(|| format!("--port: cannot listen on 127.0.0.1:{}", args.port))?;
    let guard = Guard::new(url_token, listener.local_addr()?.port());
    let setup = Setup::new(&program, home.path(), &graph.base_url(), &access_token);
    greet(&guard, &setup, &home);
    if args.open {
        let way_in = home.write_way_in(&guard.url())?;
        if let Err(error) = open::that_detached(&way_in) {
            warn(&format!("--open: no browser could be started ({error}); open the address yourself"));
        }
    }
    let (drive, pilot) = if args.drive { Some(Drive::new(&setup)).unzip() } else { (None, None) };
    let desk = Rc::new(Desk {
        world: RefCell::new(world),
        drive,
        setup,
        guard,
        clock: wall_clock,
        version: watch::Sender::new(0),
        tell,
    });
    desk.publish();
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
            desk.look();
        }
    };
    tokio::select! {
        biased;
        ended = end() => ended?,
        () = looking => {}
        () = driving => {}
        () = serve(listener, Rc::clone(&desk)) => {}
    }
    out(&format!("ended; a host that was set up forgets it with: {}", Setup::removal()));
    drop(desk);
    let path = home.path().display().to_string();
    match home.close() {
        Ok(true) => {}
        Ok(false) => out(&format!("kept: {path}")),
        Err(error) => warn(&format!("{path} could not be deleted ({error}); end the host, then delete it")),
    }
    Ok(EXIT_PASSED)
}

fn greet(guard: &Guard, setup: &Setup, home: &Home) {
    out(&format!("page: {}", guard.url()));
    out(&format!(
        "home: {} ({})\n",
        home.path().display(),
        if home.is_temporary() { "deleted at the end" } else { "kept" }
    ));
    out("Set a host up against it, with the command of your host:\n");
    for (host, line) in setup.lines() {
        out(&format!("{host}:\n{line}\n"));
    }
    out("Then write to the agent on the page. Ctrl-C ends it.\n");
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
