//! Refuses a scenario that could not mean what it says.

use std::time::Duration;

use super::names::Names;
use super::{
    BOT_CONVERSATION, BotStep, DelegateStep, EngineStep, Expect, HostStep, Hosts, MailboxStep, Mode,
    OperatorStep, Scenario, ScenarioError, ServerStep, Step, WORK_TOOL, WorkStep, sense,
};

type Checked = Result<(), ScenarioError>;

/// Longest single wait.
const ADVANCE_MAX: Duration = Duration::from_secs(30 * 24 * 3_600);

/// Checks a whole scenario; `file` is the name used in messages.
pub(super) fn check(file: &str, source: &str, scenario: &Scenario) -> Checked {
    let mut names = Names::of(file, source, scenario);
    let id = &scenario.id.value;
    let of_an_id = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c);
    names.ensure(
        id.contains('.') && id.chars().all(of_an_id),
        "the id must be `area.what-it-shows` in lower case",
        None,
    )?;
    if let Hosts::Named(hosts) = &scenario.hosts {
        let all = hostcheck::host::all()
            .map_err(|error| ScenarioError { rendered: format!("error: {error:#}") })?;
        for name in hosts {
            names.ensure(
                all.iter().any(|host| host.id == *name || host.family == *name),
                &format!("`hosts` names `{name}`, which is no profile and no family"),
                "see `hostcheck hosts`",
            )?;
        }
    }
    for name in scenario.server.keys() {
        let message = format!("`server` has `{name}`, which is not `section.key`");
        names.ensure(name.contains('.'), &message, None)?;
    }
    for name in &scenario.strangers {
        let message = format!("`strangers` names `{name}`, who is not in `world.people`");
        names.ensure(names.is_person(name), &message, None)?;
    }
    names.ensure(!scenario.steps.is_empty(), "a scenario without steps shows nothing", "add `steps:`")?;
    let any = |is_it: fn(&Step) -> bool| scenario.steps.iter().any(|step| is_it(&step.value));
    let writes = any(|step| {
        matches!(step, Step::Write(_) | Step::Mail(_) | Step::Random(_) | Step::Kills(_) | Step::Bot(_))
    });
    names.ensure(
        any(|step| {
            matches!(
                step,
                Step::Expect(_)
                    | Step::Delegate(DelegateStep::InterruptEverywhere(_) | DelegateStep::CrashEverywhere(_))
            )
        }) || (scenario.all_delivered && writes),
        "nothing is expected, so nothing can fail",
        "add an `expect:` step",
    )?;
    if let Some((problem, help)) = sense::setup_misused(scenario) {
        return Err(names.fail(problem, help));
    }
    let in_process = scenario.mode.contains(&Mode::Process);
    let not_here = "leave `process` out of `mode`";
    names.ensure(
        !in_process || scenario.server_clock_ahead_ms == 0,
        "another clock can only be simulated",
        not_here,
    )?;
    let mut answers = scenario.agents.iter().flat_map(|script| &script.answers);
    names.ensure(
        !scenario.mode.contains(&Mode::Sim) || !answers.any(|answer| answer.children_leave_group),
        "a simulated machine does not list the processes of other sessions",
        "leave `sim` out of `mode`",
    )?;
    let spawns = scenario.delegate.as_ref().is_some_and(|delegate| delegate.spawn);
    names.ensure(
        !scenario.mode.contains(&Mode::Sim)
            || !(spawns || scenario.sessions.values().any(|session| session.beside)),
        "an engine is started by the bridge, or works in another project, only as a real process",
        "write `mode: [process]`",
    )?;
    for step in &scenario.steps {
        names.go_to(step);
        let step = &step.value;
        names.ensure(!in_process || !is_only_simulated(step), "this can only be simulated", not_here)?;
        let asks_program = matches!(step, Step::Expect(Expect::Delegate(expect)) if expect.stats.is_some());
        names.ensure(
            !asks_program || !scenario.mode.contains(&Mode::Sim),
            "only the program itself prints this",
            "write `mode: [process]`",
        )?;
        let of_engine = matches!(step, Step::Delegate(_) | Step::Expect(Expect::Delegate(_)));
        names.ensure(
            !of_engine || scenario.delegate.is_some(),
            "there is no local model",
            "add `delegate: {model: …}`",
        )?;
        let of_mail = matches!(step, Step::Mail(_) | Step::Mailbox(_));
        names.ensure(
            !of_mail || scenario.world.mail.is_some(),
            "the agent has no mailbox",
            "add `mail: {}` to the world",
        )?;
        if let Step::Random(random) = step
            && let Some((problem, help)) = random.lacks(scenario)
        {
            return Err(names.fail(problem, help));
        }
        check_step(&mut names, step)?;
    }
    Ok(())
}

