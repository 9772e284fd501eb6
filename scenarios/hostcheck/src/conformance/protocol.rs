//! The protocol suite: every row in every version that the server speaks, each with its outcome. A version
//! that the server does not speak is reported as such, never left out.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use reports::event::WireLine;
use schemas::Version;

use super::check::{self, Needs, Probe};
use super::discover::Discovered;
use super::lab::Lab;
use super::lent::Pool;
use super::outcome::{Evidence, Judged, Outcome, over_tries};
use super::plan::Plan;
use super::row::{Level, Placed};
use super::session::Session;
use super::stop::STOPPED;
use super::target::Target;
use super::turns::Turns;
use super::wire::Record;

/// Most pieces of evidence for one broken rule of the wire.
const BROKEN_SHOWN: usize = 3;

/// Separates the fault from the question during which it was seen.
pub(super) const WHILE: &str = " (while asking about ";
/// Separates that question from the last request before the fault.
pub(super) const AFTER: &str = ", after ";

/// Rules of the wire that can be judged only after certain messages: the rule, and how the names of these
/// messages begin.
const GATED: [(&str, &[&str]); 7] = [
    ("progress-token", &["ProgressNotification"]),
    ("not-subscribed", &["ResourceUpdatedNotification"]),
    ("stream-tag", &["SubscriptionsAcknowledged"]),
    ("acknowledge-first", &["SubscriptionsAcknowledged"]),
    ("not-asked-for", &["SubscriptionsAcknowledged"]),
    ("log-not-asked-for", &["LoggingMessageNotification"]),
    ("input-required-place", &["InputRequired"]),
];

/// The rule that can be judged only after two progress notifications of one request.
const GROWTH: &str = "progress-increases";

/// The answers of one probe.
struct Told {
    probe: &'static Probe,
    outcomes: BTreeMap<&'static str, Outcome>,
    /// Why it ended early.
    trouble: Option<String>,
    /// Whether the run was stopped before its end.
    is_cut: bool,
    /// Whether no other question used its connections before.
    is_alone: bool,
    record: Record,
    /// The transcripts of checks that failed in another try than that of the record.
    elsewhere: BTreeMap<&'static str, Vec<WireLine>>,
}

/// Judges every row in every version. `open` holds connections that are open already; `done` is called after each probe.
pub(crate) async fn judge(
    plan: &Plan,
    versions: &[Version],
    rows: &[Placed],
    found: &Rc<Discovered>,
    mut open: BTreeMap<Version, Session>,
    (turns, done): (&Turns, &dyn Fn()),
) -> Vec<Judged> {
    let mut runs = Vec::new();
    if plan.full {
        open.clear();
    }
    let of_versions: Vec<_> = versions.iter().map(|version| Pool::with(open.remove(version))).collect();
    // A connection on which only the version was asked is as good as a new one for its end.
    let unused = Pool::with(open.into_values());
    for (version, shared) in versions.iter().zip(of_versions) {
        let rows = rows_in(plan, versions, *version, rows);
        runs.push(judge_in(plan, *version, rows, found, (shared, Rc::clone(&unused)), (turns, done)));
    }
    drop(unused);
    futures_util::future::join_all(runs).await.into_iter().flatten().collect()
}

/// The rows that are asked in a version. Where rows were named, what a quick run leaves out is asked too.
fn rows_in<'a>(plan: &Plan, versions: &[Version], version: Version, rows: &'a [Placed]) -> Vec<&'a Placed> {
    let has = |placed: &Placed, version: Version| placed.row.r#in.contains_key(version.as_str());
    let is_quick = |placed: &Placed| {
        let first = versions.iter().find(|version| !plan.named || has(placed, **version));
        let is_first = first == Some(&version);
        placed.row.checks.iter().all(|check| check::is_quick(check, is_first, plan.named))
    };
    let of_version = rows.iter().filter(|placed| has(placed, version));
    of_version.filter(|placed| plan.full || is_quick(placed)).collect()
}

