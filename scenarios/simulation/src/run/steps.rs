//! Plays the steps of a scenario, one after another. The first demand that does not hold ends the cell.

use std::time::Duration;

use fake_hosts::drive::Order;
use fake_hosts::{Action, PermissionAsk, Signal};
use fake_microsoft::graph::MessageSpec;
use reports::event::Failure;
use scenario::{
    Call, DialogStep, DiskStep, EntraStep, Expect, FileStep, FormStep, Heartbeat, HostStep, Members, Raw,
    ServerStep, Step, TurnStep, WorkStep, Write,
};
use serde_json::Value;

use super::delegate;
use super::expect;
use super::miss::Miss;
use super::operator;
use super::play::{MAIN, Play};
use super::random;
use super::speed::scaled;
use super::vector::{is_meant, is_plain, lengthened};
use super::view::SessionView;
use crate::oracle::{Heard, Written};
use crate::vectors;

/// Time between two looks at a file that something is expected of.
const FILE_LOOK: Duration = Duration::from_millis(100);
/// Tool calls of a step need this long to be on the wire.
const SETTLE: Duration = Duration::from_millis(1);
/// Longest that a step waits for the hooks of a turn.
const HOOKS_MAX: Duration = Duration::from_secs(10);
/// Longest that a step waits for a dialog of the host.
const DIALOG_MAX: Duration = Duration::from_secs(10);
/// The text that a model reads for a deleted message.
const TAKEN_BACK: &str = "(this message was deleted by its author)";

/// Plays every step.
pub(crate) async fn all(play: &mut Play<'_>) -> anyhow::Result<()> {
    delegate::begin(play).await?;
    each_of_the_scenario(play).await?;
    delegate::settle(play).await
}

async fn each_of_the_scenario(play: &mut Play<'_>) -> anyhow::Result<()> {
    let steps = &play.cell.scenario.scenario.steps;
    if play.cell.scenario.scenario.autostart {
        play.session(MAIN)?.start();
        if let Err(miss) = wait_ready(play, MAIN).await {
            let at_ms = play.now_ms();
            play.failures.push(Failure::new("server.start", at_ms, miss.message));
            return Ok(());
        }
    }
    for (index, spanned) in steps.iter().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let line = u32::try_from(spanned.place.line).unwrap_or(0);
        play.note(&format!("step {number}, line {line}"));
        if let Err(stopped) = one(play, &spanned.value).await {
            let miss: Miss = stopped.downcast()?;
            let rule = match &spanned.value {
                Step::Expect(expect) => expect.about().rule,
                _ => "step",
            };
            play.failures.push(Failure {
                step: Some(number),
                line: Some(line),
                expected: miss.expected,
                observed: miss.observed,
                ..Failure::new(rule, play.now_ms(), miss.message)
            });
            break;
        }
    }
    Ok(())
}

