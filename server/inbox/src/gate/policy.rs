//! The policy: the people whom the operator let in or denied while the server runs, each chat's rule, and the
//! strangers who ask. Apart from those strangers, it must never hold anything that the operator did not say.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::Guid;
use super::address::MailAddress;
use crate::record::Channel;

/// Characters that people write in patterns. An address with one of these is refused, because no entry is a
/// pattern.
pub const WILDCARDS: [char; 3] = ['*', '?', '%'];

/// The version of the file's shape that this program writes.
pub const POLICY_VERSION: u32 = 1;
/// The most people that are allowed, and the most that are denied.
pub const POLICY_PEOPLE_MAX: usize = 1_000;
/// The most chats with a rule of their own.
pub(super) const POLICY_CHATS_MAX: usize = 1_000;
/// The most pairings in the file, open and expired.
pub(super) const PENDING_MAX: usize = 16;

/// The content of `policy.json`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Version of this shape; 1.
    pub v: u32,
    /// People who may speak, in addition to those of the configuration.
    #[serde(default)]
    pub allow: Vec<Person>,
    /// People who may not speak, whatever else allows them.
    #[serde(default)]
    pub deny: Vec<Person>,
    /// Chats with a rule of their own, by id.
    #[serde(default)]
    pub chats: BTreeMap<String, ChatRule>,
    /// Strangers who were given a code; expired codes are kept for a while, so that an error can say that
    /// they have expired.
    #[serde(default)]
    pub pending: Vec<Pending>,
    /// Times at which a wrong code was typed, as far back as they count.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    pub wrong_tries_at: Vec<Timestamp>,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            v: POLICY_VERSION,
            allow: Vec::new(),
            deny: Vec::new(),
            chats: BTreeMap::new(),
            pending: Vec::new(),
            wrong_tries_at: Vec::new(),
        }
    }
}

/// A person, by directory ids, by mail address, or both.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Person {
    /// Home tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant_id: Option<Guid>,
    /// Object id in the home tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object_id: Option<Guid>,
    /// Mail address, lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mail: Option<String>,
    /// A name for the reader of the file only; never an identity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Messages that were written before this time are not delivered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub since: Option<Timestamp>,
    /// The 1:1 chat that the person was paired in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_id: Option<String>,
    /// The channel of that chat; Teams when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channel>,
}

impl Person {
    /// A person with these ids.
    pub fn by_ids(tenant_id: Guid, object_id: Guid) -> Self {
        Self { tenant_id: Some(tenant_id), object_id: Some(object_id), ..Self::default() }
    }

    /// Reads `TENANT/OBJECT` or a mail address. The error says what to write.
    pub fn parse(text: &str) -> Result<Self, String> {
        const FIX: &str = "write TENANT_ID/OBJECT_ID, two GUIDs, or a mail address";
        let text = text.trim();
        if let Some((tenant, object)) = text.split_once('/') {
            let ids = Guid::parse(tenant).zip(Guid::parse(object));
            let (tenant, object) = ids.ok_or_else(|| format!("{text:?} is no pair of GUIDs; {FIX}"))?;
            return Ok(Self::by_ids(tenant, object));
        }
        // No entry stands for several people, and a user who writes a pattern must not believe that it does.
        if let Some(address) = MailAddress::parse(text).filter(|_| !text.contains(WILDCARDS)) {
            return Ok(Self { mail: Some(address.as_str().to_owned()), ..Self::default() });
        }
        Err(format!("{text:?} names nobody; {FIX}"))
    }

    /// Tenant and object id, if both are known.
    pub fn ids(&self) -> Option<(Guid, Guid)> {
        self.tenant_id.clone().zip(self.object_id.clone())
    }

    /// Whether both name the same ids or the same address.
    pub fn is_same(&self, other: &Self) -> bool {
        let ids = self.ids().is_some_and(|ids| other.ids() == Some(ids));
        ids || (self.mail.is_some() && self.mail == other.mail)
    }
}

impl fmt::Display for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.tenant_id, &self.object_id, &self.mail) {
            (Some(tenant), Some(object), _) => write!(f, "{tenant}/{object}"),
            (_, _, Some(mail)) => f.write_str(mail),
            _ => f.write_str("nobody"),
        }
    }
}

/// Which messages of a chat are delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ChatRule {
    /// Every message of an allowed person.
    All,
    /// In a group, the messages that mention the agent; in a 1:1 chat, every message.
    Mentioned,
    /// No message is delivered, and nothing is sent there.
    Off,
}

