//! What becomes of keys and news.

use entraclaw_delegate::{Resumption, TaskState};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::*;
use crate::news::{Everything, Said, Tool};
use crate::theme::Theme;

fn task(number: i64, who: Who, state: TaskState) -> Task {
    Task {
        id: format!("task_{number}"),
        number,
        who,
        asks: format!("do {number}"),
        state,
        doing: "Writing the answer".to_owned(),
        model: None,
        partial: String::new(),
        tools: Vec::new(),
        resumed: None,
        result: None,
        notes: Vec::new(),
        elapsed_ms: 0,
    }
}

fn host() -> Who {
    Who::Host("claude-code".to_owned())
}

fn tell(screen: &mut Screen, news: News, now_ms: u64) {
    assert_eq!(screen.update(Happens::News(Box::new(news)), now_ms), []);
}

fn write(screen: &mut Screen, text: &str, now_ms: u64) {
    for c in text.chars() {
        assert_eq!(screen.update(Happens::Key(Key::Char(c)), now_ms), []);
    }
}

fn send(screen: &mut Screen, text: &str) -> Vec<Effect> {
    screen.update(Happens::Key(Key::Paste(text.to_owned())), 0);
    screen.update(Happens::Key(Key::Send), 0)
}

/// Draws the screen, for what is not seen can't be decided.
fn look(screen: &mut Screen) -> String {
    let mut terminal = Terminal::new(TestBackend::new(80, 24)).unwrap();
    terminal.draw(|frame| crate::draw(frame, screen, Theme::PLAIN)).unwrap();
    terminal.backend().to_string()
}

fn asked(number: i64) -> Approval {
    Approval {
        number,
        who: host(),
        task: "task_1".to_owned(),
        runs: "bash cargo test".to_owned(),
        why: "there is no sandbox here".to_owned(),
    }
}

#[test]
fn enter_hands_a_message_over_and_an_empty_line_does_nothing() {
    let mut screen = Screen::new("x");
    assert_eq!(send(&mut screen, "  "), []);
    screen.update(Happens::Key(Key::Interrupt), 0);
    assert_eq!(send(&mut screen, "hello\nthere"), [Effect::Submit("hello\nthere".to_owned())]);
    assert!(screen.input().is_empty());
}

#[test]
fn a_paste_with_line_ends_sends_nothing() {
    let mut screen = Screen::new("x");
    let effects = screen.update(Happens::Key(Key::Paste("/quit\r\nrm\r".to_owned())), 0);
    assert_eq!(effects, []);
    assert_eq!(screen.input().text(), "/quit\nrm\n");
}

#[test]
fn commands_become_effects() {
    let mut screen = Screen::new("x");
    assert_eq!(send(&mut screen, "/issues"), [Effect::ReadQualities]);
    assert_eq!(send(&mut screen, "/history"), [Effect::ReadHistory(1_000)]);
    assert_eq!(send(&mut screen, "/new"), [Effect::BeginSession]);
    assert_eq!(send(&mut screen, "/quit"), [Effect::Quit]);
    assert_eq!(send(&mut screen, "/cancel"), []);
    assert!(screen.notice.as_ref().unwrap().contains("no task is worked on"));
    tell(&mut screen, News::Started(task(3, host(), TaskState::InProgress)), 0);
    tell(&mut screen, News::Queued(task(4, host(), TaskState::Queued)), 0);
    assert_eq!(send(&mut screen, "/cancel"), [Effect::Cancel("task_3".to_owned())]);
    assert_eq!(send(&mut screen, "/cancel #4"), [Effect::Cancel("task_4".to_owned())]);
    assert_eq!(send(&mut screen, "/cancel 5"), []);
}

#[test]
fn a_wrong_command_stays_to_be_mended() {
    let mut screen = Screen::new("x");
    assert_eq!(send(&mut screen, "/quti"), []);
    assert_eq!(screen.input().text(), "/quti");
}

#[test]
fn a_tool_runs_by_y_and_never_by_enter_or_a_paste() {
    let mut screen = Screen::new("x");
    tell(&mut screen, News::Asks(asked(7)), 0);
    look(&mut screen);
    for key in [Key::Send, Key::Paste("y".to_owned()), Key::Send, Key::Escape] {
        let effects = screen.update(Happens::Key(key), 5_000);
        assert!(!effects.iter().any(|effect| matches!(effect, Effect::Decide { .. })));
    }
    assert_eq!(
        screen.update(Happens::Key(Key::Char('y')), 9_000),
        [Effect::Decide { number: 7, may_run: true }]
    );
    assert_eq!(screen.update(Happens::Key(Key::Char('y')), 19_000), [], "it is decided once");
}

