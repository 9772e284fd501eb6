//! Checks one demand against what has been seen. Looks only; waiting is the caller's.

use std::collections::BTreeMap;

use scenario::{
    AgentsExpect, EntraExpect, Expect, GraphExpect, InteractionExpect, JournalExpect, MachineFileExpect,
    ModelExpect, ReplyExpect, ResultExpect, SentExpect, SentMailExpect, StatusExpect, WakingExpect,
    WireExpect,
};
use serde_json::Value;

use super::miss::Miss;
use super::play::{MAIN, Play};
use super::view::{CallView, Line, SessionView};
use crate::matching::{first_json, mismatch};
use crate::oracle::{Heard, Sighting, Written};

type Checked = Result<(), Miss>;

/// Checks a demand now.
pub(crate) fn check(expect: &Expect, play: &Play) -> Checked {
    match expect {
        Expect::Model(expect) => {
            play.with_view(expect.on.as_deref(), |view| model(expect, view, play.now_ms()))
        }
        Expect::Result(expect) => result(expect, play),
        Expect::Wire(expect) => play.with_view(expect.on.as_deref(), |view| wire(expect, view)),
        Expect::Reply(expect) => play.with_view(expect.on.as_deref(), |view| reply(expect, view)),
        Expect::Graph(expect) => requests_to_graph(expect, play),
        Expect::Entra(expect) => requests_to_entra(expect, play),
        Expect::Sent(expect) => sent(expect, play),
        Expect::Bot(expect) => super::bot::check(expect, play),
        Expect::SentMail(expect) => sent_mail(expect, play),
        Expect::Interactions(expect) => interactions(expect, play),
        Expect::Journal(expect) => journal(expect, play),
        Expect::Setup(expect) => super::setup::check(expect, play),
        Expect::Waking(expect) => waking(expect, play),
        Expect::Status(expect) => status(expect, play),
        Expect::Agents(expect) => agents(expect, play),
        Expect::File(expect) => file(expect, play),
        Expect::Delegate(expect) => super::delegate::check(expect, play),
    }
}

fn file(expect: &MachineFileExpect, play: &Play) -> Checked {
    let bytes = play.stage.read(expect.path.trim_start_matches('/'));
    let text = String::from_utf8_lossy(&bytes);
    if expect.missing {
        return if bytes.is_empty() { Ok(()) } else { Err(Miss::new(format!("{} is there", expect.path))) };
    }
    words(expect.contains.as_deref(), expect.lacks.as_deref(), &text, &expect.path)?;
    match (&expect.contains, expect.times) {
        (Some(wanted), Some(times)) if text.matches(wanted.as_str()).count() != times as usize => {
            let count = text.matches(wanted.as_str()).count();
            let what = format!("{} holds `{wanted}` {count} times", expect.path);
            Err(Miss::texts(what, &format!("{times} times"), &text))
        }
        _ => Ok(()),
    }
}

fn agents(expect: &AgentsExpect, play: &Play) -> Checked {
    let Some(jobs) = play.stage.jobs() else { return Err(Miss::new("the machine has no agents".to_owned())) };
    let (running, started) = (jobs.running(), jobs.started());
    if expect.running.is_some_and(|wanted| running != wanted as usize) {
        return Err(Miss::new(format!("{running} processes of agents run")));
    }
    let ready = play.stage.files("standby").iter().filter_map(|name| name.strip_suffix(".idle")).count();
    if expect.ready.is_some_and(|wanted| ready != wanted as usize) {
        return Err(Miss::new(format!("{ready} agents stand by")));
    }
    if expect.started.is_some_and(|wanted| started != u64::from(wanted)) {
        return Err(Miss::new(format!("{started} agents were started")));
    }
    Ok(())
}

fn status(expect: &StatusExpect, play: &Play) -> Checked {
    let lines = play.disk_lines("sessions", ".json").join("\n");
    words(expect.contains.as_deref(), expect.lacks.as_deref(), &lines, "what the sessions tell")
}

