//! The fake channel and its connector as one state machine: no clock, no socket, no randomness of its own.
//! It must never take an answer from a client without a token that it has issued.

use std::collections::BTreeMap;

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::sign::{self, Forgery, Saying};
use super::{CHANNEL, LOGIN_URL, METADATA_URL, SERVICE_URL};
use crate::graph::{Answer, Fate, Request, application_id, tenant_id};

/// The number of requests that are recorded.
const CALLS_MAX: usize = 10_000;
/// The scope in a request for a connector token.
const CONNECTOR_SCOPE: &str = "https://api.botframework.com/.default";
/// How long a token is valid, in seconds.
const TOKEN_LIFE_S: i64 = 3_600;

/// A person who writes to the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotPerson {
    /// Object id in the directory.
    pub object_id: String,
    /// Home tenant.
    pub tenant_id: String,
    /// Display name.
    pub name: String,
}

/// The event that an activity reports.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BotEvent {
    /// A message was written.
    #[default]
    Message,
    /// A message was changed.
    Update,
    /// A message was deleted.
    Delete,
    /// The bot was added to the conversation.
    Added,
    /// The bot was removed from the conversation.
    Removed,
    /// The activity's sender was removed from the conversation.
    Left,
}

/// The content of an activity that the channel shall send to the bot.
#[derive(Debug, Clone, Default)]
pub struct BotSaying {
    /// The event that the activity reports.
    pub event: BotEvent,
    /// The handle of the conversation.
    pub conversation: String,
    /// The conversation has more than two members.
    pub group: bool,
    /// The text begins with a mention of the bot.
    pub mention: bool,
    /// The text.
    pub text: String,
    /// The text of another person that the message quotes. Teams also puts it at the beginning of the text.
    pub quote: Option<String>,
    /// The id of the message that is changed or deleted; absent means a new id.
    pub id: Option<String>,
    /// What is wrong with the activity, if anything.
    pub forgery: Option<Forgery>,
}

/// An activity that the channel sends to the bot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotDelivery {
    /// The activity's id.
    pub id: String,
    /// The conversation's id.
    pub conversation_id: String,
    /// The headers; their names are in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// An answer of the bot that the connector accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BotSent {
    /// The activity's id.
    pub id: String,
    /// The id of the conversation.
    pub conversation_id: String,
    /// The id of the activity that it answers; empty when it answers none.
    pub reply_to: String,
    /// The text.
    pub text: String,
}

/// A fault of the service, which happens once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BotFault {
    /// The connector refuses the answer and tells the bot to wait for a second.
    Throttled,
    /// The token ends, so the connector refuses it.
    TokenEnded,
    /// The connector accepts the answer, and the connection breaks.
    LostAnswer,
    /// The connector fails without accepting the answer.
    Unavailable,
    /// The bot can't connect to the connector.
    Refused,
    /// The login service refuses the secret.
    SecretWrong,
    /// The bot can't fetch the keys.
    KeysDown,
}

/// A fake Bot Framework channel with one registered bot.
#[derive(Debug)]
pub struct FakeBot {
    app_id: String,
    tenant_id: String,
    secret: String,
    metadata_url: String,
    login_url: String,
    service_url: String,
    changes: usize,
    last_id: i64,
    conversations: BTreeMap<String, String>,
    tokens: BTreeMap<String, i64>,
    faults: Vec<BotFault>,
    sent: Vec<BotSent>,
    calls: Vec<String>,
}

impl Default for FakeBot {
    fn default() -> Self {
        Self {
            app_id: application_id("bot"),
            tenant_id: tenant_id(crate::graph::HOME_TENANT),
            secret: "sim-bot-secret-9b2e71c4d0".to_owned(),
            metadata_url: METADATA_URL.to_owned(),
            login_url: LOGIN_URL.to_owned(),
            service_url: SERVICE_URL.to_owned(),
            changes: 0,
            last_id: 0,
            conversations: BTreeMap::new(),
            tokens: BTreeMap::new(),
            faults: Vec::new(),
            sent: Vec::new(),
            calls: Vec::new(),
        }
    }
}

