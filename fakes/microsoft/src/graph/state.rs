//! The state machine of the fake Graph, which takes one request and gives one answer.
//! It must never read a clock, use randomness other than its seed, or do I/O.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;
use url::Url;

use super::asked::LastAsked;
use super::auth::{self, Auth};
use super::chat::Chat;
use super::draw;
use super::error_style::ErrorStyle;
use super::fault::{ErrorBody, Fault, FaultAction, Seen};
use super::log::{CallLog, CallRecord, Violation, ViolationKind};
use super::mail::{Mailbox, SentMail};
use super::memo::{Counted, Memo};
use super::moment::{self, Ms};
use super::people::Directory;
use super::query::Query;
use super::reject::{Ids, Rejection, envelope};
use super::route::{Operation, Owner, Route};
use super::rules::RuleId;
use super::sent::SentMessage;
use super::spec::PersonSpec;
use super::throttle::{Bucket, Refusal, RetryAfterForm, Throttle};
use super::trace::Trace;
use crate::wire::{Answer, Fate, Request};

const DEFAULT_BASE_URL: &str = "https://graph.microsoft.com";
const JSON_TYPE: &str =
    "application/json;odata.metadata=minimal;odata.streaming=true;IEEE754Compatible=false;charset=utf-8";
const GATEWAY_PAGE: &str = "<html><head><title>Service Unavailable</title></head><body><h1>Our services aren't available right now</h1></body></html>";

/// A fake Microsoft Graph for Teams and mail.
#[derive(Debug, Clone)]
pub struct FakeGraph {
    pub(super) seed: u64,
    pub(super) started_ms: Ms,
    pub(super) base_url: String,
    pub(super) base: Option<Url>,
    pub(super) people: Counted<Directory>,
    /// The chats by handle.
    pub(super) chats: Counted<BTreeMap<String, Chat>>,
    /// The handles of the chats by id.
    pub(super) chat_handles: BTreeMap<String, String>,
    pub(super) auth: Auth,
    pub(super) throttle: Throttle,
    pub(super) faults: Vec<Fault>,
    pub(super) log: CallLog,
    pub(super) sent: Vec<SentMessage>,
    /// The agent's mailbox; none if the world gives the agent no mailbox.
    pub(super) mailbox: Option<Mailbox>,
    pub(super) sent_mails: Vec<SentMail>,
    /// The handles of the sponsors of the agent identity.
    pub(super) sponsors: Vec<String>,
    pub(super) latency_ms: u64,
    pub(super) date_skew_ms: i64,
    pub(super) error_style: ErrorStyle,
    /// The rules that the fake has followed so far.
    pub(super) exercised: Trace,
    pub(super) memo: Memo,
    pub(super) last_asked: LastAsked,
}

/// A parsed request.
pub(super) struct Call<'a> {
    pub(super) now_ms: Ms,
    pub(super) seq: u64,
    pub(super) request: &'a Request,
    pub(super) url: &'a Url,
    pub(super) query: &'a Query,
    pub(super) route: &'a Route,
    pub(super) decoded_path: &'a str,
    /// Whether the caller asked for values of enumerations that are newer than the version.
    pub(super) newer_values: bool,
    pub(super) trace: Trace,
}

impl Call<'_> {
    /// The rest of the first preference that begins with `start`, among all `Prefer` headers.
    pub(super) fn preference(&self, start: &str) -> Option<&str> {
        let prefer = self.request.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("prefer"));
        let mut words = prefer.flat_map(|(_, value)| value.split(',')).map(str::trim);
        words.find_map(|word| word.strip_prefix(start))
    }

    /// Whether a preference is exactly `word`.
    pub(super) fn prefers(&self, word: &str) -> bool {
        self.preference(word) == Some("")
    }
}

/// The answer of an operation.
#[derive(Debug)]
pub(super) enum Reply {
    Json(u16, Value),
    /// JSON as text.
    Written(u16, String),
    /// A redirect to the address of a file.
    Elsewhere(String),
    Empty(u16),
    /// Anything else, with its content type.
    Body(u16, String, Vec<u8>),
    Lost,
}