fn waking(expect: &WakingExpect, play: &Play) -> Checked {
    let name = expect.on.as_deref().unwrap_or(MAIN);
    let count = play.sessions.get(name).map_or(0, |session| session.target().beside());
    if count == expect.count {
        return Ok(());
    }
    Err(Miss::new(format!("{count} of our hooks run beside session `{name}`, not {}", expect.count)))
}

fn model(expect: &ModelExpect, view: &SessionView, now_ms: u64) -> Checked {
    let ledger = &view.ledger;
    let wanted: Vec<&Written> = match &expect.message {
        Some(label) => ledger.by_label(label).into_iter().collect(),
        None => ledger.written().iter().filter(|message| message.heard == Heard::Must).collect(),
    };
    if wanted.is_empty() {
        return Err(Miss::new("no such message has been written yet"));
    }
    for message in wanted {
        in_time(expect, message, view, now_ms)?;
        one_message(expect, message, &ledger.showings(message), ledger.new_showings(message).len())?;
    }
    if expect.in_order
        && let Some(wrong) = ledger.judge(0).into_iter().find(|failure| failure.rule == "oracle.order")
    {
        return Err(Miss::new(wrong.message));
    }
    Ok(())
}

/// Whether a message was shown in time. An unread message is late when its time is over.
fn in_time(expect: &ModelExpect, message: &Written, view: &SessionView, now_ms: u64) -> Checked {
    let Some(within) = expect.heard_within else { return Ok(()) };
    let due_ms = view.attention.due_ms(message.visible_ms, within.ms(), expect.at_every_tool);
    let first_ms = view.ledger.showings(message).first().map(|sighting| sighting.at_ms);
    match due_ms.filter(|due_ms| first_ms.unwrap_or(now_ms) > *due_ms) {
        Some(due_ms) => Err(Miss::new(format!(
            "message `{}`, there since {} ms, was shown at {}, not at {due_ms} ms at the latest: {} ms of rest or the next boundary",
            message.label,
            message.visible_ms,
            first_ms.map_or_else(|| "no time".to_owned(), |at_ms| format!("{at_ms} ms")),
            within.ms()
        ))),
        None => Ok(()),
    }
}

fn one_message(expect: &ModelExpect, message: &Written, showings: &[&Sighting], as_new: usize) -> Checked {
    let label = &message.label;
    let times = showings.len();
    // A host that drops pushes shows a message only with the mark `pushed`: once, and that is its first.
    let as_new = if times == 0 { 0 } else { as_new.max(1) };
    match (expect.times, expect.at_least) {
        (Some(wanted), _) if as_new != wanted as usize => {
            return Err(Miss::new(format!(
                "message `{label}` was shown as new {as_new} times, not {wanted}"
            )));
        }
        (None, Some(least)) if times < least as usize => {
            return Err(Miss::new(format!(
                "message `{label}` was shown {times} times, not at least {least}"
            )));
        }
        (None, None) if times == 0 => {
            return Err(Miss::new(format!("message `{label}` has not reached the model")));
        }
        _ => {}
    }
    let Some(last) = showings.last() else { return Ok(()) };
    if let (Some(within), Some(first)) = (expect.delivered_within, showings.first()) {
        let took_ms = first.at_ms.saturating_sub(message.visible_ms);
        if took_ms > within.ms() {
            return Err(Miss::new(format!(
                "message `{label}` took {took_ms} ms to the model, not at most {} ms",
                within.ms()
            )));
        }
    }
    if let Some(carrier) = &expect.carrier
        && !showings.iter().any(|s| s.carrier == *carrier)
    {
        return Err(Miss::new(format!("message `{label}` came by {}, not by {carrier}", last.carrier)));
    }
    for (name, wanted, is) in [
        ("redelivered", expect.redelivered, last.redelivered),
        ("pushed", expect.pushed, last.pushed),
        ("marked", expect.marked, last.pushed || last.redelivered),
        ("woke", expect.woke, last.woke),
    ] {
        if wanted.is_some_and(|wanted| wanted != is) {
            return Err(Miss::new(format!("the last showing of `{label}` has {name}: {is}")));
        }
    }
    if let Some(text) = &expect.text
        && *text != last.text
    {
        return Err(Miss::texts(format!("the text of `{label}` is another"), text, &last.text));
    }
    words(expect.contains.as_deref(), expect.lacks.as_deref(), &last.text, &format!("the text of `{label}`"))
}