#[test]
fn a_word_that_was_being_written_is_no_answer() {
    let mut screen = Screen::new("x");
    tell(&mut screen, News::Asks(asked(7)), 10_000);
    look(&mut screen);
    write(&mut screen, "yes", 10_100);
    assert_eq!(screen.input().text(), "yes");
    // With a line that is not empty it is a letter, whenever it comes.
    write(&mut screen, "n", 20_000);
    screen.update(Happens::Key(Key::Interrupt), 20_100);
    assert_eq!(
        screen.update(Happens::Key(Key::Char('n')), 21_000),
        [Effect::Decide { number: 7, may_run: false }]
    );
}

#[test]
fn what_was_not_shown_is_not_decided_and_each_question_has_its_own_moment() {
    let mut screen = Screen::new("x");
    tell(&mut screen, News::Asks(asked(7)), 0);
    tell(&mut screen, News::Asks(asked(8)), 0);
    write(&mut screen, "y", 5_000);
    screen.update(Happens::Key(Key::Interrupt), 5_000);
    look(&mut screen);
    assert_eq!(screen.update(Happens::Key(Key::Char('y')), 6_000).len(), 1);
    assert_eq!(
        screen.update(Happens::Key(Key::Char('y')), 6_001),
        [],
        "a key that is held answers one question"
    );
}

#[test]
fn a_task_is_paused_for_the_person_and_its_answer_goes_on_below() {
    let mut screen = Screen::new("x");
    tell(&mut screen, News::Queued(task(1, host(), TaskState::Queued)), 0);
    tell(&mut screen, News::Started(task(1, host(), TaskState::InProgress)), 0);
    tell(&mut screen, News::Piece { task: "task_1".into(), text: "The board ".into() }, 10);
    tell(&mut screen, News::Queued(task(2, Who::You, TaskState::Queued)), 20);
    tell(&mut screen, News::Paused(task(1, host(), TaskState::Preempted)), 20);
    assert!(look(&mut screen).contains("paused: [claude-code] #1"));
    tell(&mut screen, News::Started(task(2, Who::You, TaskState::InProgress)), 20);
    let mut done = task(2, Who::You, TaskState::Completed);
    done.result = Some("Yes.".to_owned());
    tell(&mut screen, News::Ended(done), 30);
    let mut again = task(1, host(), TaskState::InProgress);
    again.resumed = Some(Resumption::Exact);
    tell(&mut screen, News::Resumed(again), 40);
    tell(&mut screen, News::Piece { task: "task_1".into(), text: "has 64 fields.".into() }, 50);
    let shown = look(&mut screen);
    assert_eq!(shown.matches("The board has 64 fields.").count(), 1, "{shown}");
    assert!(shown.contains("paused here for you; it goes on below"), "{shown}");
    assert!(shown.contains("exact: it goes on where it was"), "{shown}");
    assert!(shown.find("Yes.").unwrap() < shown.find("The board").unwrap(), "{shown}");
}

#[test]
fn a_step_that_starts_again_takes_its_text_back_and_keeps_what_came_before() {
    let mut screen = Screen::new("x");
    tell(&mut screen, News::Started(task(1, host(), TaskState::InProgress)), 0);
    tell(&mut screen, News::Piece { task: "task_1".into(), text: "I look.".into() }, 0);
    let mut further = task(1, host(), TaskState::InProgress);
    further.tools.push(Tool { says: "read_file a.rs · …".into(), is_done: false });
    tell(&mut screen, News::Changed(further.clone()), 0);
    tell(&mut screen, News::Piece { task: "task_1".into(), text: "Wrong".into() }, 0);
    tell(&mut screen, News::StartsAgain { task: "task_1".into() }, 0);
    further.tools[0] = Tool { says: "read_file a.rs · 9 lines".into(), is_done: true };
    further.result = Some("Right.".to_owned());
    further.state = TaskState::Completed;
    tell(&mut screen, News::Ended(further), 0);
    let shown = look(&mut screen);
    for text in ["I look.", "[read_file a.rs · 9 lines]", "Right."] {
        assert!(shown.contains(text), "{text}\n{shown}");
    }
    assert!(!shown.contains("Wrong") && !shown.contains('…'), "{shown}");
}

