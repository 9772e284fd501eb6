//! A cell being played: its sessions, its Graph, its disk, and everything seen so far.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use entraclaw_inbox::record::WORK_CHAT;
use entraclaw_work::Claim;
use fake_hosts::{AnyServer, Profile, WakeUpKind};
use fake_microsoft::bot::{BotDelivery, SharedBot};
use fake_microsoft::entra::SharedEntra;
use fake_microsoft::graph::SharedGraph;
use memchr::memmem::Finder;
use reports::event::{CellFinished, Failure, Lane, Status};
use scenario::{SetUp, word};
use tokio::sync::Notify;

use super::ended::result;
use super::extension;
use super::jobs::Jobs;
use super::peer::Limits;
use super::session::{Extension, Host, Session};
use super::socket::SocketLimits;
use super::stage::Stage;
use super::stopwatch::Stopwatch;
use super::view::{CallView, SessionView};
use super::wake_up_target::WakeUpTarget;
use crate::oracle::{Heard, Ledger, Posted, Written, judge_answers};
use crate::plan::Cell;
use crate::token::{AGENT_TOKEN, TOKEN};

/// The session that steps mean when they name none.
pub(crate) const MAIN: &str = "main";

/// One request that reached Graph.
#[derive(Debug, Clone)]
pub(crate) struct GraphCall {
    pub(crate) at_ms: u64,
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) status: u16,
}

/// The fact that counts the lines of a transcript that are not kept.
pub(super) const LINES_LEFT_OUT: &str = "transcript lines left out";
/// The fact of a session: how many texts that its model was shown are not in its report.
pub(super) const TEXTS_LEFT_OUT: &str = "texts left out";

/// Graph's lines of a transcript that are kept.
const GRAPH_LINES_MAX: usize = 2_000;

/// The length of a secret's start that is looked for first.
const SECRET_HEAD_BYTES: usize = 8;

/// Everything about a cell while it runs.
pub(crate) struct Play<'a> {
    pub(crate) cell: &'a Cell,
    pub(crate) stage: Rc<dyn Stage>,
    pub(crate) graph: SharedGraph,
    pub(crate) bot: SharedBot,
    /// Activities by label, to be sent once more.
    pub(crate) activities: RefCell<BTreeMap<String, BotDelivery>>,
    pub(crate) entra: SharedEntra,
    pub(crate) watch: Stopwatch,
    pub(crate) changed: Rc<Notify>,
    pub(crate) sessions: BTreeMap<String, Session>,
    pub(crate) failures: Vec<Failure>,
    /// Whether the disk misbehaves at this moment.
    pub(crate) disk_fails: bool,
    /// People who may speak at this moment.
    speakers: RefCell<BTreeSet<String>>,
    /// The number of jobs in the ledgers.
    jobs_noted: std::cell::Cell<usize>,
}

