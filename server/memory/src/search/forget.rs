//! Forgets: first a look at what would go, then the deed.
//!
//! It must never write into an agent's store. What is forgotten there stays in it, and is never found here again.

use std::collections::BTreeSet;
use std::io;

use tantivy::DocAddress;

use super::forgotten::{Forget, Rule, Rules};
use super::memory::{LOCK, Memory, TURN_WAIT_MS};
use super::pace::Pace;
use super::parts::MemoryError;
use super::rank::{Candidate, Source};
use crate::stores::Session;

/// What is forgotten, or would be.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// The sessions that it is in.
    pub sessions: Vec<Session>,
    /// The messages.
    pub messages: usize,
}

impl Memory {
    /// What would be forgotten. It reads as long as it takes.
    ///
    /// # Errors
    ///
    /// Fails if nothing is named, or with the error of the index or the disk.
    pub fn would_forget(&mut self, what: &Forget) -> Result<Forgotten, MemoryError> {
        self.refresh()?;
        let rules = self.rules_of(what)?;
        Ok(self.affected(&rules, what)?.0)
    }

    /// Forgets for ever, from the index, what waits, and the titles. It waits for other processes.
    ///
    /// # Errors
    ///
    /// Fails if nothing is named, if another process indexes for long, or with the error of the index or the disk.
    pub fn forget(&mut self, what: &Forget) -> Result<Forgotten, MemoryError> {
        self.refresh()?;
        let rules = self.rules_of(what)?;
        self.parts.storage.create_dir("memory")?;
        let Some(lock) = self.parts.storage.lock(LOCK, TURN_WAIT_MS)? else {
            let problem = "another process has indexed the sessions for long; try again";
            return Err(io::Error::new(io::ErrorKind::WouldBlock, problem).into());
        };
        self.catch_up()?;
        let (done, files) = self.affected(&rules, what)?;
        // From here on no index is made without the rule, whatever becomes of this process.
        self.rules.rules.extend(rules.rules);
        self.rules.save(&*self.parts.storage)?;
        let is_of_words = matches!(what, Forget::Words(_));
        for number in files {
            if is_of_words {
                // It is read anew, without what is forgotten.
                self.drop_file(number);
            } else {
                self.fresh.retain(|fresh| fresh.file != number);
                self.dead.push(number);
                if let Some(entry) = self.catalog.files.get_mut(&number) {
                    entry.forget();
                    self.groups.set(number, &entry.mark.session);
                }
            }
        }
        let mut writer = self.writer(Pace::USUAL)?;
        self.drain(&writer)?;
        self.save(&mut writer)?;
        self.purge(writer)?;
        drop(lock);
        self.refresh()?;
        self.flush()?;
        Ok(done)
    }

    fn rules_of(&self, what: &Forget) -> Result<Rules, MemoryError> {
        let rule = Rule::new(what, self.parts.clock.now());
        if rule.is_empty() {
            return Err(MemoryError::Nothing);
        }
        let mut rules = Rules::default();
        rules.rules.push(rule);
        Ok(rules)
    }

    /// What rules forget, and the numbers of the files that it is in.
    fn affected(&self, rules: &Rules, what: &Forget) -> Result<(Forgotten, BTreeSet<u64>), MemoryError> {
        let mut files = BTreeSet::new();
        let mut done = Forgotten::default();
        if let Forget::Words(words) = what {
            for candidate in self.pages_with(words)? {
                let messages = self.messages(&candidate)?;
                let found = messages.iter().filter(|message| rules.forgets_text(&message.text)).count();
                if found > 0 {
                    done.messages += found;
                    files.insert(candidate.file);
                }
            }
            let titled = self.catalog.files.iter().filter(|(_, entry)| {
                entry.mark.session.title.as_ref().is_some_and(|title| rules.forgets_text(title))
            });
            files.extend(titled.map(|(number, _)| *number));
        } else {
            let forgotten = self.catalog.files.iter();
            let forgotten = forgotten.filter(|(_, entry)| rules.forgets_session(&entry.mark.session));
            files.extend(forgotten.map(|(number, _)| *number));
            done.messages = self.count(&files)?;
        }
        let mut seen = BTreeSet::new();
        for session in
            files.iter().filter_map(|number| self.catalog.files.get(number)).map(|entry| &entry.mark.session)
        {
            if seen.insert(super::catalog::key(session)) {
                done.sessions.push(session.clone());
            }
        }
        Ok((done, files))
    }

    /// All pages and waiting messages with all these words.
    fn pages_with(&self, words: &str) -> Result<Vec<Candidate>, MemoryError> {
        let mut ask = self.ask(words)?;
        ask.wanted.iter_mut().for_each(|wanted| wanted.near.clear());
        let all = u32::MAX.checked_shr(32 - u32::try_from(ask.wanted.len()).unwrap_or(32)).unwrap_or(0);
        let mut found = Vec::new();
        for (ord, segment) in (0_u32..).zip(self.reader.searcher().segment_readers()) {
            let column = segment.fast_fields().u64("file")?;
            for (doc, mask) in (0_u32..).zip(self.scored(segment, &ask)?.masks) {
                if mask == all
                    && let Some(file) = column.first(doc)
                {
                    found.push(Candidate {
                        source: Source::Page(DocAddress::new(ord, doc)),
                        file,
                        score: 0.0,
                    });
                }
            }
        }
        let fresh = self.fresh.iter().enumerate();
        found.extend(fresh.map(|(n, fresh)| Candidate {
            source: Source::Fresh(n),
            file: fresh.file,
            score: 0.0,
        }));
        Ok(found)
    }

