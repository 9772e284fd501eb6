//! The list of the mails in the inbox, newest first, one page at a time.
//! It must never change the mailbox, and does not tell a caller what changed since an earlier list.

use serde_json::{Value, json};

use super::delta::select_of;
use super::mailbox::{ChangeKind, Folder, Mail, Mailbox};
use super::show::{Lens, mail_json};
use crate::graph::RuleId;
use crate::graph::moment::Ms;
use crate::graph::reject::Rejection;
use crate::graph::state::{Call, FakeGraph, Reply};

/// The size of a page when the client does not ask for one, and the largest size.
const PAGE_DEFAULT: usize = 10;
const PAGE_MAX: usize = 1_000;

impl FakeGraph {
    pub(in crate::graph) fn mail_list(&self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let mailbox = self.mailbox_of(call)?;
        if !call.route.action.as_deref().is_some_and(|folder| folder.eq_ignore_ascii_case("inbox")) {
            return Err(Rejection::new(RuleId::MailList, 404, "the fake has an inbox only"));
        }
        call.trace.note(RuleId::MailList);
        if let Some(option) = call.query.stranger(&["$select", "$top", "$skip", "$orderby"]) {
            let message = format!("query option '{option}' is not known to the fake's list of mails");
            return Err(Rejection::bad_request(RuleId::MailListOptions, message));
        }
        if call.query.option("$orderby").is_some_and(|order| order != "receivedDateTime desc") {
            let message = "the fake's list of mails knows receivedDateTime desc only";
            return Err(Rejection::bad_request(RuleId::MailListOptions, message));
        }
        let top = number(call, "$top", PAGE_DEFAULT)?;
        if !(1..=PAGE_MAX).contains(&top) {
            let message = format!("the limit of '{PAGE_MAX}' for the top query is exceeded");
            return Err(Rejection::bad_request(RuleId::MailListOptions, message));
        }
        let skip = number(call, "$skip", 0)?;
        let mails = in_the_inbox(mailbox, call.now_ms);
        let select = select_of(call);
        let immutable = call.prefers("IdType=\"ImmutableId\"");
        let lens = Lens { select, attachments: false, immutable, single: false };
        let page: Vec<Value> = mails
            .iter()
            .skip(skip)
            .take(top)
            .map(|mail| mail_json(mail, &lens, self.seed, &mut call.trace))
            .collect();
        let next = skip.saturating_add(page.len());
        let mut body = json!({
            "@odata.context": format!("{}/v1.0/$metadata#users('me')/mailFolders('inbox')/messages", self.base_url),
            "value": page,
        });
        if next < mails.len() {
            let mut link = call.url.clone();
            let kept: Vec<(String, String)> = link
                .query_pairs()
                .filter(|(name, _)| name != "$skip")
                .map(|(n, v)| (n.into(), v.into()))
                .collect();
            link.query_pairs_mut().clear().extend_pairs(kept).append_pair("$skip", &next.to_string());
            let query = link.query().unwrap_or_default();
            body["@odata.nextLink"] = json!(format!("{}{}?{query}", self.base_url, link.path()));
        }
        Ok(Reply::Json(200, body))
    }
}

/// The mails that can be seen in the inbox now, newest first.
fn in_the_inbox(mailbox: &Mailbox, now_ms: Ms) -> Vec<&Mail> {
    let arrived = mailbox
        .changes
        .iter()
        .filter(|change| change.kind == ChangeKind::Created && change.visible_ms <= now_ms);
    let mails = arrived.filter_map(|change| mailbox.mails.get(change.number));
    let mut mails: Vec<&Mail> = mails.filter(|mail| mail.folder == Folder::Inbox).collect();
    mails.sort_by_key(|mail| std::cmp::Reverse((mail.received_ms, mail.number)));
    mails
}

fn number(call: &Call<'_>, option: &str, usual: usize) -> Result<usize, Rejection> {
    let Some(text) = call.query.option(option) else { return Ok(usual) };
    let message = || format!("'{text}' is no number for {option}");
    text.parse().map_err(|_| Rejection::bad_request(RuleId::MailListOptions, message()))
}
