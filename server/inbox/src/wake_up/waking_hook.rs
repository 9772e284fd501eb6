//! The hook that wakes Claude Code: a program of ours that the host starts at the end of every turn, that runs on beside
//! the idle session, and whose end with the exit code 2 starts a turn with what it wrote to stderr. Here is how a server
//! hands it the words. Seen on 2.1.69, 2.1.148, 2.1.247 and 2.1.330.
//!
//! Both meet in a folder of the consumer's, by the id of the host's process. One program a host is **armed**: it holds a
//! lock that the system takes from it when it dies. Words are a file that appears whole and is taken by a renaming, so one
//! of both gets it: the armed program, or the server that takes it back because no hook came.

use std::io;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::WakeUpError;
use crate::journal::ConsumerName;
use entraclaw_seams::storage::{Changes, Lock, Storage, read_whole};

/// The first version that starts a turn when such a hook ends with 2. 2.1.68 runs it and starts none.
const WAKING_HOOK_SINCE: [u64; 3] = [2, 1, 69];

const FOLDER: &str = "waking";
/// Most bytes of one wake-up: its characters at their longest, and room.
const WORDS_BYTES_MAX: u64 = 64 * 1024;
const NEWEST_BYTES_MAX: u64 = 256;
/// Longest wait for another one who writes beside us.
const BEGIN_WAIT_MS: u64 = 2_000;
/// How long the armed program has for taking the words.
const TAKEN_WITHIN: Duration = Duration::from_secs(2);
/// How often a disk that may miss changes is looked at meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Longest id of a host's process.
const HOST_CHARS_MAX: usize = 64;
/// The endings of the files of one host; locks are last, because they are removed last.
const ENDINGS: [&str; 7] = ["newest", "armed", "words", "taken", "back", "begin.lock", "lock"];

/// Whether a host of this family and version starts a turn when the hook ends.
pub fn wakes_by_hook(family: &str, version: [u64; 3]) -> bool {
    family == "claude-code" && version >= WAKING_HOOK_SINCE
}

/// Where a server and the hooks of its host meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeetingPlace {
    folder: String,
    host: String,
}

impl MeetingPlace {
    /// For a consumer, by the id of the host's process; none where that is no name for a file.
    pub fn new(consumer: &ConsumerName, host: &str) -> Option<Self> {
        let is_id = !host.is_empty()
            && host.len() <= HOST_CHARS_MAX
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        is_id.then(|| Self { folder: format!("{FOLDER}/{consumer}"), host: host.to_owned() })
    }

    fn path(&self, ending: &str) -> String {
        format!("{}/{}.{ending}", self.folder, self.host)
    }

    /// Tells of whatever happens here, where the disk can.
    pub fn watch(&self, storage: &dyn Storage) -> Option<Changes> {
        storage.create_dir(&self.folder).ok()?;
        storage.changes(&self.folder)
    }

    /// From now on the program of this id is the newest of its host; older ones see it and leave.
    pub fn begin(&self, storage: &dyn Storage, id: &str) -> io::Result<()> {
        storage.create_dir(&self.folder)?;
        let _lock = storage.lock(&self.path("begin.lock"), BEGIN_WAIT_MS)?;
        storage.replace_derived(&self.path("newest"), id.as_bytes())
    }

    /// Whether the program of this id is the newest.
    pub fn is_newest(&self, storage: &dyn Storage, id: &str) -> io::Result<bool> {
        let newest = read_whole(storage, &self.path("newest"), NEWEST_BYTES_MAX)?;
        Ok(newest.is_some_and(|newest| newest == id.as_bytes()))
    }

    /// Arms the program that asks, unless another one is armed.
    pub fn arm(&self, storage: &dyn Storage) -> io::Result<Option<Armed>> {
        let Some(lock) = storage.try_lock(&self.path("lock"))? else { return Ok(None) };
        // A lock alone is no change that anybody is told of.
        storage.replace_derived(&self.path("armed"), b"")?;
        Ok(Some(Armed { place: self.clone(), _lock: lock }))
    }