impl<'a> Play<'a> {
    /// Sets the stage; nothing is started.
    pub(crate) fn new(
        cell: &'a Cell,
        stage: Rc<dyn Stage>,
        (graph, entra, bot): (SharedGraph, SharedEntra, SharedBot),
        watch: Stopwatch,
    ) -> anyhow::Result<Self> {
        let changed = Rc::new(Notify::new());
        let mut sessions = BTreeMap::new();
        let scenario = &cell.scenario.scenario;
        let profile_of = |name: &str| {
            if name == hostcheck::host::BARE || name == "bare" {
                Ok(None)
            } else {
                fake_hosts::profile(name).map(Some)
            }
        };
        let session =
            |profile: Option<Arc<Profile>>, spec: &scenario::Session, set_up: &[SetUp], number: u64| {
                let (consumer, is_beside) = (spec.consumer.clone(), spec.beside);
                let kind = profile.as_ref().map_or(WakeUpKind::None, |profile| *profile.wake_up.kind);
                let limits = profile.as_deref().map_or_else(Limits::default, Limits::of);
                let socket = profile.as_deref().map_or_else(SocketLimits::default, SocketLimits::of);
                let target = WakeUpTarget::new(kind, limits, socket, number);
                let make_server = {
                    let (stage, consumer, target) = (Rc::clone(&stage), consumer.clone(), target.clone());
                    Rc::new(move || {
                        let consumer = consumer.as_deref();
                        if is_beside {
                            stage.server_beside(consumer, &target)
                        } else {
                            stage.server(consumer, &target)
                        }
                    }) as Rc<dyn Fn() -> AnyServer>
                };
                let family = profile.as_ref().map(|profile| profile.family.clone());
                // Where setup is run, nothing is set before.
                let mut options = SetUp::options(if scenario.runs_setup() { &[] } else { set_up });
                options.session_id = format!("5e551000-0000-4000-8000-{number:012}");
                let commands = stage.commands(consumer.as_deref(), &target);
                let reads_as = consumer.or(family).unwrap_or_default();
                Host {
                    options,
                    consumer: reads_as.clone(),
                    number,
                    wait: vec![stage.wait_command().for_consumer(&reads_as)],
                    extension: Extension {
                        commands: Rc::clone(&commands),
                        arguments: extension::words(&stage.wait_command(), &reads_as),
                    },
                    attendance: None,
                    commands,
                    profile,
                    make_server,
                    target,
                }
            };
        let main = session(profile_of(&cell.host.id)?, &scenario::Session::default(), &scenario.set_up, 1);
        let changed_by = || Rc::clone(&changed);
        sessions.insert(MAIN.to_owned(), Session::new(main, scenario.agent, TOKEN, watch, changed_by()));
        for (number, (name, spec)) in (2..).zip(&scenario.sessions) {
            let profile = profile_of(spec.host.as_deref().unwrap_or(&cell.host.id))?;
            let set_up = spec.set_up.as_ref().unwrap_or(&scenario.set_up);
            let host = session(profile, spec, set_up, number);
            sessions.insert(name.clone(), Session::new(host, spec.agent, TOKEN, watch, changed_by()));
        }
        let people = scenario.world.people.keys();
        let listed = people.filter(|person| !scenario.strangers.contains(person));
        let by_sponsorship = scenario.server.get("gate.sponsors").is_some_and(|value| value == "true");
        let sponsors = scenario.world.sponsors.iter().filter(|_| by_sponsorship);
        let speakers = RefCell::new(listed.chain(sponsors).cloned().collect());
        Ok(Self {
            cell,
            stage,
            graph,
            entra,
            bot,
            activities: RefCell::default(),
            watch,
            changed,
            sessions,
            failures: Vec::new(),
            disk_fails: false,
            speakers,
            jobs_noted: std::cell::Cell::new(0),
        })
    }

    /// Whether a session reads as this consumer. A host whose name the server does not know reads by that name.
    fn is_for(&self, session: &str, consumer: &str) -> bool {
        let reads_as =
            |name: &str| self.sessions.get(name).is_some_and(|session| session.consumer() == consumer);
        let is_known = self.sessions.keys().any(|name| reads_as(name));
        if is_known { reads_as(session) } else { session == MAIN }
    }

    /// Notes what was asked for as work: whether its result belongs to the inbox is known at the end.
    pub(crate) fn note_jobs(&self) {
        let Some(jobs) = self.stage.jobs() else { return };
        let jobs = jobs.all();
        let noted = self.jobs_noted.replace(jobs.len());
        for job in jobs.iter().skip(noted) {
            let ago_ms = u64::try_from(job.began.elapsed().as_millis()).unwrap_or(0);
            let at_ms = self.now_ms().saturating_sub(ago_ms);
            for (name, session) in &self.sessions {
                let is_for = self.is_for(name, &job.consumer);
                session.view.borrow_mut().written(Written {
                    label: job.label.clone(),
                    from: "work".to_owned(),
                    message_id: job.id.clone(),
                    chat_id: WORK_CHAT.to_owned(),
                    at_ms,
                    visible_ms: at_ms + job.takes_ms,
                    heard: if is_for { Heard::May } else { Heard::Never },
                    expected_text: None,
                    ordered_after_ms: None,
                });
            }
        }
    }

