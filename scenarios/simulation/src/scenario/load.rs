//! Reads scenario files and refuses what could not mean what it says. Never runs anything.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use hostcheck::hint::nearest;
use serde_json::Value;
use serde_saphyr::Spanned;

use super::error::Place;
use super::{
    BOT_CONVERSATION, BotStep, Call, Expect, HostStep, Hosts, MailboxStep, Mode, OperatorStep, Scenario,
    ScenarioError, ServerStep, Step, WORK_TOOL, WorkStep,
};

include!(concat!(env!("OUT_DIR"), "/suites.rs"));

/// A scenario with the file it came from.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The scenario.
    pub scenario: Scenario,
    /// File as it is named in messages.
    pub file: String,
    /// Its text.
    pub source: Arc<str>,
    /// Whether it came with the program.
    pub builtin: bool,
}

impl Loaded {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.scenario.id.value
    }

    /// What names it on a command line: its id, or its file when it did not come with the program.
    pub fn name(&self) -> &str {
        if self.builtin { self.id() } else { &self.file }
    }

    /// The suite: the folder of its file.
    pub fn suite(&self) -> &str {
        self.file.rsplit('/').nth(1).unwrap_or("")
    }
}

/// Every embedded scenario, by id.
pub fn load_builtin() -> Result<Vec<Loaded>, ScenarioError> {
    let mut all = Vec::new();
    for (file, source) in SUITES {
        all.push(Loaded { builtin: true, ..parse(&format!("scenarios/{file}"), source)? });
    }
    unique(all)
}

/// A scenario file, or every `.yaml` below a folder.
pub fn load_path(path: &Path) -> Result<Vec<Loaded>, ScenarioError> {
    let mut files = Vec::new();
    collect(path, &mut files).map_err(|error| ScenarioError {
        rendered: format!("error: cannot read {}: {error}; name a scenario file, a folder or a suite (see `simulation list`)", path.display()),
    })?;
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let name = file.to_string_lossy().replace('\\', "/");
        #[expect(clippy::disallowed_methods, reason = "scenario files are read here and nowhere else")]
        let source = std::fs::read_to_string(&file)
            .map_err(|error| ScenarioError { rendered: format!("error: cannot read {name}: {error}") })?;
        all.push(parse(&name, &source)?);
    }
    unique(all)
}

fn collect(path: &Path, files: &mut Vec<std::path::PathBuf>) -> std::io::Result<()> {
    if path.is_dir() {
        for entry in std::fs::read_dir(path)? {
            let entry = entry?.path();
            if entry.is_dir() || entry.extension().is_some_and(|ending| ending == "yaml") {
                collect(&entry, files)?;
            }
        }
    } else {
        std::fs::metadata(path)?;
        files.push(path.to_owned());
    }
    Ok(())
}

fn unique(mut all: Vec<Loaded>) -> Result<Vec<Loaded>, ScenarioError> {
    all.sort_by(|a, b| a.id().cmp(b.id()));
    for pair in all.windows(2) {
        if pair[0].id() == pair[1].id() {
            return Err(ScenarioError {
                rendered: format!(
                    "error: two scenarios are named `{}`: {} and {}; rename one",
                    pair[0].id(),
                    pair[0].file,
                    pair[1].file
                ),
            });
        }
    }
    Ok(all)
}

/// Parses one file's text; `file` is the name used in messages.
pub fn parse(file: &str, source: &str) -> Result<Loaded, ScenarioError> {
    let scenario: Scenario = serde_saphyr::from_str(source).map_err(|error| {
        let message = first_line(&error.to_string());
        match error.location() {
            Some(at) => {
                let place = Place { line: to_usize(at.line()), column: to_usize(at.column()) };
                ScenarioError::at(file, source, place, &message, did_you_mean(&message).as_deref())
            }
            None => ScenarioError { rendered: format!("error: {message}\n --> {file}") },
        }
    })?;
    check(file, source, &scenario)?;
    Ok(Loaded { scenario, file: file.to_owned(), source: source.into(), builtin: false })
}

fn to_usize(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// The parser's message without its position, which the frame shows.
fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let line = line.strip_prefix("error: ").unwrap_or(line);
    match line.split_once(": ") {
        Some((position, rest)) if position.starts_with("line ") => rest.to_owned(),
        _ => line.to_owned(),
    }
}

