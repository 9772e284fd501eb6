//! Process mode: the shipped binary, real pipes, real files, Graph over HTTP on loopback, the real clock.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use entraclaw_inbox::rules::WaitCommand;
use fake_hosts::AnyServer;
use fake_hosts::drive::Commands;
use fake_hosts::process::{ProcessServer, ServerCommand};
use fake_microsoft::bot::BotDelivery;
use futures_util::future::LocalBoxFuture;
use reports::event::CellFinished;
use scenario::DiskStep;
use tokio::time::{Instant, sleep};

use super::commands::{ProcessCommands, wait_command_of};
use super::delegate::{Delegation, InstalledDelegation};
use super::installed::{InstalledAgents, faster};
use super::jobs::Jobs;
use super::machine::{self, Machine};
use super::play::Play;
use super::port::KeptPort;
use super::stage::Stage;
use super::stopwatch::Stopwatch;
use super::wake_up_target::WakeUpTarget;
use super::{bot, sign_in, steps, world};
use crate::plan::Cell;

/// Longest time until a server has noted who has a result.
const SETTLES_MAX: Duration = Duration::from_secs(2);

/// Plays a cell with the shipped binary.
pub(crate) fn play(cell: &Cell, binary: &Path, agent: Option<&Path>) -> anyhow::Result<CellFinished> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let watch = Stopwatch::start();
        let home = tempfile::tempdir()?;
        let world = world::build(cell, wall_clock())?;
        let server = fake_microsoft::graph::serve(world.graph.clone(), wall_clock).await?;
        let mut environment = world.environment;
        environment.insert("ENTRACLAW_GRAPH_URL".to_owned(), server.base_url());
        let login = fake_microsoft::entra::serve(world.entra.clone(), wall_clock).await;
        environment.insert("ENTRACLAW_LOGIN_URL".to_owned(), login.base_url());
        let with_setup = cell.scenario.scenario.runs_setup();
        let own = if with_setup { machine::own_folder(home.path()) } else { home.path().join("home") };
        sign_in::write(&own, &world.keys, &mut environment).await?;
        let with_bot = environment.contains_key("ENTRACLAW_BOT_ENABLED");
        let channel = if with_bot {
            Some(fake_microsoft::bot::serve(world.bot.clone(), wall_clock).await)
        } else {
            None
        };
        let port = KeptPort::take()?;
        environment.insert("ENTRACLAW_BOT_LISTEN".to_owned(), format!("127.0.0.1:{}", port.number()));
        let (openid_url, login_url) =
            world.bot.with(|bot| (bot.urls().0.to_owned(), bot.urls().1.to_owned()));
        environment.insert("ENTRACLAW_BOT_OPENID_URL".to_owned(), openid_url);
        environment.insert("ENTRACLAW_BOT_LOGIN_URL".to_owned(), login_url);
        let machine =
            with_setup.then(|| Machine::new(cell, home.path(), binary, &environment)).transpose()?;
        match &machine {
            // The server's settings are in its own file, and not in the person's shell.
            Some(machine) => environment.clone_from(machine.environment()),
            None => {
                environment.insert("ENTRACLAW_HOME".to_owned(), own.display().to_string());
            }
        }
        let scripts = &cell.scenario.scenario.agents;
        let agents = match agent.filter(|_| !scripts.is_empty()) {
            Some(program) => {
                let scripts = scripts.iter().map(faster).collect();
                Some(InstalledAgents::install(scripts, program, home.path(), &own)?)
            }
            None => None,
        };
        environment.extend(agents.iter().flat_map(InstalledAgents::environment));
        let delegation = match &cell.scenario.scenario.delegate {
            Some(spec) => {
                Some(InstalledDelegation::install(spec, binary, home.path(), &own, &environment).await?)
            }
            None => None,
        };
        let stage = Rc::new(ProcessStage {
            delegation,
            binary: binary.to_owned(),
            environment,
            port,
            home: own,
            machine,
            agents,
        });
        let mut play = Play::new(cell, stage, (world.graph, world.entra, world.bot), watch)?;
        let played = steps::all(&mut play).await;
        if let Some(delegation) = play.stage.delegation() {
            delegation.kill().await;
        }
        played?;
        // The server notes that an answer has left after it has left.
        let settled = Instant::now() + SETTLES_MAX;
        while play.has_open_jobs() && Instant::now() < settled {
            sleep(Duration::from_millis(20)).await;
        }
        play.judge();
        drop(channel);
        Ok(play.finish())
    })
}

