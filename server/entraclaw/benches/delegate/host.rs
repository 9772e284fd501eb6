//! What a host meets: the time of a ticket, and what the bridge costs.

use std::process::Stdio;
use std::time::{Duration, Instant};

use fake_models::Kind;
use serde_json::json;

use super::client::Client;
use super::figures::{median, show};
use super::world::{Running, World};

/// Tasks that are handed over on each way; the engine takes 200.
const TASKS: usize = 90;
/// Messages on each way.
const MESSAGES: usize = 1_000;
/// Bridges that are started.
const STARTS: usize = 20;

pub(crate) fn measure() {
    let world = World::new(Kind::OpenAi, "openai");
    let engine = world.engine();
    let socket = world.socket();
    let mut direct = Client::new(socket.try_clone().unwrap(), socket, "direct");
    let (bridge, mut through) = bridge(&world, "bridged");

    show("chat to its ticket, straight to the socket", 5.0, tickets(&mut direct));
    show("chat to its ticket, through the bridge", 5.0, tickets(&mut through));

    let (mut straight, mut relayed) = (Vec::new(), Vec::new());
    for _ in 0..MESSAGES {
        straight.push(ping(&mut direct));
        relayed.push(ping(&mut through));
    }
    let added = median(&mut relayed).saturating_sub(median(&mut straight));
    show("a message and its answer, straight", 1.0, straight);
    show("a message and its answer, through the bridge", 1.0, relayed);
    println!(
        "the bridge adds {:.3} ms to a message and its answer; goal 2 ms",
        added.as_secs_f64() * 1_000.0
    );

    let starts = (0..STARTS).map(|_| {
        let began = Instant::now();
        drop(self::bridge(&world, "started"));
        began.elapsed()
    });
    show("a bridge from its start to its first answer", 10.0, starts.collect());
    println!("{}", memory(&bridge));
    drop(engine);
}

fn bridge(world: &World, name: &str) -> (Running, Client) {
    let mut command = world.command(&["mcp-bridge"]);
    let mut child = Running(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let (reader, writer) = (child.0.stdout.take().unwrap(), child.0.stdin.take().unwrap());
    (child, Client::new(reader, writer, name))
}

fn tickets(client: &mut Client) -> Vec<Duration> {
    let one = |_| {
        let began = Instant::now();
        let answer = client.call("chat", &json!({"message": "slow"}));
        let took = began.elapsed();
        assert!(answer["task_id"].is_string(), "{answer}");
        took
    };
    (0..TASKS).map(one).collect()
}

fn ping(client: &mut Client) -> Duration {
    let began = Instant::now();
    client.ask("ping", &json!({}));
    began.elapsed()
}

/// What a process has in memory, on Linux.
fn memory(bridge: &Running) -> String {
    let status = std::fs::read_to_string(format!("/proc/{}/status", bridge.0.id())).unwrap_or_default();
    let megabytes = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let kilobytes: f64 = line.split_whitespace().next()?.parse().ok()?;
        Some(kilobytes / 1_024.0)
    };
    match (megabytes("VmRSS:"), megabytes("RssAnon:"), megabytes("VmHWM:")) {
        (Some(all), Some(own), Some(most)) => format!(
            "memory of a bridge after {MESSAGES} messages: {all:.1} MB, {own:.1} MB of them its own and the rest the program's \
             file, {most:.1} MB at most; goal 10 MB"
        ),
        _ => "memory of a bridge: this system does not tell".to_owned(),
    }
}