#[test]
fn everything_replaces_what_was_known() {
    let mut screen = Screen::new("x");
    tell(&mut screen, News::Queued(task(9, host(), TaskState::Queued)), 0);
    tell(&mut screen, News::Asks(asked(7)), 0);
    let mut active = task(1, host(), TaskState::InProgress);
    active.partial = "half an ans".to_owned();
    let said = Said { who: Who::You, text: "hi".into(), task: "task_0".into(), tools: Vec::new() };
    let everything = Everything { said: vec![said], tasks: vec![active], ..Everything::default() };
    tell(&mut screen, News::Everything(Box::new(everything)), 0);
    tell(&mut screen, News::Piece { task: "task_1".into(), text: "wer".into() }, 0);
    let shown = look(&mut screen);
    assert!(shown.contains("[you] hi") && shown.contains("half an answer"), "{shown}");
    assert!(!shown.contains("do 9") && screen.approvals.is_empty(), "{shown}");
}

#[test]
fn time_changes_the_screen_once_a_second_while_a_task_is_worked_on() {
    let mut screen = Screen::new("x");
    assert!(screen.take_change());
    screen.update(Happens::Tick, 5_000);
    assert!(!screen.take_change());
    tell(&mut screen, News::Started(task(1, host(), TaskState::InProgress)), 5_000);
    assert!(screen.take_change());
    screen.update(Happens::Tick, 5_900);
    assert!(!screen.take_change());
    screen.update(Happens::Tick, 6_100);
    assert!(screen.take_change() && !screen.take_change());
}

#[test]
fn what_is_read_stays_while_more_comes() {
    let mut screen = Screen::new("x");
    tell(&mut screen, News::Started(task(1, host(), TaskState::InProgress)), 0);
    let lines: Vec<_> = (0..100).map(|line| format!("line {line}\n")).collect();
    tell(&mut screen, News::Piece { task: "task_1".into(), text: lines.concat() }, 0);
    look(&mut screen);
    screen.update(Happens::Key(Key::PageUp), 0);
    let before = look(&mut screen);
    let first = |shown: &str| shown.lines().nth(3).unwrap().to_owned();
    tell(&mut screen, News::Piece { task: "task_1".into(), text: "more\nand more\n".into() }, 0);
    let after = look(&mut screen);
    assert_eq!(first(&before), first(&after));
    assert!(after.contains("more lines below"));
    screen.update(Happens::Key(Key::Escape), 0);
    assert!(look(&mut screen).contains("and more"));
}

#[test]
fn an_engine_that_has_ended_is_trouble_with_a_way_out() {
    let mut screen = Screen::new("x");
    tell(
        &mut screen,
        News::Away { why: "nothing listens at 127.0.0.1:11434; start it by `ollama serve`".into() },
        0,
    );
    assert!(look(&mut screen).contains("ollama serve"));
    tell(&mut screen, News::Found(Model { name: "qwen3:8b".into(), context_tokens: Some(40_960) }), 0);
    assert!(screen.trouble.is_none());
    tell(&mut screen, News::EngineEnded, 0);
    assert!(look(&mut screen).contains("/quit"));
}

#[test]
fn ctrl_d_deletes_in_a_line_and_leaves_from_an_empty_one() {
    let mut screen = Screen::new("x");
    write(&mut screen, "abc", 0);
    screen.update(Happens::Key(Key::Home), 0);
    assert_eq!(screen.update(Happens::Key(Key::EndOfInput), 0), []);
    assert_eq!(send(&mut screen, ""), [Effect::Submit("bc".to_owned())]);
    assert_eq!(screen.update(Happens::Key(Key::EndOfInput), 0), [Effect::Quit]);
}

#[test]
fn ctrl_c_clears_then_warns_then_leaves() {
    let mut screen = Screen::new("x");
    write(&mut screen, "abc", 0);
    assert_eq!(screen.update(Happens::Key(Key::Interrupt), 0), []);
    assert_eq!(screen.update(Happens::Key(Key::Interrupt), 0), []);
    assert_eq!(screen.update(Happens::Key(Key::Interrupt), 0), [Effect::Quit]);
}
