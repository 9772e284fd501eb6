//! The lists of allowed and denied people, worked out once from configuration, policy and sponsors. A denial
//! wins over everything; the lists must never know why they are asked.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::policy::{ChatRule, Person, Policy};
use super::{Guid, Reason, Verdict};

type Ids = (Guid, Guid);

/// Allowed and denied people, by ids and by address.
#[derive(Debug, Default)]
pub(super) struct Lists {
    /// Allowed people, and since when; `None` means always.
    ids: BTreeMap<Ids, Option<Timestamp>>,
    mails: BTreeMap<String, Option<Timestamp>>,
    denied_ids: BTreeSet<Ids>,
    denied_mails: BTreeSet<String>,
    pub(super) chats: BTreeMap<String, ChatRule>,
    /// All allowed people, those of the configuration first.
    pub(super) people: Vec<Person>,
}

impl Lists {
    pub(super) fn of(config: &[Person], policy: &Policy, sponsors: &BTreeSet<Ids>) -> Self {
        let mut lists = Self { chats: policy.chats.clone(), ..Self::default() };
        lists.denied_ids.extend(policy.deny.iter().filter_map(Person::ids));
        lists.denied_mails.extend(policy.deny.iter().filter_map(|person| person.mail.clone()));
        let sponsors = sponsors.iter().map(|(tenant, object)| Person::by_ids(tenant.clone(), object.clone()));
        let known: Vec<Person> =
            config.iter().cloned().chain(policy.allow.iter().cloned()).chain(sponsors).collect();
        while lists.deny_other_names(&known) {}
        for person in known {
            let ids = person.ids().filter(|ids| !lists.denied_ids.contains(ids));
            let mail = person.mail.clone().filter(|mail| !lists.denied_mails.contains(mail));
            if ids.is_none() && mail.is_none() {
                continue;
            }
            if let Some(ids) = ids {
                earliest(&mut lists.ids, ids, person.since);
            }
            if let Some(mail) = mail {
                earliest(&mut lists.mails, mail, person.since);
            }
            lists.people.push(person);
        }
        lists
    }

    /// Denies every id and address that is known to belong to a denied person. Returns whether that denied
    /// anything more.
    fn deny_other_names(&mut self, known: &[Person]) -> bool {
        let mut more = false;
        for person in known {
            let (Some(ids), Some(mail)) = (person.ids(), person.mail.clone()) else { continue };
            if self.denied_ids.contains(&ids) != self.denied_mails.contains(&mail) {
                more = true;
                self.denied_ids.insert(ids);
                self.denied_mails.insert(mail);
            }
        }
        more
    }

    /// `written` is by the machine's clock; `None` means now.
    pub(super) fn judge(&self, ids: &Ids, written: Option<Timestamp>) -> Verdict {
        verdict(self.denied_ids.contains(ids), self.ids.get(ids), written)
    }

    pub(super) fn judge_mail(&self, mail: &str, written: Option<Timestamp>) -> Verdict {
        verdict(self.denied_mails.contains(mail), self.mails.get(mail), written)
    }
}

/// Adds an entry; of two times for the same key, the earlier one stays.
fn earliest<K: Ord>(list: &mut BTreeMap<K, Option<Timestamp>>, key: K, since: Option<Timestamp>) {
    list.entry(key).and_modify(|known| *known = (*known).min(since)).or_insert(since);
}

