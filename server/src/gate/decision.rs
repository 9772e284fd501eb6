//! The decision: a sender, the agent and the allowlist in, a verdict with its reason out. Pure.
//! What is not known for certain must never be taken for an allowed person.

use std::collections::BTreeSet;
use std::fmt;

use super::Guid;

/// What Graph says a sender is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SenderKind {
    /// A person of some directory. Kinds of person that are not known yet count here, for the ids decide.
    Person,
    /// A person of another organisation, who has a tenant id or is nobody.
    Federated,
    /// Somebody without a work account: anonymous guests, phone, Skype, mail and personal accounts.
    Outsider,
    /// An application, a bot or a webhook.
    Application,
    /// A device or a conversation.
    Thing,
    /// Graph named nobody.
    Nobody,
}

/// Who wrote, by ids alone.
#[derive(Debug, Clone, Copy)]
pub struct Sender<'a> {
    /// Home tenant, as Graph wrote it.
    pub tenant_id: Option<&'a str>,
    /// Object id there.
    pub object_id: Option<&'a str>,
    /// What it is.
    pub kind: SenderKind,
}

/// Who the agent is, as far as is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agent {
    /// Its tenant, which senders without a tenant id belong to.
    pub tenant_id: Option<Guid>,
    /// Its object id; what it wrote itself is no news.
    pub object_id: Option<Guid>,
}

/// May this sender speak to the agent?
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Yes.
    Accept,
    /// It is the agent itself: dropped without a word.
    Own,
    /// No.
    Refuse(Reason),
}

/// Why a sender is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// Not on the allowlist.
    NotListed,
    /// An application, bot, webhook, device or conversation.
    NotAPerson,
    /// Somebody without a work account.
    Outsider,
    /// No object id that could be compared.
    NoObjectId,
    /// No tenant id, and the agent's own tenant is not known or not the sender's.
    NoTenantId,
    /// A message in a group that does not mention the agent, where that is asked for.
    NotMentioned,
}

impl Reason {
    /// The reason as the interaction log writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotListed => "not on the allowlist",
            Self::NotAPerson => "not a person",
            Self::Outsider => "no work account",
            Self::NoObjectId => "no object id",
            Self::NoTenantId => "no tenant id, and `identity.tenant_id` is not known",
            Self::NotMentioned => "the agent is not mentioned",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The allowlist.
#[derive(Debug, Clone, Default)]
pub struct Gate {
    people: BTreeSet<(Guid, Guid)>,
}

impl Gate {
    /// A gate for these people, each a tenant id with an object id.
    pub fn new(people: impl IntoIterator<Item = (Guid, Guid)>) -> Self {
        Self { people: people.into_iter().collect() }
    }

    /// Whether nobody is let in.
    pub fn is_closed(&self) -> bool {
        self.people.is_empty()
    }

