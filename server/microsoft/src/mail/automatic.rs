//! Recognises mail that no person wrote: automatic replies, lists, bounces, notices, invitations.
//! Such mail must never be answered, or two machines may write to each other for ever.

use super::wire::Mail;
use entraclaw_inbox::gate::MailAddress;

/// Local parts of the addresses of machines.
const MACHINES: &[&str] = &["mailer-daemon", "postmaster", "bounce", "bounces"];
/// Words in the local parts of the addresses of machines.
const MACHINE_WORDS: &[&str] = &["noreply", "no-reply", "donotreply", "do-not-reply"];
/// The hosts that Microsoft sends notices from; their subdomains count too.
const NOTICE_HOSTS: &[&str] =
    &["teams.mail.microsoft", "mail.teams.microsoft", "communication.microsoft.com"];

/// The kind of automatic mail; `None` for a person's mail.
pub(super) fn automatic(mail: &Mail, from: &MailAddress) -> Option<&'static str> {
    if mail.kind.to_ascii_lowercase().contains("eventmessage") {
        return Some("a calendar message");
    }
    let headers = &mail.headers;
    let word = |name: &str| {
        let value = headers.all(name).next()?;
        value.split([';', ' ', '\t']).next().map(str::to_ascii_lowercase)
    };
    if headers.all("auto-submitted").any(|value| {
        let word = value.split([';', ' ', '\t']).next().unwrap_or("");
        !word.eq_ignore_ascii_case("no")
    }) {
        return Some("an automatic reply");
    }
    let generated = [
        "x-ms-exchange-inbox-rules-loop",
        "x-ms-exchange-generated-message-source",
        "x-autoreply",
        "x-autorespond",
    ];
    if generated.iter().any(|name| headers.has(name)) {
        return Some("an automatic reply");
    }
    if word("return-path").as_deref() == Some("<>")
        || word("content-type").as_deref() == Some("multipart/report")
    {
        return Some("a delivery report");
    }
    if matches!(word("precedence").as_deref(), Some("bulk" | "junk" | "list"))
        || headers.has_any_starting("list-")
    {
        return Some("mail of a list");
    }
    is_machine(from).then_some("a notice of a machine")
}

fn is_machine(from: &MailAddress) -> bool {
    let host_is = |host: &str| {
        from.host() == host || from.host().strip_suffix(host).is_some_and(|rest| rest.ends_with('.'))
    };
    NOTICE_HOSTS.iter().any(|host| host_is(host))
        || MACHINES.contains(&from.local())
        || MACHINE_WORDS.iter().any(|word| from.local().contains(word))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::wire;
    use super::*;

    fn judged(kind: &str, headers: &[(&str, &str)], from: &str) -> Option<&'static str> {
        let list: Vec<_> = headers.iter().map(|(n, v)| json!({"name": n, "value": v})).collect();
        let mail = wire::mail(&json!({"id": "1", "@odata.type": kind, "internetMessageHeaders": list}));
        automatic(&mail.unwrap(), &MailAddress::parse(from).unwrap())
    }

    #[rstest]
    #[case(&[], None)]
    #[case(&[("Auto-Submitted", "no")], None)]
    #[case(&[("Auto-Submitted", "NO; x=y")], None)]
    #[case(&[("Auto-Submitted", "auto-replied")], Some("an automatic reply"))]
    #[case(&[("auto-submitted", "auto-generated; owner-email=x")], Some("an automatic reply"))]
    #[case(&[("Auto-Submitted", "no"), ("Auto-Submitted", "auto-replied")], Some("an automatic reply"))]
    #[case(&[("X-MS-Exchange-Inbox-Rules-Loop", "alice@contoso.com")], Some("an automatic reply"))]
    #[case(&[("X-Auto-Response-Suppress", "All")], None)]
    #[case(&[("Precedence", "Bulk")], Some("mail of a list"))]
    #[case(&[("Precedence", "first-class")], None)]
    #[case(&[("List-Unsubscribe", "<https://contoso.com>")], Some("mail of a list"))]
    #[case(&[("Return-Path", "<>")], Some("a delivery report"))]
    #[case(&[("Return-Path", "alice@contoso.com")], None)]
    #[case(&[("Content-Type", "multipart/report; report-type=delivery-status")], Some("a delivery report"))]
    fn headers_of_machines(#[case] headers: &[(&str, &str)], #[case] what: Option<&str>) {
        assert_eq!(judged("", headers, "alice@contoso.com"), what);
    }

    #[rstest]
    #[case("alice@contoso.com", false)]
    #[case("noreply@contoso.com", true)]
    #[case("No-Reply@contoso.com", true)]
    #[case("alerts-noreply@contoso.com", true)]
    #[case("mailer-daemon@contoso.com", true)]
    #[case("noreply@email.teams.mail.microsoft", true)]
    #[case("alice@teams.mail.microsoft", true)]
    #[case("alice@notteams.mail.microsoft.contoso.com", false)]
    #[case("norepley@contoso.com", false)]
    fn senders_that_are_machines(#[case] from: &str, #[case] machine: bool) {
        assert_eq!(judged("", &[], from).is_some(), machine);
    }

    #[test]
    fn invitations_are_no_messages() {
        for kind in ["#microsoft.graph.eventMessage", "#microsoft.graph.eventMessageRequest"] {
            assert_eq!(judged(kind, &[], "alice@contoso.com"), Some("a calendar message"));
        }
        assert_eq!(judged("#microsoft.graph.message", &[], "alice@contoso.com"), None);
    }
}