async fn judge_in(
    plan: &Plan,
    version: Version,
    rows: Vec<&Placed>,
    found: &Rc<Discovered>,
    pools: (Rc<Pool>, Rc<Pool>),
    (turns, done): (&Turns, &dyn Fn()),
) -> Vec<Judged> {
    let mut all = Vec::new();
    let gap = is_gap(plan, found);
    let of_pipes = Needs::Pipes.missing(&plan.target);
    let (without, rows): (Vec<&Placed>, Vec<&Placed>) =
        rows.into_iter().partition(|placed| placed.row.of_pipes && of_pipes.is_some());
    let reason = Outcome::NotApplicable(of_pipes.unwrap_or_default().to_owned());
    all.extend(without.iter().map(|placed| Judged::bare(&placed.row.id, version.as_str(), reason.clone())));
    let silent = match (&found.unreachable, found.versions.get(&version)) {
        (Some(reason), _) => Some(Outcome::CouldNotRun(reason.clone())),
        (None, Some(Err(reason))) if gap => Some(Outcome::CouldNotRun(reason.clone())),
        (None, Some(Err(reason))) => Some(Outcome::NotApplicable(reason.clone())),
        (None, Some(Ok(_))) => None,
        (None, None) => Some(Outcome::CouldNotRun("this version was not asked for".to_owned())),
    };
    let (asked, others): (Vec<&Placed>, Vec<&Placed>) = match silent {
        None => (rows, Vec::new()),
        // The rules of HTTP itself can be checked even if the server's messages can't be understood.
        Some(_) => rows.into_iter().partition(|placed| gap && of_address(&plan.target, placed)),
    };
    if let Some(outcome) = &silent {
        let judged = found.unreachable.is_some() || found.misaddressed.contains(&version);
        let heard = found.heard.get(&version).filter(|_| judged);
        all.extend(others.iter().map(|placed| unheard(placed, version, outcome, heard)));
    }
    let told = run(plan, version, &asked, found, pools, (turns, done)).await;
    all.extend(asked.iter().map(|placed| row(placed, version, &plan.target, &told)));
    all
}

/// Whether every check of a row is about HTTP, and the server is reached by it.
fn of_address(target: &Target, placed: &Placed) -> bool {
    target.has_address() && placed.row.checks.iter().all(|check| check::needs(check) == Some(Needs::Address))
}

/// Judges a row of a server that could not be understood: it fails if the record breaks its rule.
fn unheard(
    placed: &Placed,
    version: Version,
    outcome: &Outcome,
    heard: Option<&Rc<RefCell<Record>>>,
) -> Judged {
    let mut judged = Judged::bare(&placed.row.id, version.as_str(), outcome.clone());
    if let Some(record) = heard {
        let record = record.borrow();
        let rules = placed.row.checks.iter().filter_map(|check| check.strip_prefix("wire."));
        for rule in rules {
            let evidence = broken(rule, &[("opening the connection", &record)]);
            if !evidence.is_empty() {
                judged.outcome = judged.outcome.and(Outcome::Failed(evidence));
                judged.transcript.clone_from(&record.transcript);
            }
        }
    }
    judged
}

/// The number of probes that the job needs.
pub(crate) fn count(plan: &Plan, versions: &[Version], rows: &[Placed], found: &Discovered) -> usize {
    let gap = is_gap(plan, found);
    let of_version = |version: &Version| {
        let spoken = found.unreachable.is_none() && found.speaks(*version).is_some();
        let mut rows = rows_in(plan, versions, *version, rows);
        rows.retain(|placed| spoken || (gap && of_address(&plan.target, placed)));
        needed(plan, *version, &rows).len()
    };
    versions.iter().map(of_version).sum()
}

/// Whether a version that the server does not speak is a gap: the user demanded it, or the server speaks none
/// and so was not judged.
fn is_gap(plan: &Plan, found: &Discovered) -> bool {
    plan.demanded || found.versions.values().all(Result::is_err)
}

/// The probes that answer a check of these rows.
fn needed(plan: &Plan, version: Version, rows: &[&Placed]) -> Vec<&'static Probe> {
    let wire = rows.iter().any(|placed| placed.row.checks.iter().any(|check| check.starts_with("wire.")));
    let asked = |probe: &Probe| {
        let named =
            |check: &&&str| rows.iter().any(|placed| placed.row.checks.iter().any(|one| one == **check));
        // A quick run judges the lines that it sees anyway, but named rows may ask for none.
        (wire && (plan.full || plan.named && !probe.rare) && !probe.rough)
            || probe.checks.iter().any(|check| named(&check))
    };
    check::probes()
        .filter(|probe| probe.era.has(version) && probe.needs.missing(&plan.target).is_none())
        .filter(|probe| asked(probe))
        .collect()
}