async fn one(play: &mut Play<'_>, step: &Step) -> anyhow::Result<()> {
    let mode = play.cell.mode;
    if random::is_pointless(play, step) {
        play.note(&format!("passed over: {}", random::told(step)));
        return Ok(());
    }
    play.note_jobs();
    match step {
        Step::Write(write) => write_messages(play, write).await?,
        Step::Mail(mail) => super::mail::write(play, mail).await?,
        Step::Mailbox(step) => super::mail::change(play, step)?,
        Step::Edit(edit) => {
            let (chat, _) = place(play, &edit.message)?;
            let now = play.stage.now();
            play.graph.with(|graph| graph.edit(now, &chat, &edit.message, &edit.text))?;
            if is_plain(&edit.text) {
                play.changed(&edit.message, &edit.text);
            }
        }
        Step::Delete(message) => {
            let (chat, _) = place(play, &message.message)?;
            let now = play.stage.now();
            play.graph.with(|graph| graph.delete(now, &chat, &message.message))?;
            play.changed(&message.message, TAKEN_BACK);
        }
        Step::Members(members) => change_members(play, members)?,
        Step::Advance(span) => tokio::time::sleep(scaled(mode, span.0)).await,
        Step::Call(call) => {
            make_calls(play, std::slice::from_ref(call), call.on.as_deref())?;
            tokio::time::sleep(SETTLE).await;
        }
        Step::Calls(calls) => {
            make_calls(play, calls, None)?;
            tokio::time::sleep(SETTLE).await;
        }
        Step::Agent(policy) => play.session(MAIN)?.set_policy(*policy),
        Step::Turn(TurnStep::Begin) => {
            turn(play, Action::BeginTurn { prompt: "Work on something.".to_owned() }).await?;
        }
        Step::Turn(TurnStep::Work) => turn(play, Action::Work).await?,
        Step::Shell(shell) => {
            let label = shell.label.clone().unwrap_or_else(|| format!("shell-{}", play.now_ms()));
            play.session(shell.on.as_deref().unwrap_or(MAIN))?.shell(label);
            tokio::time::sleep(SETTLE).await;
        }
        Step::Turn(TurnStep::End) => turn(play, Action::EndTurn).await?,
        Step::Permission(ask) => {
            let action = Action::AskPermission(PermissionAsk {
                request_id: ask.id.clone(),
                tool_name: ask.tool.clone(),
                description: ask.description.clone(),
                input_preview: ask.preview.clone(),
            });
            order(play, ask.on.as_deref(), Order::Act(action)).await?;
        }
        Step::Dialog(step) => dialog(play, step).await?,
        Step::Form(step) => form(play, step).await?,
        Step::Operator(act) => operator::act(play, act).await?,
        Step::Setup(step) => super::setup::step(play, step)?,
        Step::Host(step) => host(play, step).await?,
        Step::Server(ServerStep::Crash(name)) => {
            order(play, Some(name), Order::Signal(Signal::Kill)).await?;
            // Messages that it had shown from memory were on no disk, nor were their marks.
            if play.disk_fails {
                forget_marks(play);
            }
        }
        Step::Server(ServerStep::Stop(name)) => {
            order(play, Some(name), Order::Signal(Signal::Stop)).await?;
        }
        Step::Server(ServerStep::Wake(name)) => {
            order(play, Some(name), Order::Signal(Signal::Continue)).await?;
        }
        Step::Server(ServerStep::PowerCut(name)) => {
            order(play, Some(name), Order::Signal(Signal::Kill)).await?;
            play.stage.power_cut()?;
            forget_marks(play);
        }
        Step::Server(ServerStep::ClockStep(by_ms)) => play.stage.step_clock(*by_ms)?,
        Step::Fault(fault) => play.graph.with(|graph| graph.add_fault(fault.clone()))?,
        Step::Heal => play.graph.with(fake_microsoft::graph::FakeGraph::clear_faults),
        Step::Bot(step) => super::bot::step(play, step).await?,
        Step::Entra(step) => entra(play, step)?,
        Step::Delegate(step) => delegate::step(play, step).await?,
        Step::Disk(step) => {
            play.stage.disk(step)?;
            if matches!(step, DiskStep::Delete(_) | DiskStep::Damage(_)) {
                // The marks of these files are lost, so all of their messages may come again.
                let at_ms = play.now_ms();
                for session in play.sessions.values() {
                    session.view.borrow_mut().ledger.lose(at_ms);
                }
            } else {
                play.disk_fails = !matches!(step, DiskStep::Heal);
            }
        }
        Step::File(step) => file(play, step).await?,
        Step::Work(step) => change_job(play, step)?,
        Step::Peer(step) => {
            let now_ms = play.stage.now().as_millisecond();
            play.session(MAIN)?.target().change(*step, now_ms);
        }
        Step::Raw(raw) => raw_line(play, raw).await?,
        Step::Heartbeat(beat) => heartbeat(play, beat).await?,
        Step::Random(_) | Step::Kills(_) => {
            each(play, random::drawn(play.cell, step).unwrap_or_default()).await?;
        }
        Step::Expect(expect) => demand(play, expect).await?,
    }
    Ok(())
}

/// A file of the machine is written, once or again and again.
async fn file(play: &Play<'_>, step: &FileStep) -> anyhow::Result<()> {
    let path = step.path.trim_start_matches('/');
    for _ in 0..step.times.unwrap_or(1) {
        let before = match &step.text {
            Some(text) => text.clone(),
            None => String::from_utf8_lossy(&play.stage.read(path)).into_owned(),
        };
        let lines = step.lines.iter().flat_map(|line| [line.to_string(), "\n".to_owned()]);
        let text = before + step.append.as_deref().unwrap_or_default() + &lines.collect::<String>();
        play.stage.overwrite(path, &text)?;
        if let Some(every) = step.every {
            tokio::time::sleep(every.0).await;
        }
    }
    Ok(())
}