    /// Whether it is not decided yet who gets a result.
    pub(crate) fn has_open_jobs(&self) -> bool {
        let jobs = self.stage.jobs().map(Jobs::all).unwrap_or_default();
        let undecided = [Claim::Open, Claim::Claimed].map(Claim::file);
        let mut names = jobs.iter().flat_map(|job| self.stage.files(&format!("work/{}", job.id)));
        names.any(|name| undecided.contains(&name.as_str()))
    }

    /// A result that its caller has must not come to the inbox; every other one must.
    fn decide_jobs(&self) {
        self.note_jobs();
        for job in self.stage.jobs().map(Jobs::all).unwrap_or_default() {
            let names = self.stage.files(&format!("work/{}", job.id));
            let is_seen = names.iter().any(|name| name == Claim::Seen.file());
            let heard = if is_seen { Heard::Never } else { Heard::Must };
            for (_, session) in self.sessions.iter().filter(|(name, _)| self.is_for(name, &job.consumer)) {
                session.view.borrow_mut().ledger.decide(&job.label, heard);
            }
        }
    }

    /// Whether the model should hear a person now.
    pub(crate) fn may_speak(&self, person: &str) -> bool {
        self.speakers.borrow().contains(person)
    }

    /// From now on the model should hear a person, or not.
    pub(crate) fn let_speak(&self, person: &str, may: bool) {
        let mut speakers = self.speakers.borrow_mut();
        if may {
            speakers.insert(person.to_owned());
        } else {
            speakers.remove(person);
        }
    }

    /// Notes that it is not known whether the server has read a person's earlier messages.
    pub(crate) fn unsettle(&self, person: &str) {
        for session in self.sessions.values() {
            session.view.borrow_mut().ledger.unsettle(person);
        }
    }

    /// Notes that it is not known whether the server has accepted a message.
    pub(crate) fn doubt(&self, label: &str) {
        for session in self.sessions.values() {
            session.view.borrow_mut().ledger.doubt(label);
        }
    }

    pub(crate) fn now_ms(&self) -> u64 {
        self.watch.now_ms()
    }

    /// The session of that name.
    pub(super) fn session(&mut self, name: &str) -> anyhow::Result<&mut Session> {
        self.sessions.get_mut(name).ok_or_else(|| anyhow::anyhow!("no session is named `{name}`"))
    }

    /// Looks at a session; the main one when none is named.
    pub(crate) fn with_view<T>(&self, session: Option<&str>, look: impl FnOnce(&SessionView) -> T) -> T {
        let name = session.unwrap_or(MAIN);
        // The loader has checked every session name.
        let session = self.sessions.get(name).or_else(|| self.sessions.get(MAIN));
        match session {
            Some(session) => look(&session.view.borrow()),
            None => look(&SessionView::new(TOKEN, None)),
        }
    }

    /// A call of any session by its label.
    pub(crate) fn call(&self, label: &str) -> Option<CallView> {
        self.sessions.values().find_map(|session| session.view.borrow().calls.get(label).cloned())
    }

    /// Notes a message in every session's ledger.
    pub(crate) fn written(&self, message: &Written) {
        for session in self.sessions.values() {
            session.view.borrow_mut().written(message.clone());
        }
    }

    /// Notes in every session's ledger that a message has another text now.
    pub(crate) fn changed(&self, label: &str, text: &str) {
        let at_ms = self.now_ms();
        for session in self.sessions.values() {
            session.view.borrow_mut().ledger.change(label, at_ms, text);
        }
    }

    /// A line for the transcript of the main session.
    pub(crate) fn note(&self, text: &str) {
        if let Some(session) = self.sessions.get(MAIN) {
            session.view.borrow_mut().note(self.now_ms(), Lane::Event, text);
        }
    }

    pub(crate) fn graph_violations(&self) -> Vec<String> {
        self.graph.with(|graph| {
            graph.violations().iter().map(|v| serde_json::to_string(v).unwrap_or_default()).collect()
        })
    }

