//! The screen of a real engine with a scripted model and a scripted tool.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use entraclaw_delegate::store::{Memory, Place};
use entraclaw_delegate::{Bounds, EngineParts, Patience, ToolOutcome, Toolbox};
use entraclaw_models::{
    Answer, Facts, Model, ModelError, Piece, Question, Role, Stop, ToolRequest, ToolSchema, Usage,
};
use entraclaw_seams::clock::TokioClock;
use entraclaw_seams::random::SplitMix;
use futures_util::future::BoxFuture;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use serde_json::{Map, json};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout};

use super::*;
use crate::keys::Key;
use crate::screen::{Happens, Screen};
use crate::theme::Theme;

/// A model that counts, runs a tool or greets, as it is asked; and its tool.
#[derive(Clone, Default)]
struct Scripted {
    /// Whether its server is away.
    is_away: Arc<AtomicBool>,
}

impl Scripted {
    fn says(question: &Question) -> (String, Option<ToolRequest>) {
        let asked = question.turns.iter().rfind(|turn| turn.role == Role::User);
        let asked = asked.map_or("", |turn| turn.text.as_str());
        let has_run = question.turns.iter().any(|turn| turn.role == Role::Tool);
        match asked {
            asked if asked.ends_with("greet me") => ("Good morning.".to_owned(), None),
            asked if asked.ends_with("run it") && has_run => ("It ran.".to_owned(), None),
            asked if asked.ends_with("run it") => {
                let arguments = json!({"command": "ls src"});
                let request = ToolRequest { id: "1".to_owned(), name: "bash".to_owned(), arguments };
                ("I run it.".to_owned(), Some(request))
            }
            _ => ((0..60).map(|number| format!("w{number}-")).collect::<Vec<_>>().join(" "), None),
        }
    }
}

impl Model for Scripted {
    fn facts(&self) -> BoxFuture<'_, Result<Facts, ModelError>> {
        let facts = Facts {
            model: "scripted".to_owned(),
            context_tokens: Some(4_096),
            continues: Some(true),
            ..Facts::default()
        };
        let why = "nothing listens at 127.0.0.1:9; start it".to_owned();
        let is_away = self.is_away.load(Ordering::Relaxed);
        Box::pin(async move { if is_away { Err(ModelError::Unreachable(why)) } else { Ok(facts) } })
    }

    fn ask<'a>(
        &'a self,
        question: &'a Question,
        pieces: mpsc::Sender<Piece>,
    ) -> BoxFuture<'a, Result<Answer, ModelError>> {
        Box::pin(async move {
            let (text, tool) = Self::says(question);
            let said = question.said.clone().unwrap_or_default();
            let rest = text.strip_prefix(&said).unwrap_or(&text).to_owned();
            for word in rest.split_inclusive(' ') {
                sleep(Duration::from_millis(20)).await;
                let _ = pieces.send(Piece::Text(word.to_owned())).await;
            }
            let stop = if tool.is_some() { Stop::Tools } else { Stop::Done };
            Ok(Answer { text: rest, tools: tool.into_iter().collect(), stop, usage: Usage::default() })
        })
    }
}

impl Toolbox for Scripted {
    fn tools(&self) -> Vec<ToolSchema> {
        let parameters = json!({"type": "object", "properties": {"command": {"type": "string"}}});
        vec![ToolSchema { name: "bash".to_owned(), description: "Runs.".to_owned(), parameters }]
    }

    fn patience(&self, _name: &str) -> Patience {
        Patience::Wait
    }

    fn needs_approval(&self, _request: &ToolRequest) -> Option<String> {
        Some("there is no sandbox here".to_owned())
    }

    fn run<'a>(
        &'a self,
        _request: &'a ToolRequest,
        _stop: watch::Receiver<bool>,
    ) -> BoxFuture<'a, ToolOutcome> {
        let mut shown = Map::new();
        shown.insert("exit_code".to_owned(), json!(3));
        Box::pin(async { ToolOutcome { text: "x".to_owned(), succeeded: false, shown, was_stopped: false } })
    }
}

/// A screen that is joined to an engine.
struct Joined {
    engine: Engine,
    screen: Screen,
    news: mpsc::Receiver<News>,
    effects: mpsc::Sender<Effect>,
    start: Instant,
}

impl Joined {
    fn begin() -> Self {
        Self::begin_with(&Scripted::default(), &Memory::default()).0
    }

    /// A screen of an engine with this model and this store, and the engine's work.
    fn begin_with(model: &Scripted, memory: &Memory) -> (Self, JoinHandle<()>) {
        let (engine, work) = Engine::begin(EngineParts {
            place: Place::Memory(memory.clone()),
            model: Arc::new(model.clone()),
            toolbox: Arc::new(model.clone()),
            clock: Arc::new(TokioClock::starting_at("2026-11-26T09:00:00Z".parse().unwrap())),
            random: Arc::new(SplitMix::seeded(1)),
            bounds: Bounds::default(),
        })
        .unwrap();
        let work = tokio::spawn(async { work.await.unwrap() });
        let (tells, news) = mpsc::channel(1_024);
        let (effects, wanted) = mpsc::channel(64);
        tokio::spawn(link(engine.clone(), tells, wanted));
        (Self { engine, screen: Screen::new("chess"), news, effects, start: Instant::now() }, work)
    }