#[expect(clippy::disallowed_methods, reason = "process mode runs on the real clock")]
fn wall_clock() -> jiff::Timestamp {
    jiff::Timestamp::now()
}

struct ProcessStage {
    /// The engine of the local model.
    delegation: Option<InstalledDelegation>,
    binary: PathBuf,
    environment: BTreeMap<String, String>,
    home: PathBuf,
    port: KeptPort,
    /// The machine on which the cell runs setup.
    machine: Option<Machine>,
    /// The other agents that are installed on it.
    agents: Option<InstalledAgents>,
}

impl Stage for ProcessStage {
    fn server(&self, consumer: Option<&str>, _bell: &WakeUpTarget) -> AnyServer {
        if let Some(delegation) = &self.delegation {
            return delegation.bridge(false);
        }
        let mut arguments = vec!["serve".to_owned()];
        if let Some(consumer) = consumer {
            arguments.extend(["--consumer".to_owned(), consumer.to_owned()]);
        }
        ProcessServer::new(ServerCommand {
            program: self.binary.display().to_string(),
            arguments,
            working_directory: self.agents.as_ref().map(|agents| agents.project().to_owned()),
            environment: self.environment.clone(),
            bare_environment: true,
        })
        .into()
    }

    fn server_beside(&self, consumer: Option<&str>, target: &WakeUpTarget) -> AnyServer {
        match &self.delegation {
            Some(delegation) => delegation.bridge(true),
            None => self.server(consumer, target),
        }
    }

    fn commands(&self, consumer: Option<&str>, target: &WakeUpTarget) -> Rc<dyn Commands> {
        let mut environment = self.environment.clone();
        if let Some(consumer) = consumer {
            environment.insert("ENTRACLAW_INBOX_CONSUMER".to_owned(), consumer.to_owned());
        }
        Rc::new(ProcessCommands { binary: self.binary.clone(), environment, target: Some(target.clone()) })
    }

    fn wait_command(&self) -> WaitCommand {
        wait_command_of(&self.binary)
    }

    fn files(&self, folder: &str) -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(self.home.join(folder)) else { return Vec::new() };
        let mut names: Vec<String> = entries
            .flatten()
            .filter(|entry| entry.path().is_file())
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    #[expect(clippy::disallowed_methods, reason = "the stage looks at the server's real files")]
    fn read(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.home.join(path)).unwrap_or_default()
    }

    fn command(&self, arguments: &[&str]) -> Result<String, String> {
        let output = std::process::Command::new(&self.binary)
            .args(arguments)
            .env_clear()
            .envs(&self.environment)
            .output()
            .map_err(|error| error.to_string())?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
    }

    #[expect(clippy::disallowed_methods, reason = "the stage is an editor of the server's real files")]
    fn overwrite(&self, path: &str, text: &str) -> anyhow::Result<()> {
        Ok(std::fs::write(self.home.join(path), text)?)
    }

    fn power_cut(&self) -> anyhow::Result<()> {
        anyhow::bail!("a power cut can only be simulated; leave `process` out of `mode`")
    }

    fn step_clock(&self, _by_ms: i64) -> anyhow::Result<()> {
        anyhow::bail!("another clock can only be simulated; leave `process` out of `mode`")
    }

    fn disk(&self, _step: &DiskStep) -> anyhow::Result<()> {
        anyhow::bail!("disk faults can only be simulated; leave `process` out of `mode`")
    }

    fn deliver<'a>(&'a self, activity: &'a BotDelivery) -> LocalBoxFuture<'a, Option<u16>> {
        Box::pin(bot::post(self.port.number(), activity))
    }

    fn delegation(&self) -> Option<&dyn Delegation> {
        self.delegation.as_ref().map(|delegation| delegation as &dyn Delegation)
    }

    fn jobs(&self) -> Option<&dyn Jobs> {
        self.agents.as_ref().map(|agents| agents as &dyn Jobs)
    }

    fn machine(&self) -> Option<&Machine> {
        self.machine.as_ref()
    }

    fn now(&self) -> jiff::Timestamp {
        wall_clock()
    }
}