/// Asks all probes of a version: those with a connection of their own beside each other, the others in turn on the
/// connections of the first pool. The second one has connections that may be ended.
async fn run(
    plan: &Plan,
    version: Version,
    rows: &[&Placed],
    found: &Rc<Discovered>,
    (shared, unused): (Rc<Pool>, Rc<Pool>),
    (turns, done): (&Turns, &dyn Fn()),
) -> Vec<Told> {
    let probes: Vec<(usize, &Probe)> = needed(plan, version, rows).into_iter().enumerate().collect();
    let (in_turn, own): (Vec<_>, Vec<_>) =
        probes.into_iter().partition(|(_, probe)| check::is_in_turn(probe) && !plan.full);
    let (begins, in_turn): (Vec<_>, Vec<_>) = in_turn.into_iter().partition(|(_, probe)| probe.begins);
    // After rules were broken on a connection it proves less, and its end is its last question.
    let ends = |probe: &Probe| probe.needs == Needs::Process;
    let (mut later, plain): (Vec<_>, Vec<_>) =
        in_turn.into_iter().partition(|(_, probe)| probe.rough || probe.late || ends(probe));
    later.sort_by_key(|(_, probe)| (ends(probe), probe.rough));
    let question = Question { plan, version, rows, found, turns };
    let (question, shared, unused) = (&question, &shared, &unused);
    let beside = own.into_iter().map(|(place, probe)| async move {
        if probe.needs != Needs::Process {
            // Ends and hosts mostly wait, so these queue up before what mostly computes.
            tokio::task::yield_now().await;
        }
        let told = question
            .ask(probe, if ends(probe) && !plan.full { Origin::Unused(unused) } else { Origin::Own })
            .await;
        done();
        (place, told)
    });
    let from = Origin::Shared(shared);
    let begun = begins.into_iter().map(|(place, probe)| async move {
        let told = question.ask(probe, Origin::Begun(shared)).await;
        done();
        (place, told)
    });
    let first = async {
        let mut told = Vec::new();
        for (place, probe) in plain {
            told.push((place, question.first(probe, from).await));
        }
        told
    };
    let after_each_other = async {
        // What fails is asked again on a connection that another question has begun.
        let (mut told, first) = tokio::join!(futures_util::future::join_all(begun), first);
        for (place, first) in first {
            told.push((place, question.settle(first, from).await));
            done();
        }
        for (place, probe) in later {
            told.push((place, question.ask(probe, from).await));
            done();
        }
        // A whole run asks about ends in every version.
        if !plan.full && plan.target.has_pipes() {
            let _turn = turns.in_turn().await;
            told.push((usize::MAX, question.once(&check::FAREWELL, Some(shared)).await));
        }
        told
    };
    let (mut told, others) = tokio::join!(after_each_other, futures_util::future::join_all(beside));
    told.extend(others);
    told.sort_by_key(|(place, _)| *place);
    told.into_iter().map(|(_, told)| told).collect()
}

/// Where a question has its connection from.
#[derive(Clone, Copy)]
enum Origin<'a> {
    /// It starts a server.
    Own,
    /// One that no other question has used, where there is one, and otherwise its own.
    Unused(&'a Rc<Pool>),
    /// It starts a server, which others use afterwards.
    Begun(&'a Rc<Pool>),
    /// One that others have used.
    Shared(&'a Rc<Pool>),
}

/// What is the same for all probes in one version.
struct Question<'a> {
    plan: &'a Plan,
    version: Version,
    rows: &'a [&'a Placed],
    found: &'a Rc<Discovered>,
    turns: &'a Turns,
}