impl Reply {
    /// One page of a list.
    pub(super) fn page(page: &impl Serialize) -> Self {
        // Serialization can't fail: JSON has a form for all names and values of a page.
        Self::Written(200, serde_json::to_string(page).unwrap_or_default())
    }
}

impl FakeGraph {
    /// An empty world that begins at the instant `started_at`.
    pub fn new(seed: u64, started_at: Timestamp) -> Self {
        Self::with_agent(&PersonSpec::default(), seed, started_at)
    }

    pub(super) fn with_agent(agent: &PersonSpec, seed: u64, started_at: Timestamp) -> Self {
        Self {
            seed,
            started_ms: moment::of(started_at),
            base_url: DEFAULT_BASE_URL.to_owned(),
            base: Url::parse(DEFAULT_BASE_URL).ok(),
            people: Counted::new(Directory::new(agent)),
            chats: Counted::default(),
            chat_handles: BTreeMap::new(),
            auth: Auth::new(),
            throttle: Throttle::default(),
            faults: Vec::new(),
            log: CallLog::default(),
            sent: Vec::new(),
            mailbox: None,
            sent_mails: Vec::new(),
            sponsors: Vec::new(),
            latency_ms: 0,
            date_skew_ms: 0,
            error_style: ErrorStyle::default(),
            exercised: Trace::default(),
            memo: Memo::default(),
            last_asked: LastAsked::default(),
        }
    }

    /// Serves one request at the instant `now`.
    pub fn handle(&mut self, now: Timestamp, request: &Request) -> Answer {
        self.log.total += 1;
        let seq = self.log.total;
        let now_ms = moment::of(now);
        let id = draw::guid(self.seed, &format!("request/{seq}"));
        let client_id = request.header_value("client-request-id").map(str::to_owned);
        let ids = Ids { client: client_id.clone().unwrap_or_else(|| id.clone()), request: id };
        let Some(asked) = self.last_asked.read(self.base.as_ref(), &request.method, &request.url) else {
            return self.elsewhere(now_ms, seq, request, &ids, "nowhere");
        };
        let url = &asked.url;
        if !asked.is_ours {
            return self.elsewhere(now_ms, seq, request, &ids, &url.origin().ascii_serialization());
        }
        let mut call = Call {
            now_ms,
            seq,
            request,
            url,
            query: &asked.query,
            route: &asked.route,
            decoded_path: &asked.decoded_path,
            newer_values: false,
            trace: Trace::default(),
        };
        call.newer_values = call.prefers("include-unknown-enum-members");
        let (reply, spoilers) = self.serve(&mut call);
        let mut answer = self.answer(reply, &mut call, &ids);
        if !spoilers.is_empty() {
            let again = format!("{}{}", self.base_url, asked.path_and_query);
            for action in spoilers {
                call.trace.note(action.rule());
                action.spoil(&mut answer, &again);
            }
        }
        if call.route.operation.is_of_mail()
            && let Some(mailbox) = &mut self.mailbox
        {
            let delay_ms = i64::try_from(answer.delay_ms).unwrap_or(i64::MAX);
            mailbox.busy_until_ms.push(now_ms.saturating_add(delay_ms));
        }
        let chat = call.route.chat.as_ref().and_then(|id| self.chat_handles.get(id)).cloned();
        self.exercised.rules.extend(&call.trace.rules);
        self.log.push(CallRecord {
            seq,
            at: now,
            method: request.method.clone(),
            path: asked.path_and_query.clone(),
            operation: call.route.operation,
            chat,
            status: answer.status,
            request_id: ids.request,
            client_request_id: client_id,
            rules: call.trace.rules,
            fate: answer.fate,
            delay_ms: answer.delay_ms,
        });
        answer
    }

