//! Simulation: server, host and Graph in one thread on a paused clock, with in-memory pipes and disk.
//!
//! The runtime has no I/O driver, so a socket panics at once instead of making the clock jump.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use anyhow::Context as _;
use entraclaw_inbox::rules::WaitCommand;
use entraclaw_microsoft::entra::keys::MemoryKeyStore;
use entraclaw_microsoft::http::{HttpRequest, HttpResponse, HttpTransport, TransportError};
use entraclaw_seams::clock::{Clock, TokioClock};
use entraclaw_seams::random::SplitMix;
use entraclaw_seams::storage::Storage;
use entraclaw_seams::storage::memory::{Crash, MemoryStorage};
use entraclaw_session::app::{self, App, ContextSeams};
use entraclaw_session::config::{Config, Sources};
use fake_hosts::drive::Commands;
use fake_hosts::{AnyServer, Serve};
use fake_microsoft::bot::{BotDelivery, SharedBot};
use fake_microsoft::entra::SharedEntra;
use fake_microsoft::graph::{Fate, Request, SharedGraph};
use futures_util::future::{BoxFuture, LocalBoxFuture};
use reports::event::CellFinished;
use scenario::DiskStep;

use super::bot::{self, SimPort};
use super::commands::{SimCommands, sim_wait_command};
use super::delegate::{Delegation, SimDelegation, bridge};
use super::jobs::Jobs;
use super::play::Play;
use super::sim_process::Process;
use super::stage::Stage;
use super::stopwatch::Stopwatch;
use super::wake_up_target::{SimWakeUps, WakeUpTarget};
use super::work::SimJobs;
use super::{guard, steps, world};
use crate::mutants::Mutant;
use crate::plan::Cell;

/// Plays a cell in virtual time.
pub(crate) fn play(cell: &Cell) -> anyhow::Result<CellFinished> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?;
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let watch = Stopwatch::start();
        let clock: Arc<dyn Clock> = Arc::new(TokioClock::starting_at(world::epoch(cell.seed)));
        let world = world::build(cell, clock.now())?;
        let disk = MemoryStorage::new();
        if world.environment.get("ENTRACLAW_TOOLS_SETS").is_some_and(|sets| sets.contains("context")) {
            disk.set_bytes("home/alice/project/.git/HEAD", b"ref: refs/heads/main\n");
        }
        let server_clock = Arc::new(SteppedClock {
            clock: TokioClock::starting_at(world::server_epoch(cell)),
            ahead_ms: AtomicI64::new(0),
        });
        let scenario = &cell.scenario.scenario;
        let jobs = scenario.begins_work() || !scenario.agents.is_empty();
        let jobs = jobs
            .then(|| SimJobs::new(disk.clone(), server_clock.clone(), scenario.agents.clone(), cell.mutant));
        let rate_limit =
            world.environment.get("ENTRACLAW_MCP_EXTERNAL_RATE_LIMIT").and_then(|text| text.parse().ok());
        let delegation = scenario
            .delegate
            .as_ref()
            .map(|spec| SimDelegation::new(spec, rate_limit, server_clock.clone(), cell.seed, cell.mutant));
        let stage = Rc::new(SimStage {
            delegation: delegation.transpose()?,
            environment: world.environment,
            disk,
            jobs,
            begins_work: scenario.begins_work(),
            server_clock,
            clock,
            keys: world.keys,
            transport: Arc::new(SimTransport {
                graph: world.graph.clone(),
                bot: world.bot.clone(),
                entra: world.entra.clone(),
                epoch: world::epoch(cell.seed),
                watch,
            }),
            port: SimPort::default(),
            seed: cell.seed,
            starts: std::cell::Cell::new(0),
            mutant: cell.mutant,
        });
        let mut play = Play::new(cell, stage, (world.graph, world.entra, world.bot), watch)?;
        match guard::guarded(steps::all(&mut play)).await {
            Ok(played) => played?,
            Err(livelock) => play.failures.push(livelock.failure(&play)),
        }
        play.judge();
        Ok(play.finish())
    })
}

struct SimStage {
    delegation: Option<SimDelegation>,
    environment: BTreeMap<String, String>,
    disk: MemoryStorage,
    jobs: Option<SimJobs>,
    /// Whether the tool of scripted work is offered.
    begins_work: bool,
    clock: Arc<dyn Clock>,
    /// The clock of the machine that the server runs on.
    server_clock: Arc<SteppedClock>,
    keys: MemoryKeyStore,
    transport: Arc<SimTransport>,
    port: SimPort,
    seed: u64,
    starts: std::cell::Cell<u64>,
    mutant: Option<&'static Mutant>,
}