    pub(crate) fn graph_calls(&self) -> Vec<GraphCall> {
        let start = self.stage.now();
        let now_ms = self.now_ms();
        self.graph.with(|graph| {
            graph
                .call_log()
                .map(|call| {
                    let ago_ms = start.duration_since(call.at).as_millis();
                    let at_ms = now_ms.saturating_sub(u64::try_from(ago_ms).unwrap_or(0));
                    GraphCall {
                        at_ms,
                        method: call.method.clone(),
                        url: call.path.clone(),
                        status: call.status,
                    }
                })
                .collect()
        })
    }

    /// Texts of what the agent wrote, to one chat or to all.
    pub(crate) fn sent_by_agent(&self, chat: Option<&str>) -> Vec<String> {
        self.graph.with(|graph| {
            let id = chat.and_then(|handle| graph.chat_id(handle).ok()).map(str::to_owned);
            graph
                .messages_sent_by_agent()
                .iter()
                .filter(|sent| id.as_deref().is_none_or(|id| sent.chat_id == id))
                .map(|sent| sent.content.clone())
                .collect()
        })
    }

    pub(crate) fn disk_files(&self, folder: &str) -> Vec<String> {
        self.stage.files(folder)
    }

    /// Lines of every file in a folder whose name has this ending, in the order of the names.
    pub(crate) fn disk_lines(&self, folder: &str, ending: &str) -> Vec<String> {
        self.stage
            .files(folder)
            .iter()
            .filter(|name| name.ends_with(ending))
            .flat_map(|name| {
                let bytes = self.stage.read(&format!("{folder}/{name}"));
                String::from_utf8_lossy(&bytes).lines().map(str::to_owned).collect::<Vec<_>>()
            })
            .collect()
    }

    /// Judges the rules that hold for every cell at its end.
    pub(crate) fn judge(&mut self) {
        let now_ms = self.now_ms();
        // After a step that did not hold, nothing more was played, so nothing can be said of what is missing.
        let all_delivered = self.cell.scenario.scenario.all_delivered && self.failures.is_empty();
        self.decide_jobs();
        self.share_marks();
        for (name, session) in &self.sessions {
            let mut view = session.view.borrow_mut();
            self.failures.append(&mut view.failures);
            let mut found = view.ledger.judge_texts_and_marks(now_ms);
            if name != MAIN {
                for failure in &mut found {
                    failure.message = format!("session `{name}`: {}", failure.message);
                }
            }
            self.failures.append(&mut found);
        }
        self.judge_consumers(now_ms, all_delivered);
        self.judge_answers(now_ms);
        self.judge_secret(now_ms);
        let hostile =
            self.graph_violations().into_iter().filter(|v| v.contains("foreign_origin")).collect::<Vec<_>>();
        if !hostile.is_empty() {
            let message = "the server followed a link to another origin";
            self.failures.push(Failure {
                observed: Some(hostile.join("\n")),
                ..Failure::new("oracle.foreign-origin", now_ms, message)
            });
        }
        self.failures.sort_by_key(|failure| failure.at_ms);
    }

    /// A message that a session missed may have reached another one of the same consumer.
    fn judge_consumers(&mut self, now_ms: u64, all_delivered: bool) {
        let mut consumers: Vec<Vec<(&String, &Session)>> = Vec::new();
        for (name, session) in self.sessions.iter().filter(|(_, session)| session.view.borrow().starts > 0) {
            match consumers.iter_mut().find(|alike| alike[0].1.consumer() == session.consumer()) {
                Some(alike) => alike.push((name, session)),
                None => consumers.push(vec![(name, session)]),
            }
        }
        let mut found = Vec::new();
        for alike in consumers {
            let names: Vec<&str> = alike.iter().map(|(name, _)| name.as_str()).collect();
            let views: Vec<_> = alike.iter().map(|(_, session)| session.view.borrow()).collect();
            let mut wrong = Vec::new();
            let shared;
            let together = if let [alone] = &views[..] {
                wrong.extend(alone.ledger.judge_ordered(now_ms));
                &alone.ledger
            } else {
                shared = Ledger::together(views.iter().map(|view| &view.ledger));
                let less = views.iter().map(|view| view.ledger.less_than(&shared));
                wrong.extend(less.flat_map(|ledger| ledger.judge_ordered(now_ms)));
                &shared
            };
            wrong.extend(together.judge_repeated(now_ms));
            if all_delivered {
                wrong.extend(together.judge_lost(now_ms));
            }
            if names != [MAIN] {
                for failure in &mut wrong {
                    failure.message = format!("session `{}`: {}", names.join("`, `"), failure.message);
                }
            }
            found.append(&mut wrong);
        }
        self.failures.append(&mut found);
    }

