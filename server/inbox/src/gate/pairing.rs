//! Pairing: a stranger gets a code, the operator types it in the terminal, and the stranger is let in. The
//! code must never be accepted anywhere but in the operator's terminal.

use jiff::{SignedDuration, Timestamp};
use subtle::ConstantTimeEq as _;

use super::Guid;
use super::policy::{PENDING_MAX, Pending, Person, Policy};
use crate::record::Channel;
use entraclaw_seams::random::Random;

/// Length of a code, in characters.
pub const CODE_CHARS: usize = 6;
/// Digits and letters, without vowels and without those that look like another one.
pub const CODE_ALPHABET: &[u8; 28] = b"23456789BCDFGHJKMNPQRSTVWXYZ";
/// The most codes that can be used at one time.
pub const OPEN_PAIRINGS_MAX: usize = 3;
/// The most wrong codes that may be typed in a minute.
pub const WRONG_TRIES_PER_MINUTE_MAX: usize = 5;
/// How long a code can be used. The same person gets no other code in that time.
pub const CODE_LIFE: SignedDuration = SignedDuration::from_hours(1);
/// How long an expired code is remembered, so that an error can say that it has expired.
const EXPIRED_KEPT: SignedDuration = SignedDuration::from_hours(24);
const TRIES_WINDOW: SignedDuration = SignedDuration::from_mins(1);

/// An unknown person who wrote in a 1:1 chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stranger {
    /// Home tenant.
    pub tenant_id: Guid,
    /// Object id in the home tenant.
    pub object_id: Guid,
    /// The sanitised display name.
    pub name: Option<String>,
    /// The 1:1 chat.
    pub chat_id: String,
    /// The channel of the chat.
    pub channel: Channel,
}

/// Why a code was not accepted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PairError {
    /// The text does not have the form of a code; it does not count as a try.
    #[error("a code has six letters and digits; ask the person to read it to you again")]
    NoCode,
    /// No stranger was given this code.
    #[error(
        "nobody was told this code; see `entraclaw pair --list`, or ask the person to read it to you again"
    )]
    Unknown,
    /// The code has expired.
    #[error(
        "this code has expired (it was made at {}); ask the person to write to the agent again for a new one",
        .0.asked_at
    )]
    Expired(Box<Pending>),
    /// Too many wrong codes were typed lately.
    #[error("{WRONG_TRIES_PER_MINUTE_MAX} wrong codes in a minute; wait a minute, then try again")]
    TooManyTries,
    /// The code belongs to a person who is denied.
    #[error(
        "{tenant}/{object} is denied; run `entraclaw allow {tenant}/{object}` if that should change",
        tenant = .0.tenant_id, object = .0.object_id
    )]
    Denied(Box<Pending>),
}

impl PairError {
    /// The kind of error, as the log names it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::NoCode => "no code",
            Self::Unknown => "unknown",
            Self::Expired(_) => "expired",
            Self::TooManyTries => "too many tries",
            Self::Denied(_) => "denied",
        }
    }
}

impl Pending {
    /// Whether its code can still be used. A code from the future comes from a clock that was set back, and
    /// can't.
    pub fn is_open(&self, now: Timestamp) -> bool {
        let age = now.duration_since(self.asked_at);
        age < CODE_LIFE && age >= SignedDuration::ZERO
    }
}

/// Makes a code for a stranger, if they may have one now. A person gets at most one code an hour, and at most
/// [`OPEN_PAIRINGS_MAX`] codes can be used at one time.
pub fn ask(policy: &mut Policy, stranger: &Stranger, now: Timestamp, random: &dyn Random) -> Option<String> {
    forget_old(policy, now);
    let ids = (stranger.tenant_id.clone(), stranger.object_id.clone());
    let listed = |people: &[Person]| people.iter().any(|person| person.ids().as_ref() == Some(&ids));
    if listed(&policy.deny) || listed(&policy.allow) {
        return None;
    }
    let open: Vec<&Pending> = policy.pending.iter().filter(|pending| pending.is_open(now)).collect();
    if open.len() >= OPEN_PAIRINGS_MAX || open.iter().any(|pending| pending.ids() == ids) {
        return None;
    }
    // An expired code of the same person would only puzzle the operator.
    policy.pending.retain(|pending| pending.ids() != ids);
    while policy.pending.len() >= PENDING_MAX {
        policy.pending.remove(0);
    }
    let code = loop {
        let code = new_code(random);
        if !policy.pending.iter().any(|pending| pending.code == code) {
            break code;
        }
    };
    policy.pending.push(Pending {
        code: code.clone(),
        tenant_id: ids.0,
        object_id: ids.1,
        name: stranger.name.clone(),
        chat_id: stranger.chat_id.clone(),
        channel: Some(stranger.channel).filter(|channel| *channel != Channel::Teams),
        asked_at: now,
    });
    Some(code)
}