impl Stage for SimStage {
    fn server(&self, consumer: Option<&str>, target: &WakeUpTarget) -> AnyServer {
        if let Some(delegation) = &self.delegation {
            return bridge(delegation);
        }
        let mut environment = self.environment.clone();
        if let Some(consumer) = consumer {
            environment.insert("ENTRACLAW_INBOX_CONSUMER".to_owned(), consumer.to_owned());
        }
        environment.extend(
            self.mutant.and_then(Mutant::setting).map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        self.starts.set(self.starts.get() + 1);
        let clock: Arc<dyn Clock> = self.server_clock.clone();
        let (disk, mutant) = (self.disk.clone(), self.mutant);
        let transport: Arc<dyn HttpTransport> = self.transport.clone();
        let transport = match mutant {
            Some(mutant) => mutant.transport(transport, &environment),
            None => transport,
        };
        let (keys, port, target, jobs) =
            (self.keys.clone(), self.port.clone(), target.clone(), self.jobs.clone());
        let begins_work = self.begins_work;
        let mut seed = self.seed.wrapping_mul(1_000_003).wrapping_add(self.starts.get());
        let serve: Serve = Box::new(move |input, output| {
            let process = Process::new(&disk);
            let storage: Arc<dyn Storage> = match mutant {
                Some(mutant) => mutant.storage(process.storage()),
                None => Arc::new(process.storage()),
            };
            let (input, output) = match mutant {
                Some(mutant) => mutant.pipes(input, output),
                None => (input, output),
            };
            seed = seed.wrapping_add(0x9e37_79b9);
            let sources = Sources { flags: Vec::new(), environment: environment.clone(), file: None };
            let config = Config::load(&sources);
            let mut app = App::new(
                config.as_ref().cloned().unwrap_or_default(),
                Arc::clone(&clock),
                Arc::new(SplitMix::seeded(seed)),
                storage,
                Arc::clone(&transport),
            );
            app.endpoint = Arc::new(port.clone());
            app.keys = Arc::new(keys.clone());
            app.wake_ups = Arc::new(SimWakeUps::new(target.clone(), Arc::clone(&clock)));
            app.inbox_socket = target.inbox_socket();
            app.host_process = Some(target.host_process());
            let (user, project) = (PathBuf::from("/home/alice"), PathBuf::from("/home/alice/project"));
            app.context = ContextSeams::simulated(process.storage(), Arc::clone(&clock), user, project);
            if let Some(mutant) = mutant {
                app.context.files = mutant.files(Arc::clone(&app.context.files));
            }
            app.wait = sim_wait_command();
            if let Some(jobs) = &jobs {
                let consumer = app.config.inbox.consumer.clone();
                app.processes = jobs.processes();
                app.finder = Arc::new(jobs.agents().clone());
                if begins_work {
                    app.providers.push(jobs.provider(Arc::new(process.storage()), seed ^ 0x0b5, consumer));
                }
            }
            app.trouble = config.err().map(|errors| errors.to_string());
            Ok(Box::pin(async move {
                let _alive = process;
                app::run(app, input, output).await;
                Some(0)
            }))
        });
        serve.into()
    }

    fn commands(&self, consumer: Option<&str>, target: &WakeUpTarget) -> Rc<dyn Commands> {
        let clock: Arc<dyn Clock> = self.server_clock.clone();
        let sources = Sources { environment: self.environment.clone(), ..Sources::default() };
        let wake_ups = Config::load(&sources).unwrap_or_default().wake_ups;
        let (disk, consumer, target) = (self.disk.clone(), consumer.map(str::to_owned), target.clone());
        Rc::new(SimCommands { disk, clock, consumer, wake_ups, target })
    }

    fn wait_command(&self) -> WaitCommand {
        sim_wait_command()
    }

    fn files(&self, folder: &str) -> Vec<String> {
        self.disk.files(folder)
    }

    fn read(&self, path: &str) -> Vec<u8> {
        self.disk.bytes(path).unwrap_or_default()
    }

    fn command(&self, arguments: &[&str]) -> Result<String, String> {
        let process = Process::new(&self.disk);
        let storage: Arc<dyn Storage> = Arc::new(process.storage());
        let clock: Arc<dyn Clock> = self.server_clock.clone();
        entraclaw::command::operate(arguments, &storage, &clock)
    }

    fn overwrite(&self, path: &str, text: &str) -> anyhow::Result<()> {
        self.disk.set_bytes(path, text.as_bytes());
        Ok(())
    }

    fn power_cut(&self) -> anyhow::Result<()> {
        self.disk.crash(Crash::Power, self.seed);
        if let Some(jobs) = &self.jobs {
            jobs.restart();
        }
        Ok(())
    }

    fn step_clock(&self, by_ms: i64) -> anyhow::Result<()> {
        self.server_clock.ahead_ms.fetch_add(by_ms, Ordering::Relaxed);
        Ok(())
    }

    fn disk(&self, step: &DiskStep) -> anyhow::Result<()> {
        match step {
            DiskStep::Full { after_bytes } => self.disk.set_space_left(Some(*after_bytes)),
            DiskStep::FailSync => self.disk.set_syncs_fail(true),
            DiskStep::Delete(prefix) => {
                let paths = self.disk.paths().into_iter().filter(|path| path.starts_with(prefix));
                let paths: Vec<String> = paths.collect();
                anyhow::ensure!(!paths.is_empty(), "no file's path begins with {prefix:?}");
                for path in paths {
                    self.disk.new_process().remove(&path)?;
                }
            }
            DiskStep::Damage(damage) => {
                let path = self.disk.paths().into_iter().rfind(|path| path.starts_with(&damage.file));
                let path = path.with_context(|| format!("no file's path begins with {:?}", damage.file))?;
                let mut bytes = self.disk.bytes(&path).unwrap_or_default();
                let lines = bytes.split_inclusive_mut(|byte| *byte == b'\n');
                let mut met = 0;
                for line in lines.skip(damage.line.saturating_sub(1)).take(damage.lines) {
                    met += 1;
                    match line {
                        line if damage.zeros => line.fill(0),
                        [_, .., bad, _, _] => *bad ^= 1,
                        _ => anyhow::bail!("a line of {path:?} is too short to be damaged"),
                    }
                }
                anyhow::ensure!(met == damage.lines, "{path:?} has no such lines");
                self.disk.set_bytes(&path, &bytes);
            }
            DiskStep::Heal => {
                self.disk.set_space_left(None);
                self.disk.set_syncs_fail(false);
            }
        }
        Ok(())
    }

    fn deliver<'a>(&'a self, activity: &'a BotDelivery) -> LocalBoxFuture<'a, Option<u16>> {
        Box::pin(self.port.deliver(bot::request(activity)))
    }

    fn delegation(&self) -> Option<&dyn Delegation> {
        self.delegation.as_ref().map(|delegation| delegation as &dyn Delegation)
    }

    fn jobs(&self) -> Option<&dyn Jobs> {
        self.jobs.as_ref().map(|jobs| jobs as &dyn Jobs)
    }

    fn now(&self) -> jiff::Timestamp {
        self.clock.now()
    }
}

/// A wall clock that can be set while the server runs. Time that passes is not touched by it.
struct SteppedClock {
    clock: TokioClock,
    ahead_ms: AtomicI64,
}

impl Clock for SteppedClock {
    fn now(&self) -> jiff::Timestamp {
        let now = self.clock.now();
        let ahead = jiff::SignedDuration::from_millis(self.ahead_ms.load(Ordering::Relaxed));
        now.checked_add(ahead).unwrap_or(now)
    }
}

/// The fake Graph, the fake Entra and the fake channel of the bot in the same thread, with exact latencies.
struct SimTransport {
    graph: SharedGraph,
    entra: SharedEntra,
    bot: SharedBot,
    epoch: jiff::Timestamp,
    watch: Stopwatch,
}

impl SimTransport {
    fn now(&self) -> jiff::Timestamp {
        let passed_ms = i64::try_from(self.watch.now_ms()).unwrap_or(i64::MAX);
        self.epoch.checked_add(jiff::SignedDuration::from_millis(passed_ms)).unwrap_or(self.epoch)
    }
}

impl HttpTransport for SimTransport {
    fn send(&self, request: HttpRequest) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        Box::pin(async move {
            let mut asked = Request::new(request.method.as_str(), &request.url);
            asked.headers = request.headers;
            asked.body = request.body.unwrap_or_default();
            // The bot signs in at Entra's address too, for another resource.
            let to_bot = self.bot.with(|bot| bot.is_ours(&asked));
            let at_entra = asked.url.starts_with(fake_microsoft::entra::DEFAULT_LOGIN_URL);
            let (answer, host) = if to_bot {
                (self.bot.handle(self.now(), &asked), "login.botframework.com")
            } else if at_entra {
                (self.entra.handle(self.now(), &asked), "login.microsoftonline.com")
            } else {
                (self.graph.handle(self.now(), &asked), "graph.microsoft.com")
            };
            tokio::time::sleep(Duration::from_millis(answer.delay_ms)).await;
            let host = host.to_owned();
            match answer.fate {
                Fate::Delivered => {
                    let headers = answer
                        .headers
                        .into_iter()
                        .map(|(name, value)| (name.to_lowercase(), value))
                        .collect();
                    Ok(HttpResponse { status: answer.status, headers, body: answer.body })
                }
                Fate::DroppedBeforeApply => {
                    Err(TransportError::Connect { host, reason: "connection refused".to_owned() })
                }
                Fate::DroppedAfterApply => {
                    Err(TransportError::Broken { host, reason: "connection reset".to_owned() })
                }
            }
        })
    }
}
