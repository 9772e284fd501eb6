//! The filters of the template: how a number, a time, a text or a strip is shown. Every text goes through
//! `markup`.
#![expect(clippy::trivially_copy_pass_by_ref, reason = "the template hands over references")]

use super::markup::{self, Markup};
pub(super) use super::support::{features, notes};
use crate::event::{Status, Support};
use crate::history::{Point, Trend};
use crate::model::{
    BUCKET_STARTS_MS, ColumnWords, Deliveries, Failure, Host, Reached, Reason, Report, Shown, Way, supported,
};
use crate::text::{self, counted, thousands};

/// Most bytes of a name, a reason or a fact on the page.
const LINE_BYTES_MAX: usize = 2_000;
/// Pixels of one bucket in a latency strip.
const BUCKET_PX: usize = 13;

/// One box of a latency strip.
pub(super) struct Bucket {
    pub(super) x: usize,
    pub(super) opacity: String,
    pub(super) label: String,
}

pub(crate) fn line(line: &str) -> Markup {
    Markup::short(line, LINE_BYTES_MAX)
}

pub(crate) fn source(source: &str) -> Markup {
    Markup::source(source, LINE_BYTES_MAX)
}

pub(super) fn diff(failure: &Failure) -> Markup {
    markup::diff(&failure.diff)
}

pub(super) fn pieces(shown: &Shown) -> Markup {
    let mut markup = markup::pieces(&shown.pieces);
    markup.note_left_out(shown.left_out_bytes);
    markup
}

/// The ways to an idle and to a busy model, each with the words for when.
pub(super) fn both<'a>(host: &'a Reached<'_>) -> [(&'static str, &'a [Way<'a>]); 2] {
    [("while the agent is idle", &host.idle), ("while it works", &host.busy)]
}

/// A carrier in plain words, and its name.
pub(super) fn carrier(name: &str) -> Markup {
    let words = match name {
        "background_shell" => "by a command in its background shell",
        "channel" => "by a push into its channel",
        "hook" => "by its hook",
        "inbox_pull" => "when it looks into the inbox itself",
        "resource" => "when it reads the resource",
        "task" => "by a task",
        "task_notification" => "by a call that went on in the background",
        "tool_result" => "in the result of a call",
        "wait_for_inbound_message" => "by a call that waits",
        "wake_up" => "by its wake-up",
        "waking_hook" => "by a hook that wakes it",
        _ => "by",
    };
    let mut markup = Markup::default();
    markup.push_html(words);
    markup.push_html(" <code>");
    markup.push(&line(name));
    markup.push_html("</code>");
    markup
}

/// A setting of the user in plain words.
pub(super) fn setting(name: &str) -> Markup {
    match name {
        "channel" => line("the channel"),
        "experimental" => line("experimental features"),
        "hooks" => line("hooks"),
        "shell" => line("a background shell"),
        "wake_up" => line("the wake-up"),
        "waking_hook" => line("the waking hook"),
        _ => line(name),
    }
}

pub(super) fn duration(ms: &u64) -> String {
    text::duration(*ms)
}

pub(super) fn number(number: &u64) -> String {
    thousands(*number)
}

pub(super) fn size(number: &usize) -> String {
    thousands(*number as u64)
}

pub(super) fn runs(number: &u64) -> String {
    counted(*number, "run", "runs")
}

/// The states of the legend: those that only hosts can have are left out without hosts.
pub(super) fn legend(report: &Report) -> Vec<Status> {
    let can_be = |state: &Status| {
        let of_a_host = matches!(state, Status::Unsupported | Status::Unknown | Status::KnownIssue);
        !of_a_host || report.column_words() != ColumnWords::VERSIONS || report.totals.cells[state] > 0
    };
    Status::ALL.into_iter().filter(can_be).collect()
}

/// The cells of a reason by scenario, in order.
pub(super) fn by_scenario(reason: &Reason) -> Vec<(&str, Vec<&str>)> {
    let rows = reason.cells.chunk_by(|a, b| a.scenario == b.scenario);
    rows.map(|row| (row[0].scenario.as_str(), row.iter().map(|cell| cell.host.as_str()).collect())).collect()
}

/// The releases and this run, in order.
pub(super) fn points(trend: &Trend) -> Vec<&Point> {
    trend.releases.iter().chain([&trend.now]).collect()
}

/// The part of a width; 0 of an empty whole.
pub(super) fn share_of(width: u64, part: &u64, whole: &u64) -> u64 {
    width.saturating_mul(*part).checked_div(*whole).unwrap_or(0).min(width)
}

pub(super) fn all_answers() -> [Support; 4] {
    Support::ALL
}

/// `20 of 21 must`, for the head of a column.
pub(super) fn must(host: &Host) -> Option<String> {
    let counts = host.levels.get("must")?;
    Some(format!("{}/{} must", counts[&Status::Pass], supported(counts)))
}

pub(super) fn buckets(times: &Deliveries) -> Vec<Bucket> {
    let most = times.buckets.iter().copied().max().unwrap_or(0).max(1);
    let boxes = times.buckets.iter().enumerate().filter(|&(_, &messages)| messages > 0);
    boxes
        .map(|(index, &messages)| {
            // With a logarithm a single late message stays visible beside a thousand quick ones.
            let bits = |number: u64| u64::from(number.ilog2()) + 1;
            let weight = 25 + 75 * bits(messages) / bits(most);
            let start = text::duration(BUCKET_STARTS_MS[index]);
            let range = match BUCKET_STARTS_MS.get(index + 1) {
                Some(&end) => format!("{start} to {}", text::duration(end)),
                None => format!("{start} or more"),
            };
            Bucket {
                x: index * BUCKET_PX,
                opacity: format!("{}.{:02}", weight / 100, weight % 100),
                label: format!("{range}: {}", counted(messages, "message", "messages")),
            }
        })
        .collect()
}

/// Marks under the strips: position and text.
pub(super) fn ticks() -> Vec<(usize, String)> {
    let marks = [1, 10, 100, 1_000, 10_000, 100_000];
    let index = |mark: u64| BUCKET_STARTS_MS.iter().position(|&start| start == mark);
    let words = |mark: u64| if mark < 1_000 { format!("{mark} ms") } else { format!("{} s", mark / 1_000) };
    marks.into_iter().filter_map(|mark| Some((index(mark)? * BUCKET_PX, words(mark)))).collect()
}