/// `unknown field `txt`, expected one of chat, text` → `did you mean `text`?`.
fn did_you_mean(message: &str) -> Option<String> {
    let word = message.split('`').nth(1)?;
    let known = message.split("expected one of ").nth(1).or_else(|| message.split("expected ").nth(1))?;
    let known = known.split([',', ' ', '`']).filter(|w| !w.is_empty() && *w != "or");
    nearest(word, known).map(|best| format!("did you mean `{best}`?"))
}

/// Longest single wait.
const ADVANCE_MAX: std::time::Duration = std::time::Duration::from_secs(30 * 24 * 3_600);

struct Checker<'a> {
    file: &'a str,
    source: &'a str,
    labels: BTreeSet<String>,
    calls: BTreeSet<String>,
    sessions: BTreeSet<String>,
    people: BTreeSet<String>,
    chats: BTreeSet<String>,
}

impl Checker<'_> {
    fn fail<T>(&self, at: &Spanned<T>, message: &str, help: Option<&str>) -> ScenarioError {
        let place = Place { line: to_usize(at.referenced.line()), column: to_usize(at.referenced.column()) };
        ScenarioError::at(self.file, self.source, place, message, help)
    }

    fn one_text(&self, given: [bool; 3], step: &Spanned<Step>) -> Result<(), ScenarioError> {
        if given.iter().filter(|set| **set).count() > 1 {
            return Err(self.fail(step, "a message has one of `text`, `html` and `vector`", None));
        }
        Ok(())
    }

    /// Notes the names that a step gives to its messages.
    fn name(
        &mut self,
        label: Option<&String>,
        count: Option<u32>,
        step: &Spanned<Step>,
    ) -> Result<(), ScenarioError> {
        let Some(label) = label else { return Ok(()) };
        if self.labels.contains(label) {
            let message = format!("a message is named `{label}` already");
            return Err(self.fail(step, &message, Some("choose another name")));
        }
        self.labels.insert(label.clone());
        self.labels.extend((1..=count.unwrap_or(1)).map(|n| format!("{label}-{n}")));
        Ok(())
    }

    fn known(
        &self,
        step: &Spanned<Step>,
        what: &str,
        name: &str,
        set: &BTreeSet<String>,
    ) -> Result<(), ScenarioError> {
        if set.contains(name) {
            return Ok(());
        }
        let help = nearest(name, set.iter().map(String::as_str)).map_or_else(
            || format!("known: {}", set.iter().cloned().collect::<Vec<_>>().join(", ")),
            |best| format!("did you mean `{best}`?"),
        );
        Err(self.fail(step, &format!("no {what} is named `{name}`"), Some(&help)))
    }
}