fn is_only_simulated(step: &Step) -> bool {
    match step {
        Step::Peer(_)
        | Step::Work(WorkStep::Kill(_))
        | Step::Disk(_)
        | Step::File(_)
        | Step::Expect(Expect::File(_))
        | Step::Server(ServerStep::PowerCut(_) | ServerStep::ClockStep(_)) => true,
        Step::Call(call) => call.tool == WORK_TOOL,
        Step::Calls(calls) => calls.iter().any(|call| call.tool == WORK_TOOL),
        Step::Delegate(step) => !matches!(step, DelegateStep::Engine(EngineStep::Start | EngineStep::Kill)),
        Step::Expect(Expect::Delegate(expect)) => expect.is_only_simulated(),
        Step::Random(random) => random.troubles.iter().any(|trouble| trouble.is_only_simulated()),
        _ => false,
    }
}

fn one_text(names: &Names<'_>, given: [bool; 3]) -> Checked {
    let count = given.iter().filter(|set| **set).count();
    names.ensure(count <= 1, "a message has one of `text`, `html` and `vector`", None)
}

/// The names that a name with `{n}` stands for.
fn numbered(name: Option<&String>, count: Option<u32>) -> Vec<String> {
    let numbers = 1..=count.unwrap_or(1);
    name.map_or_else(Vec::new, |name| numbers.map(|n| name.replace("{n}", &n.to_string())).collect())
}