    /// What a session was pushed, what a command printed for it and what it let go of comes marked to the others that read
    /// as the same consumer.
    fn share_marks(&self) {
        for (name, session) in &self.sessions {
            let alike = self.sessions.iter().filter(|(other, _)| *other != name);
            for (_, other) in alike.filter(|(_, other)| other.consumer() == session.consumer()) {
                let other = other.view.borrow();
                let mut view = session.view.borrow_mut();
                view.ledger.marked_by(&other.ledger);
                for at_ms in &other.let_go_ms {
                    view.ledger.disturb(*at_ms);
                }
            }
        }
    }

    /// Judges whether each answer of a tool that sends is true.
    fn judge_answers(&mut self, now_ms: u64) {
        let mut posted = self.graph.with(|graph| {
            let chats = graph.messages_sent_by_agent().iter().map(|sent| {
                Posted::in_chat(&sent.chat_id, &sent.message_id, &sent.content, !sent.quotes.is_empty())
            });
            let mails = graph.mails_sent_by_agent().iter();
            chats
                .chain(mails.map(|sent| Posted::by_mail(&sent.message_id, &sent.content)))
                .collect::<Vec<_>>()
        });
        self.bot.with(|bot| {
            let sent = bot.sent().iter();
            posted.extend(sent.map(|sent| Posted::by_bot(&sent.conversation_id, &sent.id, &sent.text)));
        });
        let views: Vec<_> = self.sessions.values().map(|session| session.view.borrow()).collect();
        let failures = judge_answers(views.iter().map(|view| &view.answers), &posted, now_ms);
        drop(views);
        self.failures.extend(failures);
    }

    /// No token is in a file or a line. The key store is the one place for refresh tokens.
    fn judge_secret(&mut self, now_ms: u64) {
        let mut secrets = self.bot.with(|bot| bot.secrets());
        secrets.extend([TOKEN, AGENT_TOKEN].map(str::to_owned));
        self.entra.with(|entra| secrets.extend(entra.secrets().iter().cloned()));
        // Tokens of a day are many and begin alike, so their beginnings are looked for first.
        let mut by_head: BTreeMap<&str, Vec<Finder>> = BTreeMap::new();
        for secret in &secrets {
            let head = secret.get(..SECRET_HEAD_BYTES).unwrap_or(secret);
            by_head.entry(head).or_default().push(Finder::new(secret));
        }
        let by_head: Vec<_> = by_head.into_iter().map(|(head, alike)| (Finder::new(head), alike)).collect();
        let holds = |bytes: &[u8]| {
            let mut heads = by_head.iter().filter(|(head, _)| head.find(bytes).is_some());
            heads.any(|(_, alike)| alike.iter().any(|secret| secret.find(bytes).is_some()))
        };
        let mut places = Vec::new();
        let folders = ["", "inbox", "inbox/consumers", "interactions", "sources", "log"].map(str::to_owned);
        let jobs = self.stage.jobs().map(Jobs::all).unwrap_or_default();
        for folder in folders.into_iter().chain(jobs.into_iter().map(|job| format!("work/{}", job.id))) {
            for name in self.stage.files(&folder) {
                let path = if folder.is_empty() { name } else { format!("{folder}/{name}") };
                if holds(&self.stage.read(&path)) {
                    places.push(format!("the file {path}"));
                }
            }
        }
        for (name, session) in &self.sessions {
            if session.view.borrow().lines.iter().any(|line| holds(line.text.as_bytes())) {
                places.push(format!("a line of session `{name}`"));
            }
        }
        for place in places {
            self.failures.push(Failure::new("oracle.secret", now_ms, format!("a token is in {place}")));
        }
    }