fn check(file: &str, source: &str, scenario: &Scenario) -> Result<(), ScenarioError> {
    let mut checker = Checker {
        file,
        source,
        labels: scenario
            .world
            .mail
            .iter()
            .flat_map(|mailbox| &mailbox.messages)
            .filter_map(|item| item.message.handle.clone())
            .collect(),
        calls: BTreeSet::new(),
        sessions: scenario.sessions.keys().cloned().chain(["main".to_owned()]).collect(),
        people: scenario
            .world
            .people
            .keys()
            .cloned()
            .chain(scenario.world.applications.keys().cloned())
            .collect(),
        chats: scenario.world.chats.keys().cloned().collect(),
    };
    let id = &scenario.id;
    let well_named = id.value.contains('.')
        && id.value.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-.".contains(c));
    if !well_named {
        return Err(checker.fail(id, "the id must be `area.what-it-shows` in lower case", None));
    }
    if let Hosts::Named(names) = &scenario.hosts {
        let all = hostcheck::host::all()
            .map_err(|error| ScenarioError { rendered: format!("error: {error:#}") })?;
        for name in names {
            if !all.iter().any(|host| host.id == *name || host.family == *name) {
                return Err(checker.fail(
                    id,
                    &format!("`hosts` names `{name}`, which is no profile and no family"),
                    Some("see `hostcheck hosts`"),
                ));
            }
        }
    }
    for name in scenario.server.keys() {
        if !name.contains('.') {
            return Err(checker.fail(
                id,
                &format!("`server` has `{name}`, which is not `section.key`"),
                None,
            ));
        }
    }
    for name in &scenario.strangers {
        if !checker.people.contains(name) {
            return Err(checker.fail(
                id,
                &format!("`strangers` names `{name}`, who is not in `world.people`"),
                None,
            ));
        }
    }
    if scenario.steps.is_empty() {
        return Err(checker.fail(id, "a scenario without steps shows nothing", Some("add `steps:`")));
    }
    let expects = scenario.steps.iter().any(|step| matches!(step.value, Step::Expect(_)));
    let writes = |step: &Step| {
        matches!(step, Step::Write(_) | Step::Mail(_) | Step::Random(_) | Step::Kills(_) | Step::Bot(_))
    };
    let writes = scenario.steps.iter().any(|step| writes(&step.value));
    let judged = expects || (scenario.all_delivered && writes);
    if !judged {
        return Err(checker.fail(
            id,
            "nothing is expected, so nothing can fail",
            Some("add an `expect:` step"),
        ));
    }
    if let Some((problem, help)) = super::sense::setup_misused(scenario) {
        return Err(checker.fail(id, problem, Some(help)));
    }
    let in_process = scenario.mode.contains(&Mode::Process);
    if in_process && scenario.server_clock_ahead_ms != 0 {
        let help = "leave `process` out of `mode`";
        return Err(checker.fail(id, "another clock can only be simulated", Some(help)));
    }
    for step in &scenario.steps {
        let only_simulated = match &step.value {
            Step::Peer(_)
            | Step::Work(_)
            | Step::Disk(_)
            | Step::Server(ServerStep::PowerCut(_) | ServerStep::ClockStep(_)) => true,
            Step::Random(random) => random.troubles.iter().any(|trouble| trouble.is_only_simulated()),
            Step::Call(call) => call.tool == WORK_TOOL,
            Step::Calls(calls) => calls.iter().any(|call| call.tool == WORK_TOOL),
            _ => false,
        };
        if in_process && only_simulated {
            return Err(checker.fail(
                step,
                "this can only be simulated",
                Some("leave `process` out of `mode`"),
            ));
        }
        if matches!(step.value, Step::Mail(_) | Step::Mailbox(_)) && scenario.world.mail.is_none() {
            return Err(checker.fail(step, "the agent has no mailbox", Some("add `mail: {}` to the world")));
        }
        if let Step::Random(random) = &step.value
            && let Some((problem, help)) = random.lacks(scenario)
        {
            return Err(checker.fail(step, problem, Some(help)));
        }
        if let Step::Advance(span) = &step.value
            && span.0 > ADVANCE_MAX
        {
            return Err(checker.fail(
                step,
                "nothing waits for more than 30 days",
                Some("write a shorter time"),
            ));
        }
        check_step(&mut checker, step)?;
    }
    Ok(())
}