/// Lets in the stranger who was given this code.
pub fn approve(policy: &mut Policy, typed: &str, now: Timestamp) -> Result<Person, PairError> {
    forget_old(policy, now);
    if policy.wrong_tries_at.len() >= WRONG_TRIES_PER_MINUTE_MAX {
        return Err(PairError::TooManyTries);
    }
    let typed = normal(typed);
    if typed.len() != CODE_CHARS || !typed.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return Err(PairError::NoCode);
    }
    // Every letter of every code is compared, so that the time reveals nothing.
    let mut found = None;
    for pending in &policy.pending {
        if bool::from(pending.code.as_bytes().ct_eq(typed.as_bytes())) {
            found = Some(pending.clone());
        }
    }
    let Some(pending) = found else {
        policy.wrong_tries_at.push(now);
        return Err(PairError::Unknown);
    };
    if !pending.is_open(now) {
        return Err(PairError::Expired(Box::new(pending)));
    }
    let person = Person {
        name: pending.name.clone(),
        since: Some(now),
        chat_id: Some(pending.chat_id.clone()),
        channel: pending.channel,
        ..Person::by_ids(pending.tenant_id.clone(), pending.object_id.clone())
    };
    if policy.deny.iter().any(|denied| denied.is_same(&person)) {
        return Err(PairError::Denied(Box::new(pending)));
    }
    policy.let_in(person.clone());
    Ok(person)
}

fn forget_old(policy: &mut Policy, now: Timestamp) {
    policy.pending.retain(|pending| now.duration_since(pending.asked_at) < EXPIRED_KEPT);
    policy.wrong_tries_at.retain(|at| {
        let age = now.duration_since(*at);
        age < TRIES_WINDOW && age >= SignedDuration::ZERO
    });
}

/// The code as people type it: in any letter case, with blanks and hyphens.
fn normal(typed: &str) -> String {
    typed
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '-')
        .take(2 * CODE_CHARS)
        .map(|c| c.to_ascii_uppercase())
        .collect()
}

