//! The steps of a cell as pieces that can be left out, each a whole: a crash with the start after it, a fault with its end.
//! Whatever is left out, what remains must be steps that a seed could have drawn.

use std::collections::BTreeSet;
use std::time::Duration;

use scenario::{DiskStep, Edit, HostStep, MessageRef, ServerStep, Span, Step};
use yaml::{Place, Spanned};

use crate::plan::Cell;
use crate::run::drawn;

/// The shortest wait that a stretch begins with.
const FIRST_MIN: Duration = Duration::from_secs(10);

/// Where a step comes from.
#[derive(Debug, Clone)]
pub(super) enum From {
    /// The scenario's step with this number, from 0.
    Scenario(usize),
    /// The seed.
    Seed,
}

#[derive(Debug, Clone)]
enum Kind {
    /// Of the scenario itself.
    Fixed(usize),
    /// Drawn, and can be left out.
    Drawn,
    /// The wait that every stretch begins with: what is written in the instant of a first start is history.
    First,
    /// Drawn, and stays as long as there is something to end.
    End,
}

#[derive(Debug, Clone)]
struct Piece {
    kind: Kind,
    steps: Vec<Step>,
}

/// The steps of a cell.
#[derive(Debug, Clone)]
pub(super) struct Pieces(Vec<Piece>);

impl Pieces {
    /// All that a cell plays.
    pub(super) fn of(cell: &Cell) -> Self {
        let mut pieces = Vec::new();
        for (number, step) in cell.scenario.scenario.steps.iter().enumerate() {
            match drawn(cell, &step.value) {
                Some(drawn) => pieces.extend(whole(drawn)),
                None => pieces.push(Piece { kind: Kind::Fixed(number), steps: vec![step.value.clone()] }),
            }
        }
        Self(pieces)
    }

    /// Numbers of the pieces that can be left out.
    pub(super) fn removable(&self) -> Vec<usize> {
        let pieces = self.0.iter().enumerate();
        pieces.filter(|(_, piece)| matches!(piece.kind, Kind::Drawn)).map(|(at, _)| at).collect()
    }

    /// The number of drawn steps that are played.
    pub(super) fn drawn(&self) -> usize {
        self.steps().iter().filter(|(from, _)| matches!(from, From::Seed)).count()
    }

    /// Whether a person writes.
    pub(super) fn has_messages(&self) -> bool {
        let mut steps = self.0.iter().flat_map(|piece| &piece.steps);
        steps.any(|step| matches!(step, Step::Write(_) | Step::Mail(_) | Step::Bot(_)))
    }

    /// All but some of the pieces.
    pub(super) fn without(&self, some: &[usize]) -> Self {
        let left = self.0.iter().enumerate().filter(|(at, _)| !some.contains(at));
        Self(left.map(|(_, piece)| piece.clone()).collect())
    }

    /// One piece is another step.
    pub(super) fn with(&self, at: usize, step: Step) -> Self {
        let mut pieces = self.0.clone();
        pieces[at].steps = vec![step];
        Self(pieces)
    }

    /// The waits: where they stand, how long they are, and how long they must be.
    pub(super) fn waits(&self) -> Vec<(usize, Span, Duration)> {
        let waits =
            self.0.iter().enumerate().filter_map(|(at, piece)| match (&piece.kind, &piece.steps[..]) {
                (Kind::Drawn, [Step::Advance(span)]) => Some((at, *span, Duration::ZERO)),
                (Kind::First, [Step::Advance(span)]) => Some((at, *span, FIRST_MIN)),
                _ => None,
            });
        waits.collect()
    }

    /// Waits that follow each other are one.
    pub(super) fn with_waits_joined(&self) -> Self {
        let mut joined: Vec<Piece> = Vec::new();
        for piece in &self.0 {
            if let [Step::Advance(more)] = piece.steps[..]
                && matches!(piece.kind, Kind::Drawn)
                && let Some(Piece { kind: Kind::Drawn | Kind::First, steps }) = joined.last_mut()
                && let [Step::Advance(span)] = &mut steps[..]
            {
                span.0 += more.0;
            } else {
                joined.push(piece.clone());
            }
        }
        Self(joined)
    }

    /// What is played, and where it comes from: without changes of messages that were never written, and without ends of
    /// what never began.
    pub(super) fn steps(&self) -> Vec<(From, Step)> {
        let mut steps = Vec::new();
        let mut written = BTreeSet::new();
        let (mut fault, mut disk) = (false, false);
        for Piece { kind, steps: of_piece } in &self.0 {
            for step in of_piece {
                let is_needed = match step {
                    Step::Write(write) => {
                        written.extend(labels(write.label.as_ref(), write.count));
                        true
                    }
                    Step::Mail(mail) => {
                        written.extend(labels(mail.label.as_ref(), mail.count));
                        true
                    }
                    Step::Edit(Edit { message, .. }) | Step::Delete(MessageRef { message, .. }) => {
                        written.contains(message)
                    }
                    Step::Fault(_) => {
                        fault = true;
                        true
                    }
                    Step::Heal => std::mem::take(&mut fault),
                    Step::Disk(DiskStep::Heal) => std::mem::take(&mut disk),
                    Step::Disk(DiskStep::Full { .. } | DiskStep::FailSync) => {
                        disk = true;
                        true
                    }
                    _ => true,
                };
                match kind {
                    Kind::Fixed(number) => steps.push((From::Scenario(*number), step.clone())),
                    Kind::Drawn | Kind::First | Kind::End if is_needed => {
                        steps.push((From::Seed, step.clone()));
                    }
                    Kind::Drawn | Kind::First | Kind::End => {}
                }
            }
        }
        steps
    }

    /// What is played, as a scenario has it.
    pub(super) fn spanned(&self) -> Vec<Spanned<Step>> {
        let nowhere = Place { line: 0, column: 0 };
        self.steps().into_iter().map(|(_, step)| Spanned { value: step, place: nowhere }).collect()
    }
}

fn labels(label: Option<&String>, count: Option<u32>) -> Vec<String> {
    let Some(label) = label else { return Vec::new() };
    let numbered = (1..=count.unwrap_or(1)).map(|n| format!("{label}-{n}"));
    numbered.chain([label.clone()]).collect()
}

/// Drawn steps in pieces that make sense alone.
fn whole(drawn: Vec<Step>) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    // A server or host that is down is started again before anything else can be left out.
    let mut is_down = false;
    // A policy that has changed is noticed first.
    let mut is_new_policy = false;
    for step in drawn {
        if std::mem::replace(&mut is_new_policy, matches!(step, Step::Operator(_)))
            && let Some(piece) = pieces.last_mut()
        {
            piece.steps.push(step);
            continue;
        }
        if is_down && let Some(piece) = pieces.last_mut() {
            is_down = !matches!(step, Step::Host(HostStep::Start(_) | HostStep::Launch(_)));
            piece.steps.push(step);
            continue;
        }
        is_down = matches!(
            step,
            Step::Server(ServerStep::Crash(_) | ServerStep::PowerCut(_))
                | Step::Host(HostStep::Kill(_) | HostStep::Exit(_))
        );
        let kind = match step {
            Step::Heal | Step::Disk(DiskStep::Heal) => Kind::End,
            Step::Advance(_) if pieces.is_empty() => Kind::First,
            _ => Kind::Drawn,
        };
        pieces.push(Piece { kind, steps: vec![step] });
    }
    pieces
}