fn check_step(checker: &mut Checker<'_>, step: &Spanned<Step>) -> Result<(), ScenarioError> {
    let on = |checker: &Checker<'_>, name: &str| checker.known(step, "session", name, &checker.sessions);
    match &step.value {
        Step::Write(write) => {
            if let Some(chat) = &write.chat {
                checker.known(step, "chat", chat, &checker.chats)?;
            }
            if let Some(from) = &write.from {
                checker.known(step, "person", from, &checker.people)?;
            }
            for quoted in write.message.iter().flat_map(|message| &message.quotes) {
                checker.known(step, "message", quoted, &checker.labels)?;
            }
            checker.one_text([write.text.is_some(), write.html.is_some(), write.vector.is_some()], step)?;
            checker.name(write.label.as_ref(), write.count, step)?;
        }
        Step::Mail(mail) => {
            if let Some(from) = &mail.from {
                checker.known(step, "person", from, &checker.people)?;
            }
            if let Some(answered) = mail.message.as_ref().and_then(|message| message.answers.as_ref()) {
                checker.known(step, "message", answered, &checker.labels)?;
            }
            checker.one_text([mail.text.is_some(), mail.html.is_some(), mail.vector.is_some()], step)?;
            checker.name(mail.label.as_ref(), mail.count, step)?;
        }
        Step::Mailbox(
            MailboxStep::Read(label)
            | MailboxStep::Unread(label)
            | MailboxStep::Move(label)
            | MailboxStep::Remove(label),
        ) => checker.known(step, "message", label, &checker.labels)?,
        Step::Edit(edit) => checker.known(step, "message", &edit.message, &checker.labels)?,
        Step::Delete(message) => checker.known(step, "message", &message.message, &checker.labels)?,
        Step::Members(members) => {
            checker.known(step, "chat", &members.chat, &checker.chats)?;
            for who in members.add.iter().chain(&members.remove) {
                checker.known(step, "person", who, &checker.people)?;
            }
        }
        Step::Call(call) => {
            if let Some(name) = &call.on {
                on(checker, name)?;
            }
            checker.calls.extend(call.label.clone());
            checker.labels.extend(works_of(call));
        }
        Step::Calls(calls) => {
            if calls.iter().any(|call| call.on.is_some()) {
                return Err(checker.fail(
                    step,
                    "the calls of one turn are made in the main session",
                    Some("leave `on` out, or use `call`"),
                ));
            }
            checker.calls.extend(calls.iter().filter_map(|call| call.label.clone()));
            checker.labels.extend(calls.iter().flat_map(works_of));
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
        ) => on(checker, name)?,
        Step::Shell(shell) => {
            if let Some(name) = &shell.on {
                on(checker, name)?;
            }
            checker.calls.extend(shell.label.clone());
        }
        Step::Permission(ask) => {
            let code = ask.id.bytes().all(|b| b.is_ascii_lowercase() && b != b'l') && ask.id.len() == 5;
            if !code {
                return Err(checker.fail(step, "an id has five letters a to z without l", None));
            }
            if let Some(name) = &ask.on {
                on(checker, name)?;
            }
        }
        Step::Dialog(dialog) => {
            if let Some(name) = &dialog.on {
                on(checker, name)?;
            }
        }
        Step::Operator(act) => check_operator(checker, step, act)?,
        Step::Raw(raw) => {
            if raw.json.is_some() == raw.text.is_some() {
                return Err(checker.fail(step, "a raw line has either `json` or `text`", None));
            }
            if let Some(name) = &raw.on {
                on(checker, name)?;
            }
        }
        Step::Bot(bot) => check_bot(checker, step, bot)?,
        Step::Work(WorkStep::Cancel(label) | WorkStep::Kill(label)) => {
            checker.known(step, "job", label, &checker.labels)?;
        }
        Step::Expect(expect) => check_expect(checker, step, expect)?,
        Step::Mailbox(MailboxStep::Forget(_))
        | Step::Server(ServerStep::ClockStep(_))
        | Step::Setup(_)
        | Step::Random(_)
        | Step::Kills(_)
        | Step::Advance(_)
        | Step::Heartbeat(_)
        | Step::Agent(_)
        | Step::Turn(_)
        | Step::Fault(_)
        | Step::Heal
        | Step::Entra(_)
        | Step::Peer(_)
        | Step::Disk(_) => {}
    }
    Ok(())
}

/// The labels of the work that a call begins.
fn works_of(call: &Call) -> Vec<String> {
    let argument = |name: &str| call.args.as_ref().and_then(|args| args.get(name));
    let label = argument("label").and_then(Value::as_str).filter(|_| call.tool == WORK_TOOL);
    let count = argument("count").and_then(Value::as_u64).unwrap_or(1);
    match label {
        None => Vec::new(),
        Some(label) if count == 1 => vec![label.to_owned()],
        Some(label) => (1..=count).map(|n| format!("{label}-{n}")).collect(),
    }
}

fn check_bot(checker: &mut Checker<'_>, step: &Spanned<Step>, bot: &BotStep) -> Result<(), ScenarioError> {
    match bot {
        BotStep::Say(say) => {
            if let Some(from) = &say.from {
                checker.known(step, "person", from, &checker.people)?;
            }
            if let Some(message) = &say.message {
                checker.known(step, "message", message, &checker.labels)?;
            }
            if say.forged.is_some() && say.status.is_none() && !say.unheard {
                let help = "add `status`; the best that a forgery gets is 403";
                return Err(checker.fail(step, "a forged activity must be refused", Some(help)));
            }
            if let Some(label) = &say.label {
                checker.labels.insert(label.clone());
                checker.labels.extend((1..=say.count.unwrap_or(1)).map(|n| format!("{label}-{n}")));
            }
        }
        BotStep::Again(again) => checker.known(step, "message", &again.message, &checker.labels)?,
        BotStep::ChangeKeys | BotStep::Fault(_) => {}
    }
    Ok(())
}