fn check_step(names: &mut Names<'_>, step: &Step) -> Checked {
    match step {
        Step::Write(write) => {
            names.chats(&numbered(write.chat.as_ref(), write.count))?;
            names.people(&numbered(write.from.as_ref(), write.count))?;
            names.messages(write.message.iter().flat_map(|message| &message.quotes))?;
            one_text(names, [write.text.is_some(), write.html.is_some(), write.vector.is_some()])?;
            names.give(write.label.as_ref(), write.count)
        }
        Step::Mail(mail) => {
            names.people(&numbered(mail.from.as_ref(), mail.count))?;
            names.messages(mail.message.as_ref().and_then(|message| message.answers.as_ref()))?;
            one_text(names, [mail.text.is_some(), mail.html.is_some(), mail.vector.is_some()])?;
            names.give(mail.label.as_ref(), mail.count)
        }
        Step::Mailbox(
            MailboxStep::Read(label)
            | MailboxStep::Unread(label)
            | MailboxStep::Move(label)
            | MailboxStep::Remove(label),
        )
        | Step::Work(WorkStep::Cancel(label) | WorkStep::Kill(label)) => names.messages([label]),
        Step::Edit(edit) => names.messages([&edit.message]),
        Step::Delete(message) => names.messages([&message.message]),
        Step::Members(members) => {
            names.chats([&members.chat])?;
            names.people(members.add.iter().chain(&members.remove))
        }
        Step::Call(call) => {
            names.give_calls(&call.label);
            names.give_jobs(call);
            names.sessions(&call.on)
        }
        Step::Calls(calls) => {
            names.give_calls(calls.iter().filter_map(|call| call.label.as_ref()));
            for call in calls {
                names.give_jobs(call);
            }
            names.ensure(
                calls.iter().all(|call| call.on.is_none()),
                "the calls of one turn are made in the main session",
                "leave `on` out, or use `call`",
            )
        }
        Step::Host(
            HostStep::Start(name)
            | HostStep::Launch(name)
            | HostStep::Exit(name)
            | HostStep::Kill(name)
            | HostStep::Interrupt(name)
            | HostStep::Clear(name)
            | HostStep::Resume(name)
            | HostStep::Plan(name)
            | HostStep::LoseReply(name),
        )
        | Step::Server(
            ServerStep::Crash(name)
            | ServerStep::Stop(name)
            | ServerStep::Wake(name)
            | ServerStep::PowerCut(name),
        ) => names.sessions([name]),
        Step::Shell(shell) => {
            names.give_calls(&shell.label);
            names.sessions(&shell.on)
        }
        Step::Permission(ask) => {
            let code = ask.id.bytes().all(|b| b.is_ascii_lowercase() && b != b'l') && ask.id.len() == 5;
            names.ensure(code, "an id has five letters a to z without l", None)?;
            names.sessions(&ask.on)
        }
        Step::Dialog(dialog) => names.sessions(&dialog.on),
        Step::Form(form) => names.sessions(&form.on),
        Step::Operator(act) => check_operator(names, act),
        Step::Raw(raw) => {
            let one = raw.json.is_some() != raw.text.is_some();
            names.ensure(one, "a raw line has either `json` or `text`", None)?;
            names.sessions(&raw.on)
        }
        Step::File(file) => {
            let something = file.text.is_some() || file.append.is_some() || !file.lines.is_empty();
            names.ensure(something, "nothing is written", "add `text`, `append` or `lines`")?;
            names.ensure(file.path.starts_with('/'), "a path begins with `/`", None)
        }
        Step::Bot(bot) => check_bot(names, bot),
        Step::Delegate(DelegateStep::Say(say)) => {
            names.give_calls([&say.label]);
            Ok(())
        }
        Step::Expect(expect) => check_expect(names, expect),
        Step::Advance(span) => {
            names.ensure(span.0 <= ADVANCE_MAX, "nothing waits for more than 30 days", "write a shorter time")
        }
        Step::Mailbox(MailboxStep::Forget(_))
        | Step::Server(ServerStep::ClockStep(_))
        | Step::Setup(_)
        | Step::Random(_)
        | Step::Kills(_)
        | Step::Heartbeat(_)
        | Step::Agent(_)
        | Step::Turn(_)
        | Step::Fault(_)
        | Step::Heal
        | Step::Entra(_)
        | Step::Peer(_)
        | Step::Delegate(_)
        | Step::Disk(_) => Ok(()),
    }
}

fn check_bot(names: &mut Names<'_>, bot: &BotStep) -> Checked {
    match bot {
        BotStep::Say(say) => {
            names.people(&numbered(say.from.as_ref(), say.count))?;
            names.messages(&say.message)?;
            names.ensure(
                say.forged.is_none() || say.status.is_some() || say.unheard,
                "a forged activity must be refused",
                "add `status`; the best that a forgery gets is 403",
            )?;
            if let Some(label) = &say.label {
                names.give_again(label, say.count);
            }
            Ok(())
        }
        BotStep::Again(again) => names.messages([&again.message]),
        BotStep::ChangeKeys | BotStep::Fault(_) => Ok(()),
    }
}

fn check_operator(names: &Names<'_>, act: &OperatorStep) -> Checked {
    // A conversation with the bot is there as soon as a person writes in it.
    let is_chat = |chat: &&String| !chat.starts_with(BOT_CONVERSATION);
    match act {
        OperatorStep::Pair(pair) => {
            names.people([&pair.person])?;
            names.chats(pair.chat.iter().filter(is_chat))
        }
        OperatorStep::Allow(who) | OperatorStep::Deny(who) => names.people([&who.person]),
        OperatorStep::Chat(chat) => names.chats([&chat.chat].into_iter().filter(is_chat)),
        OperatorStep::PairCode(_) | OperatorStep::Overwrite(_) => Ok(()),
    }
}

fn check_expect(names: &Names<'_>, expect: &Expect) -> Checked {
    let about = expect.about();
    if let Some((problem, help)) = about.misused {
        return Err(names.fail(problem, help));
    }
    names.messages(about.message)?;
    names.calls(about.call)?;
    if let Expect::Delegate(expect) = expect {
        names.calls(expect.of.iter().chain(&expect.ended))?;
    }
    names.chats(about.chat)?;
    names.sessions(about.session)
}
