//! The stage of a cell: how a server process starts and ends, and what its disk holds.

use std::rc::Rc;

use entraclaw_inbox::rules::WaitCommand;
use fake_hosts::AnyServer;
use fake_hosts::drive::Commands;
use fake_microsoft::bot::BotDelivery;
use futures_util::future::LocalBoxFuture;
use scenario::DiskStep;

use super::delegate::Delegation;
use super::jobs::Jobs;
use super::machine::Machine;
use super::wake_up_target::WakeUpTarget;

/// The differences between simulation and real processes.
pub(crate) trait Stage {
    /// The server of a session, with this `--consumer`. It starts as often as its host asks, and its wake-ups
    /// reach that target.
    fn server(&self, consumer: Option<&str>, target: &WakeUpTarget) -> AnyServer;
    /// The same for a session that works in another project.
    fn server_beside(&self, consumer: Option<&str>, target: &WakeUpTarget) -> AnyServer {
        self.server(consumer, target)
    }
    /// Who runs our program where the host of that session, which has this target, would.
    fn commands(&self, consumer: Option<&str>, target: &WakeUpTarget) -> Rc<dyn Commands>;
    /// The command by which a model of this machine waits in its shell.
    fn wait_command(&self) -> WaitCommand;
    /// Names of the files in a folder of the server's home.
    fn files(&self, folder: &str) -> Vec<String>;
    /// A file of the server's home.
    fn read(&self, path: &str) -> Vec<u8>;
    /// Runs a command of the program, as typed. What it says when it is done, or why it is not.
    fn command(&self, arguments: &[&str]) -> Result<String, String>;
    /// Writes a file of the server's home, as an editor does.
    fn overwrite(&self, path: &str, text: &str) -> anyhow::Result<()>;
    /// Cuts the power of the machine: what was not synced may be gone.
    fn power_cut(&self) -> anyhow::Result<()>;
    /// Lets the wall clock of the server's machine jump, back when negative.
    fn step_clock(&self, by_ms: i64) -> anyhow::Result<()>;
    /// Makes the disk misbehave.
    fn disk(&self, step: &DiskStep) -> anyhow::Result<()>;
    /// Brings an activity to the bot endpoint; the status, or `None` without an answer.
    fn deliver<'a>(&'a self, activity: &'a BotDelivery) -> LocalBoxFuture<'a, Option<u16>>;
    /// The jobs and the other agents of the machine; none where the scenario begins no work.
    fn jobs(&self) -> Option<&dyn Jobs> {
        None
    }
    /// The engine of the local model, where the scenario has one.
    fn delegation(&self) -> Option<&dyn Delegation> {
        None
    }
    /// The person's machine, where hosts know of the server by their files alone.
    fn machine(&self) -> Option<&Machine> {
        None
    }
    /// The date and time of the stage's clock.
    fn now(&self) -> jiff::Timestamp;
}