impl FakeBot {
    /// The bot's registration: application id, tenant, secret.
    pub fn registration(&self) -> (&str, &str, &str) {
        (&self.app_id, &self.tenant_id, &self.secret)
    }

    /// The URLs of the metadata and of the login service.
    pub fn urls(&self) -> (&str, &str) {
        (&self.metadata_url, &self.login_url)
    }

    /// Moves all addresses to one origin, such as `http://127.0.0.1:4000`.
    pub fn set_base_url(&mut self, base: &str) {
        self.metadata_url = format!("{base}/v1/.well-known/openidconfiguration");
        base.clone_into(&mut self.login_url);
        self.service_url = format!("{base}/teams/");
    }

    /// The id of the conversation with this handle; it is the same in every world.
    pub fn conversation_id(handle: &str) -> String {
        let id = application_id(&format!("conversation/{handle}")).replace('-', "");
        if handle.starts_with("group") { format!("19:{id}@thread.v2") } else { format!("a:1{id}") }
    }

    /// Makes the channel sign with another key from now on, and withdraw the old one.
    pub fn change_keys(&mut self) {
        self.changes += 1;
    }

    /// Adds a fault; it strikes the next request that it fits.
    pub fn add_fault(&mut self, fault: BotFault) {
        self.faults.push(fault);
    }

    /// The answers that the connector accepted, oldest first.
    pub fn sent(&self) -> &[BotSent] {
        &self.sent
    }

    /// The method, URL and status of each request so far.
    pub fn calls(&self) -> &[String] {
        &self.calls
    }

    /// The secret and every token; none of them may appear in a line, a file or a text.
    pub fn secrets(&self) -> Vec<String> {
        self.tokens.keys().cloned().chain([self.secret.clone()]).collect()
    }

    /// Whether a request is for this fake. Other clients ask the same login service for tokens, but not for
    /// the connector.
    pub fn is_ours(&self, request: &Request) -> bool {
        let bases = [self.metadata_url.rsplit_once("/v1/").map_or("", |(base, _)| base), &self.service_url];
        let for_connector = || {
            let mut form = url::form_urlencoded::parse(&request.body);
            form.any(|(name, value)| name == "scope" && value == CONNECTOR_SCOPE)
        };
        bases.iter().any(|base| request.url.starts_with(base))
            || request.url.starts_with(&self.token_url()) && for_connector()
    }

    fn token_url(&self) -> String {
        format!("{}/{}/oauth2/v2.0/token", self.login_url, self.tenant_id)
    }