impl Question<'_> {
    async fn ask(&self, probe: &'static Probe, from: Origin<'_>) -> Told {
        let first = self.first(probe, from).await;
        self.settle(first, from).await
    }

    async fn first(&self, probe: &'static Probe, from: Origin<'_>) -> Told {
        match from {
            Origin::Own => {
                let _turn = self.turns.beside().await;
                self.once(probe, None).await
            }
            Origin::Unused(pool) | Origin::Begun(pool) => {
                let _turn = self.turns.beside().await;
                self.once(probe, Some(pool)).await
            }
            Origin::Shared(pool) => {
                let _turn = self.turns.in_turn().await;
                self.once(probe, Some(pool)).await
            }
        }
    }

    /// Asks again what failed, on another connection, its own where a server must keep the rule: an answer that comes late on
    /// a busy machine, or on a connection that other questions have used, is no fault. Where the two differ, it is asked while
    /// nothing else runs.
    async fn settle(&self, first: Told, from: Origin<'_>) -> Told {
        if !first.is_failing() || self.is_sure(&first, from) {
            return first;
        }
        let probe = first.probe;
        let again = match from {
            Origin::Shared(pool) if !probe.rough && !self.is_must(&first) => Some(pool),
            _ => None,
        };
        let second = {
            let _turn = self.turns.beside().await;
            self.once(probe, again).await
        };
        if second.is_cut {
            return first.given_up();
        }
        let was_shared = matches!(from, Origin::Shared(_));
        let same = first.failing() == second.failing();
        if second.is_failing() && (same || was_shared) {
            return second;
        }
        let third = {
            let _turn = self.turns.alone().await;
            self.once(probe, None).await
        };
        if third.is_cut {
            return first.given_up();
        }
        if !second.is_failing() && !third.is_failing() {
            return third;
        }
        let tries = if was_shared { vec![second, third] } else { vec![first, second, third] };
        Told::over(tries)
    }

    /// Whether a failure needs no second try in a quick run: it came on a connection that no other question has used, and
    /// nothing was awaited in vain, so that neither others nor a busy machine can be its cause. How long an end may take is
    /// measured.
    fn is_sure(&self, told: &Told, from: Origin<'_>) -> bool {
        let on_its_own = told.is_alone && !told.record.waited_in_vain;
        !self.plan.full && told.trouble.is_none() && (on_its_own || matches!(from, Origin::Unused(_)))
    }

    /// Whether something failed that a server must keep, or could not be asked.
    fn is_must(&self, told: &Told) -> bool {
        let failing = told.failing();
        let fails = |placed: &Placed| placed.row.checks.iter().any(|check| failing.contains(check.as_str()));
        told.trouble.is_some()
            || self.rows.iter().any(|placed| placed.row.level == Level::Must && fails(placed))
    }

    async fn once(&self, probe: &'static Probe, pool: Option<&Rc<Pool>>) -> Told {
        let (target, wishes) = (&self.plan.target, &self.plan.wishes);
        let mut lab = Lab::new(target, self.version, wishes, self.found, probe.name, pool);
        let ended = self.turns.stop.unless((probe.run)(&mut lab)).await;
        let is_alone = !lab.was_lent();
        let (outcomes, record) = lab.finish();
        let told = |outcomes, trouble| Told {
            probe,
            outcomes,
            trouble,
            is_cut: false,
            is_alone,
            record,
            elsewhere: BTreeMap::new(),
        };
        match ended {
            Some(ended) => told(outcomes, ended.err().map(|trouble| trouble.0)),
            // What it had told so far might have been told otherwise at its end.
            None => told(BTreeMap::new(), None).given_up(),
        }
    }
}

impl Told {
    fn outcome(&self, check: &str) -> Outcome {
        self.outcomes.get(check).cloned().unwrap_or_else(|| {
            let why = self.trouble.clone().unwrap_or_else(|| "it ended before it could tell".to_owned());
            Outcome::CouldNotRun(format!("{}: {why}", self.probe.name))
        })
    }

    /// The same question asked several times.
    fn over(mut tries: Vec<Self>) -> Self {
        let probe = tries[0].probe;
        let of_all = |check: &&'static str| {
            (*check, over_tries(tries.iter().map(|told| told.outcome(check)).collect()))
        };
        let outcomes = probe.checks.iter().map(of_all).collect();
        let bad = tries.iter().position(Self::is_failing).unwrap_or_default();
        let not_there = probe.checks.iter().filter(|check| !tries[bad].failing().contains(*check));
        let of_other = |check: &&'static str| {
            let other = tries.iter().find(|told| told.failing().contains(check))?;
            Some((*check, other.record.transcript.clone()))
        };
        let elsewhere = not_there.filter_map(of_other).collect();
        Self { outcomes, elsewhere, ..tries.swap_remove(bad) }
    }

    /// Takes back what did not hold: the run was stopped before it could be asked to its end, or again.
    fn given_up(mut self) -> Self {
        for check in self.failing() {
            self.outcomes.insert(check, Outcome::CouldNotRun(STOPPED.to_owned()));
        }
        self.is_cut = true;
        self
    }

    /// The conversation in which a check failed.
    fn transcript(&self, check: &str) -> &[WireLine] {
        self.elsewhere.get(check).unwrap_or(&self.record.transcript)
    }

    /// The checks that did not hold, or whose question was never reached. What can't be asked of this server is neither.
    fn failing(&self) -> BTreeSet<&'static str> {
        let failed = |check: &&str| {
            self.outcomes.get(*check).is_none_or(|outcome| matches!(outcome, Outcome::Failed(_)))
        };
        self.probe.checks.iter().copied().filter(failed).collect()
    }

    fn is_failing(&self) -> bool {
        !self.failing().is_empty()
    }
}