    fn update(&mut self, happens: Happens) -> Vec<Effect> {
        let now_ms = u64::try_from(self.start.elapsed().as_millis()).unwrap();
        self.screen.update(happens, now_ms)
    }

    async fn press(&mut self, key: Key) {
        for effect in self.update(Happens::Key(key)) {
            self.effects.send(effect).await.unwrap();
        }
    }

    async fn send(&mut self, text: &str) {
        self.press(Key::Paste(text.to_owned())).await;
        self.press(Key::Send).await;
    }

    fn shown(&mut self) -> String {
        let mut terminal = Terminal::new(TestBackend::new(100, 50)).unwrap();
        terminal.draw(|frame| crate::draw(frame, &mut self.screen, Theme::PLAIN)).unwrap();
        terminal.backend().to_string()
    }

    /// Takes in what is told until this is on the screen.
    async fn until(&mut self, text: &str) -> String {
        loop {
            let shown = self.shown();
            if shown.contains(text) {
                return shown;
            }
            let told = timeout(Duration::from_secs(600), self.news.recv()).await;
            let told = told.unwrap_or_else(|_| panic!("{text:?} never came\n{shown}"));
            self.update(Happens::News(Box::new(told.expect("the engine is there"))));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_person_goes_first_and_the_task_of_the_host_goes_on_below() {
    let mut joined = Joined::begin();
    joined.engine.submit(Submission::host("claude-code", "count")).await.unwrap();
    joined.until("w20-").await;
    joined.send("greet me").await;
    joined.until("paused: [claude-code] #1").await;
    joined.until("Good morning.").await;
    joined.until("continued: it goes on").await;
    let shown = joined.until("ready").await;
    for text in ["[claude-code] count", "[you] greet me", "paused here for you", "w59-"] {
        assert!(shown.contains(text), "{text}\n{shown}");
    }
    assert_eq!(shown.matches("w19-").count(), 1, "{shown}");
    assert!(shown.find("Good morning.") < shown.find("w0-"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn the_model_is_shown_before_the_first_task() {
    let mut joined = Joined::begin();
    let shown = joined.until("entraclaw · chess · scripted").await;
    assert!(shown.contains("ready"), "{shown}");
    joined.send("/status").await;
    joined.until("scripted · context of 4096 tokens").await;
}

#[tokio::test(start_paused = true)]
async fn a_model_that_is_away_is_told_before_the_first_task_and_found_when_it_comes() {
    let model = Scripted::default();
    model.is_away.store(true, Ordering::Relaxed);
    let (mut joined, _work) = Joined::begin_with(&model, &Memory::default());
    joined.until("model away: nothing listens at 127.0.0.1:9; start it").await;
    model.is_away.store(false, Ordering::Relaxed);
    let shown = joined.until("entraclaw · chess · scripted").await;
    assert!(!shown.contains("model away"), "{shown}");
}

#[tokio::test(start_paused = true)]
async fn what_is_done_for_a_task_is_shown_from_its_first_moment_also_after_a_restart() {
    let (model, memory) = (Scripted::default(), Memory::default());
    let (mut joined, work) = Joined::begin_with(&model, &memory);
    joined.engine.submit(Submission::host("claude-code", "count")).await.unwrap();
    joined.until("#1 Waiting for the model's first word").await;
    joined.until("w30-").await;
    joined.until("#1 Writing the answer").await;
    work.abort();
    let _ = work.await;
    let (mut again, _work) = Joined::begin_with(&model, &memory);
    let mut seen = String::new();
    while !seen.contains("w59-") {
        seen = again.until("").await;
        assert!(!seen.contains("Beginning"), "{seen}");
        let told = again.news.recv().await.unwrap();
        again.update(Happens::News(Box::new(told)));
    }
    assert!(seen.contains("#1 Writing the answer"), "{seen}");
    again.until("ready").await;
}

#[tokio::test(start_paused = true)]
async fn a_tool_runs_when_the_person_says_so() {
    let mut joined = Joined::begin();
    joined.send("run it").await;
    joined.until("? y lets it run").await;
    joined.press(Key::Send).await;
    sleep(Duration::from_secs(2)).await;
    joined.press(Key::Char('y')).await;
    let shown = joined.until("It ran.").await;
    for text in ["I run it.", "[bash ls src · exit 3]", "it may run"] {
        assert!(shown.contains(text), "{text}\n{shown}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_screen_that_comes_later_shows_what_was_said_and_a_refusal_is_told() {
    let mut joined = Joined::begin();
    joined.send("greet me").await;
    joined.until("Good morning.").await;
    let mut later = Joined::begin();
    later.engine = joined.engine.clone();
    let (tells, news) = mpsc::channel(1_024);
    let (effects, wanted) = mpsc::channel(64);
    tokio::spawn(link(joined.engine.clone(), tells, wanted));
    (later.news, later.effects) = (news, effects);
    later.until("Good morning.").await;
    later.effects.send(Effect::Decide { number: 9, may_run: true }).await.unwrap();
    later.until("no tool call 9 waits").await;
    later.send("/issues").await;
    later.until("general: 1 done, 0 failed").await;
    later.send("/new").await;
    assert!(!later.until("a new conversation").await.contains("Good morning."));
    later.engine.shut_down().await.unwrap();
    later.until("the engine has ended").await;
}