    /// Answers a request to another origin, which does not reach the service.
    fn elsewhere(&mut self, now_ms: Ms, seq: u64, request: &Request, ids: &Ids, origin: &str) -> Answer {
        let at = moment::timestamp(now_ms);
        let with_token = request.header_value("authorization").is_some();
        let kind = ViolationKind::ForeignOrigin { origin: origin.to_owned(), with_token };
        self.log.violation(Violation { at, call: seq, kind });
        self.exercised.note(RuleId::ForeignOrigin);
        self.log.push(CallRecord {
            seq,
            at,
            method: request.method.clone(),
            path: origin.to_owned(),
            operation: Operation::Unknown,
            chat: None,
            status: 404,
            request_id: ids.request.clone(),
            client_request_id: None,
            rules: BTreeSet::from([RuleId::ForeignOrigin]),
            fate: Fate::Delivered,
            delay_ms: 0,
        });
        Answer {
            status: 404,
            headers: vec![("content-type".to_owned(), "text/plain".to_owned())],
            body: b"not here".to_vec(),
            delay_ms: 0,
            fate: Fate::Delivered,
        }
    }

    /// Checks the faults, then the token, then the request limits, and then carries out the operation.
    fn serve(&mut self, call: &mut Call<'_>) -> (Result<Reply, Rejection>, Vec<FaultAction>) {
        let chat_id = call.route.chat.clone().filter(|id| self.chat_handles.contains_key(id));
        let buckets = Bucket::of(call.route.operation, chat_id.as_deref());
        if let Some(refusal) = self.throttle.early(&buckets, call.now_ms) {
            return (Err(self.throttled(&refusal, call)), Vec::new());
        }
        let mut spoilers = Vec::new();
        for action in self.struck(call, chat_id.as_deref()) {
            if action.preempts() {
                return (self.preempted(&action, &buckets, call), spoilers);
            }
            spoilers.push(action);
        }
        (self.serve_honestly(&buckets, call), spoilers)
    }

    fn serve_honestly(&mut self, buckets: &[Bucket], call: &mut Call<'_>) -> Result<Reply, Rejection> {
        if call.route.operation == Operation::StoredFile && !call.route.wrong_method {
            return self.stored_file(call);
        }
        let token = self.auth.check(call.request, call.now_ms)?;
        if let Err(refusal) = self.throttle.count(buckets, call.now_ms) {
            return Err(self.throttled(&refusal, call));
        }
        self.count_mailbox(call)?;
        if call.route.wrong_method {
            let message = format!("{} is not supported here", call.request.method);
            return Err(Rejection::new(RuleId::WrongMethod, 405, message));
        }
        let wanted = auth::scopes_for(call.route.operation);
        if !wanted.is_empty() && !token.has_any(wanted) {
            let message =
                format!("missing scope permissions on the request, it needs one of '{}'", wanted.join(", "));
            return Err(Rejection::new(RuleId::ScopeMissing, 403, message));
        }
        if let Owner::User(user) = &call.route.owner {
            let me = self.people.agent();
            if *user != me.object_id && Some(user) != me.mail.as_ref() {
                return Err(Rejection::new(RuleId::OtherUser, 403, "another user's data was asked for"));
            }
        }
        match call.route.operation {
            Operation::Me => Ok(Reply::Json(200, self.me(call))),
            Operation::ListChats if token.has_any(auth::READ) => {
                self.told_again(call, |graph, call| graph.list_chats(call, true))
            }
            Operation::ListChats => self.list_chats(call, false),
            Operation::GetChat => self.get_chat(call),
            Operation::ListMessages => self.told_again(call, Self::list_messages),
            Operation::GetMessage => self.get_message(call),
            Operation::SendMessage => self.send_message(call),
            Operation::ReplyWithQuote => self.reply_with_quote(call),
            Operation::EditMessage => self.edit_message(call),
            Operation::SoftDelete => self.soft_delete(call),
            Operation::React => self.set_reaction(call),
            Operation::CreateChat => self.create_chat(call),
            Operation::MarkRead => self.mark_read(call),
            Operation::StoredFile => self.stored_file(call),
            Operation::HostedContent => self.hosted_content(call),
            Operation::ShareContent => self.share_content(call),
            Operation::ListMembers => self.list_members(call),
            Operation::AddMember => self.post_member(call),
            Operation::ListSponsors => self.list_sponsors(call),
            Operation::GetAllMessages => Err(Rejection::new(
                RuleId::AllMessagesDelegated,
                412,
                "requested API is not supported in delegated context",
            )),
            Operation::ChatDelta => Err(Rejection::bad_request(
                RuleId::ChatDeltaUndocumented,
                "delta is not supported on the messages of one chat",
            )),
            Operation::MailDelta => self.mail_delta(call),
            Operation::ListMail => self.mail_list(call),
            Operation::GetMail => self.get_mail(call),
            Operation::CreateMail => self.create_mail(call),
            Operation::EditMail => self.edit_mail(call),
            Operation::CreateReply => self.create_reply(call),
            Operation::ReplyMail => self.reply_mail(call),
            Operation::SendDraft => self.send_draft(call),
            Operation::Unknown => {
                Err(Rejection::new(RuleId::UnknownPath, 404, "resource not found for the path"))
            }
        }
    }