fn check_operator(
    checker: &Checker<'_>,
    step: &Spanned<Step>,
    act: &OperatorStep,
) -> Result<(), ScenarioError> {
    let known_chat = |chat: &str| match chat.strip_prefix(BOT_CONVERSATION) {
        // A conversation is there as soon as somebody writes in it.
        Some(_) => Ok(()),
        None => checker.known(step, "chat", chat, &checker.chats),
    };
    match act {
        OperatorStep::Pair(pair) => {
            checker.known(step, "person", &pair.person, &checker.people)?;
            pair.chat.iter().try_for_each(|chat| known_chat(chat))
        }
        OperatorStep::Allow(who) | OperatorStep::Deny(who) => {
            checker.known(step, "person", &who.person, &checker.people)
        }
        OperatorStep::Chat(chat) => known_chat(&chat.chat),
        OperatorStep::PairCode(_) | OperatorStep::Overwrite(_) => Ok(()),
    }
}

/// What a demand lacks to be one; nothing when it demands something.
fn says_nothing(expect: &Expect) -> Option<&'static str> {
    let (demands, help) = match expect {
        Expect::Wire(e) if !e.by.as_deref().is_none_or(|by| by == "host" || by == "server") => {
            (false, "`by` is `host` or `server`")
        }
        Expect::Wire(e) => (
            e.lacks.is_some() && e.count != Some(0) || e.count.is_some() || e.at_least.is_some(),
            "add `count`, `at_least` or `lacks` (which says nothing of no lines)",
        ),
        Expect::Graph(e) => (
            e.no_violations || e.at_least.is_some() || e.at_most.is_some(),
            "add `at_least`, `at_most` or `no_violations`",
        ),
        Expect::Entra(e) => (
            e.no_violations || e.at_least.is_some() || e.at_most.is_some(),
            "add `at_least`, `at_most` or `no_violations`",
        ),
        Expect::Bot(e) => (
            e.answers.is_some() || e.keys_fetched_at_most.is_some(),
            "add `answers` or `keys_fetched_at_most`",
        ),
        Expect::Journal(e) => (
            e.records.is_some() || e.same_text_as_model || e.files_ending.is_some(),
            "add `records`, `same_text_as_model` or `files_ending`",
        ),
        Expect::Status(e) => (e.contains.is_some() || e.lacks.is_some(), "add `contains` or `lacks`"),
        Expect::Setup(e) => (e.demands(), "add `ours`, `others_stand`, `untouched` or `file`"),
        Expect::Interactions(e) => (
            e.count.is_some() || e.at_least.is_some() || e.lacks.is_some(),
            "add `count`, `at_least` or `lacks`",
        ),
        Expect::Result(e) if e.outcome.as_deref().is_some_and(|outcome| outcome != "ok") => (
            e.has.is_none() && e.contains.is_none() && e.lacks.is_none() && e.messages.is_none(),
            "a call that did not end well has no result to look into",
        ),
        Expect::Model(_)
        | Expect::Result(_)
        | Expect::Reply(_)
        | Expect::Sent(_)
        | Expect::SentMail(_)
        | Expect::Waking(_) => (true, ""),
    };
    (!demands).then_some(help)
}

fn check_expect(checker: &Checker<'_>, step: &Spanned<Step>, expect: &Expect) -> Result<(), ScenarioError> {
    if let Some(help) = says_nothing(expect) {
        return Err(checker.fail(step, "this demand can't fail", Some(help)));
    }
    let session = match expect {
        Expect::Model(model) => {
            if let Some(label) = &model.message {
                checker.known(step, "message", label, &checker.labels)?;
            }
            if model.message.is_none() && !model.every_message {
                return Err(checker.fail(step, "`model` needs `message` or `every_message`", None));
            }
            model.on.as_ref()
        }
        Expect::Result(result) => {
            checker.known(step, "call", &result.of, &checker.calls)?;
            None
        }
        Expect::Wire(wire) => wire.on.as_ref(),
        Expect::Waking(waking) => waking.on.as_ref(),
        Expect::Reply(reply) => reply.on.as_ref(),
        Expect::Sent(sent) => {
            if let Some(chat) = &sent.chat {
                checker.known(step, "chat", chat, &checker.chats)?;
            }
            None
        }
        Expect::Bot(bot) => {
            if let Some(label) = &bot.reply_to {
                checker.known(step, "message", label, &checker.labels)?;
            }
            None
        }
        Expect::SentMail(_)
        | Expect::Graph(_)
        | Expect::Entra(_)
        | Expect::Interactions(_)
        | Expect::Setup(_)
        | Expect::Status(_)
        | Expect::Journal(_) => None,
    };
    session.map_or(Ok(()), |name| checker.known(step, "session", name, &checker.sessions))
}
