//! The types of a decision: the sender, the agent, and the verdict with its reason. It must never take a
//! sender whose identity is uncertain for an allowed person.

use std::fmt;

use super::Guid;

/// The kind of a sender, as Graph states it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SenderKind {
    /// A person in a directory. A kind of person that this program does not know counts as this one, because
    /// the ids decide.
    Person,
    /// A person of another organisation; refused without a tenant id.
    Federated,
    /// A person without a work account: an anonymous guest, or a phone, Skype, mail or personal account.
    Outsider,
    /// An application, a bot or a webhook.
    Application,
    /// A device or a conversation.
    Thing,
    /// Graph named no sender.
    Nobody,
}

/// The author of a message, by ids alone.
#[derive(Debug, Clone, Copy)]
pub struct Sender<'a> {
    /// Home tenant, as Graph wrote it.
    pub tenant_id: Option<&'a str>,
    /// Object id in the home tenant.
    pub object_id: Option<&'a str>,
    /// The kind of sender.
    pub kind: SenderKind,
}

/// The agent's identity, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Agent {
    /// The agent's tenant. A person without a tenant id is taken to belong to it.
    pub tenant_id: Option<Guid>,
    /// The agent's object id. The agent's own messages are dropped.
    pub object_id: Option<Guid>,
}

/// Whether a sender may speak to the agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The sender may speak.
    Accept,
    /// The sender is the agent itself; the message is dropped silently.
    Own,
    /// The sender may not speak.
    Refuse(Reason),
    /// The answer is not known now, because a list that may let the sender in can't be read. The message is
    /// neither delivered nor refused for good.
    Later,
}

/// Why a sender is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// The sender is not on the allowlist, not let in by the policy, and not a sponsor.
    NotListed,
    /// The policy denies the sender, whatever else allows them.
    Denied,
    /// The message was written before its author was let in.
    BeforeAllowed,
    /// The policy switches this chat off.
    ChatOff,
    /// An application, bot, webhook, device or conversation.
    NotAPerson,
    /// A person without a work account.
    Outsider,
    /// The sender has no object id that can be compared.
    NoObjectId,
    /// The sender has no tenant id, and the agent's own tenant is unknown or is not the sender's.
    NoTenantId,
    /// A group message that does not mention the agent, where a mention is required.
    NotMentioned,
}

impl Sender<'_> {
    /// Tenant and object id of a sender that a list can hold; otherwise the verdict.
    pub(super) fn ids(&self, agent: &Agent) -> Result<(Guid, Guid), Verdict> {
        let object_id = self.object_id.and_then(Guid::parse);
        let is_own = object_id.is_some() && agent.object_id == object_id;
        match self.kind {
            SenderKind::Person | SenderKind::Federated => {}
            SenderKind::Outsider => return Err(Verdict::Refuse(Reason::Outsider)),
            // A message that the agent's application sends in the agent's name is the agent's own.
            SenderKind::Application if is_own => return Err(Verdict::Own),
            SenderKind::Application | SenderKind::Thing | SenderKind::Nobody => {
                return Err(Verdict::Refuse(Reason::NotAPerson));
            }
        }
        let Some(object_id) = object_id else {
            return Err(Verdict::Refuse(Reason::NoObjectId));
        };
        if is_own {
            return Err(Verdict::Own);
        }
        // No list can hold a tenant id that is not a GUID, so the agent's own tenant does not replace it.
        let tenant_id = match (self.tenant_id, self.kind) {
            (Some(text), _) => Guid::parse(text),
            (None, SenderKind::Person) => agent.tenant_id.clone(),
            (None, _) => None,
        };
        tenant_id.map(|tenant_id| (tenant_id, object_id)).ok_or(Verdict::Refuse(Reason::NoTenantId))
    }

    /// Tenant and object id of a person other than the agent.
    pub fn person(&self, agent: &Agent) -> Option<(Guid, Guid)> {
        self.ids(agent).ok()
    }

    /// The sender as the interaction log names it: `tenant/object`, or the part that is known.
    pub fn shown(&self, agent: &Agent) -> Option<String> {
        let id = |text: Option<&str>| text.and_then(Guid::parse).map(|guid| guid.to_string());
        let tenant = id(self.tenant_id).or_else(|| {
            let is_ours = self.tenant_id.is_none() && self.kind == SenderKind::Person;
            agent.tenant_id.as_ref().filter(|_| is_ours).map(ToString::to_string)
        });
        match (tenant, id(self.object_id)) {
            (Some(tenant), Some(object)) => Some(format!("{tenant}/{object}")),
            (None, object) => object,
            (Some(_), None) => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotListed => "not on the allowlist",
            Self::Denied => "denied",
            Self::BeforeAllowed => "written before its author was let in",
            Self::ChatOff => "the chat is off",
            Self::NotAPerson => "not a person",
            Self::Outsider => "no work account",
            Self::NoObjectId => "no object id",
            Self::NoTenantId => "no tenant id, and `identity.tenant_id` is not known",
            Self::NotMentioned => "the agent is not mentioned",
        })
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::gate::Gate;

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
    #[case(Some(OWN), Some(AGENT), SenderKind::Application, Verdict::Own)]
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
    fn an_empty_list_lets_no_person_in() {
        let sender = Sender { tenant_id: Some(OWN), object_id: Some(ALICE), kind: SenderKind::Person };
        assert!(Gate::new([]).is_closed());
        assert_eq!(Gate::new([]).decide(&sender, &Agent::default()), Verdict::Refuse(Reason::NotListed));
    }

    #[test]
    fn without_an_own_tenant_a_missing_tenant_id_refuses() {
        let gate = Gate::new([(guid(OWN), guid(ALICE))]);
        let sender = Sender { tenant_id: None, object_id: Some(ALICE), kind: SenderKind::Person };
        assert_eq!(gate.decide(&sender, &Agent::default()), Verdict::Refuse(Reason::NoTenantId));
    }
}
