//! Screens in states that tests share, and a screen as text.

use std::fmt::Write as _;

use entraclaw_delegate::{Resumption, TaskState};
use entraclaw_screen::news::{Approval, Everything, Model, News, Quality, Said, Task, Tool, Who};
use entraclaw_screen::{Happens, Key, Screen, Theme, draw, text};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;
use ratatui::style::{Color, Modifier};
use unicode_width::UnicodeWidthStr as _;

pub(crate) fn task(number: i64, who: Who, asks: &str, state: TaskState) -> Task {
    Task {
        id: format!("task_{number}"),
        number,
        who,
        asks: asks.to_owned(),
        state,
        doing: "Writing the answer".to_owned(),
        model: Some("qwen3:8b".to_owned()),
        partial: String::new(),
        tools: Vec::new(),
        resumed: None,
        result: None,
        notes: Vec::new(),
        elapsed_ms: 0,
    }
}

pub(crate) fn host(name: &str) -> Who {
    Who::Host(name.to_owned())
}

pub(crate) fn tell(screen: &mut Screen, news: News, now_ms: u64) {
    screen.update(Happens::News(Box::new(news)), now_ms);
}

pub(crate) fn write(screen: &mut Screen, text: &str) {
    screen.update(Happens::Key(Key::Paste(text.to_owned())), 0);
}

fn said(who: Who, task: &str, text: &str, tools: &[&str]) -> Said {
    let tools = tools.iter().map(|says| Tool { says: (*says).to_owned(), is_done: true }).collect();
    Said { who, text: text.to_owned(), task: task.to_owned(), tools }
}

/// The conversation of design document 003.
pub(crate) fn talk() -> Screen {
    let mut screen = Screen::new("chess");
    let model = || Who::Model(None);
    let everything = Everything {
        said: vec![
            said(Who::You, "task_1", "Help me build a chess application", &[]),
            said(
                model(),
                "task_1",
                "I'll help you design a chess application. It needs a board, pieces and rules.",
                &[],
            ),
            said(
                host("claude-code"),
                "task_2",
                "Implement the Board class in src/board.py with 8x8 grid, get_piece, set_piece methods.",
                &[],
            ),
            said(model(), "task_2", "Created the Board class.", &["write_file src/board.py · 145 lines"]),
        ],
        total: 4,
        model: Some(Model { name: "qwen3:8b".to_owned(), context_tokens: Some(32_768) }),
        rate_limit: 10,
        ..Everything::default()
    };
    tell(&mut screen, News::Everything(Box::new(everything)), 0);
    screen
}

pub(crate) fn streaming() -> Screen {
    let mut screen = talk();
    let mut one = task(3, host("claude-code"), "Add tests for the board.", TaskState::InProgress);
    tell(&mut screen, News::Queued(one.clone()), 0);
    tell(&mut screen, News::Started(one.clone()), 0);
    tell(
        &mut screen,
        News::Piece { task: one.id.clone(), text: "I look at the board first.".to_owned() },
        100,
    );
    one.tools.push(Tool { says: "read_file src/board.py · 145 lines".to_owned(), is_done: true });
    tell(&mut screen, News::Changed(one.clone()), 200);
    for piece in 0_u64..400 {
        let text = if piece % 20 == 19 { "field.\n".to_owned() } else { format!("{} ", piece % 8) };
        tell(&mut screen, News::Piece { task: one.id.clone(), text }, 1_000 + piece * 25);
    }
    screen
}

pub(crate) fn thinking() -> Screen {
    let mut screen = talk();
    let one = task(3, Who::You, "Which opening is best?", TaskState::InProgress);
    tell(&mut screen, News::Started(one.clone()), 0);
    tell(&mut screen, News::Thinks { task: one.id }, 75_000);
    screen
}

pub(crate) fn queue() -> Screen {
    let mut screen = talk();
    let mut paused = task(3, host("claude-code"), "Add tests for the board.", TaskState::InProgress);
    tell(&mut screen, News::Started(paused.clone()), 0);
    tell(&mut screen, News::Piece { task: paused.id.clone(), text: "The first test ".to_owned() }, 0);
    tell(&mut screen, News::Queued(task(4, host("claude-code"), "Review it.", TaskState::Queued)), 0);
    tell(
        &mut screen,
        News::Queued(task(5, host("codex"), "Write the rules of castling.", TaskState::Queued)),
        0,
    );
    tell(&mut screen, News::Queued(task(6, Who::You, "What did Claude Code ask for?", TaskState::Queued)), 0);
    paused.state = TaskState::Preempted;
    tell(&mut screen, News::Paused(paused), 0);
    let own = task(6, Who::You, "What did Claude Code ask for?", TaskState::InProgress);
    tell(&mut screen, News::Started(own.clone()), 0);
    let text = "Claude Code asked for a Board class.".to_owned();
    tell(&mut screen, News::Piece { task: own.id, text }, 0);
    screen
}

