//! What a person wants never to be found again, kept beside the index and longer than it.
//!
//! It must never hold the words themselves: only what they can be recognised by.

use std::io;

use entraclaw_seams::storage::{Storage, read_whole};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::query::is_below;
use super::schema::{stems, words};
use crate::stores::{Agent, Message, Role, Session};

/// The file of the rules, below the home folder.
const PATH: &str = "memory/forgotten.json";
const BYTES_MAX: u64 = 16 * 1024 * 1024;
const FORMAT: u32 = 1;
/// Bytes of a fingerprint.
const FINGERPRINT_BYTES: usize = 16;

/// What is to be forgotten.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Forget {
    /// A session, with all that is still to be said in it.
    Session {
        /// Whose it is.
        agent: Agent,
        /// Its id.
        id: String,
    },
    /// The sessions that have begun in this folder or below it so far.
    Workspace(String),
    /// Every message, now and later, that has all these words, or their other forms; words between quotes must stand together.
    Words(String),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Rule {
    Session { agent: Agent, id: String },
    Folder { folder: String, until: Timestamp },
    Words { stems: Vec<String>, phrases: Vec<Phrase> },
}

/// Words that stand together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Phrase {
    words: usize,
    fingerprint: String,
}

/// All that is to be forgotten.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Rules {
    format: u32,
    pub(super) rules: Vec<Rule>,
}

impl Default for Rules {
    fn default() -> Self {
        Self { format: FORMAT, rules: Vec::new() }
    }
}

impl Rules {
    /// Reads the rules. Rules that can't be read are an error: without them things are found that must not be.
    pub(super) fn load(storage: &dyn Storage) -> io::Result<Self> {
        let Some(bytes) = read_whole(storage, PATH, BYTES_MAX)? else { return Ok(Self::default()) };
        let rules: Self = serde_json::from_slice(&bytes)?;
        if rules.format == FORMAT {
            return Ok(rules);
        }
        let problem = format!("it has the format {}, this version knows {FORMAT}", rules.format);
        Err(io::Error::new(io::ErrorKind::InvalidData, problem))
    }

    pub(super) fn save(&self, storage: &dyn Storage) -> io::Result<()> {
        storage.create_dir("memory")?;
        storage.replace(PATH, &serde_json::to_vec(self).map_err(io::Error::other)?)
    }

    pub(super) fn forgets_session(&self, session: &Session) -> bool {
        self.rules.iter().any(|rule| match rule {
            Rule::Session { agent, id } => *agent == session.agent && *id == session.id,
            Rule::Folder { folder, until } => {
                is_below(session, folder) && session.started.is_none_or(|started| started < *until)
            }
            Rule::Words { .. } => false,
        })
    }

    pub(super) fn forgets_text(&self, text: &str) -> bool {
        let mut seen: Option<(Vec<String>, Vec<String>)> = None;
        self.rules.iter().any(|rule| {
            let Rule::Words { stems: wanted, phrases } = rule else { return false };
            let (stems, words) = seen.get_or_insert_with(|| {
                let stems = stems(text).iter().map(|stem| fingerprint(stem)).collect();
                (stems, words(text))
            });
            wanted.iter().all(|stem| stems.contains(stem))
                && phrases.iter().all(|phrase| {
                    words
                        .windows(phrase.words)
                        .any(|found| fingerprint(&found.join(" ")) == phrase.fingerprint)
                })
        })
    }

    /// Takes out what is forgotten, from the messages and from the title.
    pub(super) fn clean(&self, session: &mut Session, messages: &mut Vec<Message>) {
        if !self.rules.iter().any(|rule| matches!(rule, Rule::Words { .. })) {
            return;
        }
        let mut title = session.title.take().filter(|title| !self.forgets_text(title));
        messages.retain(|message| {
            let is_forgotten = self.forgets_text(&message.text);
            // The first words of a message are the title of a session without one.
            if is_forgotten
                && message.role == Role::User
                && title.as_ref().is_some_and(|title| begins(message, title))
            {
                title = None;
            }
            !is_forgotten
        });
        session.title = title;
    }
}