/// A job is cancelled, or its process killed.
fn change_job(play: &mut Play<'_>, step: &WorkStep) -> anyhow::Result<()> {
    let (WorkStep::Cancel(label) | WorkStep::Kill(label)) = step;
    let id = written(play, label)?.message_id;
    let Some(jobs) = play.stage.jobs() else { anyhow::bail!("no work is begun here") };
    let is_done = match step {
        WorkStep::Cancel(_) => jobs.cancel(&id)?,
        WorkStep::Kill(_) => jobs.kill(&id)?,
    };
    if is_done { Ok(()) } else { Err(Miss::new(format!("the job {label} does not run")).into()) }
}

/// Everybody comes and goes of their own accord.
fn change_members(play: &mut Play<'_>, members: &Members) -> anyhow::Result<()> {
    let (now, chat) = (play.stage.now(), members.chat.as_str());
    play.graph.with(|graph| {
        for who in &members.add {
            graph.add_member(now, chat, who, who)?;
        }
        members.remove.iter().try_for_each(|who| graph.remove_member(now, chat, who, who))
    })?;
    Ok(())
}

/// The main host's model moves, and is shown what its hooks say of it: what happens next is news to a real one too,
/// however slowly it starts a program.
async fn turn(play: &mut Play<'_>, action: Action) -> anyhow::Result<()> {
    play.session(MAIN)?.order(Order::Act(action));
    let deadline = tokio::time::Instant::now() + HOOKS_MAX;
    loop {
        tokio::time::sleep(SETTLE).await;
        if !play.session(MAIN)?.runs_a_hook() || tokio::time::Instant::now() >= deadline {
            return Ok(());
        }
    }
}

/// From now on the oracle reckons with marks that are gone.
fn forget_marks(play: &Play<'_>) {
    let at_ms = play.now_ms();
    for session in play.sessions.values() {
        session.view.borrow_mut().ledger.forget_unsynced(at_ms);
    }
}

/// Takes steps that were drawn, up to the first that misses.
async fn each(play: &mut Play<'_>, steps: Vec<Step>) -> anyhow::Result<()> {
    for step in steps {
        if !matches!(step, Step::Advance(_)) && !random::is_pointless(play, &step) {
            play.note(&format!("drawn: {}", random::told(&step)));
        }
        Box::pin(one(play, &step)).await?;
    }
    Ok(())
}

fn entra(play: &Play<'_>, step: &EntraStep) -> anyhow::Result<()> {
    match step {
        EntraStep::Fault(fault) => play.entra.with(|entra| entra.add_fault(fault.clone()))?,
        EntraStep::Heal => play.entra.with(fake_microsoft::entra::FakeEntra::clear_faults),
        EntraStep::Register(certificate) => play.entra.with(|entra| entra.register(*certificate)),
        EntraStep::Consent => play.entra.with(fake_microsoft::entra::FakeEntra::consent),
        EntraStep::DemandClaims(claims) => {
            play.graph.with(|graph| graph.demand_claims(Some(claims.clone())));
        }
        EntraStep::EndTokens => play.graph.with(fake_microsoft::graph::FakeGraph::revoke_all_tokens),
        EntraStep::RevokeRefreshTokens => {
            play.entra.with(fake_microsoft::entra::FakeEntra::revoke_refresh_tokens);
        }
    }
    Ok(())
}

/// Tells a session something, and gives it the time to be on the wire.
async fn order(play: &mut Play<'_>, session: Option<&str>, order: Order) -> anyhow::Result<()> {
    play.session(session.unwrap_or(MAIN))?.order(order);
    tokio::time::sleep(SETTLE).await;
    Ok(())
}

/// Waits until something is so, or the time is over; whether it is so then.
async fn wait_until(play: &Play<'_>, deadline: tokio::time::Instant, is_so: impl Fn() -> bool) -> bool {
    while !is_so() && tokio::time::Instant::now() < deadline {
        let changed = play.changed.notified();
        tokio::select! {
            biased;
            () = changed => {}
            () = tokio::time::sleep_until(deadline) => {}
        }
    }
    is_so()
}

