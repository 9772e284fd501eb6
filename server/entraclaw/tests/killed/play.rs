//! Plays worlds: kills a process at a random moment, begins it again, and lets the judge look.

use std::thread;
use std::time::{Duration, Instant};

use entraclaw_seams::random::{Random as _, SplitMix};

use super::host::Host;
use super::judge::{self, Beside, Sum};
use super::phase::{Phase, Phases};
use super::script::KINDS;
use super::world::{Victim, World};

/// Most kills in one world.
const KILLS_A_WORLD: u64 = 25;
/// The longest time between two kills.
const BETWEEN_MS: u64 = 700;
/// The longest time that a killed process stays away.
const AWAY_MS: u64 = 250;

pub(crate) fn play(kills: u64, seed: u64) {
    println!("seed {seed}");
    let random = SplitMix::seeded(seed);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let found = runtime.block_on(entraclaw_sandbox::probe(env!("CARGO_BIN_EXE_entraclaw").as_ref()));
    let with_command = found.is_whole();
    if !with_command {
        println!("no commands are run: this system lacks {}", found.missing.join(", "));
    }
    let began = Instant::now();
    let mut sum = Sum::default();
    let mut left = kills;
    while left > 0 {
        let kills = left.min(KILLS_A_WORLD);
        left -= kills;
        let kind = usize::try_from(random.next_u64() % KINDS.len() as u64).unwrap();
        one(kind, kills, &random, with_command, &mut sum);
    }
    println!("{kills} kills in {} s: {sum}", began.elapsed().as_secs());
}

fn one(kind: usize, kills: u64, random: &SplitMix, with_command: bool, sum: &mut Sum) {
    let tasks = usize::try_from(kills).unwrap() * 4 + 20;
    let world = World::new(kind, tasks);
    let phases = Phases::default();
    world.begin(Victim::Model);
    world.begin(Victim::Engine);
    let known = thread::scope(|scope| {
        let hosts = [0, 1].map(|number| {
            let (world, phases) = (&world, &phases);
            scope.spawn(move || Host::new(world, number, with_command).work(phases, tasks))
        });
        // The hosts are waited for also where the judge has found something.
        let _given_up = phases.give_up_on_a_panic();
        for _ in 0..kills {
            thread::sleep(Duration::from_millis(random.next_u64() % BETWEEN_MS));
            let which = match random.next_u64() % 8 {
                0..4 => Victim::Engine,
                4..6 => Victim::Model,
                other => Victim::Bridge(usize::try_from(other - 6).unwrap()),
            };
            world.kill(which);
            sum.killed(which);
            if which == Victim::Engine {
                judge::files(&world, tasks, Beside::May);
            }
            thread::sleep(Duration::from_millis(random.next_u64() % AWAY_MS));
            world.begin(which);
        }
        phases.enter(Phase::Ending);
        hosts.map(|host| host.join().expect("a host"))
    });
    world.kill(Victim::Engine);
    judge::files(&world, tasks, Beside::MayNot);
    judge::judge(&world, &known, sum);
}
