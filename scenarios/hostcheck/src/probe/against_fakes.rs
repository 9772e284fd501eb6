//! Runs the probe against the fake hosts: its claims must agree with their profiles.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::future::Future;
use std::io;
use std::rc::Rc;

use fake_hosts::drive::{HostEvent, HostEventKind, Order, Server, drive};
use fake_hosts::{Action, HostMachine, HostOptions, Mode, Signal, ToolCall, profile};
use serde_json::{Value, json};
use tokio::io::{DuplexStream, duplex};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant};

use super::claim::Claims;
use super::drive::Told;
use super::opening::Opening;
use super::session::Session;
use super::tracer::Tracer;
use super::{draft, questions};
use crate::tap::read::{Recorded, Seen, Wire};
use crate::tap::{Dir, Start};

type Log = Rc<RefCell<Vec<Recorded>>>;

/// The probe as a server in a task, which takes signals.
struct Probe {
    opening: Opening,
    mode: Mode,
    log: Log,
    proc: u64,
    running: Option<JoinHandle<i32>>,
    signals: Option<mpsc::UnboundedSender<String>>,
}

impl Server for Probe {
    type Out = DuplexStream;
    type In = DuplexStream;

    fn spawn(&mut self) -> io::Result<(DuplexStream, DuplexStream)> {
        let (host_in, input) = duplex(1 << 16);
        let (output, host_out) = duplex(1 << 16);
        self.proc += 1;
        let (began, proc, log) = (Instant::now(), self.proc, Rc::clone(&self.log));
        let note = move |seen| {
            let number = log.borrow().len() as u64 + 1;
            let ms = began.elapsed().as_secs_f64() * 1e3;
            log.borrow_mut().push(Recorded { number, ms, proc, seen });
        };
        let mode = if self.mode == Mode::Tui { "tui" } else { "print" };
        note(Seen::Start(Box::new(Start {
            opening: Some(self.opening.to_string()),
            mode: Some(mode.to_owned()),
            proc,
            ..Start::default()
        })));
        let (sender, signals) = mpsc::unbounded_channel::<String>();
        self.signals = Some(sender);
        let signals = Rc::new(tokio::sync::Mutex::new(signals));
        let tracer = Tracer::new(self.opening.clone());
        self.running = Some(tokio::task::spawn_local(async move {
            let next = || {
                let signals = Rc::clone(&signals);
                async move {
                    match signals.lock().await.recv().await {
                        Some(name) => name,
                        None => std::future::pending().await,
                    }
                }
            };
            let tell = |told: Told<'_>| match told {
                Told::Line(dir, bytes) => {
                    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes).to_vec();
                    note(Seen::Line(Wire { dir, bytes, flaw: None }));
                }
                Told::Event(what, detail) => note(Seen::Event(Some(what), detail.unwrap_or_default())),
            };
            super::drive::drive(tracer, input, output, next, tell).await.unwrap_or(1)
        }));
        Ok((host_out, host_in))
    }

    fn signal(&mut self, signal: Signal) {
        if signal == Signal::Kill {
            if let Some(running) = &self.running {
                running.abort();
            }
        } else if let Some(signals) = &self.signals {
            // A process that has ended takes no signal.
            let _ = signals.send(signal.name().to_owned());
        }
    }

    fn exited(&mut self) -> impl Future<Output = Option<i32>> {
        let running = &mut self.running;
        async move {
            let Some(task) = running else { return std::future::pending().await };
            let code = task.await.ok();
            *running = None;
            code
        }
    }
}