fn new_code(random: &dyn Random) -> String {
    let mut bits = random.next_u64();
    (0..CODE_CHARS)
        .map(|_| {
            let letters = CODE_ALPHABET.len() as u64;
            let letter = CODE_ALPHABET[usize::try_from(bits % letters).unwrap_or(0)];
            bits /= letters;
            char::from(letter)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use entraclaw_seams::random::SplitMix;

    fn at(minute: i64) -> Timestamp {
        let start: Timestamp = "2026-11-21T10:00:00Z".parse().unwrap();
        start + SignedDuration::from_mins(minute)
    }

    fn stranger(n: u64) -> Stranger {
        let guid = |group: &str| Guid::parse(&format!("{group}-0000-0000-0000-{n:012}")).unwrap();
        Stranger {
            tenant_id: guid("aaaaaaaa"),
            object_id: guid("bbbbbbbb"),
            name: Some("Bob".to_owned()),
            chat_id: format!("chat-{n}"),
            channel: Channel::Teams,
        }
    }

    #[test]
    fn a_code_lets_in_the_person_who_was_told_it_and_only_once() {
        let (mut policy, random) = (Policy::default(), SplitMix::seeded(1));
        let code = ask(&mut policy, &stranger(1), at(0), &random).unwrap();
        let typed = format!(" {}-{} ", code[..3].to_lowercase(), &code[3..]);
        let person = approve(&mut policy, &typed, at(59)).unwrap();
        assert_eq!(person.ids().unwrap(), (stranger(1).tenant_id, stranger(1).object_id));
        assert_eq!((person.since, person.chat_id.as_deref()), (Some(at(59)), Some("chat-1")));
        assert_eq!(policy.allow, [person]);
        assert_eq!(approve(&mut policy, &code, at(59)), Err(PairError::Unknown));
        assert_eq!(ask(&mut policy, &stranger(1), at(600), &random), None, "who is in asks no more");
    }

    #[test]
    fn an_hour_ends_a_code_and_a_day_its_name() {
        let (mut policy, random) = (Policy::default(), SplitMix::seeded(2));
        let code = ask(&mut policy, &stranger(1), at(0), &random).unwrap();
        assert!(matches!(approve(&mut policy, &code, at(60)), Err(PairError::Expired(_))));
        assert!(matches!(approve(&mut policy, &code, at(-1)), Err(PairError::Expired(_))));
        assert!(policy.wrong_tries_at.is_empty(), "an expired code is no wrong one");
        assert_eq!(approve(&mut policy, &code, at(24 * 60)), Err(PairError::Unknown));
        assert!(policy.allow.is_empty());
    }

    #[test]
    fn three_are_open_and_a_person_is_told_once_an_hour() {
        let (mut policy, random) = (Policy::default(), SplitMix::seeded(3));
        for n in 1..=3 {
            assert!(ask(&mut policy, &stranger(n), at(0), &random).is_some());
            assert_eq!(ask(&mut policy, &stranger(n), at(59), &random), None);
        }
        assert_eq!(ask(&mut policy, &stranger(4), at(59), &random), None);
        assert!(ask(&mut policy, &stranger(4), at(60), &random).is_some());
        assert!(ask(&mut policy, &stranger(1), at(60), &random).is_some());
        let chats: Vec<&str> = policy.pending.iter().map(|p| p.chat_id.as_str()).collect();
        assert_eq!(chats, ["chat-2", "chat-3", "chat-4", "chat-1"]);
    }

    #[test]
    fn a_crowd_leaves_a_bounded_file() {
        let (mut policy, random) = (Policy::default(), SplitMix::seeded(4));
        for n in 0..500 {
            ask(&mut policy, &stranger(n), at(i64::try_from(n).unwrap() * 21), &random);
        }
        assert!(policy.problem().is_none() && policy.pending.len() <= PENDING_MAX);
    }

    #[test]
    fn five_wrong_codes_close_the_wake_up_for_a_minute() {
        let (mut policy, random) = (Policy::default(), SplitMix::seeded(5));
        let code = ask(&mut policy, &stranger(1), at(0), &random).unwrap();
        for _ in 0..WRONG_TRIES_PER_MINUTE_MAX {
            assert_eq!(approve(&mut policy, "AAAAAA", at(1)), Err(PairError::Unknown));
        }
        assert_eq!(approve(&mut policy, &code, at(1)), Err(PairError::TooManyTries));
        assert!(approve(&mut policy, &code, at(2)).is_ok());
    }

    #[test]
    fn a_denied_person_is_told_no_code_and_let_in_by_none() {
        let (mut policy, random) = (Policy::default(), SplitMix::seeded(6));
        let code = ask(&mut policy, &stranger(1), at(0), &random).unwrap();
        let bob = Person::by_ids(stranger(1).tenant_id, stranger(1).object_id);
        policy.deny.push(bob.clone());
        assert!(matches!(approve(&mut policy, &code, at(1)), Err(PairError::Denied(_))));
        policy.shut_out(bob);
        assert!(policy.pending.is_empty());
        assert_eq!(ask(&mut policy, &stranger(1), at(2), &random), None);
    }

    #[test]
    fn codes_are_six_clear_letters_and_differ() {
        let random = SplitMix::seeded(7);
        let codes: BTreeSet<String> = (0..1_000).map(|_| new_code(&random)).collect();
        assert_eq!(codes.len(), 1_000);
        assert!(codes.iter().all(|c| c.len() == CODE_CHARS && c.bytes().all(|b| CODE_ALPHABET.contains(&b))));
        for unclear in b"01OILAEU" {
            assert!(!CODE_ALPHABET.contains(unclear));
        }
    }

    proptest::proptest! {
        #[test]
        fn only_a_code_that_was_told_lets_a_person_in(typed in "\\PC{0,12}", seed: u64) {
            let (mut policy, random) = (Policy::default(), SplitMix::seeded(seed));
            let code = ask(&mut policy, &stranger(1), at(0), &random).unwrap();
            let right = normal(&typed) == code;
            proptest::prop_assert_eq!(approve(&mut policy, &typed, at(1)).is_ok(), right);
        }
    }
}