/// Checks a demand now and at every change until it holds or its time is over.
async fn demand(play: &Play<'_>, expect: &Expect) -> Result<(), Miss> {
    let about = expect.about();
    let Some(within) = about.within else { return expect::check(expect, play) };
    let deadline = tokio::time::Instant::now() + within.0;
    if about.is_absence {
        tokio::time::sleep_until(deadline).await;
        return expect::check(expect, play);
    }
    loop {
        let changed = play.changed.notified();
        let checked = expect::check(expect, play);
        let now = tokio::time::Instant::now();
        if checked.is_ok() || now >= deadline {
            return checked;
        }
        let look = if about.changes_silently { now + FILE_LOOK } else { deadline };
        tokio::select! {
            biased;
            () = changed => {}
            () = tokio::time::sleep_until(look.min(deadline)) => {}
        }
    }
}

/// Longest that a step waits for a host that has just been started.
const READY_MAX: Duration = Duration::from_secs(70);

async fn wait_ready(play: &Play<'_>, name: &str) -> Result<(), Miss> {
    let given_up = |view: &SessionView| view.facts.contains_key("given up");
    let look = || play.with_view(Some(name), |view| view.ready || !view.alive || given_up(view));
    wait_until(play, tokio::time::Instant::now() + READY_MAX, look).await;
    if play.with_view(Some(name), |view| view.ready && !given_up(view)) {
        return Ok(());
    }
    let why = play.with_view(Some(name), |view| {
        let facts =
            ["given up", "server ended"].map(|fact| view.facts.get(fact).cloned().unwrap_or_default());
        facts.into_iter().find(|fact| !fact.is_empty()).unwrap_or_else(|| "it never got ready".to_owned())
    });
    Err(Miss::new(format!("the host of session `{name}` has no server: {why}")))
}

/// A dialog about the tool stands open soon, and is answered where a person is there.
async fn dialog(play: &mut Play<'_>, step: &DialogStep) -> anyhow::Result<()> {
    let name = step.on.clone().unwrap_or_else(|| MAIN.to_owned());
    let open = || play.with_view(Some(&name), |view| view.dialogs.first().cloned());
    wait_until(play, tokio::time::Instant::now() + DIALOG_MAX, || open().is_some()).await;
    let found = open().unwrap_or_default();
    if found != step.tool {
        let what = format!("no dialog of the host asks whether {} may run", step.tool);
        return Err(Miss::texts(what, &step.tool, &found).into());
    }
    if let Some(allow) = step.allow {
        order(play, Some(&name), Order::Act(Action::AnswerDialog { allow })).await?;
    }
    Ok(())
}

/// A form of the server stands open soon, and is answered where a person is there.
async fn form(play: &mut Play<'_>, step: &FormStep) -> anyhow::Result<()> {
    let name = step.on.clone().unwrap_or_else(|| MAIN.to_owned());
    let open = || play.with_view(Some(&name), |view| view.forms.first().cloned());
    wait_until(play, tokio::time::Instant::now() + DIALOG_MAX, || open().is_some()).await;
    let found = open().unwrap_or_default();
    if !found.contains(&step.says) {
        return Err(Miss::texts("no form asks the person for this", &step.says, &found).into());
    }
    if let Some(action) = &step.action {
        let content = step.content.clone().map(Value::Object);
        let action = Action::AnswerElicitation { action: action.clone(), content };
        order(play, Some(&name), Order::Act(action)).await?;
    }
    Ok(())
}

/// Ends a session and waits until its host is gone.
async fn end(play: &mut Play<'_>, name: &str, how: Action) -> anyhow::Result<()> {
    play.session(name)?.order(Order::Act(how));
    let is_gone = || play.with_view(Some(name), |view| !view.alive);
    wait_until(play, tokio::time::Instant::now() + READY_MAX, is_gone).await;
    Ok(())
}

async fn host(play: &mut Play<'_>, step: &HostStep) -> anyhow::Result<()> {
    match step {
        HostStep::Start(name) | HostStep::Launch(name) => {
            super::setup::install(play, name)?;
            play.session(name)?.start();
            if matches!(step, HostStep::Start(_)) {
                wait_ready(play, name).await?;
            }
        }
        HostStep::Exit(name) => end(play, name, Action::Exit).await?,
        HostStep::Kill(name) => end(play, name, Action::Kill).await?,
        HostStep::Interrupt(name) => order(play, Some(name), Order::Act(Action::Interrupt)).await?,
        HostStep::Clear(name) => {
            order(play, Some(name), Order::Act(Action::ChangeSession { back: false })).await?;
        }
        HostStep::Resume(name) => {
            order(play, Some(name), Order::Act(Action::ChangeSession { back: true })).await?;
        }
        HostStep::Plan(name) => order(play, Some(name), Order::Act(Action::OnlyPlan)).await?,
        HostStep::LoseReply(name) => order(play, Some(name), Order::LoseReply).await?,
    }
    Ok(())
}

