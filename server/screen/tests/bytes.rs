//! What is really written to a terminal, read by a terminal emulator.

#[expect(dead_code, reason = "only the golden files need all states")]
mod support;

use std::io::{self, Write};
use std::num::NonZeroU16;
use std::sync::{Arc, Mutex};

use crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use entraclaw_screen::news::News;
use entraclaw_screen::terminal::{enter, leave};
use entraclaw_screen::{Effect, Feeds, Screen, Theme, draw, drive, text};
use proptest::prelude::*;
use ratatui::backend::CrosstermBackend;
use ratatui::layout::Rect;
use ratatui::{Terminal, TerminalOptions, Viewport};
use tokio::sync::mpsc;
use tokio::time::{Duration, Instant};
use vt100::Parser;

/// What is written.
#[derive(Clone, Default)]
struct Wire(Arc<Mutex<Vec<u8>>>);

impl Wire {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Write for Wire {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn terminal(wire: &Wire, width: u16, height: u16) -> Terminal<CrosstermBackend<Wire>> {
    let viewport = Viewport::Fixed(Rect::new(0, 0, width, height));
    Terminal::with_options(CrosstermBackend::new(wire.clone()), TerminalOptions { viewport }).unwrap()
}

fn parser(height: u16, width: u16) -> Parser {
    Parser::new(NonZeroU16::new(height).unwrap(), NonZeroU16::new(width).unwrap(), 0)
}

fn seen(parser: &Parser) -> Vec<String> {
    let (_, width) = parser.screen().size();
    parser.screen().rows(0, width.get()).map(|row| row.trim_end().to_owned()).collect()
}

/// The emulator shows the same as a screen that is drawn at once.
fn assert_same(parser: &Parser, screen: &mut Screen, theme: Theme) {
    let (height, width) = parser.screen().size();
    let (buffer, cursor) = support::buffer(screen, width.get(), height.get(), theme);
    assert_eq!(seen(parser), support::rows(&buffer));
    assert_eq!(parser.screen().cursor_position(), (cursor.1, cursor.0));
    assert!(!parser.screen().hide_cursor());
}

#[test]
fn after_a_change_of_the_size_the_screen_is_as_if_it_was_drawn_at_once() {
    let wire = Wire::default();
    let mut parser = parser(24, 80);
    let mut terminal = terminal(&wire, 80, 24);
    let mut screen = support::hostile();
    for (width, height) in [(80, 24), (40, 10), (120, 40), (20, 5), (80, 24)] {
        parser.screen_mut().set_size(NonZeroU16::new(height).unwrap(), NonZeroU16::new(width).unwrap());
        terminal.resize(Rect::new(0, 0, width, height)).unwrap();
        terminal.draw(|frame| draw(frame, &mut screen, Theme::COLOUR)).unwrap();
        parser.process(&wire.take());
        assert_same(&parser, &mut screen, Theme::COLOUR);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases / 5))]

    #[test]
    fn no_text_breaks_the_screen(pieces in proptest::collection::vec(".{0,20}|[漢👍🏽a-b \u{1b}\u{301}\n]{0,30}", 1..12)) {
        let wire = Wire::default();
        let mut parser = parser(10, 40);
        let mut terminal = terminal(&wire, 40, 10);
        let mut screen = support::streaming();
        for piece in pieces {
            let news = News::Piece { task: "task_3".to_owned(), text: text(&piece) };
            support::tell(&mut screen, news, 0);
            terminal.draw(|frame| draw(frame, &mut screen, Theme::COLOUR)).unwrap();
            let bytes = wire.take();
            let written = String::from_utf8_lossy(&bytes);
            prop_assert!(!written.replace("\u{1b}[", "").contains(|c: char| c.is_control()), "{:?}", written);
            parser.process(&bytes);
            let (buffer, _) = support::buffer(&mut screen, 40, 10, Theme::COLOUR);
            // The emulator and the drawing may measure a rare character differently; frame and input must stand.
            let (seen, drawn) = (seen(&parser), support::rows(&buffer));
            for row in [0, 8, 9] {
                prop_assert_eq!(&seen[row], &drawn[row]);
            }
        }
    }
}

#[test]
fn in_the_end_the_terminal_is_as_it_was() {
    let mut wire = Wire::default();
    let mut parser = parser(24, 80);
    parser.process(b"$ entraclaw delegate\r\n");
    let before = seen(&parser);
    enter(&mut wire).unwrap();
    let mut terminal = terminal(&wire, 80, 24);
    terminal.draw(|frame| draw(frame, &mut support::approval(), Theme::COLOUR)).unwrap();
    drop(terminal);
    parser.process(&wire.take());
    assert!(parser.screen().alternate_screen() && parser.screen().bracketed_paste());
    assert_eq!(parser.screen().mouse_protocol_mode(), vt100::MouseProtocolMode::None);
    leave(&mut wire).unwrap();
    parser.process(&wire.take());
    let screen = parser.screen();
    assert!(!screen.alternate_screen() && !screen.bracketed_paste() && !screen.hide_cursor());
    assert_eq!(seen(&parser), before);
    assert_eq!(parser.screen().fgcolor(), vt100::Color::Default);
}