    /// The messages of files.
    fn count(&self, files: &BTreeSet<u64>) -> Result<usize, MemoryError> {
        let mut count = self.fresh.iter().filter(|fresh| files.contains(&fresh.file)).count();
        for segment in self.reader.searcher().segment_readers() {
            let (file, line) = (segment.fast_fields().u64("file")?, segment.fast_fields().u64("line")?);
            for doc in segment.doc_ids_alive() {
                if file.first(doc).is_some_and(|file| files.contains(&file)) {
                    count += line.values_for_doc(doc).count();
                }
            }
        }
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use entraclaw_seams::storage::Storage as _;

    use super::super::machine::Machine;
    use super::*;
    use crate::stores::Agent;

    /// Two sessions, of which one has a sub-agent's file with the same id.
    fn machine() -> Machine {
        let machine = Machine::new();
        machine.say("one", "user", "the falcon of the plan", None);
        machine.say("one", "assistant", "the falcon flies", None);
        machine.say("one", "user", "another plan", None);
        machine.say("two", "user", "the plan", None);
        machine.storage.create_dir("home/alice/.claude/projects/-p/one/subagents").unwrap();
        let line = |text: &str| {
            let message = serde_json::json!({"content": text});
            serde_json::json!({"type": "user", "message": message, "sessionId": "one", "isSidechain": true})
        };
        let lines = format!("{}\n{}\n", line("a falcon beside"), line("and a crow"));
        let path = "home/alice/.claude/projects/-p/one/subagents/agent-1.jsonl";
        machine.storage.set_bytes(path, lines.as_bytes());
        machine
    }

    #[test]
    fn as_many_messages_and_sessions_are_told_as_would_go() {
        let mut memory = machine().open();
        memory.refresh().unwrap();
        let session = |id: &str| Forget::Session { agent: Agent::Claude, id: id.to_owned() };
        let words = |words: &str| Forget::Words(words.to_owned());
        for _ in 0..2 {
            for (what, sessions, messages) in [
                (session("one"), &["one"][..], 5),
                (session("two"), &["two"], 1),
                (session("three"), &[], 0),
                (words("falcon"), &["one"], 3),
                (words("plan"), &["one", "two"], 3),
                (words("falcon plan"), &["one"], 1),
                (words("\"another plan\""), &["one"], 1),
                (words("crow plan"), &[], 0),
                (words("falcom"), &[], 0),
            ] {
                let would = memory.would_forget(&what).unwrap();
                let mut ids: Vec<&str> = would.sessions.iter().map(|session| session.id.as_str()).collect();
                ids.sort_unstable();
                assert_eq!((ids.as_slice(), would.messages), (sessions, messages), "{what:?}");
            }
            memory.flush().unwrap();
        }
    }

    #[test]
    fn a_session_whose_title_alone_has_the_words_is_told() {
        let machine = machine();
        let title = serde_json::json!({"type": "ai-title", "aiTitle": "About the eagle"});
        machine.line("two", &title);
        let mut memory = machine.open();
        let would = memory.would_forget(&Forget::Words("eagle".to_owned())).unwrap();
        assert_eq!((would.sessions.len(), would.messages, &*would.sessions[0].id), (1, 0, "two"));
    }

    #[test]
    fn who_forgets_waits_for_the_process_that_indexes_and_says_that_it_did() {
        let machine = machine();
        let mut memory = machine.open();
        let other = machine.storage.new_process();
        other.create_dir("memory").unwrap();
        let _turn = other.try_lock(LOCK).unwrap().unwrap();
        let error = memory.forget(&Forget::Words("falcon".to_owned())).unwrap_err();
        assert!(error.to_string().contains("another process has indexed"), "{error}");
    }
    #[test]
    fn what_waits_of_other_sessions_stays() {
        for is_committed in [false, true] {
            let mut memory = machine().open();
            memory.refresh().unwrap();
            if is_committed {
                memory.flush().unwrap();
            }
            let all = |memory: &Memory| memory.catalog.files.keys().copied().collect::<BTreeSet<u64>>();
            assert_eq!(memory.count(&all(&memory)).unwrap(), 6);
            memory.forget(&Forget::Session { agent: Agent::Claude, id: "one".to_owned() }).unwrap();
            assert_eq!(memory.count(&all(&memory)).unwrap(), 1);
            let forgotten = memory.catalog.files.values().filter(|entry| entry.is_forgotten);
            assert!(forgotten.count() == 2 && memory.dead.is_empty());
            memory.forget(&Forget::Words("plan".to_owned())).unwrap();
            assert_eq!(memory.count(&all(&memory)).unwrap(), 0);
        }
    }
}
