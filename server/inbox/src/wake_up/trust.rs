//! Whose words may go whole through a wake-up: a host may ask its model to act on what comes that way.
//! It must never decide who may speak; everybody here has passed the gate.

use super::WholeText;
use crate::gate::Guid;
use crate::record::Record;

/// Who wrote a message, as far as a wake-up cares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Speaker {
    /// The operator of the configuration, by ids.
    Operator,
    /// Anybody else who may speak.
    Other,
}

/// Whose words go whole.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trust {
    /// What the user decided.
    pub whole_text: WholeText,
    /// The operator, as tenant and object id.
    pub operator: Option<(Guid, Guid)>,
}

impl Trust {
    /// Who wrote it. A mail address is no id, so the operator's mails are those of another sender.
    pub fn speaker(&self, record: &Record) -> Speaker {
        let is = |name: &str, id: &Guid| record.meta.get(name).is_some_and(|value| value == id.as_str());
        match &self.operator {
            Some((tenant, object)) if is("sender_tenant_id", tenant) && is("sender_id", object) => {
                Speaker::Operator
            }
            _ => Speaker::Other,
        }
    }

    /// Whether the words of such a speaker may go whole.
    pub fn goes_whole(&self, speaker: Speaker) -> bool {
        match self.whole_text {
            WholeText::Operator => speaker == Speaker::Operator,
            WholeText::Allowed => true,
            WholeText::Nobody => false,
        }
    }
}