    /// Judges a sender.
    pub fn decide(&self, sender: &Sender<'_>, agent: &Agent) -> Verdict {
        match sender.kind {
            SenderKind::Person | SenderKind::Federated => {}
            SenderKind::Outsider => return Verdict::Refuse(Reason::Outsider),
            SenderKind::Application | SenderKind::Thing | SenderKind::Nobody => {
                return Verdict::Refuse(Reason::NotAPerson);
            }
        }
        let Some(object_id) = sender.object_id.and_then(Guid::parse) else {
            return Verdict::Refuse(Reason::NoObjectId);
        };
        if agent.object_id.as_ref() == Some(&object_id) {
            return Verdict::Own;
        }
        // A tenant id that is there but no GUID is a tenant nobody can have allowed.
        let tenant_id = match (sender.tenant_id, sender.kind) {
            (Some(text), _) => Guid::parse(text),
            (None, SenderKind::Person) => agent.tenant_id.clone(),
            (None, _) => None,
        };
        let Some(tenant_id) = tenant_id else { return Verdict::Refuse(Reason::NoTenantId) };
        if self.people.contains(&(tenant_id, object_id)) {
            Verdict::Accept
        } else {
            Verdict::Refuse(Reason::NotListed)
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const OWN: &str = "aaaaaaaa-0000-0000-0000-000000000001";
    const OTHER: &str = "aaaaaaaa-0000-0000-0000-000000000002";
    const ALICE: &str = "bbbbbbbb-0000-0000-0000-00000000000a";
    const BOB: &str = "bbbbbbbb-0000-0000-0000-00000000000b";
    const AGENT: &str = "bbbbbbbb-0000-0000-0000-00000000000c";

    fn guid(text: &str) -> Guid {
        Guid::parse(text).unwrap()
    }

    #[rstest]
    #[case(Some(OWN), Some(ALICE), SenderKind::Person, Verdict::Accept)]
    #[case(
        Some("AAAAAAAA-0000-0000-0000-000000000001"),
        Some("BBBBBBBB-0000-0000-0000-00000000000A"),
        SenderKind::Person,
        Verdict::Accept
    )]
    #[case(None, Some(ALICE), SenderKind::Person, Verdict::Accept)]
    #[case(Some(OTHER), Some(BOB), SenderKind::Federated, Verdict::Accept)]
    #[case(None, Some(BOB), SenderKind::Federated, Verdict::Refuse(Reason::NoTenantId))]
    #[case(None, Some(BOB), SenderKind::Person, Verdict::Refuse(Reason::NotListed))]
    #[case(Some(OTHER), Some(ALICE), SenderKind::Person, Verdict::Refuse(Reason::NotListed))]
    #[case(Some(""), Some(ALICE), SenderKind::Person, Verdict::Refuse(Reason::NoTenantId))]
    #[case(Some("contoso.com"), Some(ALICE), SenderKind::Person, Verdict::Refuse(Reason::NoTenantId))]
    #[case(Some(OWN), None, SenderKind::Person, Verdict::Refuse(Reason::NoObjectId))]
    #[case(Some(OWN), Some("Alice"), SenderKind::Person, Verdict::Refuse(Reason::NoObjectId))]
    #[case(Some(OWN), Some(ALICE), SenderKind::Application, Verdict::Refuse(Reason::NotAPerson))]
    #[case(Some(OWN), Some(ALICE), SenderKind::Thing, Verdict::Refuse(Reason::NotAPerson))]
    #[case(None, None, SenderKind::Nobody, Verdict::Refuse(Reason::NotAPerson))]
    #[case(Some(OWN), Some(ALICE), SenderKind::Outsider, Verdict::Refuse(Reason::Outsider))]
    #[case(Some(OWN), Some(AGENT), SenderKind::Person, Verdict::Own)]
    #[case(None, Some("BBBBBBBB-0000-0000-0000-00000000000C"), SenderKind::Person, Verdict::Own)]
    fn verdicts(
        #[case] tenant_id: Option<&str>,
        #[case] object_id: Option<&str>,
        #[case] kind: SenderKind,
        #[case] verdict: Verdict,
    ) {
        let gate = Gate::new([(guid(OWN), guid(ALICE)), (guid(OTHER), guid(BOB)), (guid(OWN), guid(AGENT))]);
        let agent = Agent { tenant_id: Some(guid(OWN)), object_id: Some(guid(AGENT)) };
        assert_eq!(gate.decide(&Sender { tenant_id, object_id, kind }, &agent), verdict);
    }

    #[test]
    fn an_empty_list_lets_nobody_in() {
        let sender = Sender { tenant_id: Some(OWN), object_id: Some(ALICE), kind: SenderKind::Person };
        assert!(Gate::default().is_closed());
        assert_eq!(Gate::default().decide(&sender, &Agent::default()), Verdict::Refuse(Reason::NotListed));
    }

    #[test]
    fn without_an_own_tenant_a_missing_tenant_id_refuses() {
        let gate = Gate::new([(guid(OWN), guid(ALICE))]);
        let sender = Sender { tenant_id: None, object_id: Some(ALICE), kind: SenderKind::Person };
        assert_eq!(gate.decide(&sender, &Agent::default()), Verdict::Refuse(Reason::NoTenantId));
    }
}
