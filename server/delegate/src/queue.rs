//! Who is worked for, and who waits: the person before every host, and first come, first served within each.
//!
//! It is a state machine without clock and files. It must never run two tasks, nor forget one.

use std::collections::VecDeque;

use crate::task::TaskId;

/// Whose turn it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// The person's tasks, which go first.
    Person,
    /// The hosts' tasks.
    Hosts,
}

/// The tasks that have not ended, in their order.
#[derive(Debug, Clone, Default)]
pub struct Queue {
    person: VecDeque<TaskId>,
    hosts: VecDeque<TaskId>,
    running: Option<TaskId>,
}

impl Queue {
    /// Adds a task behind the others of its lane.
    pub fn add(&mut self, task: TaskId, lane: Lane) {
        match lane {
            Lane::Person => self.person.push_back(task),
            Lane::Hosts => self.hosts.push_back(task),
        }
    }

    /// The task that is worked on.
    pub fn running(&self) -> Option<&TaskId> {
        self.running.as_ref()
    }

    /// The task whose turn it is.
    pub fn first(&self) -> Option<&TaskId> {
        self.person.front().or_else(|| self.hosts.front())
    }

    /// The task that must be paused, because the person waits.
    pub fn must_pause(&self) -> Option<&TaskId> {
        self.running.as_ref().filter(|running| self.first() != Some(running))
    }

    /// Begins the task whose turn it is, if none runs.
    pub fn start(&mut self) -> Option<TaskId> {
        if self.running.is_some() {
            return None;
        }
        self.running = self.first().cloned();
        self.running.clone()
    }

    /// Pauses the task that runs. It keeps its place.
    pub fn pause(&mut self) -> Option<TaskId> {
        self.running.take()
    }

    /// Takes out a task that has ended or was cancelled; `false` if it is not here.
    pub fn remove(&mut self, task: &TaskId) -> bool {
        if self.running.as_ref() == Some(task) {
            self.running = None;
        }
        let before = self.len();
        self.person.retain(|one| one != task);
        self.hosts.retain(|one| one != task);
        self.len() < before
    }

    /// How many tasks go before this one; `None` if it is not here.
    pub fn position(&self, task: &TaskId) -> Option<usize> {
        self.in_order().position(|one| one == task)
    }

    /// All tasks in the order in which they are worked on.
    pub fn in_order(&self) -> impl Iterator<Item = &TaskId> {
        self.person.iter().chain(&self.hosts)
    }

    /// The number of tasks, with the one that runs.
    pub fn len(&self) -> usize {
        self.person.len() + self.hosts.len()
    }

    /// Whether there is no task.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Move {
        Add(Lane),
        Start,
        Pause,
        Finish,
        Cancel(usize),
    }

    fn moves() -> impl Strategy<Value = Vec<Move>> {
        let one = prop_oneof![
            2 => Just(Move::Add(Lane::Person)),
            4 => Just(Move::Add(Lane::Hosts)),
            4 => Just(Move::Start),
            2 => Just(Move::Pause),
            3 => Just(Move::Finish),
            1 => any::<usize>().prop_map(Move::Cancel),
        ];
        prop::collection::vec(one, 0..200)
    }

    proptest! {
        #[test]
        fn the_person_goes_first_and_order_holds_whatever_happens(moves in moves()) {
            let mut queue = Queue::default();
            // The model: number of the task, lane, in the order of coming.
            let mut open: Vec<(u64, Lane)> = Vec::new();
            let mut running: Option<u64> = None;
            let mut count = 0;
            for next in moves {
                match next {
                    Move::Add(lane) => {
                        count += 1;
                        queue.add(TaskId::of(count), lane);
                        open.push((count, lane));
                    }
                    Move::Start => {
                        let person = open.iter().find(|(_, lane)| *lane == Lane::Person);
                        let due = person.or_else(|| open.first()).map(|(number, _)| *number);
                        let expected = if running.is_some() { None } else { due };
                        prop_assert_eq!(queue.start(), expected.map(TaskId::of));
                        running = running.or(due);
                    }
                    Move::Pause => {
                        prop_assert_eq!(queue.pause(), running.take().map(TaskId::of));
                    }
                    Move::Finish => {
                        if let Some(number) = running.take() {
                            prop_assert!(queue.remove(&TaskId::of(number)));
                            open.retain(|(one, _)| *one != number);
                        }
                    }
                    Move::Cancel(at) => {
                        if open.is_empty() {
                            prop_assert!(!queue.remove(&TaskId::of(0)));
                            continue;
                        }
                        let (number, _) = open.remove(at % open.len());
                        prop_assert!(queue.remove(&TaskId::of(number)));
                        running = running.filter(|one| *one != number);
                    }
                }
                let mut sorted = open.clone();
                sorted.sort_by_key(|(number, lane)| (*lane == Lane::Hosts, *number));
                let expected: Vec<TaskId> = sorted.iter().map(|(number, _)| TaskId::of(*number)).collect();
                let found: Vec<TaskId> = queue.in_order().cloned().collect();
                prop_assert_eq!(&found, &expected);
                prop_assert_eq!(queue.running().cloned(), running.map(TaskId::of));
                prop_assert_eq!(queue.len(), open.len());
                // A host's task is paused exactly when the person waits.
                let is_host = |number: u64| open.contains(&(number, Lane::Hosts));
                let waits = open.iter().any(|(_, lane)| *lane == Lane::Person);
                let must = running.filter(|number| is_host(*number) && waits);
                prop_assert_eq!(queue.must_pause().cloned(), must.map(TaskId::of));
                for (at, id) in found.iter().enumerate() {
                    prop_assert_eq!(queue.position(id), Some(at));
                }
            }
        }
    }
}
