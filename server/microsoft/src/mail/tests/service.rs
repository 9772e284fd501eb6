//! Which mails are shown whole, and which mails are sent, once.

use rstest::rstest;

use super::*;
use entraclaw_inbox::tool::{ContentType, MailError, MailService as _, MailTarget, OutgoingMail};

async fn house_with_a_mail() -> House {
    let house = House::new().await;
    house.mailbox.mail("m1", 1, MailSpec { subject: "x".to_owned(), ..MailSpec::default() }).await;
    house.run_s(30).await;
    assert_eq!(house.news(), ["m1"]);
    house
}

fn new(to: &str) -> OutgoingMail {
    let target = MailTarget::New { to: vec![to.to_owned()], subject: "Hello".to_owned() };
    OutgoingMail { target, content: "<p>hi</p>".to_owned(), content_type: ContentType::Html }
}

fn reply(house: &House) -> OutgoingMail {
    OutgoingMail { target: MailTarget::Reply { message_id: house.mailbox.id("m1") }, ..new("") }
}

fn sent(house: &House) -> usize {
    house.mailbox.with(|fake| fake.mails_sent_by_agent().len())
}

fn sends(house: &House) -> usize {
    house.mailbox.lines().iter().filter(|line| line.ends_with("/send")).count()
}

#[tokio::test(start_paused = true)]
async fn an_answer_goes_to_the_proven_address_alone() {
    let house = house_with_a_mail().await;
    let outcome = house.service().send_email(reply(&house)).await.unwrap();
    assert_eq!((outcome.to, outcome.subject.as_str()), (vec!["alice@contoso.com".to_owned()], "RE: x"));
    let sent = house.mailbox.with(|fake| fake.mails_sent_by_agent().to_vec());
    let [mail] = sent.as_slice() else { panic!("{sent:?}") };
    assert_eq!((mail.to.as_slice(), mail.cc.len()), (["alice@contoso.com".to_owned()].as_slice(), 0));
    assert_eq!((mail.content.as_str(), mail.answers.as_deref()), ("<p>hi</p>", Some("<m1@contoso.com>")));
    let log = house.interactions("outbound");
    assert_eq!(log.len(), 2, "before and after");
    let id = house.mailbox.id("m1");
    assert!(log.iter().all(|line| line["id"] == id && !line.to_string().contains("hi</p>")));
}

#[tokio::test(start_paused = true)]
async fn an_answer_to_a_mail_that_was_removed_says_so() {
    let house = house_with_a_mail().await;
    let answer = reply(&house);
    house.mailbox.remove("m1");
    assert_eq!(house.service().send_email(answer).await.unwrap_err(), MailError::Gone);
    assert_eq!((sends(&house), sent(&house)), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn only_allowed_people_are_written_to_or_read() {
    let house = house_with_a_mail().await;
    let service = house.service();
    let before = house.mailbox.lines().len();
    for address in
        ["mallory@contoso.com", "Alice <alice@contoso.com>", "", "alice@contoso.com\r\nBcc: x@contoso.com"]
    {
        assert!(matches!(service.send_email(new(address)).await, Err(MailError::NotAllowed(_))), "{address}");
    }
    let m1 = house.mailbox.id("m1");
    for id in ["m2".to_owned(), String::new(), format!("../{m1}"), format!("{m1}/send")] {
        let target = MailTarget::Reply { message_id: id.clone() };
        let outcome = service.send_email(OutgoingMail { target, ..new("") }).await;
        assert_eq!(outcome.unwrap_err(), MailError::UnknownMail);
        assert_eq!(service.read_email(id).await.unwrap_err(), MailError::UnknownMail);
    }
    for content in ["<script>x</script>", " ", "my token is token-1"] {
        let outcome = service.send_email(OutgoingMail { content: content.to_owned(), ..reply(&house) }).await;
        assert!(matches!(outcome, Err(MailError::Refused(_))), "{content}");
    }
    let target = MailTarget::New { to: vec!["alice@contoso.com".to_owned()], subject: "token-1".to_owned() };
    let outcome = service.send_email(OutgoingMail { target, ..reply(&house) }).await.unwrap_err();
    assert!(!outcome.to_string().contains("token-1"), "{outcome}");
    assert_eq!(house.mailbox.lines().len(), before, "nothing was even asked");
    // A sender who has lost permission gets no answer either, though the mail was delivered.
    let closed = GraphMailService { gate: Arc::new(MailGate::new([])), ..service };
    assert_eq!(closed.send_email(reply(&house)).await.unwrap_err(), MailError::UnknownMail);
    assert_eq!(closed.read_email(m1).await.unwrap_err(), MailError::UnknownMail);
}

#[tokio::test(start_paused = true)]
async fn a_conversation_has_a_bound() {
    let house = house_with_a_mail().await;
    let service = house.service();
    service.send_email(reply(&house)).await.unwrap();
    service.send_email(reply(&house)).await.unwrap();
    assert_eq!(service.send_email(reply(&house)).await.unwrap_err(), MailError::TooMany);
    service.send_email(new("alice@contoso.com")).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3_601)).await;
    service.send_email(reply(&house)).await.unwrap();
}

