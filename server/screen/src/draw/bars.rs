//! What is said around the conversation: the head, what is wrong, what waits for the person, who waits, what goes on.

use entraclaw_delegate::TaskState;

use super::Line;
use super::rows::cut;
use super::talk::part;
use crate::glyph;
use crate::news::Who;
use crate::screen::Screen;
use crate::theme::Part;
use crate::wrap;

/// Most lines of a call that are shown in the question; all of it is in the conversation.
const RUNS_MAX: usize = 4;
/// What says that a text goes on elsewhere.
const MORE: &str = "… /status";

/// The line at the top.
pub(super) fn head(screen: &Screen, width: usize) -> String {
    let model = match &screen.model {
        Some(model) => model.name.clone(),
        None => "no model yet".to_owned(),
    };
    cut(&format!(" entraclaw · {} · {model}", screen.project), width)
}

/// What is wrong, and how to mend it, in so many lines at most.
pub(super) fn trouble(screen: &Screen, width: usize, height: usize) -> Vec<Line> {
    let Some(why) = &screen.trouble else { return Vec::new() };
    let mut lines = wrap::lines(&format!("! model away: {why}"), width);
    if lines.len() > height {
        lines.truncate(height);
        if let Some(last) = lines.last_mut() {
            *last = format!("{}{MORE}", wrap::hard(last, width.saturating_sub(MORE.chars().count())));
        }
    }
    lines.into_iter().map(|line| vec![(line, Part::Trouble)]).collect()
}

/// What the screen has to say.
pub(super) fn notice(screen: &Screen, width: usize) -> Vec<Line> {
    let Some(notice) = &screen.notice else { return Vec::new() };
    wrap::lines(notice, width).into_iter().map(|line| vec![(line, Part::Asks)]).collect()
}

/// The tool call that waits for the person, in so many lines at most. Without room for the call there is no question.
pub(super) fn approval(screen: &Screen, width: usize, height: usize) -> Vec<Line> {
    let Some(approval) = screen.approvals.front().filter(|_| height >= 3) else { return Vec::new() };
    let who = screen.label(&approval.who);
    let mut lines = vec![vec![(cut(&format!("? {who} wants to run:"), width), Part::Asks)]];
    // Indented, so that no part of a call can pass for the question.
    let mut runs = wrap::lines(&approval.runs, width.saturating_sub(2));
    let has_why = height >= 4;
    let most = (height - 2 - usize::from(has_why)).min(RUNS_MAX);
    if runs.len() > most {
        let more = runs.len() + 1 - most;
        runs.truncate(most - 1);
        runs.push(cut(&format!("… {more} more lines, see above by pgup"), width.saturating_sub(2)));
    }
    lines.extend(runs.into_iter().map(|line| vec![(format!("  {line}"), Part::Text)]));
    if has_why {
        lines.push(vec![(cut(&format!("? why: {}", approval.why), width), Part::Text)]);
    }
    let many = match screen.approvals.len() {
        1 => String::new(),
        all => format!(" (1 of {all})"),
    };
    let keys = if screen.input.is_empty() {
        format!("? y lets it run, n refuses it{many}")
    } else {
        format!("? empty the line, then y or n{many}")
    };
    lines.push(vec![(cut(&keys, width), Part::Asks)]);
    lines
}

/// How many wait, and whose they are.
pub(super) fn queue(screen: &Screen, width: usize) -> Vec<Line> {
    let active = screen.active.as_ref().map(|active| &active.task);
    let mut waiting: Vec<(&Who, usize)> = Vec::new();
    let mut paused = Vec::new();
    for task in screen.tasks.iter().filter(|task| Some(&task.id) != active) {
        if task.state == TaskState::Preempted {
            paused.push(format!("{} #{}", screen.label(&task.who), task.number));
            continue;
        }
        match waiting.iter_mut().find(|(who, _)| **who == task.who) {
            Some((_, count)) => *count += 1,
            None => waiting.push((&task.who, 1)),
        }
    }
    let mut says = Vec::new();
    let all: usize = waiting.iter().map(|(_, count)| count).sum();
    if all > 0 {
        let whose: Vec<_> =
            waiting.iter().map(|(who, count)| format!("{} {count}", screen.label(who))).collect();
        says.push(format!("{all} waiting: {}", whose.join(", ")));
    }
    if !paused.is_empty() {
        says.push(format!("paused: {}", paused.join(", ")));
    }
    if says.is_empty() {
        return Vec::new();
    }
    vec![vec![(cut(&says.join(" · "), width), Part::Aside)]]
}

/// The task that is worked on.
pub(super) fn status(screen: &Screen, width: usize) -> Line {
    let Some(task) = screen.active_task() else {
        return vec![(cut("ready", width), Part::Aside)];
    };
    let label = screen.label(&task.who);
    let number = format!(" #{} ", task.number);
    let mut end = format!(" · {}", elapsed(screen.elapsed_ms()));
    if let Some(speed) = screen.tokens_per_second() {
        end = format!("{end} · {speed:.0} tokens/s");
    }
    let room = width.saturating_sub(glyph::columns(&label) + number.len() + glyph::columns(&end));
    let doing =
        if screen.active.as_ref().is_some_and(|active| active.thinks) { "Thinking" } else { &task.doing };
    vec![(label, part(&task.who)), (number, Part::Text), (cut(doing, room), Part::Active), (end, Part::Text)]
}

fn elapsed(elapsed_ms: u64) -> String {
    let seconds = elapsed_ms / 1_000;
    match (seconds / 3_600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} min {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::news::Approval;

    #[test]
    fn a_call_that_is_cut_says_how_many_of_its_lines_are_left_out() {
        let runs: Vec<String> = (1..=10).map(|line| format!("step {line}")).collect();
        let mut screen = Screen::new("chess");
        screen.approvals.push_back(Approval {
            number: 1,
            who: Who::Host("codex".to_owned()),
            task: "task_1".to_owned(),
            runs: runs.join("\n"),
            why: "it writes".to_owned(),
        });
        let shown: Vec<String> = approval(&screen, 80, 6)
            .into_iter()
            .map(|line| line.into_iter().map(|(text, _)| text).collect())
            .collect();
        assert_eq!(shown[1..4], ["  step 1", "  step 2", "  … 8 more lines, see above by pgup"]);
    }

    #[test]
    fn a_time_is_read_at_a_glance() {
        assert_eq!(elapsed(900), "0 s");
        assert_eq!(elapsed(75_000), "1 min 15 s");
        assert_eq!(elapsed(3_725_000), "1 h 02 min");
    }
}