/// Whether there are as many as wanted: exactly, at least, at most.
fn number(count: usize, what: &str, [exactly, least, most]: [Option<u32>; 3]) -> Checked {
    let miss = |wanted: String| Err(Miss::new(format!("{count} {what}, not {wanted}")));
    match (exactly, least, most) {
        (Some(wanted), ..) if count != wanted as usize => miss(wanted.to_string()),
        (_, Some(least), _) if count < least as usize => miss(format!("at least {least}")),
        (.., Some(most)) if count > most as usize => miss(format!("at most {most}")),
        _ => Ok(()),
    }
}

fn words(contains: Option<&str>, lacks: Option<&str>, text: &str, what: &str) -> Checked {
    if let Some(wanted) = contains
        && !text.contains(wanted)
    {
        return Err(Miss::texts(format!("{what} does not hold `{wanted}`"), wanted, text));
    }
    match lacks {
        Some(unwanted) if text.contains(unwanted) => Err(Miss::texts(
            format!("{what} holds `{unwanted}`"),
            &format!("nothing with `{unwanted}`"),
            text,
        )),
        _ => Ok(()),
    }
}

fn result(expect: &ResultExpect, play: &Play) -> Checked {
    let Some(call) = play.call(&expect.of) else {
        return Err(Miss::new(format!("call `{}` was not made", expect.of)));
    };
    let outcome = expect.outcome.as_deref().unwrap_or("ok");
    let Some(end) = &call.end else {
        return if outcome == "open" {
            Ok(())
        } else {
            Err(Miss::new(format!("call `{}` of {} has no result yet", expect.of, call.tool)))
        };
    };
    if end.outcome != outcome {
        return Err(Miss::texts(
            format!("call `{}` ended as {}, not {outcome}", expect.of, end.outcome),
            outcome,
            &end.text,
        ));
    }
    if outcome != "ok" {
        return Ok(());
    }
    if end.is_error != expect.is_error {
        let is = if end.is_error { "an error" } else { "no error" };
        return Err(Miss::texts(format!("the result of `{}` is {is}", expect.of), "", &end.text));
    }
    took(expect, &call, end.at_ms)?;
    words(
        expect.contains.as_deref(),
        expect.lacks.as_deref(),
        &end.text,
        &format!("the result of `{}`", expect.of),
    )?;
    let json = first_json(&end.text);
    if let Some(pattern) = &expect.has {
        let value = json.clone().unwrap_or(Value::Null);
        if let Some(difference) = mismatch(pattern, &value) {
            return Err(Miss::texts(
                format!("the result of `{}`: {difference}", expect.of),
                &pattern.to_string(),
                &end.text,
            ));
        }
    }
    if let Some(wanted) = expect.messages {
        let count =
            json.as_ref().and_then(|v| v.get("messages")).and_then(Value::as_array).map_or(0, Vec::len);
        if count != wanted as usize {
            return Err(Miss::texts(
                format!("the result of `{}` has {count} messages, not {wanted}", expect.of),
                &wanted.to_string(),
                &end.text,
            ));
        }
    }
    Ok(())
}

fn took(expect: &ResultExpect, call: &CallView, ended_ms: u64) -> Checked {
    let took = ended_ms.saturating_sub(call.started_ms);
    if let Some(least) = expect.after
        && took < least.ms()
    {
        return Err(Miss::new(format!(
            "call `{}` took {took} ms, not at least {} ms",
            expect.of,
            least.ms()
        )));
    }
    match expect.before {
        Some(most) if took > most.ms() => {
            Err(Miss::new(format!("call `{}` took {took} ms, not at most {} ms", expect.of, most.ms())))
        }
        _ => Ok(()),
    }
}