    /// Whether a program is armed.
    pub fn is_armed(&self, storage: &dyn Storage) -> bool {
        // Where no hook ever ran nothing is made by looking.
        let was_armed = storage.len(&self.path("armed")).is_ok_and(|len| len.is_some());
        was_armed && storage.try_lock(&self.path("lock")).is_ok_and(|free| free.is_none())
    }

    /// How many hosts of any consumer have an armed program.
    pub fn armed_everywhere(storage: &dyn Storage) -> usize {
        let consumers = storage.list(FOLDER).unwrap_or_default();
        let armed = |consumer: &String| {
            let folder = format!("{FOLDER}/{consumer}");
            let names = storage.list(&folder).unwrap_or_default();
            let hosts = names.iter().filter_map(|name| name.strip_suffix(".armed"));
            let places = hosts.map(|host| Self { folder: folder.clone(), host: host.to_owned() });
            places.filter(|place| place.is_armed(storage)).count()
        };
        consumers.iter().map(armed).sum()
    }

    /// Gives the words to the armed program. An error means that it surely has not got them.
    pub(super) async fn tell(&self, storage: &dyn Storage, words: &str) -> Result<(), WakeUpError> {
        let failed = |error: io::Error| refusal(error.to_string());
        if !self.is_armed(storage) {
            return Err(refusal("no hook waits beside the session"));
        }
        let mut changes = self.watch(storage);
        let path = self.path("words");
        {
            let lock = storage.lock(&self.path("begin.lock"), BEGIN_WAIT_MS).map_err(failed)?;
            if lock.is_none() || storage.len(&path).map_err(failed)?.is_some() {
                return Err(refusal("another server of the session is waking it"));
            }
            storage.replace_derived(&path, words.as_bytes()).map_err(failed)?;
        }
        let until = Instant::now() + TAKEN_WITHIN;
        while Instant::now() < until {
            if storage.len(&path).is_ok_and(|len| len.is_none()) {
                return Ok(());
            }
            let look_at = until.min(Instant::now() + LOOK_EVERY);
            match &mut changes {
                Some(changes) if changes.is_complete() => drop(timeout_at(until, changes.next()).await),
                Some(changes) => drop(timeout_at(look_at, changes.next()).await),
                None => tokio::time::sleep_until(look_at).await,
            }
        }
        let back = self.path("back");
        match storage.rename(&path, &back) {
            // It went in the last moment.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed(error)),
            Ok(()) => {
                storage.remove(&back).map_err(failed)?;
                Err(refusal("the hook did not take the words"))
            }
        }
    }

    /// Forgets the host, which has ended: the caller must know that no program of it can begin any more.
    pub fn clear(&self, storage: &dyn Storage) {
        for ending in ENDINGS {
            // What stays is a few bytes, and the next one tries again.
            let _ = storage.remove(&self.path(ending));
        }
    }

    /// Forgets every other host of this place that has ended.
    pub fn clear_others(&self, storage: &dyn Storage, has_ended: &dyn Fn(&str) -> bool) {
        let names = storage.list(&self.folder).unwrap_or_default();
        let hosts = names.iter().filter_map(|name| name.strip_suffix(".newest"));
        for host in hosts.filter(|host| *host != self.host && has_ended(host)) {
            Self { folder: self.folder.clone(), host: host.to_owned() }.clear(storage);
        }
    }
}

/// The one program of a host that takes words.
pub struct Armed {
    place: MeetingPlace,
    _lock: Box<dyn Lock>,
}