    /// Makes an activity that is from a person.
    pub fn deliver(&mut self, now: Timestamp, from: &BotPerson, saying: &BotSaying) -> BotDelivery {
        let conversation_id = Self::conversation_id(&saying.conversation);
        self.conversations.insert(conversation_id.clone(), saying.conversation.clone());
        let id = saying.id.clone().unwrap_or_else(|| {
            // An id of Teams is the instant in milliseconds; no two ids are equal.
            self.last_id = now.as_millisecond().max(self.last_id + 1);
            self.last_id.to_string()
        });
        let forgery = saying.forgery;
        let service_url = match forgery {
            Some(Forgery::ForeignService) => "https://smba.trafficmanager.net.contoso.com/emea/",
            _ => &self.service_url,
        };
        let channel = if forgery == Some(Forgery::OtherChannel) { sign::OTHER_CHANNEL } else { CHANNEL };
        let bot_id = format!("28:{}", self.app_id);
        let (kind, event) = match saying.event {
            BotEvent::Message => ("message", None),
            BotEvent::Update => ("messageUpdate", Some("editMessage")),
            BotEvent::Delete => ("messageDelete", Some("softDeleteMessage")),
            BotEvent::Added | BotEvent::Removed | BotEvent::Left => ("conversationUpdate", None),
        };
        let mut activity = json!({
            "type": kind, "id": id, "channelId": channel, "serviceUrl": service_url,
            "timestamp": format!("{now:.3}"), "localTimestamp": format!("{now:.3}"), "locale": "en-US",
            "from": {"id": format!("29:1{}", from.object_id.replace('-', "")), "name": from.name, "aadObjectId": from.object_id},
            "conversation": {"id": conversation_id, "tenantId": from.tenant_id,
                "conversationType": if saying.group { "groupChat" } else { "personal" }},
            "recipient": {"id": bot_id, "name": "Agent"},
            "channelData": {"tenant": {"id": from.tenant_id}},
        });
        if saying.group {
            activity["conversation"]["isGroup"] = json!(true);
        }
        if let Some(event) = event {
            activity["channelData"]["eventType"] = json!(event);
        }
        match saying.event {
            BotEvent::Message | BotEvent::Update => {
                let mention = if saying.mention { "<at>Agent</at> " } else { "" };
                let quote = saying.quote.as_deref().unwrap_or_default();
                activity["text"] = json!(format!("{mention}{quote}{}", saying.text));
                if saying.quote.is_some() {
                    let html = format!(
                        "<blockquote itemtype=\"http://schema.skype.com/Reply\"><p>{quote}</p></blockquote><p>{}</p>",
                        saying.text
                    );
                    activity["attachments"] = json!([{"contentType": "text/html", "content": html}]);
                }
                activity["textFormat"] = json!("plain");
                activity["entities"] = if saying.mention {
                    json!([{"type": "mention", "text": "<at>Agent</at>", "mentioned": {"id": bot_id, "name": "Agent"}}])
                } else {
                    json!([])
                };
            }
            BotEvent::Added => activity["membersAdded"] = json!([{"id": bot_id}]),
            BotEvent::Removed => activity["membersRemoved"] = json!([{"id": bot_id}]),
            BotEvent::Left => {
                activity["membersRemoved"] =
                    json!([{"id": activity["from"]["id"], "aadObjectId": from.object_id}]);
            }
            BotEvent::Delete => {}
        }
        let said =
            Saying { app_id: &self.app_id, service_url, now_s: now.as_second(), changes: self.changes };
        let mut headers = vec![("content-type".to_owned(), "application/json; charset=utf-8".to_owned())];
        headers.extend(sign::authorization(&said, forgery).map(|value| ("authorization".to_owned(), value)));
        let body = if forgery == Some(Forgery::NoActivity) {
            b"{\"type\":".to_vec()
        } else {
            activity.to_string().into_bytes()
        };
        BotDelivery { id, conversation_id, headers, body }
    }

    /// Serves a request to the metadata, the key set, the login service or the connector.
    pub fn handle(&mut self, now: Timestamp, request: &Request) -> Answer {
        let answer = self.route(now, request);
        if self.calls.len() < CALLS_MAX {
            self.calls.push(format!("{} {} → {}", request.method, request.url, answer.status));
        }
        answer
    }

    fn route(&mut self, now: Timestamp, request: &Request) -> Answer {
        let path = path_of(&request.url);
        if path == path_of(&self.metadata_url) {
            if self.meets(BotFault::KeysDown) {
                return plain(503, &json!({}));
            }
            let jwks = self.metadata_url.replace("openidconfiguration", "keys");
            return plain(
                200,
                &json!({
                    "issuer": "https://api.botframework.com", "jwks_uri": jwks,
                    "id_token_signing_alg_values_supported": ["RS256"]
                }),
            );
        }
        if path.ends_with("/v1/.well-known/keys") {
            return plain(200, &sign::key_set(self.changes));
        }
        if path == path_of(&self.token_url()) {
            return self.token(now, request);
        }
        self.connector(now, request, path)
    }

