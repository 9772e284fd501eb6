//! The agent's mailbox as the service stores it: mails, their folders, and the list of changes.
//! A change must never be removed, and this code must not depend on how a mail is shown.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::spec::{DeltaLoss, MailboxSpec};
use crate::graph::draw;
use crate::graph::moment::Ms;
use crate::graph::raw::RawOverride;

/// How many mails a mailbox can hold.
pub(in crate::graph) const MAILS_MAX: usize = 20_000;

/// The folder of a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::graph) enum Folder {
    Inbox,
    Drafts,
    /// The transport has the mail, and no request can find it.
    OnItsWay {
        /// The instant at which the mail arrives.
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

#[derive(Debug, Clone)]
pub(in crate::graph) struct Mail {
    pub(in crate::graph) number: usize,
    pub(in crate::graph) folder: Folder,
    /// How often the mail was moved; its ordinary id depends on this number.
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
    /// The names and content types of the attachments.
    pub(in crate::graph) attachments: Vec<(String, String)>,
    pub(in crate::graph) is_read: bool,
    pub(in crate::graph) raw: Option<RawOverride>,
    /// For a draft: the `Message-ID` of the mail that it answers.
    pub(in crate::graph) answers: Option<String>,
}

/// The kind of a change to a mail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::graph) enum ChangeKind {
    Created,
    Read,
    Removed {
        /// Whether the mail was deleted, and not only moved.
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

/// The mailbox with its mails and their changes.
#[derive(Debug, Clone, Default)]
pub(in crate::graph) struct Mailbox {
    pub(in crate::graph) spec: MailboxSpec,
    pub(in crate::graph) mails: Vec<Mail>,
    pub(in crate::graph) changes: Vec<Change>,
    pub(in crate::graph) handles: BTreeMap<String, usize>,
    by_id: BTreeMap<String, usize>,
    /// The number of times that the service forgot the delta states of its callers.
    pub(in crate::graph) epoch: u32,
    pub(in crate::graph) lost_as: Option<DeltaLoss>,
    /// The ends of the requests that are being served.
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

    /// Moves a mail, which changes its ordinary id.
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

    /// The mail with an id of either kind, if a request can find it now.
    pub(in crate::graph) fn find(&self, id: &str, now_ms: Ms) -> Option<&Mail> {
        let mail = self.mails.get(*self.by_id.get(id)?)?;
        match mail.folder {
            Folder::Deleted => None,
            Folder::OnItsWay { until_ms } if now_ms < until_ms => None,
            _ => Some(mail),
        }
    }

    /// Moves each mail whose transport has ended to the sent items.
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

/// The id of a mail. An immutable id stays the same when the mail is moved; the ordinary one changes.
pub(in crate::graph) fn id_of(mail: &Mail, immutable: bool, seed: u64) -> String {
    let (prefix, name) = if immutable {
        ("AAkALgAAAAAAHYQDEapmEc2byACqAC-EWg0A", format!("mail/{}", mail.number))
    } else {
        ("AAMkADAwATM0MDAAMS1kMjI5LTAwAi0wMAoARgAA", format!("mail/{}/{}", mail.number, mail.moves))
    };
    format!("{prefix}{}AA=", URL_SAFE_NO_PAD.encode(draw::guid(seed, &name).replace('-', "")))
}