pub(crate) fn resumed() -> Screen {
    let mut screen = queue();
    let mut own = task(6, Who::You, "What did Claude Code ask for?", TaskState::Completed);
    own.result = Some("Claude Code asked for a Board class.".to_owned());
    tell(&mut screen, News::Ended(own), 4_000);
    let mut one = task(3, host("claude-code"), "Add tests for the board.", TaskState::InProgress);
    (one.resumed, one.elapsed_ms) = (Some(Resumption::Continued), 3_000);
    tell(&mut screen, News::Resumed(one.clone()), 4_000);
    tell(&mut screen, News::Piece { task: one.id, text: "counts the fields.".to_owned() }, 5_000);
    screen
}

pub(crate) fn approval() -> Screen {
    let mut screen = talk();
    let mut one = task(3, host("claude-code"), "Run the tests.", TaskState::InProgress);
    "Waiting for a person's approval".clone_into(&mut one.doing);
    tell(&mut screen, News::Started(one.clone()), 0);
    let approval = Approval {
        number: 1,
        who: host("claude-code"),
        task: one.id,
        runs: "bash python -m pytest tests --maxfail=1\ntimeout_ms: 60000".to_owned(),
        why: "this kernel has no Landlock, so the command can write outside of the project".to_owned(),
    };
    tell(&mut screen, News::Asks(approval), 12_000);
    screen
}

pub(crate) fn away() -> Screen {
    let mut screen = talk();
    let mut one = task(3, Who::You, "Go on.", TaskState::InProgress);
    "Waiting for the model".clone_into(&mut one.doing);
    tell(&mut screen, News::Started(one), 0);
    let why = "nothing listens at http://127.0.0.1:11434; start Ollama by `ollama serve`, or name another server \
               by delegate.base_url";
    tell(&mut screen, News::Away { why: why.to_owned() }, 0);
    write(&mut screen, "and then\ncastling");
    screen
}

/// A host and a model that try to break the screen.
pub(crate) fn hostile() -> Screen {
    let mut screen = talk();
    let asks = text(
        "\u{1b}[2J\u{1b}[31mred\u{1b}]0;title\u{7} \u{202e}turned\u{202c}\n[you] do as it says\n\
         漢字の長い行は折り返されます。漢字の長い行は折り返されます。漢字の長い行は折り返されます。\n\
         👨‍👩‍👧 family 👍🏽 ❤️ 🇩🇪 e\u{301}\u{302}\u{303} עברית\n",
    );
    let mut one = task(3, host("claude-code"), &asks, TaskState::InProgress);
    one.tools.push(Tool { says: format!("bash {}", "very-long-argument-".repeat(9)), is_done: true });
    one.partial = text(&format!("{}\n\tindented\u{7f}\u{9b}31m", "longword".repeat(20)));
    tell(&mut screen, News::Started(one), 0);
    screen
}

pub(crate) fn commands() -> Screen {
    let mut screen = queue();
    write(&mut screen, "/status");
    screen.update(Happens::Key(Key::Send), 0);
    let row = |kind: &str, with_issues| Quality {
        model: "qwen3:8b".to_owned(),
        kind: kind.to_owned(),
        completed: 12,
        failed: 1,
        with_issues,
        issues: if with_issues > 0 { vec![("incomplete".to_owned(), 2)] } else { Vec::new() },
    };
    tell(&mut screen, News::Qualities(vec![row("code_generation", 2), row("testing", 0)]), 0);
    write(&mut screen, "/nonsense");
    screen.update(Happens::Key(Key::Send), 0);
    screen
}

/// The screen as it is drawn at a size.
pub(crate) fn buffer(screen: &mut Screen, width: u16, height: u16, theme: Theme) -> (Buffer, (u16, u16)) {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let drawn = terminal.draw(|frame| draw(frame, screen, theme)).unwrap();
    let buffer = drawn.buffer.clone();
    let cursor = terminal.backend().cursor_position();
    (buffer, (cursor.x, cursor.y))
}

/// The rows of a buffer as text, without blanks at their ends.
pub(crate) fn rows(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area;
    let row = |y| {
        let (mut row, mut x) = (String::new(), area.left());
        while x < area.right() {
            let symbol = buffer[(x, y)].symbol();
            row.push_str(symbol);
            x += u16::try_from(symbol.width().max(1)).unwrap();
        }
        row.trim_end().to_owned()
    };
    (area.top()..area.bottom()).map(row).collect()
}

/// The rows with their looks: `{Cyan+BOLD:[you]}`.
pub(crate) fn styled_rows(buffer: &Buffer) -> Vec<String> {
    let area = buffer.area;
    let row = |y| {
        let (mut row, mut x, mut before) = (String::new(), area.left(), String::new());
        while x < area.right() {
            let cell = &buffer[(x, y)];
            let mut look = if cell.fg == Color::Reset { String::new() } else { format!("{:?}", cell.fg) };
            if cell.modifier != Modifier::empty() {
                look = format!("{look}+{}", format!("{:?}", cell.modifier).trim_matches(['(', ')']));
            }
            if look != before {
                if !before.is_empty() {
                    row.push('}');
                }
                if !look.is_empty() {
                    let _ = write!(row, "{{{look}:");
                }
                before = look;
            }
            row.push_str(cell.symbol());
            x += u16::try_from(cell.symbol().width().max(1)).unwrap();
        }
        if !before.is_empty() {
            row.push('}');
        }
        row.trim_end().to_owned()
    };
    (area.top()..area.bottom()).map(row).collect()
}
