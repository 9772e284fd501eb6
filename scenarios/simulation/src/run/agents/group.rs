//! The processes of one agent on a simulated machine: its program and what that has started.
//! It must never be kinder than a real system: what ignores a signal goes on, and holds the pipes open.

use fake_agents::Signal;
use tokio::io::DuplexStream;
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

/// A process group.
pub(super) struct Group {
    /// `None` when it has ended.
    leader: Option<Leader>,
    children: Vec<Child>,
    /// The ends of the leader's pipes, which its children have too.
    pipes: Vec<DuplexStream>,
}

struct Leader {
    signals: mpsc::UnboundedSender<Signal>,
    task: AbortHandle,
}

/// A process that hangs.
struct Child {
    ignores_term: bool,
}

impl Group {
    /// A group of one running program.
    pub(super) fn led_by(signals: mpsc::UnboundedSender<Signal>, task: AbortHandle) -> Self {
        Self { leader: Some(Leader { signals, task }), children: Vec::new(), pipes: Vec::new() }
    }

    /// The program has started another one.
    pub(super) fn add_child(&mut self, ignores_term: bool) {
        self.children.push(Child { ignores_term });
    }

    /// The program has ended by itself. Its pipes close when the last of its children ends.
    pub(super) fn leader_has_ended(&mut self, pipes: [DuplexStream; 2]) {
        self.leader = None;
        self.pipes.extend(pipes);
    }

    /// Asks each process to end.
    pub(super) fn ask(&mut self) {
        if let Some(leader) = &self.leader {
            // One that has ended in this instant hears nothing.
            let _ = leader.signals.send(Signal::Terminate);
        }
        self.children.retain(|child| child.ignores_term);
    }

    /// Ends each process at once.
    pub(super) fn kill(&mut self) {
        if let Some(leader) = self.leader.take() {
            leader.task.abort();
        }
        self.children.clear();
        self.pipes.clear();
    }

    /// The number of running processes that its program has started.
    pub(super) fn children(&self) -> usize {
        self.children.len()
    }

    /// The number of running processes.
    pub(super) fn len(&self) -> usize {
        self.children.len() + usize::from(self.leader.is_some())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