/// Chat handle and id of a labelled message.
fn place(play: &Play<'_>, label: &str) -> anyhow::Result<(String, String)> {
    let written = written(play, label)?;
    let handle = play
        .graph
        .with(|graph| graph.chat_handle(&written.chat_id).map(str::to_owned))
        .ok_or_else(|| anyhow::anyhow!("the chat of `{label}` has no handle"))?;
    Ok((handle, written.message_id))
}

/// A message of any source by its label.
fn written(play: &Play<'_>, label: &str) -> anyhow::Result<Written> {
    play.with_view(None, |view| view.ledger.by_label(label).cloned())
        .ok_or_else(|| anyhow::anyhow!("no message is labelled `{label}`"))
}

async fn write_messages(play: &Play<'_>, write: &Write) -> anyhow::Result<()> {
    let count = write.count.unwrap_or(1);
    let every = write.every.map(|span| scaled(play.cell.mode, span.0));
    if let Some(vector) = &write.vector {
        let all = vectors::all()?;
        let chosen: Vec<_> = all.iter().filter(|v| is_meant(vector, &v.id)).collect();
        anyhow::ensure!(!chosen.is_empty(), "no sanitiser vector is named `{vector}`");
        for vector in chosen {
            let mut message = write.message.clone().unwrap_or_default();
            if vector.markup == "text" {
                message.text = Some(vector.input.clone());
            } else {
                message.html = Some(vector.input.clone());
            }
            let label = format!("{}-{}", write.label.as_deref().unwrap_or("vector"), vector.id);
            post(play, write, message, &label, vector.expected().map(str::to_owned))?;
            if let Some(every) = every {
                tokio::time::sleep(every).await;
            }
        }
        return Ok(());
    }
    for n in 1..=count {
        let mut message = write.message.clone().unwrap_or_default();
        let number = |text: &String| text.replace("{n}", &n.to_string());
        message.text = write.text.as_ref().map(|text| lengthened(&number(text))).or(message.text);
        message.html = write.html.as_ref().map(number).or(message.html);
        let label = match &write.label {
            Some(label) if count > 1 => format!("{label}-{n}"),
            Some(label) => label.clone(),
            None => format!("message-{}", play.with_view(None, |view| view.ledger.written().len() + 1)),
        };
        let expected = plain(&message);
        let chat = write.chat.as_ref().map(number);
        let from = write.from.as_ref().map(number);
        post(play, &Write { chat, from, ..write.clone() }, message, &label, expected)?;
        if let Some(every) = every {
            tokio::time::sleep(every).await;
        }
    }
    Ok(())
}

/// The text that a model must read, where nothing in it could be changed by the sanitiser.
fn plain(message: &MessageSpec) -> Option<String> {
    let visible_after_ms = message.visible_after_ms;
    let alone =
        MessageSpec { text: message.text.clone(), visible_after_ms, ..MessageSpec::default() } == *message;
    let text = message.text.as_ref().filter(|_| alone)?;
    is_plain(text).then(|| text.clone())
}

fn post(
    play: &Play<'_>,
    write: &Write,
    mut message: MessageSpec,
    label: &str,
    expected_text: Option<String>,
) -> anyhow::Result<()> {
    let scenario = &play.cell.scenario.scenario;
    let chat = write.chat.clone().unwrap_or_else(|| "dm".to_owned());
    let members = scenario.world.chats.get(&chat).map(|chat| chat.members.clone()).unwrap_or_default();
    let from = write
        .from
        .clone()
        .or_else(|| members.first().cloned())
        .ok_or_else(|| anyhow::anyhow!("chat `{chat}` has no person who could write"))?;
    let is_event = message.event.is_some() || message.message_type.is_some();
    let visible_after_ms = message.visible_after_ms;
    message.handle = Some(label.to_owned());
    let now = play.stage.now();
    let at_ms = play.now_ms();
    let (message_id, chat_id) = play.graph.with(|graph| {
        let id = graph.post(now, &chat, &from, &message)?;
        Ok::<_, fake_microsoft::graph::ScriptError>((id, graph.chat_id(&chat)?.to_owned()))
    })?;
    play.written(&Written {
        label: label.to_owned(),
        message_id,
        chat_id,
        at_ms,
        visible_ms: at_ms + visible_after_ms,
        heard: if is_event || write.unheard { Heard::Never } else { Heard::of(play.may_speak(&from)) },
        from,
        expected_text,
        ordered_after_ms: Some(0),
    });
    Ok(())
}