    fn token(&mut self, now: Timestamp, request: &Request) -> Answer {
        let form: BTreeMap<String, String> =
            url::form_urlencoded::parse(&request.body).into_owned().collect();
        let is = |name: &str, wanted: &str| form.get(name).is_some_and(|value| value == wanted);
        let refuse = |number: &str, why: &str| {
            plain(
                401,
                &json!({"error": "invalid_client", "error_description": format!("AADSTS{number}: {why}")}),
            )
        };
        if self.meets(BotFault::SecretWrong)
            || !is("client_secret", &self.secret)
            || !is("client_id", &self.app_id)
        {
            return refuse("7000215", "Invalid client secret provided.");
        }
        if !is("grant_type", "client_credentials") || !is("scope", CONNECTOR_SCOPE) {
            return refuse("70011", "The provided value for the input parameter 'scope' is not valid.");
        }
        let token = format!("sim-bot-token-{}-5d1c", self.tokens.len() + 1);
        self.tokens.insert(token.clone(), now.as_second() + TOKEN_LIFE_S);
        plain(200, &json!({"token_type": "Bearer", "expires_in": TOKEN_LIFE_S, "access_token": token}))
    }

    fn connector(&mut self, now: Timestamp, request: &Request, path: &str) -> Answer {
        if self.meets(BotFault::Refused) {
            return Answer { fate: Fate::DroppedBeforeApply, ..plain(0, &json!({})) };
        }
        if self.meets(BotFault::Unavailable) {
            return plain(503, &json!({}));
        }
        let bearer = request.header_value("authorization").and_then(|value| value.strip_prefix("Bearer "));
        if self.meets(BotFault::TokenEnded) {
            bearer.and_then(|token| self.tokens.get_mut(token)).into_iter().for_each(|until_s| *until_s = 0);
        }
        let good =
            bearer.and_then(|token| self.tokens.get(token)).is_some_and(|until_s| *until_s > now.as_second());
        if !good {
            return plain(
                401,
                &json!({"error": {"code": "Unauthorized", "message": "Authorization has been denied."}}),
            );
        }
        if self.meets(BotFault::Throttled) {
            let mut answer =
                plain(429, &json!({"error": {"code": "Throttled", "message": "Too many requests."}}));
            answer.headers.push(("retry-after".to_owned(), "1".to_owned()));
            return answer;
        }
        let parts: Option<Vec<String>> = path.strip_prefix(path_of(&self.service_url)).map(|rest| {
            rest.split('/')
                .map(|part| percent_encoding::percent_decode_str(part).decode_utf8_lossy().into_owned())
                .collect()
        });
        let parts = parts.unwrap_or_default();
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let (conversation_id, reply_to) = match parts.as_slice() {
            ["v3", "conversations", id, "activities"] => (*id, ""),
            ["v3", "conversations", id, "activities", reply_to] => (*id, *reply_to),
            _ => return plain(404, &json!({})),
        };
        if request.method != "POST" || !self.conversations.contains_key(conversation_id) {
            return plain(
                404,
                &json!({"error": {"code": "ConversationNotFound", "message": "Conversation not found."}}),
            );
        }
        let activity: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        let (Some("message"), Some(text)) = (activity["type"].as_str(), activity["text"].as_str()) else {
            return plain(
                400,
                &json!({"error": {"code": "BadSyntax", "message": "The activity is not one."}}),
            );
        };
        let id = format!("bot-{}", self.sent.len() + 1);
        self.sent.push(BotSent {
            id: id.clone(),
            conversation_id: conversation_id.to_owned(),
            reply_to: reply_to.to_owned(),
            text: text.to_owned(),
        });
        let answer = plain(201, &json!({"id": id}));
        let lost = self.meets(BotFault::LostAnswer);
        if lost { Answer { fate: Fate::DroppedAfterApply, ..answer } } else { answer }
    }

    fn meets(&mut self, fault: BotFault) -> bool {
        let place = self.faults.iter().position(|waiting| *waiting == fault);
        place.map(|place| self.faults.remove(place)).is_some()
    }
}

fn plain(status: u16, body: &Value) -> Answer {
    Answer {
        status,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
        body: body.to_string().into_bytes(),
        delay_ms: 20,
        fate: Fate::Delivered,
    }
}

/// The path of an absolute URL, or of a path with a query.
fn path_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest.find('/').map_or("/", |at| &rest[at..]));
    rest.split(['?', '#']).next().unwrap_or(rest)
}
