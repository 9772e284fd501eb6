//! The file `sources/bot.json`, which says where answers go: one entry for each conversation in which an
//! allowed person spoke to the bot. Each term of leadership has its own file, which begins as a copy of the
//! one before.
//! It must never hold a text or a secret, and an entry must never let a person in: gate and address are
//! checked again.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use entraclaw_inbox::gate::Guid;
use entraclaw_inbox::journal::{newest_path, path_in};
use entraclaw_seams::storage::{Storage, read_whole};

/// The name of the file.
pub const CONVERSATIONS_FILE: &str = "sources/bot.json";
const FOLDER: &str = "sources";
/// The name under which the newest unreadable file is kept.
const BROKEN_FILE: &str = "sources/bot.json.broken";
/// The largest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// The most conversations that are kept; the one that was silent longest is forgotten first.
const CONVERSATIONS_MAX: usize = 500;
/// The most allowed people who are remembered for one conversation. When those leave, the bot does not write there,
/// though others are still members. A group chat of Teams has at most so many.
const PEOPLE_MAX: usize = 250;
/// The least time between two changes of `used_at`, so that a busy conversation does not write the file all
/// the time.
const USED_AT_COARSE: SignedDuration = SignedDuration::from_hours(1);

/// The whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Conversations {
    /// Version of this shape; 1.
    pub v: u32,
    /// The conversations by their ids.
    pub conversations: BTreeMap<String, Conversation>,
}

/// One conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Conversation {
    /// The connector's address, from a verified activity.
    pub service_url: String,
    /// The bot's id there, which is the sender of every answer.
    pub bot_id: String,
    /// Allowed people who spoke there, as `tenant/object`.
    pub people: BTreeSet<String>,
    /// Roughly when an allowed person last spoke there, as RFC 3339.
    pub used_at: String,
}

impl Default for Conversations {
    fn default() -> Self {
        Self { v: 1, conversations: BTreeMap::new() }
    }
}

impl Conversations {
    /// Reads the newest file up to a term. A missing file counts as empty.
    ///
    /// # Errors
    /// A sentence that says what is wrong with the file.
    pub(super) fn read(storage: &dyn Storage, term: u64) -> Result<Self, String> {
        let path = newest_path(storage, term, CONVERSATIONS_FILE).map_err(|error| error.to_string())?;
        let bytes = read_whole(storage, &path, FILE_BYTES_MAX).map_err(|error| error.to_string())?;
        let Some(bytes) = bytes else { return Ok(Self::default()) };
        let file: Self = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
        if file.v == 1 { Ok(file) } else { Err(format!("it has version {}", file.v)) }
    }

    /// Reads as [`Conversations::read`] does, but keeps a broken file aside and begins empty. Only the leader
    /// calls it.
    pub(super) fn open(storage: &dyn Storage, term: u64) -> (Self, Option<String>) {
        match Self::read(storage, term) {
            Ok(file) => (file, None),
            Err(problem) => {
                let aside = newest_path(storage, term, CONVERSATIONS_FILE)
                    .and_then(|path| storage.rename(&path, BROKEN_FILE));
                if let Err(error) = aside {
                    tracing::warn!(%error, file = CONVERSATIONS_FILE, "a broken file could not be kept aside");
                }
                (Self::default(), Some(problem))
            }
        }
    }

    /// Notes that an allowed person spoke. Returns whether the file has to be written.
    pub(super) fn note(
        &mut self,
        id: &str,
        service_url: &str,
        bot_id: &str,
        person: &str,
        now: Timestamp,
    ) -> bool {
        let mut changed = false;
        let entry = self.conversations.entry(id.to_owned()).or_insert_with(|| {
            changed = true;
            Conversation {
                service_url: service_url.to_owned(),
                bot_id: bot_id.to_owned(),
                people: BTreeSet::new(),
                used_at: now.to_string(),
            }
        });
        for (slot, value) in [(&mut entry.service_url, service_url), (&mut entry.bot_id, bot_id)] {
            if slot != value {
                value.clone_into(slot);
                changed = true;
            }
        }
        if !entry.people.contains(person) {
            if entry.people.len() >= PEOPLE_MAX {
                entry.people.pop_first();
            }
            changed |= entry.people.insert(person.to_owned());
        }
        let used_at: Option<Timestamp> = entry.used_at.parse().ok();
        if used_at.is_none_or(|at| now.duration_since(at).abs() >= USED_AT_COARSE) {
            entry.used_at = now.to_string();
            changed = true;
        }
        self.prune(id);
        changed
    }

    /// Forgets a conversation from which the bot was removed. Returns whether there was one.
    pub(super) fn forget(&mut self, id: &str) -> bool {
        self.conversations.remove(id).is_some()
    }

    /// Forgets people who left, by their object ids; when an account without one left, all are forgotten.
    /// Returns whether the file has to be written. A conversation without known people gets no message until
    /// an allowed person speaks.
    pub(super) fn leave(&mut self, id: &str, gone: &[Option<Guid>]) -> bool {
        let Some(conversation) = self.conversations.get_mut(id) else { return false };
        let before = conversation.people.len();
        let stays = |person: &String| {
            let object_id = person.split_once('/').and_then(|(_, object_id)| Guid::parse(object_id));
            gone.iter().all(|gone| gone.is_some() && *gone != object_id)
        };
        conversation.people.retain(stays);
        conversation.people.len() < before
    }