    /// Refuses a request if too many run at the same time. Sent mails whose time has come arrive first.
    fn count_mailbox(&mut self, call: &mut Call<'_>) -> Result<(), Rejection> {
        const AT_A_TIME_MAX: usize = 4;
        let (now_ms, seed, off) = (call.now_ms, self.seed, self.throttle.spec.off);
        let Some(mailbox) = self.mailbox.as_mut().filter(|_| call.route.operation.is_of_mail()) else {
            return Ok(());
        };
        mailbox.settle(now_ms, seed);
        mailbox.busy_until_ms.retain(|until_ms| *until_ms > now_ms);
        if off || mailbox.busy_until_ms.len() < AT_A_TIME_MAX {
            return Ok(());
        }
        let rejection = Rejection {
            code: "ApplicationThrottled",
            ..Rejection::new(
                RuleId::ThrottleMailboxConcurrency,
                429,
                "the application is over its MailboxConcurrency limit",
            )
        };
        let form = self.throttle.spec.retry_after;
        Err(self.told_to_wait(rejection, None, 1, form, call))
    }

    /// The faults that strike a call, up to the first that answers instead of the service.
    fn struck(&mut self, call: &Call<'_>, chat_id: Option<&str>) -> Vec<FaultAction> {
        let chat = chat_id.and_then(|id| self.chat_handles.get(id)).map(String::as_str);
        let seen = Seen {
            elapsed_ms: call.now_ms.saturating_sub(self.started_ms),
            method: &call.request.method,
            path: call.decoded_path,
            operation: call.route.operation,
            chat,
            has_orderby: call.query.option("$orderby").is_some(),
        };
        let mut struck = Vec::new();
        for (index, fault) in self.faults.iter_mut().enumerate() {
            if fault.strikes(self.seed, index, seen) {
                struck.push(fault.spec.action.clone());
                if fault.spec.action.preempts() {
                    break;
                }
            }
        }
        struck
    }

    fn preempted(
        &mut self,
        action: &FaultAction,
        buckets: &[Bucket],
        call: &mut Call<'_>,
    ) -> Result<Reply, Rejection> {
        call.trace.note(action.rule());
        match action {
            FaultAction::Status { code: status, retry_after_s, form, body } => {
                let mut rejection = Rejection::new(action.rule(), *status, "a fault was ordered");
                if let Some(seconds) = retry_after_s {
                    rejection = self.told_to_wait(rejection, buckets.first(), *seconds, *form, call);
                }
                rejection.body = *body;
                Err(rejection)
            }
            FaultAction::ClaimsChallenge { claims } => Err(auth::insufficient_claims(claims)),
            FaultAction::OrderbyRefused => Err(Rejection::bad_request(
                RuleId::FaultOrderby,
                "the query specified in the URI is not valid: $orderby",
            )),
            FaultAction::Body { status, content_type, text } => {
                Ok(Reply::Body(*status, content_type.clone(), text.clone().into_bytes()))
            }
            _ => Ok(Reply::Lost),
        }
    }