fn wire(expect: &WireExpect, view: &SessionView) -> Checked {
    let by_host = expect.by.as_deref() == Some("host");
    let lines: Vec<&Line> = view
        .lines
        .iter()
        .filter(|line| line.by_host == by_host)
        .filter(|line| {
            let json = line.json.as_ref();
            let method = json.and_then(|json| json.get("method")).and_then(Value::as_str);
            expect.method.as_deref().is_none_or(|wanted| method == Some(wanted))
                && expect
                    .has
                    .as_ref()
                    .is_none_or(|wanted| json.is_some_and(|json| mismatch(wanted, json).is_none()))
        })
        .collect();
    let what = expect.method.clone().unwrap_or_else(|| "such lines".to_owned());
    number(lines.len(), &format!("× {what} on the wire"), [expect.count, expect.at_least, None])?;
    for line in lines {
        words(None, expect.lacks.as_deref(), &line.text, "a line")?;
    }
    Ok(())
}

fn reply(expect: &ReplyExpect, view: &SessionView) -> Checked {
    let found = view.lines.iter().rev().find(|line| {
        !line.by_host
            && line
                .json
                .as_ref()
                .is_some_and(|json| json.get("method").is_none() && json.get("id") == Some(&expect.id))
    });
    match (found, expect.none) {
        (Some(line), true) => {
            Err(Miss::texts(format!("there is a reply to {}", expect.id), "no reply", &line.text))
        }
        (None, true) => Ok(()),
        (None, false) => Err(Miss::new(format!("no reply to {} yet", expect.id))),
        (Some(line), false) => {
            words(expect.contains.as_deref(), None, &line.text, "the reply")?;
            let json = line.json.clone().unwrap_or(Value::Null);
            match expect.has.as_ref().and_then(|pattern| mismatch(pattern, &json)) {
                Some(difference) => Err(Miss::texts(
                    format!("the reply to {}: {difference}", expect.id),
                    &expect.has.as_ref().map(Value::to_string).unwrap_or_default(),
                    &line.text,
                )),
                None => Ok(()),
            }
        }
    }
}

fn requests_to_graph(expect: &GraphExpect, play: &Play) -> Checked {
    if expect.no_violations {
        let violations = play.graph_violations();
        if !violations.is_empty() {
            return Err(Miss::texts(
                "the server broke a rule of Graph",
                "no violations",
                &violations.join("\n"),
            ));
        }
    }
    let since = expect.during_last.map_or(0, |span| play.now_ms().saturating_sub(span.ms()));
    let count = play
        .graph_calls()
        .iter()
        .filter(|call| call.at_ms >= since)
        .filter(|call| expect.method.as_deref().is_none_or(|method| call.method == method))
        .filter(|call| expect.status.is_none_or(|status| call.status == status))
        .filter(|call| expect.path.as_deref().is_none_or(|path| call.url.contains(path)))
        .count();
    number(count, "requests to Graph", [None, expect.at_least, expect.at_most])
}

fn requests_to_entra(expect: &EntraExpect, play: &Play) -> Checked {
    let (calls, violations) = play.entra.with(|entra| (entra.calls().to_vec(), entra.violations().to_vec()));
    if expect.no_violations && !violations.is_empty() {
        return Err(Miss::texts("the server broke a rule of Entra", "no violations", &violations.join("\n")));
    }
    let now = play.stage.now();
    let recent = |call: &fake_microsoft::entra::EntraCall| {
        expect.during_last.is_none_or(|span| now.duration_since(call.at).as_millis() <= i128::from(span.ms()))
    };
    let count = calls
        .iter()
        .filter(|call| recent(call))
        .filter(|call| expect.grant.is_none_or(|grant| call.grant == grant))
        .filter(|call| expect.refused.is_none_or(|number| call.number == Some(number)))
        .filter(|call| !expect.granted || call.status == 200 && call.number.is_none())
        .count();
    number(count, "such requests to Entra", [None, expect.at_least, expect.at_most])
}

/// Whether each message that must be heard was answered once.
fn answered(play: &Play) -> Checked {
    let sent = play.sent_by_agent(None);
    let written: BTreeMap<String, String> = play.with_view(None, |view| {
        let heard = view.ledger.written().iter().filter(|message| message.heard == Heard::Must);
        heard.map(|message| (message.message_id.clone(), message.label.clone())).collect()
    });
    for (id, label) in written {
        let answer = format!("answer to {id}");
        let times =
            sent.iter().filter(|text| **text == answer || text.starts_with(&format!("{answer} "))).count();
        if times != 1 {
            return Err(Miss::new(format!("message `{label}` was answered {times} times, not once")));
        }
    }
    Ok(())
}