/// The parameters of all sequences that set a look.
fn looks(bytes: &[u8]) -> Vec<u32> {
    let all = String::from_utf8_lossy(bytes).into_owned();
    let mut looks = Vec::new();
    for part in all.split("\u{1b}[").skip(1) {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).unwrap();
        if part[end..].starts_with('m') {
            looks.extend(part[..end].split(';').filter_map(|number| number.parse::<u32>().ok()));
        }
    }
    looks
}

#[test]
fn without_colour_no_colour_is_written() {
    let is_colour = |look: &u32| matches!(look, 30..=38 | 40..=48 | 90..=97 | 100..=107);
    for (theme, has_colour) in [(Theme::PLAIN, false), (Theme::COLOUR, true)] {
        let wire = Wire::default();
        for mut screen in [support::queue(), support::approval(), support::away(), support::commands()] {
            terminal(&wire, 80, 24).draw(|frame| draw(frame, &mut screen, theme)).unwrap();
        }
        assert_eq!(looks(&wire.take()).iter().any(is_colour), has_colour);
    }
}

fn key(code: KeyCode) -> Event {
    Event::Key(KeyEvent::new(code, KeyModifiers::NONE))
}

fn stream(
    receiver: mpsc::Receiver<io::Result<Event>>,
) -> impl futures_util::Stream<Item = io::Result<Event>> {
    futures_util::stream::unfold(receiver, |mut receiver| async {
        let event = receiver.recv().await?;
        Some((event, receiver))
    })
}

#[tokio::test(start_paused = true)]
async fn sixty_frames_a_second_at_most_and_none_when_nothing_changes() {
    let wire = Wire::default();
    let mut terminal = terminal(&wire, 80, 24);
    let mut screen = Screen::new("chess");
    let (_keys, events) = mpsc::channel(1);
    let (tells, news) = mpsc::channel(64);
    let (effects, _wanted) = mpsc::channel(64);
    let start = Instant::now();
    let telling = async {
        let one = support::task(
            1,
            entraclaw_screen::news::Who::You,
            "Count.",
            entraclaw_delegate::TaskState::InProgress,
        );
        tells.send(News::Started(one.clone())).await.unwrap();
        for number in 0..400 {
            tokio::time::sleep(Duration::from_millis(5)).await;
            tells.send(News::Piece { task: one.id.clone(), text: format!("{number} ") }).await.unwrap();
        }
        let mut ended = one;
        ended.state = entraclaw_delegate::TaskState::Completed;
        tells.send(News::Ended(ended)).await.unwrap();
        std::future::pending::<()>().await;
    };
    let stop = async {
        tokio::select! {
            () = telling => {}
            () = tokio::time::sleep_until(start + Duration::from_secs(60)) => {}
        }
    };
    let feeds = Feeds { events: stream(events), news, stop };
    let drawn = drive(&mut terminal, &mut screen, Theme::COLOUR, feeds, &effects).await.unwrap();
    assert_eq!(drawn.elapsed, Duration::from_secs(60));
    assert!((100..=123).contains(&drawn.frames), "two seconds of text and 58 of quiet: {}", drawn.frames);
}

#[tokio::test(start_paused = true)]
async fn keys_reach_the_engine_and_a_full_engine_blocks_nobody() {
    let wire = Wire::default();
    let mut terminal = terminal(&wire, 80, 24);
    let mut screen = Screen::new("chess");
    let (keys, events) = mpsc::channel(64);
    let (_tells, news) = mpsc::channel(1);
    let (effects, mut wanted) = mpsc::channel(1);
    for _ in 0..2 {
        keys.send(Ok(key(KeyCode::Char('a')))).await.unwrap();
        keys.send(Ok(key(KeyCode::Enter))).await.unwrap();
    }
    keys.send(Ok(Event::Resize(40, 10))).await.unwrap();
    keys.send(Ok(Event::Key(KeyEvent::new(KeyCode::Char('l'), KeyModifiers::CONTROL)))).await.unwrap();
    keys.send(Ok(key(KeyCode::Char('b')))).await.unwrap();
    let feeds = Feeds { events: stream(events), news, stop: tokio::time::sleep(Duration::from_secs(1)) };
    drive(&mut terminal, &mut screen, Theme::PLAIN, feeds, &effects).await.unwrap();
    assert_eq!(wanted.recv().await, Some(Effect::Submit("a".to_owned())));
    assert_eq!(screen.input().text(), "b");
    let mut parser = parser(10, 40);
    let bytes = wire.take();
    assert!(!String::from_utf8_lossy(&bytes).contains("[6n"), "no question that a terminal may not answer");
    parser.process(&bytes);
    assert!(seen(&parser).join("\n").contains("the engine does not listen now"), "{:?}", seen(&parser));
}
