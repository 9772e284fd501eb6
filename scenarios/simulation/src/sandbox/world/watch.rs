//! Watches the agent's server: its polling, the messages that it read, and those that the agent wrote.
//! It must never change what people wrote, and it tells each thing once.

use fake_microsoft::graph::{AGENT, CallRecord, Operation};
use jiff::Timestamp;
use serde_json::Value;

use super::super::news::News;
use super::super::state::{Polling, PollingIs};
use super::super::text;
use super::{Entry, MAIL, Mail, PLACES_MAX, World, entry, ms};

/// After this long without a request the server is taken for gone, in milliseconds.
pub(super) const SILENT_AFTER_MS: i64 = 10_000;

impl World {
    /// Takes in what the server has asked and the agent has written since the last look.
    pub(crate) fn look(&mut self, now: Timestamp) -> Vec<News> {
        let mut news = Vec::new();
        let seen = self.calls_seen;
        let calls: Vec<CallRecord> = self.graph.with(|graph| {
            let new = usize::try_from(graph.calls_total().saturating_sub(seen)).unwrap_or(usize::MAX);
            let log = graph.call_log();
            let old = log.len().saturating_sub(new);
            log.skip(old).cloned().collect()
        });
        let mut changed = false;
        for call in calls {
            self.calls_seen = call.seq;
            changed |= self.called(&call, &mut news);
        }
        self.sent(&mut news);
        if self.polling == PollingIs::Now
            && self.asked_ms.is_some_and(|at| ms(now).saturating_sub(at) > SILENT_AFTER_MS)
        {
            self.polling = PollingIs::Stopped;
            news.push(News::Silent);
        }
        if changed || !news.is_empty() {
            self.version += 1;
        }
        news
    }

    /// Notes the messages that a line to a session shows.
    pub(crate) fn reached(&mut self, line: &Value) {
        for id in shown_in(line) {
            let entries =
                self.entries.values_mut().flatten().filter(|entry| entry.id == id && !entry.reached);
            for entry in entries {
                entry.reached = true;
                self.version += 1;
            }
        }
    }

    /// Whether a server asks.
    pub(crate) fn polling(&self, now: Timestamp) -> Polling {
        let ago_ms = self.asked_ms.map(|at| u64::try_from(ms(now).saturating_sub(at)).unwrap_or(0));
        Polling { is: self.polling, ago_ms }
    }

    /// One call of the server; says whether it shows.
    fn called(&mut self, call: &CallRecord, news: &mut Vec<News>) -> bool {
        if call.status == 401 {
            let first = self.polling != PollingIs::Refused && self.polling != PollingIs::Now;
            if first {
                self.polling = PollingIs::Refused;
                news.push(News::Refused);
            }
            return first;
        }
        let is_poll =
            matches!(call.operation, Operation::ListChats | Operation::ListMessages | Operation::MailDelta);
        if !(200..300).contains(&call.status) {
            return false;
        }
        if is_poll {
            self.asked_ms = Some(ms(call.at));
            if self.polling != PollingIs::Now {
                self.polling = PollingIs::Now;
                news.push(News::Polls);
            }
        }
        match (call.operation, &call.chat) {
            (Operation::ListMessages, Some(chat)) => {
                let chat = chat.clone();
                self.read(&chat, |entry| entry.changed_ms <= ms(call.at), news)
            }
            (Operation::GetMail, _) => self.read(MAIL, |entry| call.path.contains(&entry.id), news),
            (Operation::EditMessage | Operation::SoftDelete | Operation::React, _) => true,
            _ => false,
        }
    }

    fn read(&mut self, place: &str, is_it: impl Fn(&Entry) -> bool, news: &mut Vec<News>) -> bool {
        let mut who = Vec::new();
        for entry in self.entries.get_mut(place).into_iter().flatten() {
            if !entry.read && is_it(entry) {
                entry.read = true;
                if entry.from != AGENT {
                    who.push(entry.from.clone());
                }
            }
        }
        let place = self.title(place);
        news.extend(who.iter().map(|who| News::Read { who: self.name(who), place: place.clone() }));
        !who.is_empty()
    }

    /// The agent's messages since the last look.
    fn sent(&mut self, news: &mut Vec<News>) {
        let (sent, mails) = self.graph.with(|graph| {
            let sent = graph.messages_sent_by_agent().get(self.sent_seen..).unwrap_or_default().to_vec();
            let mails = graph.mails_sent_by_agent().get(self.mails_seen..).unwrap_or_default().to_vec();
            (sent, mails)
        });
        self.sent_seen += sent.len();
        self.mails_seen += mails.len();
        for sent in sent {
            let text = text::readable_html(&sent.content);
            news.push(News::Agent { does: format!("writes in {}", self.title(&sent.chat)), text });
            if !self.has(&sent.chat) {
                if self.places.len() >= PLACES_MAX {
                    continue;
                }
                self.places.push(sent.chat.clone());
            }
            let entry = entry(sent.message_id, AGENT.to_owned(), sent.at, None);
            self.keep(sent.chat, entry);
        }
        for sent in mails {
            let does = format!("sends a mail to {}", sent.to.join(", "));
            news.push(News::Agent { does, text: sent.subject.clone() });
            let mail =
                Mail { subject: sent.subject, content: sent.content, html: true, to: sent.to, at: sent.at };
            let entry = entry(sent.message_id, AGENT.to_owned(), sent.at, Some(mail));
            self.keep(MAIL.to_owned(), entry);
        }
    }
}

/// Ids of the messages that a server's line shows to the model: in a result, or pushed.
fn shown_in(line: &Value) -> Vec<String> {
    let blocks = ["/result/content", "/result/contents"].map(|place| line.pointer(place));
    let texts = blocks.into_iter().flatten().filter_map(Value::as_array).flatten();
    let results = texts.filter_map(|block| serde_json::from_str::<Value>(block["text"].as_str()?).ok());
    let ids = |result: &Value| -> Vec<String> {
        let messages = result["messages"].as_array().into_iter().flatten();
        messages.filter_map(|message| message["id"].as_str()).map(str::to_owned).collect()
    };
    let pushed = line.pointer("/params/meta/message_id").and_then(Value::as_str).map(str::to_owned);
    results.flat_map(|result| ids(&result)).chain(pushed).collect()
}