fn make_calls(play: &mut Play<'_>, calls: &[Call], on: Option<&str>) -> anyhow::Result<()> {
    let mut made = Vec::new();
    for (n, call) in calls.iter().enumerate() {
        let arguments = match &call.args {
            Some(arguments) => fill_in(play, arguments.clone())?,
            None => Value::Object(serde_json::Map::new()),
        };
        let label = call.label.clone().unwrap_or_else(|| format!("call-{}-{n}", play.now_ms()));
        made.push((call.tool.clone(), arguments, label));
    }
    play.session(on.unwrap_or(MAIN))?.call(made);
    Ok(())
}

/// Replaces `$chat:HANDLE`, `$conversation:HANDLE`, `$person:HANDLE`, `$id:LABEL`, `$task:LABEL` and `$fill:N` in arguments.
fn fill_in(play: &Play<'_>, value: Value) -> anyhow::Result<Value> {
    Ok(match value {
        Value::String(text) => Value::String(if let Some(handle) = text.strip_prefix("$chat:") {
            play.graph.with(|graph| graph.chat_id(handle).map(str::to_owned))?
        } else if let Some(handle) = text.strip_prefix(scenario::BOT_CONVERSATION) {
            fake_microsoft::bot::FakeBot::conversation_id(handle)
        } else if let Some(handle) = text.strip_prefix("$person:") {
            play.graph.with(|graph| graph.person(handle).map(|person| person.object_id.clone()))?
        } else if let Some(label) = text.strip_prefix("$id:") {
            written(play, label)?.message_id
        } else if let Some(label) = text.strip_prefix("$task:") {
            delegate::task_of(play, label)?
        } else if let Some(length) = text.strip_prefix("$fill:") {
            "x".repeat(length.parse()?)
        } else {
            text
        }),
        Value::Array(items) => {
            Value::Array(items.into_iter().map(|item| fill_in(play, item)).collect::<anyhow::Result<_>>()?)
        }
        Value::Object(members) => Value::Object(
            members
                .into_iter()
                .map(|(name, value)| Ok((name, fill_in(play, value)?)))
                .collect::<anyhow::Result<_>>()?,
        ),
        other => other,
    })
}

async fn raw_line(play: &mut Play<'_>, raw: &Raw) -> anyhow::Result<()> {
    let line = match (&raw.json, &raw.text) {
        (Some(json), _) => json.to_string(),
        (None, Some(text)) => match raw.fill_to_bytes {
            Some(bytes) if !text.is_empty() => text.repeat(bytes.div_ceil(text.len())),
            _ => text.clone(),
        },
        (None, None) => String::new(),
    };
    order(play, raw.on.as_deref(), Order::Raw(line.into_bytes())).await
}

async fn heartbeat(play: &mut Play<'_>, beat: &Heartbeat) -> anyhow::Result<()> {
    let rounds = beat.lasting.ms() / beat.every.ms().max(1);
    for round in 0..rounds {
        let id = Value::String(format!("beat-{round}"));
        let line = serde_json::json!({"jsonrpc": "2.0", "id": id, "method": "ping"}).to_string();
        let sent = tokio::time::Instant::now();
        play.session(MAIN)?.order(Order::Raw(line.into_bytes()));
        let answered =
            |play: &Play<'_>| {
                play.with_view(None, |view| {
                    view.lines.iter().rev().take(64).any(|line| {
                        !line.by_host && line.json.as_ref().is_some_and(|j| j.get("id") == Some(&id))
                    })
                })
            };
        if !wait_until(play, sent + beat.answered_within.0, || answered(play)).await {
            let within = beat.answered_within.ms();
            return Err(Miss::new(format!("ping {round} was not answered within {within} ms")).into());
        }
        tokio::time::sleep_until(sent + beat.every.0).await;
    }
    Ok(())
}
