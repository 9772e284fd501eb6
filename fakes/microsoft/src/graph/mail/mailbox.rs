//! The agent's mailbox as the service stores it: mails, their folders, and what changed when.
//! Changes are only ever added; nothing here knows how any of it is shown.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::spec::{DeltaLoss, MailboxSpec};
use crate::graph::draw;
use crate::graph::moment::Ms;
use crate::graph::raw::RawOverride;

/// Mails of one mailbox.
pub(in crate::graph) const MAILS_MAX: usize = 20_000;

/// Where a mail is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::graph) enum Folder {
    Inbox,
    Drafts,
    /// Handed to the transport, and nowhere to be found.
    OnItsWay {
        /// Until then.
        until_ms: Ms,
    },
    SentItems,
    Elsewhere,
    Deleted,
}

/// A name with its address.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::graph) struct Correspondent {
    pub(in crate::graph) name: String,
    pub(in crate::graph) address: String,
}

/// One mail.
#[derive(Debug, Clone)]
pub(in crate::graph) struct Mail {
    pub(in crate::graph) number: usize,
    pub(in crate::graph) folder: Folder,
    /// How often it was moved: its ordinary id follows.
    pub(in crate::graph) moves: u32,
    pub(in crate::graph) received_ms: Ms,
    pub(in crate::graph) internet_id: String,
    pub(in crate::graph) conversation: String,
    pub(in crate::graph) odata_type: Option<&'static str>,
    pub(in crate::graph) from: Correspondent,
    pub(in crate::graph) sender: Correspondent,
    pub(in crate::graph) reply_to: Vec<Correspondent>,
    pub(in crate::graph) to: Vec<Correspondent>,
    pub(in crate::graph) cc: Vec<Correspondent>,
    pub(in crate::graph) subject: String,
    pub(in crate::graph) html: bool,
    pub(in crate::graph) content: String,
    pub(in crate::graph) unique: String,
    pub(in crate::graph) headers: Vec<(String, String)>,
    /// Names and content types.
    pub(in crate::graph) attachments: Vec<(String, String)>,
    pub(in crate::graph) is_read: bool,
    pub(in crate::graph) raw: Option<RawOverride>,
    /// For a draft: the `Message-ID` of the mail that it answers.
    pub(in crate::graph) answers: Option<String>,
}

/// What changed about a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::graph) enum ChangeKind {
    Created,
    Read,
    Removed {
        /// Deleted, not only moved.
        deleted: bool,
    },
}

/// A change of the inbox.
#[derive(Debug, Clone, Copy)]
pub(in crate::graph) struct Change {
    pub(in crate::graph) visible_ms: Ms,
    pub(in crate::graph) number: usize,
    pub(in crate::graph) kind: ChangeKind,
}

/// The mailbox.
#[derive(Debug, Clone, Default)]
pub(in crate::graph) struct Mailbox {
    pub(in crate::graph) spec: MailboxSpec,
    pub(in crate::graph) mails: Vec<Mail>,
    pub(in crate::graph) changes: Vec<Change>,
    pub(in crate::graph) handles: BTreeMap<String, usize>,
    by_id: BTreeMap<String, usize>,
    /// Grows when the service forgets what it knew of its callers.
    pub(in crate::graph) epoch: u32,
    pub(in crate::graph) lost_as: Option<DeltaLoss>,
    /// Ends of the requests that are being served.
    pub(in crate::graph) busy_until_ms: Vec<Ms>,
}

impl Mailbox {
    pub(in crate::graph) fn new(spec: MailboxSpec) -> Self {
        Self { spec, ..Self::default() }
    }

    pub(in crate::graph) fn add(&mut self, mail: Mail, seed: u64) {
        for immutable in [true, false] {
            self.by_id.insert(id_of(&mail, immutable, seed), mail.number);
        }
        self.mails.push(mail);
    }

    /// Moves a mail, after which its ordinary id is another.
    pub(in crate::graph) fn move_to(&mut self, number: usize, folder: Folder, seed: u64) {
        let Some(mail) = self.mails.get_mut(number) else { return };
        self.by_id.remove(&id_of(mail, false, seed));
        mail.folder = folder;
        mail.moves += 1;
        self.by_id.insert(id_of(mail, false, seed), number);
    }

    pub(in crate::graph) fn change(&mut self, visible_ms: Ms, number: usize, kind: ChangeKind) {
        self.changes.push(Change { visible_ms, number, kind });
    }

    /// The mail of an id of either kind, if it can be found at all now.
    pub(in crate::graph) fn find(&self, id: &str, now_ms: Ms) -> Option<&Mail> {
        let mail = self.mails.get(*self.by_id.get(id)?)?;
        match mail.folder {
            Folder::Deleted => None,
            Folder::OnItsWay { until_ms } if now_ms < until_ms => None,
            _ => Some(mail),
        }
    }

    /// Mails that the transport had are in the sent items once their time has come.
    pub(in crate::graph) fn settle(&mut self, now_ms: Ms, seed: u64) {
        let arrived: Vec<usize> = self
            .mails
            .iter()
            .filter(|mail| matches!(mail.folder, Folder::OnItsWay { until_ms } if until_ms <= now_ms))
            .map(|mail| mail.number)
            .collect();
        for number in arrived {
            self.move_to(number, Folder::SentItems, seed);
        }
    }
}

/// The id of a mail: one that survives a move, or one that does not.
pub(in crate::graph) fn id_of(mail: &Mail, immutable: bool, seed: u64) -> String {
    let (prefix, name) = if immutable {
        ("AAkALgAAAAAAHYQDEapmEc2byACqAC-EWg0A", format!("mail/{}", mail.number))
    } else {
        ("AAMkADAwATM0MDAAMS1kMjI5LTAwAi0wMAoARgAA", format!("mail/{}/{}", mail.number, mail.moves))
    };
    format!("{prefix}{}AA=", URL_SAFE_NO_PAD.encode(draw::guid(seed, &name).replace('-', "")))
}
