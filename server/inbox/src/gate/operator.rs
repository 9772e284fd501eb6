//! The changes that the operator makes in the terminal: allow, deny, pair, and set a chat's rule. They must
//! never be reachable from a tool.

use jiff::Timestamp;

use super::pairing::{self, PairError};
use super::policy::{ChatRule, Pending, Person, Policy};
use super::policy_file::{self, Changed, Found, PolicyError};
use entraclaw_seams::storage::Storage;

/// How long a command waits for another process that changes the policy.
const LOCK_WAIT_MS: u64 = 2_000;

/// Lets a person in from now on.
pub fn allow(
    storage: &dyn Storage,
    person: &Person,
    name: Option<&str>,
    now: Timestamp,
) -> Result<Changed<Person>, PolicyError> {
    policy_file::change(storage, LOCK_WAIT_MS, |policy| {
        let known = policy.allow.iter().find(|other| other.is_same(person)).cloned();
        let known = known.unwrap_or(Person { since: Some(now), ..person.clone() });
        let person = Person { name: name.map(str::to_owned).or_else(|| known.name.clone()), ..known };
        policy.let_in(person.clone());
        person
    })
}

/// Denies a person, whatever else allows them.
pub fn deny(
    storage: &dyn Storage,
    person: &Person,
    name: Option<&str>,
) -> Result<Changed<Person>, PolicyError> {
    policy_file::change(storage, LOCK_WAIT_MS, |policy| {
        let known = policy.allow.iter().chain(&policy.deny).find(|other| other.is_same(person)).cloned();
        let mut person = known.unwrap_or_else(|| person.clone());
        person.name = name.map(str::to_owned).or(person.name);
        (person.since, person.chat_id, person.channel) = (None, None, None);
        policy.shut_out(person.clone());
        person
    })
}

/// Removes a person from both lists. Returns whether they were allowed, and whether they were denied.
pub fn forget(storage: &dyn Storage, person: &Person) -> Result<Changed<(bool, bool)>, PolicyError> {
    policy_file::change(storage, LOCK_WAIT_MS, |policy| {
        let was_on = |list: &mut Vec<Person>| {
            let before = list.len();
            list.retain(|other| !other.is_same(person));
            list.len() < before
        };
        (was_on(&mut policy.allow), was_on(&mut policy.deny))
    })
}

/// Lets in the stranger who was given this code.
pub fn pair(
    storage: &dyn Storage,
    code: &str,
    now: Timestamp,
) -> Result<Changed<Result<Person, PairError>>, PolicyError> {
    policy_file::change(storage, LOCK_WAIT_MS, |policy| pairing::approve(policy, code, now))
}

/// Sets a chat's own rule, or removes it.
pub fn set_chat(
    storage: &dyn Storage,
    chat_id: &str,
    rule: Option<ChatRule>,
) -> Result<Changed<()>, PolicyError> {
    policy_file::change(storage, LOCK_WAIT_MS, |policy| {
        match rule {
            Some(rule) => policy.chats.insert(chat_id.to_owned(), rule),
            None => policy.chats.remove(chat_id),
        };
    })
}

/// Pairings that wait for the operator, oldest first.
pub fn waiting(policy: &Policy, now: Timestamp) -> Vec<&Pending> {
    policy.pending.iter().filter(|pending| pending.is_open(now)).collect()
}

/// The current policy, or why it can't be used.
pub fn read(storage: &dyn Storage) -> Result<Policy, String> {
    match policy_file::read(storage) {
        Ok(Found::Good(policy)) => Ok(policy),
        Ok(Found::Nothing) => Ok(Policy::default()),
        Ok(Found::Newer(version)) => Err(PolicyError::Newer(version).to_string()),
        Ok(Found::Broken(problem)) => Err(format!(
            "policy.json is broken ({problem}), so nobody is let in by it; repair it, or run `entraclaw allow` again"
        )),
        Err(error) => Err(PolicyError::Storage(error).to_string()),
    }
}

/// The file of a broken policy that was kept aside and not put back yet.
pub fn kept_aside(storage: &dyn Storage) -> Option<&'static str> {
    matches!(storage.len(policy_file::BROKEN_POLICY_FILE), Ok(Some(_)))
        .then_some(policy_file::BROKEN_POLICY_FILE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_seams::storage::MemoryStorage;

    #[test]
    fn a_person_who_is_allowed_again_keeps_the_moment_and_the_name() {
        let storage = MemoryStorage::new();
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let alice = Person::parse("alice@contoso.com").unwrap();
        let first = at("2026-11-21T10:00:00Z");
        allow(&storage, &alice, Some("Alice"), first).unwrap();
        let again = allow(&storage, &alice, None, at("2026-11-21T11:00:00Z")).unwrap().outcome;
        assert_eq!((again.since, again.name.as_deref()), (Some(first), Some("Alice")));
        let denied = deny(&storage, &alice, None).unwrap().outcome;
        assert_eq!((denied.since, denied.name.as_deref()), (None, Some("Alice")));
        let policy = read(&storage).unwrap();
        assert!(policy.allow.is_empty() && policy.deny.len() == 1);
        let later = at("2026-11-21T12:00:00Z");
        assert_eq!(allow(&storage, &alice, None, later).unwrap().outcome.since, Some(later));
        assert!(read(&storage).unwrap().deny.is_empty());
    }

    #[test]
    fn a_chat_gets_a_rule_and_loses_it() {
        let storage = MemoryStorage::new();
        set_chat(&storage, "chat-1", Some(ChatRule::Off)).unwrap();
        assert_eq!(read(&storage).unwrap().chats["chat-1"], ChatRule::Off);
        set_chat(&storage, "chat-1", None).unwrap();
        assert!(read(&storage).unwrap().chats.is_empty());
    }
}