    fn throttled(&mut self, refusal: &Refusal, call: &mut Call<'_>) -> Rejection {
        call.trace.note(RuleId::ThrottledCounts);
        if let Some(until_ms) = refusal.told_until_ms {
            call.trace.note(RuleId::RetriedEarly);
            let kind = ViolationKind::RetriedEarly {
                bucket: refusal.bucket.clone(),
                until: moment::timestamp(until_ms),
            };
            let at = moment::timestamp(call.now_ms);
            self.log.violation(Violation { at, call: call.seq, kind });
        }
        let rejection = Rejection::new(refusal.rule, 429, "too many requests");
        let form = self.throttle.spec.retry_after;
        self.told_to_wait(rejection, Some(&refusal.bucket), refusal.wait_s, form, call)
    }

    /// Adds `Retry-After` in its form, and remembers that the caller was told to wait.
    fn told_to_wait(
        &mut self,
        rejection: Rejection,
        bucket: Option<&Bucket>,
        seconds: u32,
        form: RetryAfterForm,
        call: &mut Call<'_>,
    ) -> Rejection {
        call.trace.note(RuleId::RetryAfter);
        let clock_ms = call.now_ms.saturating_add(self.date_skew_ms);
        let Some(value) = form.value(seconds, clock_ms) else { return rejection };
        if let Some(bucket) = bucket {
            self.throttle.hold(bucket, call.now_ms.saturating_add(i64::from(seconds) * 1000));
        }
        rejection.with_header("retry-after", value)
    }

    fn answer(&self, reply: Result<Reply, Rejection>, call: &mut Call<'_>, ids: &Ids) -> Answer {
        call.trace.note(RuleId::RequestIds);
        call.trace.note(RuleId::DateHeader);
        let date = moment::http_date(call.now_ms.saturating_add(self.date_skew_ms));
        let mut answer = Answer {
            status: 0,
            headers: vec![
                ("request-id".to_owned(), ids.request.clone()),
                ("client-request-id".to_owned(), ids.client.clone()),
                ("date".to_owned(), date),
                ("cache-control".to_owned(), "no-store, no-cache".to_owned()),
            ],
            body: Vec::new(),
            delay_ms: self.latency_ms,
            fate: Fate::Delivered,
        };
        let mut fill = |status, content_type: &str, body| {
            (answer.status, answer.body) = (status, body);
            answer.set_header("content-type", content_type);
        };
        match reply {
            Ok(Reply::Json(status, value)) => fill(status, JSON_TYPE, value.to_string().into_bytes()),
            Ok(Reply::Written(status, text)) => fill(status, JSON_TYPE, text.into_bytes()),
            Ok(Reply::Body(status, content_type, body)) => fill(status, &content_type, body),
            Ok(Reply::Elsewhere(location)) => {
                answer.status = 302;
                answer.set_header("location", &location);
            }
            Ok(Reply::Empty(status)) => answer.status = status,
            Ok(Reply::Lost) => answer.fate = Fate::DroppedBeforeApply,
            Err(rejection) => self.refuse(&mut answer, &rejection, call, ids),
        }
        answer
    }

    fn refuse(&self, answer: &mut Answer, rejection: &Rejection, call: &mut Call<'_>, ids: &Ids) {
        call.trace.note(rejection.rule);
        answer.status = rejection.status;
        for (name, value) in &rejection.headers {
            answer.set_header(name, value);
        }
        match rejection.body {
            ErrorBody::Empty => {}
            ErrorBody::Html => {
                answer.set_header("content-type", "text/html; charset=utf-8");
                answer.body = GATEWAY_PAGE.as_bytes().to_vec();
            }
            ErrorBody::Envelope => {
                answer.set_header("content-type", JSON_TYPE);
                call.trace.note(match self.error_style {
                    ErrorStyle::Plain => RuleId::ErrorEnvelope,
                    ErrorStyle::LowerCaseNested => RuleId::ErrorLowerCase,
                });
                let clock_ms = call.now_ms.saturating_add(self.date_skew_ms);
                let body = envelope(rejection.code, &rejection.message, self.error_style, clock_ms, ids);
                answer.body = body.to_string().into_bytes();
            }
        }
    }
}