/// A stranger who was given a code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pending {
    /// The code.
    pub code: String,
    /// Home tenant.
    pub tenant_id: Guid,
    /// Object id in the home tenant.
    pub object_id: Guid,
    /// The stranger's display name, sanitised; any person can choose any name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The 1:1 chat.
    pub chat_id: String,
    /// The channel of the chat; Teams when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<Channel>,
    /// When the code was made.
    #[schemars(with = "String")]
    pub asked_at: Timestamp,
}

impl Policy {
    /// The problem of the content, naming the field.
    pub fn problem(&self) -> Option<String> {
        for (field, people) in [("allow", &self.allow), ("deny", &self.deny)] {
            if people.len() > POLICY_PEOPLE_MAX {
                return Some(format!("`{field}` has more than {POLICY_PEOPLE_MAX} entries"));
            }
            for (index, person) in people.iter().enumerate() {
                if person.tenant_id.is_some() != person.object_id.is_some() {
                    return Some(format!("`{field}[{index}]` needs both `tenant_id` and `object_id`"));
                }
                if person.tenant_id.is_none() && person.mail.is_none() {
                    return Some(format!("`{field}[{index}]` names nobody"));
                }
            }
        }
        if self.chats.len() > POLICY_CHATS_MAX {
            return Some(format!("`chats` has more than {POLICY_CHATS_MAX} entries"));
        }
        (self.pending.len() > PENDING_MAX).then(|| format!("`pending` has more than {PENDING_MAX} entries"))
    }

    /// Allows a person, and removes them from the other list.
    pub fn let_in(&mut self, person: Person) {
        self.deny.retain(|other| !other.is_same(&person));
        self.allow.retain(|other| !other.is_same(&person));
        self.pending.retain(|pending| Some(pending.ids()) != person.ids());
        self.allow.push(person);
    }

    /// Denies a person, and removes them from the other list.
    pub fn shut_out(&mut self, person: Person) {
        self.allow.retain(|other| !other.is_same(&person));
        self.deny.retain(|other| !other.is_same(&person));
        self.pending.retain(|pending| Some(pending.ids()) != person.ids());
        self.deny.push(person);
    }
}

impl Pending {
    /// Tenant and object id.
    pub fn ids(&self) -> (Guid, Guid) {
        (self.tenant_id.clone(), self.object_id.clone())
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const TENANT: &str = "aaaaaaaa-0000-0000-0000-000000000001";
    const ALICE: &str = "bbbbbbbb-0000-0000-0000-00000000000a";

    #[rstest]
    #[case(&format!("{TENANT}/{ALICE}"), Some(&*format!("{TENANT}/{ALICE}")))]
    #[case(&format!(" {}/{} ", TENANT.to_uppercase(), ALICE.to_uppercase()), Some(&*format!("{TENANT}/{ALICE}")))]
    #[case("Alice@Contoso.com", Some("alice@contoso.com"))]
    #[case("alice", None)]
    #[case(ALICE, None)]
    #[case("a/b", None)]
    #[case("@contoso.com", None)]
    #[case("alice@contoso.com bob@contoso.com", None)]
    #[case("a@b@c", None)]
    #[case("*@contoso.com", None)]
    #[case("alice@*.contoso.com", None)]
    #[case("mail:alice@contoso.com", None)]
    #[case("<alice@contoso.com>", None)]
    #[case("?lice@contoso.com", None)]
    #[case("%@contoso.com", None)]
    #[case("", None)]
    fn people_are_ids_or_an_address(#[case] text: &str, #[case] shown: Option<&str>) {
        assert_eq!(Person::parse(text).ok().map(|p| p.to_string()).as_deref(), shown);
    }

    #[test]
    fn a_person_is_on_one_list_at_a_time() {
        let alice = Person::parse(&format!("{TENANT}/{ALICE}")).unwrap();
        let mut policy = Policy::default();
        policy.let_in(alice.clone());
        policy.let_in(alice.clone());
        assert_eq!((policy.allow.len(), policy.deny.len()), (1, 0));
        policy.shut_out(alice.clone());
        assert_eq!((policy.allow.len(), policy.deny.len()), (0, 1));
        policy.let_in(alice);
        assert_eq!((policy.allow.len(), policy.deny.len()), (1, 0));
    }
}
