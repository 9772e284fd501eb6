//! Says whether anything was lost, done twice, or left half done.

use std::collections::BTreeMap;
use std::fmt;
use std::thread;
use std::time::{Duration, Instant};

use entraclaw_delegate::store::{Place, Store};
use entraclaw_delegate::{Speaker, TaskId, TaskState};

use super::host::Known;
use super::script::{COMMANDS, HOSTS, LOG, LOG_ENDS, answer, content, file, key};
use super::world::{Victim, World};

/// The name of a file beside the one that it replaces.
const BESIDE: &str = ".entraclaw-new";
/// How long programs of a dead engine may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);

#[derive(Default)]
pub(crate) struct Sum {
    kills: BTreeMap<&'static str, usize>,
    tasks: usize,
    lost_tickets: usize,
    tools: usize,
    unknown: usize,
    resumed: BTreeMap<&'static str, usize>,
    servers: BTreeMap<&'static str, usize>,
}

impl Sum {
    pub(crate) fn killed(&mut self, which: Victim) {
        let name = match which {
            Victim::Engine => "engine",
            Victim::Model => "model server",
            Victim::Bridge(_) => "bridge",
        };
        *self.kills.entry(name).or_default() += 1;
    }
}

impl fmt::Display for Sum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} tasks, 0 lost, 0 done twice, 0 half-written files, all answers right; {} tickets were lost and found again; \
             of {} tools {} had an unknown end, told to the model; killed {:?}; interrupted and gone on {:?}; worlds {:?}",
            self.tasks, self.lost_tickets, self.tools, self.unknown, self.kills, self.resumed, self.servers
        )
    }
}

/// Whether there may be a file beside the one that it replaces: a killed engine leaves it, and the next one takes it away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Beside {
    May,
    MayNot,
}

/// Every file of the project is whole at any time.
pub(crate) fn files(world: &World, tasks: usize, beside: Beside) {
    for entry in std::fs::read_dir(world.project()).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        // It may be gone by now.
        let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
        // It is the log that is replaced; the files of tasks are new.
        if name == LOG || (name == BESIDE && beside == Beside::May) {
            let lines: Vec<&str> = text.lines().collect();
            let ends = [lines[0], lines[lines.len() - 1]];
            assert_eq!(ends, LOG_ENDS, "{name} is half written");
            continue;
        }
        if name == COMMANDS {
            continue;
        }
        let mut keys = HOSTS.iter().flat_map(|host| (0..tasks).map(|task| key(host, task)));
        let of = keys.find(|key| file(key) == name);
        let of = of.unwrap_or_else(|| panic!("{name} was left behind, with {} bytes", text.len()));
        assert!(text == content(&of), "{name} is half written: {} bytes", text.len());
    }
}

fn lines(world: &World, name: &str) -> BTreeMap<String, usize> {
    let text = std::fs::read_to_string(world.project().join(name)).unwrap_or_default();
    let mut found = BTreeMap::new();
    for line in text.lines() {
        *found.entry(line.to_owned()).or_default() += 1;
    }
    found
}

pub(crate) fn judge(world: &World, known: &[Known; 2], sum: &mut Sum) {
    let until = Instant::now() + GONE_WITHIN;
    while !world.left().is_empty() {
        assert!(Instant::now() < until, "these go on in the project: {:?}", world.left());
        thread::sleep(Duration::from_millis(50));
    }
    let store = Store::open(&Place::Folder(world.store())).unwrap();
    let messages = store.last_messages(1_000_000).unwrap();
    let (log, commands) = (lines(world, LOG), lines(world, COMMANDS));
    let mut tasks = 0;
    for known in known {
        tasks += known.ids.len();
        sum.lost_tickets += known.lost_tickets;
        for (key, id) in &known.ids {
            let id = TaskId(id.clone());
            let task = store.find_task(&id).unwrap().unwrap_or_else(|| panic!("{key} is lost"));
            assert_eq!(task.state, TaskState::Completed, "{key}: {:?} {:?}", task.result, task.notes);
            assert_eq!(task.result.as_deref(), Some(&*answer(key)), "{key}: {:?}", task.notes);
            assert_eq!(known.ends[key]["response"], answer(key), "{key}: the host was told something else");
            let said = |is_model| {
                let of_task = messages.iter().filter(|message| message.task == id);
                of_task.filter(|message| (message.speaker == Speaker::Model) == is_model).count()
            };
            assert_eq!((said(false), said(true)), (1, 1), "{key} is not once in the history");
            if let Some(resumed) = task.resumed {
                *sum.resumed.entry(resumed.as_str()).or_default() += 1;
            }
            for call in store.calls(&id).unwrap() {
                let result = call.result.as_ref().unwrap_or_else(|| panic!("{key}: a call has no result"));
                let found = match call.request.name.as_str() {
                    "write_file" => usize::from(world.project().join(file(key)).exists()),
                    "edit_file" => log.get(key).copied().unwrap_or_default(),
                    _ => commands.get(key).copied().unwrap_or_default(),
                };
                sum.tools += 1;
                let right = match result.status.as_str() {
                    "success" => found == 1,
                    "unknown" => found <= 1,
                    _ => false,
                };
                assert!(
                    right,
                    "{key}: {} is {} and was done {found} times: {}",
                    call.request.name, result.status, result.text
                );
                sum.unknown += usize::from(result.status == "unknown");
            }
        }
    }
    assert_eq!(store.message_count().unwrap(), 2 * tasks as u64, "a task was handed over twice");
    sum.tasks += tasks;
    *sum.servers.entry(world.kind()).or_default() += 1;
}
