//! `read_email` and `send_email`: there only with a mail, and answered when the mail is done.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use entraclaw_inbox::tool::{
    ContentType, EmailResult, MailError, MailService, MailTarget, OutgoingMail, SentMail,
};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::{Home, tool_json, tool_text};

const MAIL_TOOL_NAMES: [&str; 2] = ["read_email", "send_email"];

/// A mail that takes a while and remembers what it was asked.
#[derive(Default)]
struct FakeMail {
    asked: Mutex<Vec<OutgoingMail>>,
    fails: Option<MailError>,
}

impl MailService for FakeMail {
    fn read_email(&self, message_id: String) -> BoxFuture<'static, Result<EmailResult, MailError>> {
        let content_text_sanitized = "x".repeat(20_000);
        let page = EmailResult { subject: message_id, content_text_sanitized, ..EmailResult::default() };
        let outcome = self.fails.clone().map_or(Ok(page), Err);
        async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            outcome
        }
        .boxed()
    }

    fn send_email(&self, mail: OutgoingMail) -> BoxFuture<'static, Result<SentMail, MailError>> {
        self.asked.lock().unwrap().push(mail);
        let sent = SentMail {
            message_id: "sent-1".to_owned(),
            to: vec!["alice@contoso.com".to_owned()],
            subject: "RE: x".to_owned(),
        };
        let outcome = self.fails.clone().map_or(Ok(sent), Err);
        async move {
            tokio::time::sleep(Duration::from_secs(5)).await;
            outcome
        }
        .boxed()
    }
}

fn names(answer: &Value) -> Vec<String> {
    let tools = answer["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test(start_paused = true)]
async fn the_tools_are_there_only_with_a_mailbox() {
    let home = Home::new();
    let mut host = home.host("some-host").await;
    host.request(1, "tools/list", json!({})).await;
    let without = host.next_answer().await;
    assert!(names(&without).iter().all(|name| !MAIL_TOOL_NAMES.contains(&name.as_str())));
    host.call(2, "read_email", json!({"message_id": "1"})).await;
    let unknown = host.next_answer().await;
    assert!(unknown["error"]["message"].as_str().unwrap().contains("no tool is named `read_email`"));

    let home = Home { mail: Some(Arc::new(FakeMail::default())), ..Home::new() };
    let mut host = home.host("some-host").await;
    host.request(1, "tools/list", json!({})).await;
    let with = host.next_answer().await;
    let listed = names(&with);
    assert!(MAIL_TOOL_NAMES.iter().all(|name| listed.contains(&(*name).to_owned())) && listed.is_sorted());
    let bytes = with.to_string().len();
    assert!(bytes <= 12_000, "{bytes}");
}

#[tokio::test(start_paused = true)]
async fn a_mail_is_read_in_parts_and_answered() {
    let mail = Arc::new(FakeMail::default());
    let home = Home { mail: Some(mail.clone()), ..Home::new() };
    let mut host = home.host("some-host").await;
    let first = host.ask(1, "read_email", json!({"message_id": "m1"})).await;
    assert_eq!(
        (&first["message_id"], &first["subject"], &first["part_from"]),
        (&json!("m1"), &json!("m1"), &json!(0))
    );
    let rest = first["rest_from"].as_u64().unwrap();
    let second = host.ask(2, "read_email", json!({"message_id": "m1", "part_from": rest})).await;
    assert_eq!(second["part_from"], rest);
    let sent = host.ask(3, "send_email", json!({"reply_to": "m1", "content": "<p>ok</p>"})).await;
    assert_eq!(
        sent,
        json!({"sent": true, "message_id": "sent-1", "to": ["alice@contoso.com"], "subject": "RE: x"})
    );
    let target = MailTarget::Reply { message_id: "m1".to_owned() };
    let asked = OutgoingMail { target, content: "<p>ok</p>".to_owned(), content_type: ContentType::Html };
    assert_eq!(*mail.asked.lock().unwrap(), [asked]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_mail_service_holds_up_nothing() {
    let home = Home { mail: Some(Arc::new(FakeMail::default())), ..Home::new() };
    let mut host = home.host("some-host").await;
    host.call(1, "send_email", json!({"reply_to": "m1", "content": "x"})).await;
    host.request(2, "ping", json!({})).await;
    assert_eq!(host.next().await["id"], 2);
    let answer = host.next().await;
    assert_eq!((&answer["id"], &tool_json(&answer)["sent"]), (&json!(1), &json!(true)));
}

#[rstest]
#[case(
    MailError::UnknownMail,
    "reply_to: no mail with this id has been delivered to you; nothing was sent; copy"
)]
#[case(MailError::Gone, "reply_to: the mailbox has this mail no longer; nothing was sent")]
#[case(MailError::NotAllowed("x@contoso.com".to_owned()), "to: mail to x@contoso.com is not allowed; nothing was sent; tell your user")]
#[case(MailError::TooMany, "enough mail has been sent there for this hour; nothing was sent")]
#[case(MailError::Refused("content: it is empty".to_owned()), "content: it is empty; nothing was sent")]
#[case(MailError::Graph("403".to_owned()), "403; nothing was sent")]
#[case(MailError::UnknownOutcome("reset".to_owned()), "no answer came, it may or may not have left: reset; ask your user")]
#[tokio::test(start_paused = true)]
async fn a_failure_says_what_happened_and_what_to_do(#[case] error: MailError, #[case] text: &str) {
    let mail = FakeMail { fails: Some(error), ..FakeMail::default() };
    let home = Home { mail: Some(Arc::new(mail)), ..Home::new() };
    let mut host = home.host("some-host").await;
    host.call(1, "send_email", json!({"reply_to": "m1", "content": "x"})).await;
    let answer = host.next_answer().await;
    assert_eq!(answer["result"]["isError"], true);
    assert!(tool_text(&answer).starts_with(text), "{answer}");
}

#[tokio::test(start_paused = true)]
async fn teams_is_not_where_mail_is_answered() {
    let home = Home::new();
    let mut host = home.host("some-host").await;
    host.call(1, "send_teams_message", json!({"chat_id": "email", "content": "x"})).await;
    assert!(tool_text(&host.next_answer().await).contains("answer with send_email"));
    assert!(home.outbox.sent.lock().unwrap().is_empty());
}
