//! Whose messages may go whole through a wake-up, since a host may ask its model to act on them. It must
//! never decide which senders are allowed; every sender here has passed the gate.

use super::WholeText;
use crate::gate::Guid;
use crate::record::Record;

/// The sender of a message, as far as a wake-up needs to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The operator of the configuration, known by ids.
    Operator,
    /// Any other sender that the gate allows.
    Other,
}

/// The rule that decides whose messages go whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trust {
    /// The user's decision.
    pub whole_text: WholeText,
    /// The operator, as tenant and object id.
    pub operator: Option<(Guid, Guid)>,
}

impl Trust {
    /// The kind of the record's sender. A mail address is no id, so the operator's mails count as those of
    /// another sender.
    pub fn speaker(&self, record: &Record) -> Speaker {
        let is = |name: &str, id: &Guid| record.meta.get(name).is_some_and(|value| value == id.as_str());
        match &self.operator {
            Some((tenant, object)) if is("sender_tenant_id", tenant) && is("sender_id", object) => {
                Speaker::Operator
            }
            _ => Speaker::Other,
        }
    }

    /// Whether the messages of such a sender may go whole.
    pub fn goes_whole(&self, speaker: Speaker) -> bool {
        match self.whole_text {
            WholeText::Operator => speaker == Speaker::Operator,
            WholeText::Allowed => true,
            WholeText::Nobody => false,
        }
    }
}