fn row(placed: &Placed, version: Version, target: &Target, told: &[Told]) -> Judged {
    let mut judged: Option<Judged> = None;
    for check in &placed.row.checks {
        let (outcome, transcript) = match check.strip_prefix("wire.") {
            Some(rule) => wire(rule, told),
            None => answered(check, target, told),
        };
        let evidence = match &outcome {
            Outcome::Failed(_) | Outcome::Flaky(_) => transcript.to_vec(),
            _ => Vec::new(),
        };
        judged = Some(match judged.take() {
            None => {
                Judged { transcript: evidence, ..Judged::bare(&placed.row.id, version.as_str(), outcome) }
            }
            Some(mut before) => {
                if before.transcript.is_empty() {
                    before.transcript = evidence;
                }
                before.outcome = before.outcome.and(outcome);
                before
            }
        });
    }
    judged.unwrap_or_else(|| {
        let outcome = Outcome::CouldNotRun("the row has no check".to_owned());
        Judged::bare(&placed.row.id, version.as_str(), outcome)
    })
}

fn answered<'a>(check: &str, target: &Target, told: &'a [Told]) -> (Outcome, &'a [WireLine]) {
    if let Some(told) = told.iter().find(|told| told.probe.checks.contains(&check)) {
        return (told.outcome(check), told.transcript(check));
    }
    match check::needs(check).and_then(|needs| needs.missing(target)) {
        Some(reason) => (Outcome::NotApplicable(reason.to_owned()), &[]),
        None => (Outcome::CouldNotRun("it was not asked".to_owned()), &[]),
    }
}

/// The outcome of a rule of the wire over all conversations.
fn wire<'a>(rule: &str, told: &'a [Told]) -> (Outcome, &'a [WireLine]) {
    let records: Vec<(&str, &Record)> = told.iter().map(|told| (told.probe.name, &told.record)).collect();
    let evidence = broken(rule, &records);
    if !evidence.is_empty() {
        let first = told.iter().find(|told| told.record.broken.iter().any(|broken| broken.rule == rule));
        return (Outcome::Failed(evidence), first.map_or(&[], |told| &told.record.transcript));
    }
    if told.iter().any(|told| told.is_cut) {
        return (Outcome::CouldNotRun(STOPPED.to_owned()), &[]);
    }
    let seen =
        |wanted: &str| told.iter().any(|told| told.record.seen.keys().any(|name| name.starts_with(wanted)));
    let grew = told.iter().any(|told| told.record.progress_most >= 2);
    if rule == GROWTH && !grew {
        let why = "no request got two notifications of progress, so nothing could grow";
        return (Outcome::NotApplicable(why.to_owned()), &[]);
    }
    let gate = GATED.iter().find(|(name, _)| *name == rule).map(|(_, wanted)| *wanted);
    match gate {
        Some(wanted) if !wanted.iter().any(|wanted| seen(wanted)) => {
            (Outcome::NotApplicable("the server sent no such message".to_owned()), &[])
        }
        _ if !told.iter().any(|told| !told.record.seen.is_empty()) => {
            (Outcome::CouldNotRun("no line of the server was seen".to_owned()), &[])
        }
        _ => (Outcome::Passed, &[]),
    }
}

/// What mends a broken rule where its meaning alone does not lead there: authors do not know which call of an SDK writes
/// such a message.
fn remedy(rule: &str, message: &str) -> Option<&'static str> {
    (rule == "undeclared-capability" && message.contains("notifications/message")).then_some(
        "the capability `logging`, or no log messages: with the Python SDKs `ctx.info` and its like write them",
    )
}

/// The evidence for a broken rule. The same fault in several conversations is reported once.
fn broken(rule: &str, records: &[(&str, &Record)]) -> Vec<Evidence> {
    let mut evidence: Vec<Evidence> = Vec::new();
    let all = records.iter().flat_map(|(name, record)| record.broken.iter().map(move |one| (name, one)));
    let all = all.filter(|(_, broken)| broken.rule == rule);
    // A blank line before the words of the same fault tells its author nothing.
    let (worded, blank): (Vec<_>, Vec<_>) = all.partition(|(_, broken)| !broken.line.trim().is_empty());
    for (name, broken) in worded.into_iter().chain(blank) {
        let known = evidence.iter().any(|other| {
            other.observed.as_ref() == Some(&broken.line)
                || other.message.split(WHILE).next() == Some(broken.message.as_str())
        });
        if !known && evidence.len() < BROKEN_SHOWN {
            let meaning = schemas::rules().iter().find(|known| known.id == rule);
            let after = broken.after.as_ref().map(|request| format!("{AFTER}{request}"));
            let after = after.unwrap_or_default();
            evidence.push(Evidence {
                message: format!("{}{WHILE}{name}{after})", broken.message),
                expected: remedy(rule, &broken.message)
                    .or(meaning.map(|known| known.meaning))
                    .map(str::to_owned),
                observed: Some(broken.line.clone()),
                tells: true,
                at_ms: broken.at_ms,
            });
        }
    }
    evidence
}