    fn prune(&mut self, keep: &str) {
        while self.conversations.len() > CONVERSATIONS_MAX {
            let others = self.conversations.iter().filter(|(id, _)| *id != keep);
            let oldest = others.min_by(|a, b| a.1.used_at.cmp(&b.1.used_at)).map(|(id, _)| id.clone());
            let Some(oldest) = oldest else { return };
            self.conversations.remove(&oldest);
        }
    }

    /// Writes the file of a term, atomically. Only the leader of that term calls it.
    pub(super) fn save(&self, storage: &dyn Storage, term: u64) -> std::io::Result<()> {
        storage.create_dir(FOLDER)?;
        let mut bytes = serde_json::to_vec(self).map_err(std::io::Error::other)?;
        bytes.push(b'\n');
        storage.replace(&path_in(term, CONVERSATIONS_FILE), &bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_seams::storage::MemoryStorage;

    const SERVICE: &str = "https://smba.trafficmanager.net/emea/";

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_770_000_000 + second).unwrap()
    }

    #[test]
    fn what_was_noted_is_there_after_a_restart() {
        let storage = MemoryStorage::new();
        let mut file = Conversations::default();
        assert!(file.note("c", SERVICE, "28:b", "t/a", at(0)));
        assert!(!file.note("c", SERVICE, "28:b", "t/a", at(60)), "nothing worth writing");
        assert!(file.note("c", SERVICE, "28:b", "t/b", at(60)));
        assert!(file.note("c", "https://smba.trafficmanager.net/amer/", "28:b", "t/a", at(60)));
        file.save(&storage, 1).unwrap();
        assert_eq!(Conversations::read(&storage, 1).unwrap(), file);
        assert!(file.forget("c") && !file.forget("c"));
    }

    #[test]
    fn a_person_who_left_opens_no_conversation() {
        let id = |n: u8| format!("bbbbbbbb-0000-0000-0000-{n:012}");
        let gone = |n: u8| Guid::parse(&id(n).to_uppercase());
        let mut file = Conversations::default();
        for n in [1, 2] {
            file.note("c", SERVICE, "28:b", &format!("t/{}", id(n)), at(0));
        }
        assert!(!file.leave("c", &[]) && !file.leave("c", &[gone(3)]) && !file.leave("d", &[gone(1)]));
        assert!(file.leave("c", &[gone(1)]));
        assert_eq!(file.conversations["c"].people, BTreeSet::from([format!("t/{}", id(2))]));
        assert!(file.leave("c", &[None]), "somebody left, and nobody says who");
        assert!(file.conversations["c"].people.is_empty());
    }

    #[test]
    fn conversations_and_people_are_bounded_and_the_newest_stay() {
        let mut file = Conversations::default();
        for n in 0..CONVERSATIONS_MAX + 10 {
            let second = i64::try_from(n).unwrap() * 3_600;
            file.note(&format!("{:04}", 9_000 - n), SERVICE, "28:b", "t/a", at(second));
        }
        assert_eq!(file.conversations.len(), CONVERSATIONS_MAX);
        assert!(!file.conversations.contains_key("9000") && file.conversations.contains_key("8491"));
        for n in 0..PEOPLE_MAX + 10 {
            file.note("c", SERVICE, "28:b", &format!("t/{n:03}"), at(0));
        }
        assert_eq!(file.conversations["c"].people.len(), PEOPLE_MAX);
        assert!(file.conversations["c"].people.contains("t/259"));
    }

    #[test]
    fn the_fullest_file_can_be_read_again() {
        let storage = MemoryStorage::new();
        let person =
            |n: usize| format!("aaaaaaaa-0000-0000-0000-000000000000/bbbbbbbb-0000-0000-0000-{n:012}");
        let people: BTreeSet<String> = (0..PEOPLE_MAX).map(person).collect();
        let (service_url, bot_id, used_at) = (SERVICE.to_owned(), "28:b".to_owned(), at(0).to_string());
        let one = Conversation { service_url, bot_id, people, used_at };
        let ids = (0..CONVERSATIONS_MAX).map(|n| format!("{n:0200}"));
        let file = Conversations {
            conversations: ids.map(|id| (id, one.clone())).collect(),
            ..Conversations::default()
        };
        file.save(&storage, 1).unwrap();
        assert_eq!(Conversations::read(&storage, 1).unwrap(), file);
    }

    #[test]
    fn a_broken_file_is_kept_aside() {
        let storage = MemoryStorage::new();
        storage.create_dir(FOLDER).unwrap();
        for broken in ["{", "[]", r#"{"v":2,"conversations":{}}"#] {
            storage.replace(CONVERSATIONS_FILE, broken.as_bytes()).unwrap();
            let (file, problem) = Conversations::open(&storage, 1);
            assert!(problem.is_some() && file.conversations.is_empty(), "{broken}");
            assert_eq!(storage.bytes(BROKEN_FILE).as_deref(), Some(broken.as_bytes()));
        }
    }
}