    /// The cell's line of the event stream.
    pub(crate) fn finish(mut self) -> CellFinished {
        let elapsed_ms = self.now_ms();
        let status = if self.failures.is_empty() { Status::Pass } else { Status::Fail };
        let mut finished = result(self.cell, status);
        finished.reason = self.failures.first().map(|failure| failure.message.clone());
        finished.elapsed_ms = elapsed_ms;
        finished.failures = std::mem::take(&mut self.failures);
        let scenario = &self.cell.scenario.scenario;
        let set_up = match self.sessions.get(MAIN).filter(|_| scenario.runs_setup()) {
            Some(session) => SetUp::of(session.options()),
            None => scenario.set_up.clone(),
        };
        finished.set_up = set_up.iter().map(word).collect();
        for (name, session) in &self.sessions {
            let view = session.view.borrow();
            finished.delivery_ms.extend(view.ledger.delivery_ms());
            finished.arrivals.extend(view.arrivals());
            for (carrier, count) in view.ledger.carriers() {
                *finished.carriers.entry(carrier).or_insert(0) += count;
            }
            for (fact, value) in session_facts(&view) {
                let fact = if name == MAIN { fact } else { format!("{name}: {fact}") };
                finished.session.insert(fact, value);
            }
            finished.model_view.extend(view.model.iter().cloned());
            finished.transcript.extend(view.transcript.iter().cloned());
        }
        finished.transcript.extend(self.graph_calls().iter().take(GRAPH_LINES_MAX).map(|call| {
            reports::event::WireLine {
                at_ms: call.at_ms,
                lane: Lane::Graph,
                text: format!("{} {} → {}", call.method, call.url, call.status),
            }
        }));
        let (now, ended_ms) = (self.stage.now(), self.now_ms());
        finished.transcript.extend(self.entra.with(|entra| {
            let line = |call: &fake_microsoft::entra::EntraCall| {
                let ago_ms = u64::try_from(now.duration_since(call.at).as_millis()).unwrap_or(0);
                let refused = call.number.map_or_else(String::new, |number| format!(" AADSTS{number}"));
                reports::event::WireLine {
                    at_ms: ended_ms.saturating_sub(ago_ms),
                    lane: Lane::Graph,
                    text: format!("entra {:?} → {}{refused}", call.grant, call.status),
                }
            };
            entra.calls().iter().take(GRAPH_LINES_MAX).map(line).collect::<Vec<_>>()
        }));
        finished.transcript.sort_by_key(|line| line.at_ms);
        finished.model_view.sort_by_key(|line| line.at_ms);
        finished
    }
}

/// A line for the report's table of session facts.
fn session_facts(view: &SessionView) -> BTreeMap<String, String> {
    let mut facts = view.facts.clone();
    facts.insert("server starts".to_owned(), view.starts.to_string());
    let bytes = |by_host: bool| {
        view.lines.iter().filter(|l| l.by_host == by_host).map(|l| l.text.len() + 1).sum::<usize>()
    };
    facts.insert("bytes from the host".to_owned(), bytes(true).to_string());
    facts.insert("bytes from the server".to_owned(), bytes(false).to_string());
    for line in &view.lines {
        let Some(json) = &line.json else { continue };
        if let Some(offered) = json.pointer("/params/protocolVersion").and_then(serde_json::Value::as_str) {
            facts.entry("protocol offered".to_owned()).or_insert_with(|| offered.to_owned());
        }
        if let Some(accepted) = json.pointer("/result/protocolVersion").and_then(serde_json::Value::as_str) {
            facts.entry("protocol accepted".to_owned()).or_insert_with(|| accepted.to_owned());
        }
    }
    if view.left_out > 0 {
        facts.insert(LINES_LEFT_OUT.to_owned(), view.left_out.to_string());
    }
    facts
}