fn sent(expect: &SentExpect, play: &Play) -> Checked {
    if expect.to_every_message {
        return answered(play);
    }
    let sent = play.sent_by_agent(expect.chat.as_deref());
    let count = sent
        .iter()
        .filter(|text| expect.contains.as_deref().is_none_or(|wanted| text.contains(wanted)))
        .count();
    if count == expect.count as usize {
        return Ok(());
    }
    Err(Miss::texts(
        format!("the agent wrote {count} such messages, not {}", expect.count),
        "",
        &sent.join("\n---\n"),
    ))
}

fn sent_mail(expect: &SentMailExpect, play: &Play) -> Checked {
    let sent = play.graph.with(|graph| graph.mails_sent_by_agent().to_vec());
    let has = |wanted: &Option<String>, text: &str| wanted.as_deref().is_none_or(|w| text.contains(w));
    let count = sent
        .iter()
        .filter(|mail| expect.to.as_ref().is_none_or(|to| mail.to.contains(to) || mail.cc.contains(to)))
        .filter(|mail| has(&expect.subject, &mail.subject) && has(&expect.contains, &mail.content))
        .count();
    let shown: Vec<String> = sent
        .iter()
        .map(|mail| format!("to {}: {}\n{}", mail.to.join(", "), mail.subject, mail.content))
        .collect();
    let shown = shown.join("\n---\n");
    if count != expect.count as usize {
        return Err(Miss::texts(
            format!("the agent sent {count} such mails, not {}", expect.count),
            "",
            &shown,
        ));
    }
    words(None, expect.lacks.as_deref(), &shown, "a mail of the agent")
}

fn interactions(expect: &InteractionExpect, play: &Play) -> Checked {
    let lines = play.disk_lines("interactions", ".jsonl");
    let matching: Vec<&String> = lines
        .iter()
        .filter(|line| {
            let json: Option<Value> = serde_json::from_str(line).ok();
            let kind = json.as_ref().and_then(|json| json.get("kind")).and_then(Value::as_str);
            expect.kind.as_deref().is_none_or(|wanted| kind == Some(wanted))
                && expect.contains.as_deref().is_none_or(|words| line.contains(words))
        })
        .collect();
    number(matching.len(), "such interactions", [expect.count, expect.at_least, None])
        .map_err(|miss| Miss::texts(miss.message, "", &lines.join("\n")))?;
    for line in lines {
        words(None, expect.lacks.as_deref(), &line, "the interaction log")?;
    }
    Ok(())
}

fn journal(expect: &JournalExpect, play: &Play) -> Checked {
    let records: Vec<Value> = play
        .disk_lines("inbox", ".jsonl")
        .iter()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    if let Some(wanted) = expect.records
        && records.len() != wanted as usize
    {
        return Err(Miss::new(format!("the journal has {} records, not {wanted}", records.len())));
    }
    if let Some(ending) = &expect.files_ending {
        let count = play.disk_files("inbox").iter().filter(|name| name.ends_with(ending.as_str())).count();
        let least = expect.at_least.unwrap_or(1) as usize;
        if count < least {
            return Err(Miss::new(format!(
                "{count} files in the inbox end in {ending}, not at least {least}"
            )));
        }
    }
    if expect.same_text_as_model {
        return play.with_view(None, |view| {
            for sighting in view.ledger.seen() {
                let text = |record: &&Value| {
                    record.get("id").and_then(Value::as_str) == Some(&sighting.message_id)
                        && record.get("chat_id").and_then(Value::as_str) == Some(&sighting.chat_id)
                };
                let Some(record) = records.iter().find(text) else {
                    return Err(Miss::new(format!(
                        "the model was shown {}, which is not in the journal",
                        sighting.message_id
                    )));
                };
                let kept = record.get("content_text_sanitized").and_then(Value::as_str).unwrap_or_default();
                if kept != sighting.text {
                    return Err(Miss::texts("journal and model differ", kept, &sighting.text));
                }
            }
            Ok(())
        });
    }
    Ok(())
}
