//! The delta of the inbox: rounds of pages behind opaque links, with the irregularities that are documented.
//! A link holds all that the service knows of its caller, so that a request never changes the mailbox.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::mailbox::{Change, ChangeKind, Folder, Mailbox, id_of};
use super::show::{Lens, mail_json};
use super::spec::DeltaLoss;
use crate::graph::RuleId;
use crate::graph::draw;
use crate::graph::moment::Ms;
use crate::graph::query::{seal, unseal};
use crate::graph::reject::Rejection;
use crate::graph::state::{Call, FakeGraph, Reply};

/// The size of a page when the client does not ask for one.
const PAGE_DEFAULT: usize = 10;
/// How many mails a filtered round can hold.
const FILTERED_MAX: usize = 5_000;

/// A place in the list of changes: those of the first `changes` entries that are visible at `visible_ms`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Place {
    visible_ms: Ms,
    changes: usize,
}

impl Place {
    fn holds(self, index: usize, change: &Change) -> bool {
        change.visible_ms <= self.visible_ms && index < self.changes
    }
}

/// The content of a link.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Token {
    epoch: u32,
    /// The end of the earlier round; none in the first round.
    told: Option<Place>,
    /// The end of this round; none when the round has not begun.
    upto: Option<Place>,
    page: usize,
    select: Option<Vec<String>>,
    since_ms: Option<Ms>,
}

/// The kind of a link's token.
const KIND: &str = "delta";

impl FakeGraph {
    pub(in crate::graph) fn mail_delta(&self, call: &mut Call<'_>) -> Result<Reply, Rejection> {
        let mailbox = self.mailbox_of(call)?;
        if !call.route.action.as_deref().is_some_and(|folder| folder.eq_ignore_ascii_case("inbox")) {
            return Err(Rejection::new(RuleId::MailDelta, 404, "the fake has an inbox only"));
        }
        call.trace.note(RuleId::MailDelta);
        let mut token = self.delta_token(mailbox, call)?;
        let now = Place { visible_ms: call.now_ms, changes: mailbox.changes.len() };
        let upto = *token.upto.get_or_insert(now);
        let told = delta_changes(mailbox, &token, upto, self.seed, call);
        let size = page_items(mailbox, call);
        let full = token.page.checked_sub(mailbox.spec.empty_pages);
        let from = full.map_or(0, |page| page * size).min(told.len());
        let on_page = told.iter().skip(from).take(if full.is_some() { size } else { 0 });
        let page: Vec<Value> = on_page.map(|change| self.delta_item(mailbox, &token, change, call)).collect();
        if page.is_empty() && !told.is_empty() {
            call.trace.note(RuleId::MailEmptyPage);
        }
        let left = told.len() - from > page.len();
        let path = format!("{}{}", self.base_url, call.url.path());
        let mut body = json!({
            "@odata.context": format!("{}/v1.0/$metadata#Collection(message)", self.base_url),
            "value": page,
        });
        call.trace.note(RuleId::MailDeltaLinks);
        if left {
            token.page += 1;
            body["@odata.nextLink"] = json!(format!("{path}?$skiptoken={}", seal(&token, KIND, self.seed)));
        } else {
            let token = Token { told: Some(upto), upto: None, page: 0, ..token };
            body["@odata.deltaLink"] = json!(format!("{path}?$deltatoken={}", seal(&token, KIND, self.seed)));
        }
        Ok(Reply::Json(200, body))
    }

    /// The content of the caller's link, or a new token for a first request.
    fn delta_token(&self, mailbox: &Mailbox, call: &mut Call<'_>) -> Result<Token, Rejection> {
        let given = call.query.option("$skiptoken").or_else(|| call.query.option("$deltatoken"));
        if let Some(text) = given {
            let token: Token = unseal(text, KIND, self.seed)
                .ok_or_else(|| Rejection::bad_request(RuleId::MailDeltaTampered, "badly formed token"))?;
            if token.epoch == mailbox.epoch {
                return Ok(token);
            }
            let path = format!("{}{}", self.base_url, call.url.path());
            return Err(match mailbox.lost_as {
                Some(DeltaLoss::NotFound) => Rejection {
                    code: "syncStateNotFound",
                    ..Rejection::bad_request(
                        RuleId::MailStateNotFound,
                        "the sync state generation is not found",
                    )
                },
                _ => Rejection {
                    code: "resyncRequired",
                    ..Rejection::new(RuleId::MailDeltaGone, 410, "resync is required")
                }
                .with_header("location", format!("{path}?$deltatoken=")),
            });
        }
        let known = ["$select", "$filter", "$top", "$expand", "$orderby"];
        if let Some(option) = call.query.stranger(&known) {
            let message = format!("query option '{option}' is not supported with delta");
            return Err(Rejection::bad_request(RuleId::MailDeltaOptions, message));
        }
        if call.query.option("$orderby").is_some_and(|order| order != "receivedDateTime desc") {
            let message = "only receivedDateTime desc is supported";
            return Err(Rejection::bad_request(RuleId::MailDeltaOptions, message));
        }
        let since_ms = match call.query.option("$filter") {
            None => None,
            Some(filter) => {
                call.trace.note(RuleId::MailDeltaFilter);
                let words: Vec<&str> = filter.split_whitespace().collect();
                let at = match words.as_slice() {
                    ["receivedDateTime", "ge" | "gt", at] => at.parse::<jiff::Timestamp>().ok(),
                    _ => None,
                };
                let at = at.ok_or_else(|| {
                    let message = format!("invalid filter clause: '{filter}'");
                    Rejection::bad_request(RuleId::MailDeltaOptions, message)
                })?;
                Some(at.as_millisecond() + i64::from(words[1] == "gt"))
            }
        };
        Ok(Token { epoch: mailbox.epoch, told: None, upto: None, page: 0, select: select_of(call), since_ms })
    }

