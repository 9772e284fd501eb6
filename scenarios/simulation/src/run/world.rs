//! Builds the fake Graph of a cell and the server's configuration that fits it.

use std::collections::BTreeMap;

use anyhow::Context as _;
use entraclaw_microsoft::entra::keys::MemoryKeyStore;
use fake_hosts::WakeUpKind;
use fake_microsoft::bot::SharedBot;
use fake_microsoft::entra::{AuthKind, FakeEntra, SharedEntra};
use fake_microsoft::graph::{ChatSpec, FakeGraph, PersonSpec, SharedGraph, TokenSpec, WorldSpec};
use jiff::Timestamp;
use scenario::{Mode, SetUp};

use super::sign_in;
use super::speed::PROCESS_SPEED;
use crate::plan::Cell;
use crate::token::TOKEN;
/// When every simulated world begins.
const EPOCH: &str = "2026-01-05T09:00:00Z";
/// The seed's poll interval.
const POLL_INTERVAL_MS: u32 = 5_000;
/// The seed's poll interval for mail.
const MAIL_POLL_INTERVAL_MS: u32 = 60_000;

/// Graph as it is when the cell begins.
pub(crate) struct World {
    pub(crate) graph: SharedGraph,
    /// The Entra where the agent signs in.
    pub(crate) entra: SharedEntra,
    /// The bot's channel.
    pub(crate) bot: SharedBot,
    /// The secrets that `entraclaw login` would have stored.
    pub(crate) keys: MemoryKeyStore,
    /// The server's configuration as environment variables.
    pub(crate) environment: BTreeMap<String, String>,
}

/// The instant at which a simulated cell begins: shifted by the seed, so that polls fall differently.
pub(crate) fn epoch(seed: u64) -> Timestamp {
    let base: Timestamp = EPOCH.parse().unwrap_or(Timestamp::UNIX_EPOCH);
    let shift_ms = i64::try_from(seed.wrapping_mul(7_919) % 86_400_000).unwrap_or(0);
    base.checked_add(jiff::SignedDuration::from_millis(shift_ms)).unwrap_or(base)
}

/// The time of the server's own clock at that moment.
pub(crate) fn server_epoch(cell: &Cell) -> Timestamp {
    let ahead = jiff::SignedDuration::from_millis(cell.scenario.scenario.server_clock_ahead_ms);
    let epoch = epoch(cell.seed);
    epoch.checked_add(ahead).unwrap_or(epoch)
}

/// Builds a cell's world.
pub(crate) fn build(cell: &Cell, now: Timestamp) -> anyhow::Result<World> {
    let scenario = &cell.scenario.scenario;
    let mut spec: WorldSpec = scenario.world.clone();
    if scenario.entra.auth == AuthKind::Static {
        spec.tokens.push(TokenSpec { token: TOKEN.to_owned(), ..TokenSpec::default() });
    }
    if cell.mode == Mode::Sim && spec.latency_ms == 0 {
        spec.latency_ms = 5 + cell.seed.wrapping_mul(31) % 90;
    }
    for n in 0..scenario.idle_chats {
        let handle = format!("idle-{n}");
        spec.people.insert(handle.clone(), PersonSpec::default());
        spec.chats.insert(handle.clone(), ChatSpec { members: vec![handle], ..ChatSpec::default() });
    }
    let graph = FakeGraph::from_world(&spec, cell.seed, now).context("the world of the scenario")?;
    let mut allow = Vec::new();
    for handle in scenario.world.people.keys().filter(|handle| !scenario.strangers.contains(handle)) {
        let person = graph.person(handle)?;
        allow.push(format!("{}/{}", person.tenant_id, person.object_id));
        allow.extend(person.mail.clone().filter(|_| spec.mail.is_some()));
    }
    let agent = graph.agent();
    let mut environment = BTreeMap::from([
        ("ENTRACLAW_ALLOW".to_owned(), allow.join(",")),
        ("ENTRACLAW_IDENTITY_TENANT_ID".to_owned(), agent.tenant_id.clone()),
        ("ENTRACLAW_IDENTITY_AGENT_ID".to_owned(), fake_microsoft::graph::agent_identity_id()),
        ("ENTRACLAW_GRAPH_URL".to_owned(), graph.base_url().to_owned()),
    ]);
    let bot = SharedBot::default();
    if scenario.server.contains_key("bot.enabled") {
        environment.extend(bot.with(|bot| super::bot::settings(bot)));
    }
    if spec.mail.is_some() {
        environment.insert("ENTRACLAW_MAIL_ENABLED".to_owned(), "true".to_owned());
        if cell.mode == Mode::Process {
            let interval = format!("{}ms", MAIL_POLL_INTERVAL_MS / PROCESS_SPEED);
            environment.insert("ENTRACLAW_MAIL_POLL_INTERVAL".to_owned(), interval);
        }
    }
    let mut entra = FakeEntra::new(&scenario.entra, cell.seed, now);
    let (keys, settings) = sign_in::prepare(&scenario.entra, &mut entra);
    environment.extend(settings);
    let wake_up = wake_up(cell, scenario.set_up.contains(&SetUp::WakeUp));
    environment.extend(wake_up.map(|(name, value)| (name.to_owned(), value.to_owned())));
    for (name, value) in &scenario.server {
        let value = match value.split_once(':') {
            Some(("$chat", handle)) => graph.chat_id(handle)?.to_owned(),
            Some(("$person", handle)) => {
                let person = graph.person(handle)?;
                format!("{}/{}", person.tenant_id, person.object_id)
            }
            _ => value.clone(),
        };
        environment.insert(format!("ENTRACLAW_{}", name.replace('.', "_").to_uppercase()), value);
    }
    if cell.mode == Mode::Process {
        environment.insert(
            "ENTRACLAW_TEAMS_POLL_INTERVAL".to_owned(),
            format!("{}ms", POLL_INTERVAL_MS / PROCESS_SPEED),
        );
    }
    let graph = SharedGraph::new(graph);
    Ok(World { entra: SharedEntra::new(entra, Some(graph.clone())), graph, bot, keys, environment })
}

/// The server's setting that opens the wake-up of the cell's host to it, or leaves out one that is open by itself.
fn wake_up(cell: &Cell, is_open: bool) -> Option<(&'static str, &'static str)> {
    match *cell.host.profile.as_ref()?.wake_up.kind {
        WakeUpKind::InboxSocket => (!is_open).then_some(("ENTRACLAW_WAKE_INBOX_SOCKET", "false")),
        WakeUpKind::PeerProtocol => (!is_open).then_some(("ENTRACLAW_WAKE_QWEN_PEER", "false")),
        _ if !is_open => None,
        WakeUpKind::QueueCommand => Some(("ENTRACLAW_WAKE_CODEX_QUEUE", "true")),
        WakeUpKind::HttpPort => Some(("ENTRACLAW_WAKE_OPENCODE_PORT", "4096")),
        WakeUpKind::InputFile => Some(("ENTRACLAW_WAKE_QWEN_INPUT_FILE", "/home/alice/input.jsonl")),
        WakeUpKind::None | WakeUpKind::Extension => None,
    }
}