impl Armed {
    /// The words that are there, if any: the caller that gets them must tell them.
    pub fn take(&self, storage: &dyn Storage) -> io::Result<Option<String>> {
        let (words, taken) = (self.place.path("words"), self.place.path("taken"));
        // A try of the renaming would be a change, of which this one would be told.
        if storage.len(&words)?.is_none() {
            return Ok(None);
        }
        match storage.rename(&words, &taken) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            renamed => renamed?,
        }
        let words = read_whole(storage, &taken, WORDS_BYTES_MAX)?;
        storage.remove(&taken)?;
        let words = words.map(|words| String::from_utf8_lossy(&words).into_owned());
        Ok(words.filter(|words| !words.is_empty()))
    }
}

fn refusal(reason: impl Into<String>) -> WakeUpError {
    WakeUpError::Hook { reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_seams::storage::MemoryStorage;

    fn place(host: &str) -> Option<MeetingPlace> {
        MeetingPlace::new(&ConsumerName::new("claude-code").unwrap(), host)
    }

    #[test]
    fn only_what_names_a_process_names_a_file() {
        assert!(place("4711-987654").is_some());
        for bad in ["", "..", "a/b", "a.b", &"1".repeat(65)] {
            assert_eq!(place(bad), None, "{bad}");
        }
    }

    #[test]
    fn versions_before_the_first_that_wakes_have_no_such_hook() {
        assert!(wakes_by_hook("claude-code", [2, 1, 69]) && wakes_by_hook("claude-code", [2, 1, 330]));
        assert!(!wakes_by_hook("claude-code", [2, 1, 68]) && !wakes_by_hook("claude-code", [0, 0, 0]));
        assert!(!wakes_by_hook("qwen-code", [9, 0, 0]));
    }

    #[tokio::test(start_paused = true)]
    async fn words_reach_the_armed_program_once_or_come_back() {
        let disk = MemoryStorage::new();
        let (server, hook) = (disk.new_process(), disk.new_process());
        let place = place("1-2").unwrap();
        assert!(place.tell(&server, "nobody hears").await.unwrap_err().is_certain());
        place.begin(&hook, "one").unwrap();
        assert!(!place.is_armed(&server));
        let armed = place.arm(&hook).unwrap().unwrap();
        assert!(place.is_armed(&server) && place.arm(&server).unwrap().is_none());
        assert_eq!(armed.take(&hook).unwrap(), None);
        let told = place.tell(&server, "come");
        let taken = async {
            tokio::time::sleep(Duration::from_millis(500)).await;
            armed.take(&hook).unwrap()
        };
        let (told, taken) = tokio::join!(told, taken);
        assert_eq!((told, taken.as_deref()), (Ok(()), Some("come")));
        // One that is armed and stands still gets nothing later.
        assert!(place.tell(&server, "come").await.unwrap_err().is_certain());
        assert_eq!(armed.take(&hook).unwrap(), None);
        drop(armed);
        assert!(!place.is_armed(&server));
    }

    #[tokio::test(start_paused = true)]
    async fn an_armed_program_that_dies_is_not_armed() {
        let disk = MemoryStorage::new();
        let (server, hook) = (disk.new_process(), disk.new_process());
        let place = place("1-2").unwrap();
        place.begin(&hook, "one").unwrap();
        let _armed = place.arm(&hook).unwrap().unwrap();
        hook.kill();
        assert!(!place.is_armed(&server));
        let next = disk.new_process();
        place.begin(&next, "two").unwrap();
        assert!(!place.is_newest(&next, "one").unwrap() && place.is_newest(&next, "two").unwrap());
        assert!(place.arm(&next).unwrap().is_some());
    }

    #[test]
    fn hosts_that_have_ended_leave_nothing() {
        let disk = MemoryStorage::new();
        for host in ["1-2", "3-4", "5-6"] {
            place(host).unwrap().begin(&disk, "one").unwrap();
        }
        place("1-2").unwrap().clear_others(&disk, &|host| host == "3-4");
        let left = disk.list("waking/claude-code").unwrap();
        assert!(!left.iter().any(|name| name.starts_with("3-4")), "{left:?}");
        assert!(left.iter().any(|name| name == "5-6.newest"), "{left:?}");
    }
}