    fn delta_item(&self, mailbox: &Mailbox, token: &Token, change: &Change, call: &mut Call<'_>) -> Value {
        let mail = &mailbox.mails[change.number];
        let immutable = call.prefers("IdType=\"ImmutableId\"");
        let id = id_of(mail, immutable, self.seed);
        let gone = matches!(mail.folder, Folder::Deleted | Folder::Elsewhere);
        match change.kind {
            ChangeKind::Removed { deleted } => {
                call.trace.note(RuleId::MailRemoved);
                json!({"id": id, "@removed": {"reason": if deleted { "deleted" } else { "changed" }}})
            }
            ChangeKind::Created if gone => {
                call.trace.note(RuleId::MailRemoved);
                json!({"id": id, "@removed": {"reason": "deleted"}})
            }
            ChangeKind::Created => {
                let lens =
                    Lens { select: token.select.clone(), attachments: false, immutable, single: false };
                mail_json(mail, &lens, self.seed, &mut call.trace)
            }
            ChangeKind::Read => {
                call.trace.note(RuleId::MailPartial);
                // In the documentation's sample, `isRead` is a string.
                json!({"@odata.type": "#microsoft.graph.message", "id": id, "isRead": mail.is_read.to_string()})
            }
        }
    }
}

/// The changes that a round tells, in an arbitrary order.
fn delta_changes<'a>(
    mailbox: &'a Mailbox,
    token: &Token,
    upto: Place,
    seed: u64,
    call: &mut Call<'_>,
) -> Vec<&'a Change> {
    let changes = || mailbox.changes.iter().enumerate();
    let in_reach = |change: &Change| {
        let mail = mailbox.mails.get(change.number);
        mail.is_some_and(|mail| {
            token.since_ms.is_none_or(|since| mail.received_ms.div_euclid(1000) * 1000 >= since)
        })
    };
    let mut told: Vec<(usize, &Change)> = changes()
        .filter(|(index, change)| {
            upto.holds(*index, change)
                && in_reach(change)
                && match token.told {
                    None => change.kind == ChangeKind::Created,
                    Some(told) => !told.holds(*index, change),
                }
        })
        .collect();
    told.sort_by_cached_key(|(index, _)| draw::bits(seed, &format!("delta/order/{index}")));
    if token.told.is_none() && token.since_ms.is_some() {
        told.truncate(FILTERED_MAX);
    }
    if told.len() > 1 {
        call.trace.note(RuleId::MailDeltaUnordered);
    }
    if mailbox.spec.replays
        && let Some(before) = token.told
        && let Some(last) =
            changes().rfind(|(index, change)| before.holds(*index, change) && in_reach(change))
    {
        call.trace.note(RuleId::MailDeltaReplay);
        told.insert(0, last);
    }
    let mut told: Vec<&Change> = told.into_iter().map(|(_, change)| change).collect();
    if mailbox.spec.duplicates {
        call.trace.note(RuleId::MailDeltaDuplicates);
        told.extend(told.clone());
    }
    told
}

fn page_items(mailbox: &Mailbox, call: &mut Call<'_>) -> usize {
    let asked = call.preference("odata.maxpagesize=").and_then(|size| size.parse::<usize>().ok());
    let asked = asked.or_else(|| call.query.option("$top").and_then(|top| top.parse().ok()));
    call.trace.note(if asked.is_some() { RuleId::MailPageSize } else { RuleId::MailPageDefault });
    let most = mailbox.spec.page_items_max.unwrap_or(usize::MAX);
    asked.unwrap_or(PAGE_DEFAULT).clamp(1, 1000).min(most).max(1)
}

/// The properties in the caller's `$select`.
pub(in crate::graph) fn select_of(call: &Call<'_>) -> Option<Vec<String>> {
    let select = call.query.option("$select")?;
    Some(select.split(',').map(|name| name.trim().to_owned()).collect())
}
