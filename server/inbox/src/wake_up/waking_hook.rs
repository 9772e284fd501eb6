//! The hook that wakes Claude Code, and how a server gives it the text. The host starts this program at the
//! end of every turn, and it keeps running beside the idle session. When it exits with code 2, the host
//! starts a turn with the text that the program wrote to stderr. Observed on 2.1.69, 2.1.148, 2.1.247 and
//! 2.1.330.
//!
//! Server and hook meet in a folder of the consumer, under the id of the host's process. One program of a
//! host is **armed**: it holds a lock that the system releases when the program exits. A text is a file that
//! appears whole and is taken by renaming it. So only one side gets it: the armed program, or the server,
//! which takes it back when no hook came.

use std::io;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::WakeUpError;
use crate::journal::ConsumerName;
use entraclaw_seams::storage::{Changes, Lock, Storage, read_whole};

/// The first version that starts a turn when such a hook exits with 2. 2.1.68 runs the hook and starts no
/// turn.
const WAKING_HOOK_SINCE: [u64; 3] = [2, 1, 69];

const FOLDER: &str = "waking";
/// The most bytes of one wake-up: its characters at their longest, and some room.
const WORDS_BYTES_MAX: u64 = 64 * 1024;
const NEWEST_BYTES_MAX: u64 = 256;
/// The longest wait for another process that writes here.
const BEGIN_WAIT_MS: u64 = 2_000;
/// How long the armed program has to take the text.
const TAKEN_WITHIN: Duration = Duration::from_secs(2);
/// How often the file is checked meanwhile, on a disk that may miss changes.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// The longest id of a host's process.
const HOST_CHARS_MAX: usize = 64;
/// The suffixes of the files of one host. Locks are last, because they are removed last.
const ENDINGS: [&str; 7] = ["newest", "armed", "words", "taken", "back", "begin.lock", "lock"];

/// Whether a host of this family and version starts a turn when the hook exits.
pub fn wakes_by_hook(family: &str, version: [u64; 3]) -> bool {
    family == "claude-code" && version >= WAKING_HOOK_SINCE
}

/// The place where a server and the hooks of its host meet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeetingPlace {
    folder: String,
    host: String,
}

impl MeetingPlace {
    /// The place for a consumer and the id of the host's process; `None` where that id can't be a file name.
    pub fn new(consumer: &ConsumerName, host: &str) -> Option<Self> {
        let is_id = !host.is_empty()
            && host.len() <= HOST_CHARS_MAX
            && host.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        is_id.then(|| Self { folder: format!("{FOLDER}/{consumer}"), host: host.to_owned() })
    }

    fn path(&self, ending: &str) -> String {
        format!("{}/{}.{ending}", self.folder, self.host)
    }

    /// Reports every change here, where the disk can report changes.
    pub fn watch(&self, storage: &dyn Storage) -> Option<Changes> {
        storage.create_dir(&self.folder).ok()?;
        storage.changes(&self.folder)
    }

    /// Makes the program with this id the newest of its host; older programs notice that and exit.
    pub fn begin(&self, storage: &dyn Storage, id: &str) -> io::Result<()> {
        storage.create_dir(&self.folder)?;
        let _lock = storage.lock(&self.path("begin.lock"), BEGIN_WAIT_MS)?;
        storage.replace_derived(&self.path("newest"), id.as_bytes())
    }

    /// Whether the program with this id is the newest.
    pub fn is_newest(&self, storage: &dyn Storage, id: &str) -> io::Result<bool> {
        let newest = read_whole(storage, &self.path("newest"), NEWEST_BYTES_MAX)?;
        Ok(newest.is_some_and(|newest| newest == id.as_bytes()))
    }

    /// Arms the calling program, unless another one is armed.
    pub fn arm(&self, storage: &dyn Storage) -> io::Result<Option<Armed>> {
        let Some(lock) = storage.try_lock(&self.path("lock"))? else { return Ok(None) };
        // A lock alone is no change that would be reported.
        storage.replace_derived(&self.path("armed"), b"")?;
        Ok(Some(Armed { place: self.clone(), _lock: lock }))
    }

    /// Whether a program is armed.
    pub fn is_armed(&self, storage: &dyn Storage) -> bool {
        // A mere check must create nothing where no hook ever ran.
        let was_armed = storage.len(&self.path("armed")).is_ok_and(|len| len.is_some());
        was_armed && storage.try_lock(&self.path("lock")).is_ok_and(|free| free.is_none())
    }

    /// The number of hosts with an armed program, of all consumers.
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

    /// Gives the text to the armed program. An error means that the program surely did not get it.
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
            // The program took it at the last moment.
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) => Err(failed(error)),
            Ok(()) => {
                storage.remove(&back).map_err(failed)?;
                Err(refusal("the hook did not take the words"))
            }
        }
    }

    /// Removes the files of the host, which has ended. The caller must know that no program of that host can
    /// start any more.
    pub fn clear(&self, storage: &dyn Storage) {
        for ending in ENDINGS {
            // A file that could not be removed is small, and the next call tries again.
            let _ = storage.remove(&self.path(ending));
        }
    }

    /// Removes the files of every other host in this folder that has ended.
    pub fn clear_others(&self, storage: &dyn Storage, has_ended: &dyn Fn(&str) -> bool) {
        let names = storage.list(&self.folder).unwrap_or_default();
        let hosts = names.iter().filter_map(|name| name.strip_suffix(".newest"));
        for host in hosts.filter(|host| *host != self.host && has_ended(host)) {
            Self { folder: self.folder.clone(), host: host.to_owned() }.clear(storage);
        }
    }
}

/// The one program of a host that takes the text.
pub struct Armed {
    place: MeetingPlace,
    _lock: Box<dyn Lock>,
}

impl Armed {
    /// The text, if there is one. The caller must then tell it to the host.
    pub fn take(&self, storage: &dyn Storage) -> io::Result<Option<String>> {
        let (words, taken) = (self.place.path("words"), self.place.path("taken"));
        // Trying to rename a file would be a change, which would be reported to this program itself.
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
        // An armed program that does not run on gets nothing later.
        assert!(place.tell(&server, "come").await.unwrap_err().is_certain());
        assert_eq!(armed.take(&hook).unwrap(), None);
        drop(armed);
        assert!(!place.is_armed(&server));
    }

    #[tokio::test(start_paused = true)]
    async fn an_armed_program_that_ends_is_not_armed() {
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
