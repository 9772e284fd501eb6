//! Drives the screen by a model that says 200 tokens a second, and tells what that costs.
//!
//! Run it in a terminal: `cargo run --release -p entraclaw-screen --example screen -- 10`; the number is in seconds.
#![expect(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an example reads the times of its process and prints what it measured"
)]

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use entraclaw_delegate::TaskState;
use entraclaw_screen::news::{Everything, Model, News, Said, Task, Who};
use entraclaw_screen::{Options, show};
use tokio::sync::mpsc;
use tokio::time::{Duration, MissedTickBehavior, interval, sleep};

/// The time of a token, at 200 a second.
const TOKEN: Duration = Duration::from_millis(5);
/// Messages of the conversation before.
const MESSAGES: usize = 200;
const WORDS: [&str; 8] =
    ["The ", "board ", "has ", "sixty", "-four ", "fields, ", "漢字 ", "and\n    rows. "];
/// Ticks of the process's times in a second, on Linux.
const TICKS: f64 = 100.0;

fn main() -> std::io::Result<()> {
    let seconds = std::env::args().nth(1).and_then(|seconds| seconds.parse().ok()).unwrap_or(10);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let begun = processor_seconds();
    let tokens = Arc::new(AtomicU32::new(0));
    let (tells, news) = mpsc::channel(1_024);
    let (effects, _wanted) = mpsc::channel(8);
    let options = Options {
        project: "example".to_owned(),
        term: std::env::var("TERM").ok(),
        no_color: std::env::var("NO_COLOR").ok(),
    };
    let drawn = runtime.block_on(async {
        let telling = tokio::spawn(tell(tells, tokens.clone()));
        let until = sleep(Duration::from_secs(seconds));
        let drawn = show(&options, news, &effects, until).await;
        telling.abort();
        drawn
    })?;
    let elapsed = drawn.elapsed.as_secs_f64();
    let frames = f64::from(u32::try_from(drawn.frames).unwrap_or(u32::MAX));
    // Fewer than 200 mean that the machine was too busy to measure on.
    println!("{:.1} tokens a second", f64::from(tokens.load(Ordering::Relaxed)) / elapsed);
    println!("{:.1} frames a second for {elapsed:.1} s", frames / elapsed);
    if let (Some(begun), Some(ended)) = (begun, processor_seconds()) {
        println!("{:.1} % of one core", (ended - begun) / elapsed * 100.0);
    }
    Ok(())
}

async fn tell(tells: mpsc::Sender<News>, said: Arc<AtomicU32>) {
    let message = |at: usize| Said {
        who: if at.is_multiple_of(2) { Who::Host("claude-code".to_owned()) } else { Who::Model(None) },
        text: WORDS.concat().repeat(4),
        task: format!("task_{at}"),
        tools: Vec::new(),
    };
    let mut task = Task {
        id: "task_now".to_owned(),
        number: 1,
        who: Who::You,
        asks: "Describe the board.".to_owned(),
        state: TaskState::InProgress,
        doing: "Writing the answer".to_owned(),
        model: None,
        partial: String::new(),
        tools: Vec::new(),
        resumed: None,
        result: None,
        notes: Vec::new(),
        elapsed_ms: 0,
    };
    let everything = Everything {
        said: (0..MESSAGES).map(message).collect(),
        total: 200,
        model: Some(Model { name: "scripted".to_owned(), context_tokens: None }),
        ..Everything::default()
    };
    let _ = tells.send(News::Everything(Box::new(everything))).await;
    task.state = TaskState::InProgress;
    let _ = tells.send(News::Started(task.clone())).await;
    let mut tokens = interval(TOKEN);
    tokens.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for word in WORDS.iter().cycle() {
        tokens.tick().await;
        let piece = News::Piece { task: task.id.clone(), text: (*word).to_owned() };
        if tells.send(piece).await.is_err() {
            return;
        }
        said.fetch_add(1, Ordering::Relaxed);
    }
}

/// The processor time of this process, where `/proc` tells it.
fn processor_seconds() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let behind_name = stat.rsplit(')').next()?;
    let times = behind_name.split_whitespace().skip(11).take(2);
    Some(times.filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / TICKS)
}