fn verdict(denied: bool, since: Option<&Option<Timestamp>>, written: Option<Timestamp>) -> Verdict {
    match (denied, since) {
        (true, _) => Verdict::Refuse(Reason::Denied),
        (false, None) => Verdict::Refuse(Reason::NotListed),
        (false, Some(since)) if since.zip(written).is_some_and(|(since, written)| written < since) => {
            Verdict::Refuse(Reason::BeforeAllowed)
        }
        (false, Some(_)) => Verdict::Accept,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn person(n: u8) -> Person {
        let guid = |group: &str| Guid::parse(&format!("{group}-0000-0000-0000-{:012}", n % 8)).unwrap();
        let mail = Some(format!("p{}@contoso.com", n % 8));
        match n / 8 {
            0 => Person { mail, ..Person::default() },
            1 => Person::by_ids(guid("aaaaaaaa"), guid("bbbbbbbb")),
            _ => Person { mail, ..Person::by_ids(guid("aaaaaaaa"), guid("bbbbbbbb")) },
        }
    }

    fn people() -> impl Strategy<Value = Vec<Person>> {
        proptest::collection::vec((0..24_u8).prop_map(person), 0..6)
    }

    proptest! {
        #[test]
        fn denied_is_denied_and_in_is_listed(config in people(), allow in people(), deny in people(), who in 0..24_u8) {
            let policy = Policy { allow: allow.clone(), deny: deny.clone(), ..Policy::default() };
            let who = person(who);
            let sponsors: BTreeSet<Ids> = who.ids().into_iter().collect();
            let lists = Lists::of(&config, &policy, &sponsors);
            let by_ids = who.ids().map(|ids| lists.judge(&ids, None));
            let by_mail = who.mail.as_ref().map(|mail| lists.judge_mail(mail, None));
            let listed = |people: &[Person]| people.iter().any(|p| p.mail.is_some() && p.mail == who.mail);
            if deny.iter().any(|p| p.ids().is_some() && p.ids() == who.ids()) {
                prop_assert_eq!(by_ids, Some(Verdict::Refuse(Reason::Denied)));
            }
            if listed(&deny) {
                prop_assert_eq!(by_mail, Some(Verdict::Refuse(Reason::Denied)));
            }
            if by_mail == Some(Verdict::Accept) {
                prop_assert!(listed(&config) || listed(&allow));
            }
            prop_assert!(lists.people.iter().all(|p| !deny.contains(p)));
        }
    }

    #[test]
    fn denying_one_name_of_a_person_denies_the_other() {
        let both = person(16);
        let by_mail = Policy { deny: vec![person(0)], ..Policy::default() };
        let lists = Lists::of(std::slice::from_ref(&both), &by_mail, &BTreeSet::new());
        assert_eq!(lists.judge(&both.ids().unwrap(), None), Verdict::Refuse(Reason::Denied));
        let by_ids = Policy { deny: vec![person(8)], ..Policy::default() };
        let lists = Lists::of(&[both], &by_ids, &BTreeSet::new());
        assert_eq!(lists.judge_mail("p0@contoso.com", None), Verdict::Refuse(Reason::Denied));
        assert!(lists.people.is_empty());
    }

    /// Two addresses of one person have the same ids, so a denial of one address reaches the other through
    /// the ids.
    #[test]
    fn denying_one_name_of_a_person_denies_a_name_that_is_known_by_way_of_another() {
        let ids = person(8);
        let with = |mail: &str| Person { mail: Some(mail.to_owned()), ..ids.clone() };
        let (first, second) = (with("alice@contoso.com"), with("alice@fabrikam.com"));
        for known in [[first.clone(), second.clone()], [second.clone(), first.clone()]] {
            let policy = Policy {
                deny: vec![Person { mail: second.mail.clone(), ..Person::default() }],
                ..Policy::default()
            };
            let lists = Lists::of(&known, &policy, &BTreeSet::new());
            assert_eq!(lists.judge_mail("alice@contoso.com", None), Verdict::Refuse(Reason::Denied));
            assert_eq!(lists.judge(&ids.ids().unwrap(), None), Verdict::Refuse(Reason::Denied));
            assert!(lists.people.is_empty());
        }
    }

    #[test]
    fn messages_from_before_the_person_was_allowed_are_refused() {
        let at = |text: &str| text.parse::<Timestamp>().unwrap();
        let since = Some(at("2026-11-21T10:00:00Z"));
        let mut alice = person(8);
        alice.since = since;
        let ids = alice.ids().unwrap();
        let policy = Policy { allow: vec![alice], ..Policy::default() };
        let lists = Lists::of(&[], &policy, &BTreeSet::new());
        let before = Some(at("2026-11-21T09:59:59.999Z"));
        assert_eq!(lists.judge(&ids, before), Verdict::Refuse(Reason::BeforeAllowed));
        assert_eq!(lists.judge(&ids, since), Verdict::Accept);
        assert_eq!(lists.judge(&ids, None), Verdict::Accept);
        let lists = Lists::of(&[person(8)], &policy, &BTreeSet::new());
        assert_eq!(lists.judge(&ids, before), Verdict::Accept, "the configuration allows it always");
    }
}