/// The actions of the user and the model in a session.
#[derive(Clone)]
enum Do {
    Call(&'static str, Value),
    Start(&'static str, Value),
    Both(&'static str, &'static str),
    Heard,
    Wait(u64),
    Idle,
    Interrupt,
    AnswerForm,
    AnswerSampling,
}

/// Plays a session and gives its log.
async fn session(host: &str, mode: Mode, opening: Opening, steps: Vec<Do>) -> Vec<Session> {
    let log = Log::default();
    let name = format!("{host} {opening}");
    let mut server = Probe { opening, mode, log: Rc::clone(&log), proc: 0, running: None, signals: None };
    let options = HostOptions { mode, server_name: "probe".to_owned(), ..HostOptions::default() };
    let machine = HostMachine::new(profile(host).unwrap(), options);
    let (orders, order_queue) = mpsc::channel(16);
    let (events, event_queue) = mpsc::channel(16);
    let model = Model { orders, events: event_queue, words: BTreeSet::new(), next: 0 };
    tokio::join!(drive(machine, &mut server, order_queue, events), model.play(steps));
    if let Some(running) = server.running.take() {
        // If the host did not end the probe, the probe ends by itself.
        drop(server.signals.take());
        let _ = running.await;
    }
    let log = log.borrow();
    Session::of(&name, &log)
}

struct Model {
    orders: mpsc::Sender<Order>,
    events: mpsc::Receiver<HostEvent>,
    words: BTreeSet<String>,
    next: u64,
}

impl Model {
    async fn play(mut self, steps: Vec<Do>) {
        let opened = |kind: &HostEventKind| matches!(kind, HostEventKind::Ready | HostEventKind::Failed(_));
        self.until(opened).await;
        for step in steps {
            match step {
                Do::Call(tool, arguments) => self.call(tool, arguments).await,
                Do::Start(tool, arguments) => {
                    let call = self.make(tool, arguments);
                    self.act(Action::Call(call)).await;
                }
                Do::Both(one, other) => {
                    let calls = vec![self.make(one, json!({})), self.make(other, json!({}))];
                    let label = calls[1].label.clone();
                    self.act(Action::Calls(calls)).await;
                    self.until(
                        |kind| matches!(kind, HostEventKind::CallDone { label: done, .. } if *done == label),
                    )
                    .await;
                }
                Do::Heard => {
                    let words: Vec<String> = self.words.iter().cloned().collect();
                    self.call("heard", json!({"words": words})).await;
                }
                Do::Wait(ms) => {
                    let wait = tokio::time::sleep(Duration::from_millis(ms));
                    tokio::pin!(wait);
                    loop {
                        tokio::select! {
                            biased;
                            event = self.events.recv() => match event {
                                Some(event) => self.see(&event),
                                None => return,
                            },
                            () = &mut wait => break,
                        }
                    }
                }
                Do::Idle => self.act(Action::EndTurn).await,
                Do::Interrupt => self.act(Action::Interrupt).await,
                Do::AnswerForm => {
                    let content = Some(json!({"ok": true}));
                    self.act(Action::AnswerElicitation { action: "accept".to_owned(), content }).await;
                }
                Do::AnswerSampling => {
                    let (model, text) = ("m".to_owned(), "MARK-sampled".to_owned());
                    self.act(Action::AnswerSampling { model, text }).await;
                }
            }
        }
        self.act(Action::Exit).await;
        self.until(|_| false).await;
    }

    fn make(&mut self, tool: &str, arguments: Value) -> ToolCall {
        self.next += 1;
        ToolCall::new(tool, arguments, format!("call-{}", self.next))
    }

    async fn call(&mut self, tool: &str, arguments: Value) {
        let call = self.make(tool, arguments);
        let label = call.label.clone();
        self.act(Action::Call(call)).await;
        self.until(|kind| matches!(kind, HostEventKind::CallDone { label: done, .. } if *done == label))
            .await;
    }

    async fn act(&mut self, action: Action) {
        // A host that has ended takes no orders.
        let _ = self.orders.send(Order::Act(action)).await;
    }

    fn see(&mut self, event: &HostEvent) {
        if let HostEventKind::Model(entry) = &event.kind {
            let letters = |letter: char| !(letter.is_ascii_alphanumeric() || letter == '-');
            let words = entry.text.split(letters).filter(|word| word.starts_with("MARK-") && word.len() > 5);
            self.words.extend(words.map(str::to_owned));
        }
    }

    async fn until(&mut self, enough: impl Fn(&HostEventKind) -> bool) {
        while let Some(event) = self.events.recv().await {
            self.see(&event);
            if enough(&event.kind) {
                return;
            }
        }
    }
}

fn change(what: &str) -> Vec<Do> {
    vec![Do::Call("change", json!({"what": what})), Do::Idle, Do::Wait(10_000)]
}

fn long(seconds: u64, every_s: u64) -> Do {
    Do::Call("long_call", json!({"seconds": seconds, "progress_every_s": every_s}))
}

/// The steps of the runbook.
fn runbook(modern: bool) -> Vec<Do> {
    let none = || json!({});
    let mut steps = vec![
        Do::Wait(2_000),
        Do::Call("begin", none()),
        Do::Both("read_a", "read_b"),
        Do::Both("write_a", "write_b"),
        Do::Call("structured", none()),
        Do::Call("structured_alone", none()),
        Do::Call("notify", none()),
        Do::Heard,
        Do::Call("ask", json!({"what": "ping"})),
    ];
    if modern {
        steps.extend([Do::Call("stray", none()), Do::Wait(10_000)]);
    } else {
        steps.extend([
            Do::Call("ask", json!({"what": "roots"})),
            Do::Start("ask", json!({"what": "elicitation"})),
            Do::Wait(3_000),
            Do::AnswerForm,
            Do::Wait(50_000),
            Do::Start("ask", json!({"what": "elicitation_url"})),
            Do::Wait(3_000),
            Do::AnswerForm,
            Do::Wait(50_000),
            Do::Start("ask", json!({"what": "sampling"})),
            Do::Wait(3_000),
            Do::AnswerSampling,
            Do::Wait(50_000),
            Do::Call("ask", json!({"what": "unknown"})),
        ]);
        for what in ["tools", "prompts", "resources", "tools_twice", "unchanged"] {
            steps.extend(change(what));
        }
    }
    steps.extend([
        long(10, 0),
        long(70, 0),
        long(130, 0),
        long(200, 0),
        Do::Call("note", none()),
        long(200, 5),
    ]);
    steps.extend([Do::Call("note", none()), Do::Wait(300_000)]);
    for characters in [8_000, 20_000, 40_000, 60_000, 100_000] {
        steps.push(Do::Call("size", json!({"characters": characters})));
    }
    steps.push(Do::Heard);
    steps.extend([Do::Start("interrupt_me", none()), Do::Wait(1_000), Do::Interrupt, Do::Wait(5_000)]);
    steps.extend([Do::Call("note", none()), Do::Start("hold", none()), Do::Wait(1_000)]);
    steps
}

/// Every session of the runbook, in one mode.
async fn probe(host: &str, mode: Mode) -> Vec<Session> {
    let mut all = session(host, mode, Opening::Legacy, runbook(false)).await;
    all.extend(session(host, mode, Opening::Modern, runbook(true)).await);
    let short = [
        Opening::ModernRefuseListen,
        Opening::ProbeSilent,
        Opening::ProbeExit,
        Opening::InitializeSilent,
        Opening::NoCapabilities,
    ];
    for opening in short {
        all.extend(session(host, mode, opening, vec![Do::Wait(70_000)]).await);
    }
    let mut quiet = change("tools");
    quiet.push(Do::Call("note", json!({})));
    all.extend(session(host, mode, Opening::Quiet, quiet).await);
    for version in
        ["2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1999-01-01"]
    {
        all.extend(session(host, mode, Opening::Version(version.to_owned()), vec![Do::Wait(5_000)]).await);
    }
    let dies = vec![
        Do::Call("exit", json!({"code": 3})),
        Do::Wait(2_000),
        Do::Call("note", json!({})),
        Do::Wait(2_000),
    ];
    all.extend(session(host, mode, Opening::Legacy, dies).await);
    all
}

/// Where the claims of the probe differ from the profile of the host.
fn differences(host: &str, claims: &Claims) -> Vec<String> {
    let facts = profile(host).unwrap().evidence();
    let mut found = Vec::new();
    for claim in &claims.seen {
        let fact = facts
            .iter()
            .find(|fact| fact.name == claim.fact)
            .unwrap_or_else(|| panic!("no fact {}", claim.fact));
        let told = match claim.mode {
            Some(Mode::Tui) => &fact.value["tui"],
            Some(Mode::Print) => &fact.value["print"],
            None => &fact.value,
        };
        // Compared as texts, because the order of members is a fact too.
        let (told, claimed) = (told.to_string().replace("{server}", "probe"), claim.value.to_string());
        if told != claimed {
            found.push(format!("{}: told {told}, claimed {} by {}", claim.fact, claim.value, claim.evidence));
        }
    }
    found
}

async fn both_modes(host: &str) -> (Vec<Session>, Claims) {
    let mut sessions = probe(host, Mode::Tui).await;
    sessions.extend(probe(host, Mode::Print).await);
    let claims = Claims::of(&sessions);
    (sessions, claims)
}

/// Runs on a paused clock with local tasks.
fn simulated<T>(work: impl Future<Output = T>) -> T {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, work)
}

#[rstest::rstest]
#[case("claude-code@2.1.330", 58)]
#[case("copilot-cli@1.0.102", 55)]
fn the_draft_agrees_with_the_profile_that_was_played(#[case] host: &str, #[case] at_least: usize) {
    let (sessions, claims) = simulated(both_modes(host));
    assert_eq!(differences(host, &claims), Vec::<String>::new());
    assert!(claims.contradictions.is_empty(), "{:?}", claims.contradictions);
    let facts: BTreeSet<&str> = claims.seen.iter().map(|claim| claim.fact).collect();
    assert!(facts.len() >= at_least, "{} facts: {facts:?}\nhints: {:?}", facts.len(), claims.hints);
    let (whole, cut) = claims.sizes.unwrap();
    let whole_max = *profile(host).unwrap().texts.whole_max;
    assert!(whole <= whole_max && cut.is_some_and(|cut| whole_max < cut), "{:?}", claims.sizes);
    let text = draft::write(&claims, &profile(draft::BASE).unwrap());
    let made = fake_hosts::load("draft", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let real = profile(host).unwrap();
    assert_eq!(made.id, host);
    assert_eq!(made.identity.client_info.value, real.identity.client_info.value);
    assert_eq!(made.life.shutdown.value, real.life.shutdown.value);
    let answered = questions::all(&sessions, &claims);
    let open: Vec<usize> = answered.iter().filter(|one| one.answer.is_none()).map(|one| one.number).collect();
    assert_eq!(open, [4, 5, 6, 7], "{answered:?}");
    assert!(answered[0].answer.as_deref().unwrap().starts_with("no"), "{answered:?}");
}

#[test]
fn one_page_says_nothing_of_pages() {
    let steps = || {
        vec![Do::Wait(2_000), Do::Call("begin", json!({})), Do::Call("size", json!({"characters": 8_000}))]
    };
    let says = |opening| {
        let claims = Claims::of(&simulated(session("gemini-cli@0.61.0", Mode::Print, opening, steps())));
        assert_eq!(differences("gemini-cli@0.61.0", &claims), Vec::<String>::new());
        claims.seen.iter().any(|claim| claim.fact == "lists.follow_cursor")
    };
    assert!(says(Opening::Legacy) && !says(Opening::OnePage));
}

#[test]
fn no_host_is_misjudged() {
    let mut wrong = Vec::new();
    // Other versions differ from these in few facts.
    for host in fake_hosts::profiles().unwrap().into_iter().filter(|host| host.extends.is_none()) {
        let claims = Claims::of(&simulated(probe(&host.id, Mode::Tui)));
        wrong.extend(differences(&host.id, &claims).into_iter().map(|one| format!("{}: {one}", host.id)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_messages_of_the_probe_keep_the_protocol() {
    for opening in [Opening::Legacy, Opening::Modern] {
        let modern = opening.is_modern();
        let steps = runbook(modern)
            .into_iter()
            .filter(|step| !matches!(step, Do::Call("stray" | "notify", _)))
            .collect();
        let sessions = simulated(session("claude-code@2.1.330", Mode::Tui, opening, steps));
        let mut wire = schemas::WireValidator::at_host();
        for said in &sessions[0].said {
            let direction = if said.by_host { Dir::HostToServer } else { Dir::ServerToHost };
            let verdict = wire.feed_value(direction.wire().unwrap(), &said.json);
            // The unknown request is on purpose not in the specification, and a modern host is pinged on
            // purpose.
            let meant =
                said.method() == Some("hostcheck/unknown") || (modern && said.method() == Some("ping"));
            assert!(verdict.valid || said.by_host || meant, "{}: {verdict:?}", said.json);
        }
    }
}
