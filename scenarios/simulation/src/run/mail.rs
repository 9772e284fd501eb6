//! Plays the steps of mail: a person mails the agent, or its mailbox changes.
//! It does not judge the server: a scenario says itself which mail must not be heard.

use fake_microsoft::graph::{MailSpec, ScriptError};
use scenario::{MailWrite, MailboxStep};

use super::play::Play;
use super::speed::scaled;
use super::vector::{is_meant, is_plain, lengthened};
use crate::oracle::{Heard, Written};
use crate::vectors;

/// The chat of every mail, as records have it.
const CHAT_ID: &str = "email";
/// Dates of receipt have whole seconds, so nothing can be said of the order of mails closer than that.
const ORDERED_AFTER_MS: u64 = 1_000;

/// Mails as a step says.
pub(super) async fn write(play: &Play<'_>, mail: &MailWrite) -> anyhow::Result<()> {
    let every = mail.every.map(|span| scaled(play.cell.mode, span.0));
    if let Some(vector) = &mail.vector {
        let all = vectors::all()?;
        let chosen: Vec<_> = all.iter().filter(|v| is_meant(vector, &v.id)).collect();
        anyhow::ensure!(!chosen.is_empty(), "no sanitiser vector is named `{vector}`");
        for vector in chosen {
            let mut spec = mail.message.clone().unwrap_or_default();
            if vector.markup == "text" {
                spec.text = Some(vector.input.clone());
            } else {
                spec.html = Some(vector.input.clone());
            }
            let label = format!("{}-{}", mail.label.as_deref().unwrap_or("vector"), vector.id);
            // The vector's expectation holds only for a mail that has nothing but its text.
            let expected = vector.expected().filter(|_| mail.message.is_none()).map(str::to_owned);
            deliver(play, mail, spec, &label, expected)?;
            if let Some(every) = every {
                tokio::time::sleep(every).await;
            }
        }
        return Ok(());
    }
    let count = mail.count.unwrap_or(1);
    for n in 1..=count {
        let mut spec = mail.message.clone().unwrap_or_default();
        let number = |text: &String| text.replace("{n}", &n.to_string());
        spec.text = mail.text.as_ref().map(|text| lengthened(&number(text))).or(spec.text);
        spec.html = mail.html.as_ref().map(number).or(spec.html);
        spec.subject = mail.subject.as_ref().map(number).unwrap_or(spec.subject);
        let label = match &mail.label {
            Some(label) if count > 1 => format!("{label}-{n}"),
            Some(label) => label.clone(),
            None => format!("mail-{}", play.with_view(None, |view| view.ledger.written().len() + 1)),
        };
        let expected = expected(&spec);
        let from = mail.from.as_ref().map(number);
        deliver(play, &MailWrite { from, ..mail.clone() }, spec, &label, expected)?;
        if let Some(every) = every {
            tokio::time::sleep(every).await;
        }
    }
    Ok(())
}

/// The text that a model must read, where nothing in it could be changed on the way.
fn expected(spec: &MailSpec) -> Option<String> {
    let alone = MailSpec {
        text: spec.text.clone(),
        subject: spec.subject.clone(),
        auth: spec.auth,
        headers: spec.headers.clone(),
        ..MailSpec::default()
    };
    let text =
        spec.text.as_ref().filter(|text| alone == *spec && is_plain(text) && is_plain(&spec.subject))?;
    if spec.subject.is_empty() {
        Some(text.clone())
    } else {
        Some(format!("Subject: {}\n\n{text}", spec.subject))
    }
}

fn deliver(
    play: &Play<'_>,
    mail: &MailWrite,
    mut spec: MailSpec,
    label: &str,
    expected_text: Option<String>,
) -> anyhow::Result<()> {
    let scenario = &play.cell.scenario.scenario;
    let first = || scenario.world.people.keys().next().cloned();
    let from = mail.from.clone().or_else(first).ok_or_else(|| anyhow::anyhow!("no person here can mail"))?;
    spec.handle = Some(label.to_owned());
    let (now, at_ms) = (play.stage.now(), play.now_ms());
    let message_id = play.graph.with(|graph| graph.mail(now, &from, &spec))?;
    play.written(&Written {
        label: label.to_owned(),
        message_id,
        chat_id: CHAT_ID.to_owned(),
        at_ms,
        visible_ms: at_ms + spec.visible_after_ms,
        heard: if mail.unheard { Heard::Never } else { Heard::of(play.may_speak(&from)) },
        from,
        expected_text,
        ordered_after_ms: (spec.received_ago_ms == 0).then_some(ORDERED_AFTER_MS),
    });
    Ok(())
}

/// Changes the mailbox as a step says.
pub(super) fn change(play: &Play<'_>, step: &MailboxStep) -> Result<(), ScriptError> {
    let now = play.stage.now();
    play.graph.with(|graph| match step {
        MailboxStep::Read(label) => graph.mark_mail(now, label, true),
        MailboxStep::Unread(label) => graph.mark_mail(now, label, false),
        MailboxStep::Move(label) => graph.remove_mail(now, label, false),
        MailboxStep::Remove(label) => graph.remove_mail(now, label, true),
        MailboxStep::Forget(how) => graph.lose_mail_delta(*how),
    })
}
