//! Builds the fake Graph of a cell and the server's configuration that fits it.

use std::collections::BTreeMap;

use anyhow::Context as _;
use fakes::bot::SharedBot;
use fakes::graph::{ChatSpec, FakeGraph, PersonSpec, SharedGraph, TokenSpec, WorldSpec};
use jiff::Timestamp;

use super::PROCESS_SPEED;
use crate::plan::Cell;
use crate::scenario::Mode;

/// The token that Graph accepts. It must appear in no line, file or text.
pub(crate) const TOKEN: &str = "sim-access-token-5f1d7c3e9a";
/// When every simulated world begins.
const EPOCH: &str = "2026-01-05T09:00:00Z";
/// The seed's poll interval.
const POLL_INTERVAL_MS: u32 = 5_000;

/// Graph as it is when the cell begins.
pub(crate) struct World {
    pub(crate) graph: SharedGraph,
    pub(crate) bot: SharedBot,
    /// The server's configuration as environment variables.
    pub(crate) environment: BTreeMap<String, String>,
}

/// The instant at which a simulated cell begins: shifted by the seed, so that polls fall differently.
pub(crate) fn epoch(seed: u64) -> Timestamp {
    let base: Timestamp = EPOCH.parse().unwrap_or(Timestamp::UNIX_EPOCH);
    let shift_ms = i64::try_from(seed.wrapping_mul(7_919) % 86_400_000).unwrap_or(0);
    base.checked_add(jiff::SignedDuration::from_millis(shift_ms)).unwrap_or(base)
}

/// Builds a cell's world.
pub(crate) fn build(cell: &Cell, now: Timestamp) -> anyhow::Result<World> {
    let scenario = &cell.scenario.scenario;
    let mut spec: WorldSpec = scenario.world.clone();
    spec.tokens.push(TokenSpec { token: TOKEN.to_owned(), ..TokenSpec::default() });
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
    }
    let agent = graph.agent();
    let mut environment = BTreeMap::from([
        ("ENTRACLAW_AUTH".to_owned(), "static".to_owned()),
        ("ENTRACLAW_ACCESS_TOKEN".to_owned(), TOKEN.to_owned()),
        ("ENTRACLAW_ALLOW".to_owned(), allow.join(",")),
        ("ENTRACLAW_IDENTITY_TENANT_ID".to_owned(), agent.tenant_id.clone()),
        ("ENTRACLAW_GRAPH_URL".to_owned(), graph.base_url().to_owned()),
    ]);
    let bot = SharedBot::default();
    if scenario.server.contains_key("bot.enabled") {
        environment.extend(bot.with(|bot| super::bot::settings(bot)));
    }
    for (name, value) in &scenario.server {
        let value = match value.strip_prefix("$chat:") {
            Some(handle) => graph.chat_id(handle)?.to_owned(),
            None => value.clone(),
        };
        environment.insert(format!("ENTRACLAW_{}", name.replace('.', "_").to_uppercase()), value);
    }
    if cell.mode == Mode::Process {
        environment.insert(
            "ENTRACLAW_TEAMS_POLL_INTERVAL".to_owned(),
            format!("{}ms", POLL_INTERVAL_MS / PROCESS_SPEED),
        );
    }
    Ok(World { graph: SharedGraph::new(graph), bot, environment })
}