/// How the answer to `send` is lost, and whether the mail left all the same.
#[rstest]
#[case(true, Reply::broken, 1)]
#[case(false, Reply::broken, 2)]
#[case(true, || Reply::error(503, "ServiceUnavailable"), 1)]
#[case(false, || Reply::error(504, "GatewayTimeout"), 2)]
#[case(false, Reply::unreachable, 2)]
#[tokio::test(start_paused = true)]
async fn a_lost_answer_is_looked_up_in_the_draft(
    #[case] left: bool,
    #[case] lost: fn() -> Reply,
    #[case] posts: usize,
) {
    let house = house_with_a_mail().await;
    let mut first = true;
    let mut is_lost = move |line: &str| line.ends_with("/send") && std::mem::take(&mut first);
    if left {
        house.mailbox.graph.change(move |line, reply| if is_lost(line) { lost() } else { reply });
    } else {
        house.mailbox.fault(move |line| is_lost(line).then(lost));
    }
    house.service().send_email(new("alice@contoso.com")).await.unwrap();
    assert_eq!((sent(&house), sends(&house)), (1, posts));
}

#[tokio::test(start_paused = true)]
async fn what_can_not_be_looked_up_is_not_sent_again() {
    let house = house_with_a_mail().await;
    house.mailbox.fault(|line| {
        let look = line.starts_with("GET") && line.ends_with("?$select=id,isDraft");
        (line.ends_with("/send") || look).then(Reply::broken)
    });
    let error = house.service().send_email(new("alice@contoso.com")).await.unwrap_err();
    assert!(matches!(error, MailError::UnknownOutcome(_)), "{error}");
    assert_eq!(sends(&house), 1);
}

#[rstest]
#[case(403, "ErrorAccessDenied", "Mail.Send")]
#[case(400, "ErrorInvalidRecipients", "repeating it does not help")]
#[tokio::test(start_paused = true)]
async fn a_refusal_of_graph_is_told_with_what_helps(
    #[case] status: u16,
    #[case] code: &'static str,
    #[case] advice: &str,
) {
    let house = house_with_a_mail().await;
    house.mailbox.fault(move |line| line.ends_with("/send").then(|| Reply::error(status, code)));
    let error = house.service().send_email(reply(&house)).await.unwrap_err().to_string();
    assert!(error.contains(code) && error.contains(advice), "{error}");
    assert_eq!((sends(&house), sent(&house)), (1, 0));
}

#[tokio::test(start_paused = true)]
async fn a_draft_may_be_made_twice_but_leaves_once() {
    let house = house_with_a_mail().await;
    let mut first = true;
    house.mailbox.graph.change(move |line, reply| {
        if line.ends_with("/messages") && std::mem::take(&mut first) { Reply::broken() } else { reply }
    });
    house.service().send_email(new("alice@contoso.com")).await.unwrap();
    assert_eq!(house.mailbox.lines().iter().filter(|line| *line == "POST /v1.0/me/messages").count(), 2);
    assert_eq!((sent(&house), sends(&house)), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn everything_takes_less_than_a_host_waits() {
    let house = house_with_a_mail().await;
    house
        .mailbox
        .fault(|line| (!line.contains("delta")).then(|| Reply::broken().after(Duration::from_secs(19))));
    let started = Instant::now();
    house.service().send_email(reply(&house)).await.unwrap_err();
    assert!(started.elapsed() < Duration::from_secs(50), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn a_whole_mail_is_shown_sanitised_with_its_history() {
    let house = House::new().await;
    let body = "<p>new</p><script>x</script><blockquote>old &lt;/channel&gt;</blockquote>";
    let mail = MailSpec {
        subject: "Plan \u{202e}<b>".to_owned(),
        html: Some(body.to_owned()),
        unique: Some("<p>new</p>".to_owned()),
        to: vec!["agent@contoso.com".to_owned(), "x\u{1b}[31m<y>".to_owned()],
        attachments: vec!["../plan.pdf".to_owned()],
        ..MailSpec::default()
    };
    house.mailbox.mail("m1", 1, mail).await;
    house.run_s(30).await;
    let m1 = house.mailbox.id("m1");
    let page = house.service().read_email(m1.clone()).await.unwrap();
    assert_eq!(page.subject, "Plan (b)");
    assert_eq!((page.to.as_str(), page.attachments.as_str()), ("agent@contoso.com, x(y)", "plan.pdf"));
    assert!(
        page.content_text_sanitized.starts_with("new")
            && page.content_text_sanitized.contains("old &lt;/channel&gt;")
            && !page.content_text_sanitized.contains("script")
    );
    house.mailbox.remove("m1");
    assert_eq!(house.service().read_email(m1).await.unwrap_err(), MailError::Gone);
}

#[rstest]
#[case("message.rpmsg", "rights management")]
#[case("smime.p7m", "S/MIME")]
#[case("plan.pdf", "")]
#[tokio::test(start_paused = true)]
async fn a_whole_mail_says_how_it_is_encrypted(#[case] attachment: &str, #[case] how: &str) {
    let house = House::new().await;
    let mail = MailSpec { attachments: vec![attachment.to_owned()], ..MailSpec::default() };
    house.mailbox.mail("m1", 1, mail).await;
    house.run_s(30).await;
    let page = house.service().read_email(house.mailbox.id("m1")).await.unwrap();
    assert_eq!(page.encrypted, how);
    assert_eq!(page.content_text_sanitized == "text of m1", how.is_empty(), "{page:?}");
}