impl Rule {
    pub(super) fn new(what: &Forget, now: Timestamp) -> Self {
        match what {
            Forget::Session { agent, id } => Self::Session { agent: *agent, id: id.clone() },
            Forget::Workspace(folder) => Self::Folder { folder: folder.clone(), until: now },
            Forget::Words(text) => {
                let phrases =
                    text.split('"').skip(1).step_by(2).map(words).filter(|phrase| !phrase.is_empty());
                let phrases = phrases.map(|phrase| Phrase {
                    words: phrase.len(),
                    fingerprint: fingerprint(&phrase.join(" ")),
                });
                let mut stems: Vec<String> = stems(text).iter().map(|stem| fingerprint(stem)).collect();
                stems.sort_unstable();
                stems.dedup();
                Self::Words { stems, phrases: phrases.collect() }
            }
        }
    }

    /// Whether it names nothing.
    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Session { id, .. } => id.is_empty(),
            Self::Folder { folder, .. } => folder.trim_matches(['/', '\\']).is_empty(),
            Self::Words { stems, .. } => stems.is_empty(),
        }
    }
}

fn begins(message: &Message, title: &str) -> bool {
    crate::text::safe_line(&message.text, title.chars().count()) == title
}

/// What a word can be recognised by. Who guesses the word can check the guess, and nobody can read it.
fn fingerprint(word: &str) -> String {
    let digest = Sha256::new().chain_update(b"entraclaw forgets\0").chain_update(word.as_bytes()).finalize();
    let hex = |nibble: u8| char::from_digit(u32::from(nibble), 16).unwrap_or_default();
    digest.iter().take(FINGERPRINT_BYTES).flat_map(|byte| [hex(byte >> 4), hex(byte & 15)]).collect()
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::storage::MemoryStorage;

    use super::super::machine::{message, session};
    use super::*;

    fn rules(words: &str) -> Rules {
        let rule = Rule::new(&Forget::Words(words.to_owned()), Timestamp::UNIX_EPOCH);
        Rules { rules: vec![rule], ..Rules::default() }
    }

    #[test]
    fn all_words_in_any_form_or_the_phrase() {
        let plain = rules("project falcon");
        assert!(plain.forgets_text("The Falcons are three projects."));
        assert!(!plain.forgets_text("The project flies."));
        let phrase = rules("\"project falcon\"");
        assert!(
            phrase.forgets_text("of Project Falcon.") && !phrase.forgets_text("The falcon of the project")
        );
        let kept = serde_json::to_string(&phrase).unwrap();
        assert!(!kept.contains("falcon"), "{kept}");
        assert!(Rule::new(&Forget::Words(" ?".to_owned()), Timestamp::UNIX_EPOCH).is_empty());
        assert!(Rule::new(&Forget::Workspace("/".to_owned()), Timestamp::UNIX_EPOCH).is_empty());
    }
    #[test]
    fn all_phrases_and_all_words_beside_them_must_be_there() {
        let both = rules("falcon \"begins at\" \"one two\"");
        for (text, is_forgotten) in [
            ("One two: the falcon begins at Easter.", true),
            ("The falcon begins at one or two.", false),
            ("One two: it begins at Easter.", false),
            ("One two: the falcon at the begin.", false),
            ("", false),
        ] {
            assert_eq!(both.forgets_text(text), is_forgotten, "{text}");
        }
        assert!(rules("\"falcon\" project").forgets_text("falcon project"));
        assert!(!rules("\"falcon\" project").forgets_text("falcons project"), "a quoted word has one form");
        let mut two = rules("falcon");
        two.rules.extend(rules("eagle").rules);
        assert!(two.forgets_text("an eagle") && two.forgets_text("a falcon") && !two.forgets_text("a crow"));
        assert!(!Rules::default().forgets_text("a crow"));
    }

    #[test]
    fn a_session_is_forgotten_by_its_name_or_by_its_folder_and_when_it_began() {
        let at: Timestamp = "2026-05-01T00:00:00Z".parse().unwrap();
        let of = |what: &Forget| Rules { rules: vec![Rule::new(what, at)], ..Rules::default() };
        let one = |agent, id: &str| of(&Forget::Session { agent, id: id.to_owned() });
        let known = session("one", None, "/one");
        assert!(one(Agent::Claude, "one").forgets_session(&known));
        assert!(!one(Agent::Claude, "two").forgets_session(&known));
        assert!(!one(Agent::Codex, "one").forgets_session(&known));
        assert!(!rules("one").forgets_session(&known));
        let folder = of(&Forget::Workspace("/home/alice/".to_owned()));
        for (folder_of_it, started, is_forgotten) in [
            (Some("/home/alice/p"), None, true),
            (Some("/home/alice"), Some("2026-04-30T23:59:59Z"), true),
            (Some("/home/alice"), Some("2026-05-01T00:00:00Z"), false),
            (Some("/home/bob"), None, false),
            (None, None, false),
        ] {
            let started = started.map(|at: &str| at.parse().unwrap());
            let known = Session { folder: folder_of_it.map(str::to_owned), started, ..known.clone() };
            assert_eq!(folder.forgets_session(&known), is_forgotten, "{known:?}");
        }
    }

    #[test]
    fn a_title_goes_if_it_says_what_is_forgotten_or_begins_the_message_that_does() {
        let falcon = rules("falcon");
        for (title, role, text, kept_title, kept) in [
            (Some("The falcon"), Role::User, "hello", None, 1),
            (Some("The pla…"), Role::User, "The plan of the falcon", None, 0),
            (Some("The pla…"), Role::Assistant, "The plan of the falcon", Some("The pla…"), 0),
            (Some("The plan"), Role::User, "A falcon", Some("The plan"), 0),
            (Some("The plan"), Role::User, "The plan of all", Some("The plan"), 1),
            (None, Role::User, "A falcon", None, 0),
        ] {
            let session_of = |title| session("one", title, "/one");
            let mut session = session_of(title);
            let mut messages = vec![message(role, text)];
            falcon.clean(&mut session, &mut messages);
            assert_eq!((session.title.as_deref(), messages.len()), (kept_title, kept), "{title:?} {text}");
            let (mut session, mut messages) = (session_of(title), messages);
            Rules::default().clean(&mut session, &mut messages);
            assert_eq!((session.title.as_deref(), messages.len()), (title, kept), "no rule is of words");
        }
    }

    #[test]
    fn a_rule_that_names_nothing_is_empty() {
        let session = |id: &str| Forget::Session { agent: Agent::Claude, id: id.to_owned() };
        let folder = |folder: &str| Forget::Workspace(folder.to_owned());
        let words = |words: &str| Forget::Words(words.to_owned());
        for (what, is_empty) in [
            (session(""), true),
            (session("one"), false),
            (folder(""), true),
            (folder("//"), true),
            (folder("\\"), true),
            (folder("/home"), false),
            (words(""), true),
            (words("\"\""), true),
            (words("a"), false),
        ] {
            assert_eq!(Rule::new(&what, Timestamp::UNIX_EPOCH).is_empty(), is_empty, "{what:?}");
        }
    }

    /// A rule of an older version holds for ever, so what a word is recognised by never changes.
    #[test]
    fn a_word_is_recognised_by_the_first_half_of_its_hash() {
        assert_eq!(fingerprint("falcon"), "cfc7b9246d79da0dccbe7d0233bc47c4");
        let Rule::Words { stems, phrases } = rules("falcons falcon \"a falcon\"").rules.remove(0) else {
            panic!("they are words")
        };
        assert_eq!((stems.len(), phrases.len()), (2, 1), "the same word is kept once");
        assert_eq!((phrases[0].words, &phrases[0].fingerprint), (2, &fingerprint("a falcon")));
    }

    #[test]
    fn rules_of_another_form_are_an_error_and_none_are_no_rules() {
        let storage = MemoryStorage::new();
        assert!(Rules::load(&storage).unwrap().rules.is_empty());
        rules("falcon").save(&storage).unwrap();
        assert_eq!(Rules::load(&storage).unwrap().rules, rules("falcon").rules);
        Rules { format: FORMAT + 1, ..rules("falcon") }.save(&storage).unwrap();
        let error = Rules::load(&storage).unwrap_err().to_string();
        assert_eq!(error, format!("it has the format {}, this version knows {FORMAT}", FORMAT + 1));
    }
}
