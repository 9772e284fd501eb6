//! The row that must catch each fault, which `zoo` holds, and the server without a fault, which must fail none.

use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use hostcheck::conformance::{self, Findings, Outcome, Plan, Target, VERSIONS, Wishes};
use schemas::Version;
use serde_json::json;

use crate::fault::Fault;
use crate::tiny::target;

pub(crate) const OLD: Version = Version::V2025_11_25;
pub(crate) const NEW: Version = Version::V2026_07_28;

/// Fault → the row that must fail, in this version.
const MUTANTS: [(Fault, &str, Version); 101] = [
    (Fault::PrintsToStdout, "stdio.only-messages", OLD),
    (Fault::SpreadsMessages, "stdio.one-line", OLD),
    (Fault::MarksByteOrder, "stdio.only-messages", OLD),
    (Fault::WritesLatin1, "stdio.utf8", OLD),
    (Fault::WritesBatches, "stdio.no-batches", NEW),
    (Fault::AnswersTwice, "messages.one-answer", OLD),
    (Fault::DropsTheList, "tools.list", OLD),
    (Fault::AnswersNotifications, "messages.notification-unanswered", OLD),
    (Fault::ChangesIds, "messages.same-id", OLD),
    (Fault::EchoesAnyVersion, "lifecycle.other-version", OLD),
    (Fault::EchoesAnyVersion, "lifecycle.never-modern", OLD),
    (Fault::EchoesOlderVersions, "lifecycle.other-version", OLD),
    (Fault::RefusesTheNewestVersion, "lifecycle.never-modern", OLD),
    (Fault::OffersAnOldVersion, "lifecycle.latest-version", OLD),
    (Fault::DiesOfNotifications, "messages.notification-survived", OLD),
    (Fault::DiesOfProbes, "openings.discover-legacy", OLD),
    (Fault::DiesOfNoise, "pipes.not-json", OLD),
    (Fault::ReadsOneLineAtATime, "pipes.joined", OLD),
    (Fault::DiesOfCarriageReturns, "pipes.crlf", OLD),
    (Fault::OpensTwice, "openings.initialize-twice", OLD),
    (Fault::KnowsEveryMethod, "messages.unknown-method", OLD),
    (Fault::IgnoresUnknownMethods, "messages.one-answer", OLD),
    (Fault::IgnoresUnknownMethods, "messages.one-answer", NEW),
    (Fault::HangsOfUnknownMethods, "messages.one-answer", OLD),
    (Fault::KnowsEveryTool, "tools.unknown", OLD),
    (Fault::ValidatesNothing, "tools.validates", OLD),
    (Fault::StructuresWrongly, "tools.structured", OLD),
    (Fault::StructuresWithoutText, "tools.structured-text", OLD),
    (Fault::RepeatsATool, "tools.unique-names", OLD),
    (Fault::NamesWithSpaces, "tools.name-characters", OLD),
    (Fault::HasABrokenSchema, "tools.input-schemas", OLD),
    (Fault::ShufflesTools, "tools.stable-order", NEW),
    (Fault::ListsByConnection, "tools.same-everywhere", NEW),
    (Fault::ListsWithoutEnd, "tools.pages-end", OLD),
    (Fault::HidesItsTools, "tools.declared", OLD),
    (Fault::FindsEverything, "resources.not-found", OLD),
    (Fault::FindsEverything, "resources.not-found-modern", NEW),
    (Fault::UsesAnotherCode, "resources.not-found-code", OLD),
    (Fault::UsesAnotherCode, "resources.not-found-code-modern", NEW),
    (Fault::LosesResources, "resources.read", OLD),
    (Fault::BreaksBase64, "resources.base64", OLD),
    (Fault::RefusesSubscriptions, "resources.subscribe", OLD),
    (Fault::SpeaksUnasked, "stdio.nothing-unsolicited", NEW),
    (Fault::AsksWithoutASession, "stdio.no-requests", NEW),
    (Fault::LeavesOutTheType, "messages.result-type", NEW),
    (Fault::LeavesOutTheCaching, "messages.schema", NEW),
    (Fault::NeverAcknowledges, "subscriptions.acknowledged", NEW),
    (Fault::AcknowledgesWithoutId, "subscriptions.tagged", NEW),
    (Fault::PromisesMore, "subscriptions.only-asked", NEW),
    (Fault::AnswersCancelledStreams, "subscriptions.cancelled", NEW),
    (Fault::ForgetsStreams, "subscriptions.graceful-end", NEW),
    (Fault::RemembersTheHost, "lifecycle.stateless", NEW),
    (Fault::TakesAnyVersion, "lifecycle.unknown-version", NEW),
    (Fault::NamesNoVersions, "lifecycle.supported-named", NEW),
    (Fault::TellsProgressOfNothing, "progress.own-token", OLD),
    (Fault::GoesBackwards, "progress.increases", OLD),
    (Fault::DiesOfCancels, "cancellation.race", OLD),
    (Fault::AnswersCancelledCalls, "cancellation.no-answer", OLD),
    (Fault::SpeaksTooEarly, "lifecycle.not-too-early", OLD),
    (Fault::UsesReservedCodes, "messages.reserved-codes", NEW),
    (Fault::IgnoresCancels, "cancellation.no-answer", OLD),
    (Fault::IgnoresCancels, "cancellation.no-answer", NEW),
    (Fault::TellsAfterTheEnd, "progress.own-token", OLD),
    (Fault::TellsTooLate, "subscriptions.cancelled", NEW),
    (Fault::AnswersTextIds, "messages.same-id", OLD),
    (Fault::ValidatesTheFirst, "tools.validates", OLD),
    (Fault::DeclaresCompletions, "lifecycle.capabilities", OLD),
    (Fault::IgnoresBareRequests, "lifecycle.incomplete-meta", NEW),
    (Fault::ListsWithoutCapabilities, "lifecycle.incomplete-meta", NEW),
    (Fault::HidesItsPrompts, "prompts.declared", OLD),
    (Fault::DropsThePrompts, "prompts.list", OLD),
    (Fault::PromptsByConnection, "prompts.same-everywhere", NEW),
    (Fault::RepeatsAPrompt, "prompts.unique-names", OLD),
    (Fault::RefusesItsPrompts, "prompts.get", OLD),
    (Fault::KnowsEveryPrompt, "prompts.unknown", NEW),
    (Fault::FillsInArguments, "prompts.missing-argument", OLD),
    (Fault::RefusesCompletions, "prompts.completion", OLD),
    (Fault::CompletesWithTooMany, "prompts.completion-size", OLD),
    (Fault::CompletesAnything, "prompts.completion-unknown", OLD),
    (Fault::HoldsPings, "lifecycle.ping-during-call", OLD),
    (Fault::TiresOfCalls, "tools.soak", OLD),
    (Fault::TiresOfCalls, "stdio.only-messages", NEW),
    (Fault::DiesOfCalls, "tools.soak", NEW),
    (Fault::RepeatsNames, "messages.repeated-names", OLD),
    (Fault::RepeatsNames, "messages.repeated-names", NEW),
    (Fault::ThrowsFromTools, "tools.own-errors", OLD),
    (Fault::RefusesArguments, "tools.input-errors", NEW),
    (Fault::DiesOfUnknownTools, "tools.unknown", OLD),
    (Fault::ListsNothing, "tools.list", NEW),
    (Fault::GetsNoPrompts, "lifecycle.capabilities", OLD),
    (Fault::GetsNoPrompts, "lifecycle.capabilities", NEW),
    (Fault::ReadsNoResources, "lifecycle.capabilities", OLD),
    (Fault::ReadsNoResources, "lifecycle.capabilities", NEW),
    (Fault::ReadsNoResources, "resources.subscribe", OLD),
    (Fault::SetsNoLogLevel, "lifecycle.capabilities", OLD),
    (Fault::TakesAnyLogLevel, "lifecycle.log-level", OLD),
    (Fault::TakesAnyLogLevel, "lifecycle.log-level", NEW),
    (Fault::PrintsAtNoise, "stdio.only-messages", OLD),
    (Fault::RefusesStreams, "subscriptions.acknowledged", NEW),
    (Fault::AnswersWithoutAnId, "messages.notification-unanswered", OLD),
    (Fault::AnswersWithoutAnId, "messages.notification-unanswered", NEW),
];

/// Behaviour that is allowed → the row that must not fail because of it.
const ALLOWED: [(Fault, &str, Version, &str); 25] = [
    (Fault::TellsOnce, "progress.increases", OLD, "NotApplicable"),
    (Fault::AnswersTwice, "messages.notification-unanswered", OLD, "Pass"),
    (Fault::AnswersTwice, "cancellation.unknown-ignored", OLD, "Pass"),
    (Fault::AnswersTwice, "cancellation.finished-ignored", OLD, "Pass"),
    (Fault::AnswersTwice, "cancellation.race", OLD, "Pass"),
    (Fault::AnswersTwice, "messages.same-id", OLD, "Pass"),
    (Fault::RefusesPings, "openings.initialize-twice", OLD, "Pass"),
    (Fault::RefusesPings, "openings.both-eras", OLD, "Pass"),
    (Fault::PingsAtOnce, "pipes.split", OLD, "Pass"),
    (Fault::PrintsToStdout, "stdio.one-line", OLD, "Pass"),
    (Fault::TellsAsItIsCancelled, "subscriptions.cancelled", NEW, "Pass"),
    (Fault::DiesOfUnknownTools, "tools.validates", OLD, "Pass"),
    (Fault::NeedsANetwork, "tools.validates", OLD, "NotApplicable"),
    (Fault::NeedsANetwork, "tools.input-errors", NEW, "NotApplicable"),
    (Fault::LacksItsSources, "resources.read", OLD, "NotRun"),
    (Fault::LacksItsSources, "resources.read", NEW, "NotRun"),
    (Fault::HearsSomeResources, "resources.subscribe", OLD, "Pass"),
    (Fault::HearsSomeResources, "subscriptions.acknowledged", NEW, "Pass"),
    (Fault::HearsSomeResources, "subscriptions.acknowledged-first", NEW, "Pass"),
    (Fault::HearsSomeResources, "subscriptions.tagged", NEW, "Pass"),
    (Fault::HearsSomeResources, "subscriptions.several", NEW, "Pass"),
    (Fault::HearsSomeResources, "subscriptions.only-asked", NEW, "Pass"),
    (Fault::WantsEmptyArguments, "prompts.get", OLD, "Pass"),
    (Fault::DiesOfNotifications, "pipes.byte-order-mark", OLD, "Pass"),
    (Fault::DiesOfNotifications, "messages.notification-unanswered", OLD, "Pass"),
];

/// [`MUTANTS`], which `zoo` asks about.
pub(crate) const MUST_FAIL: [(Fault, &str, Version); MUTANTS.len()] = MUTANTS;

fn judge(fault: Fault, rows: impl Fn(&str) -> bool, versions: &[Version]) -> Findings {
    judge_as(fault, rows, versions, true)
}

fn judge_as(fault: Fault, rows: impl Fn(&str) -> bool, versions: &[Version], demanded: bool) -> Findings {
    let plan = plan(fault, rows, versions, demanded);
    in_paused_time(async { conformance::judge(&plan, &|_| {}, &conformance::Stop::default()).await })
}

pub(crate) fn in_paused_time<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    tokio::task::LocalSet::new().block_on(&runtime.expect("a runtime"), work)
}

pub(crate) fn plan(fault: Fault, rows: impl Fn(&str) -> bool, versions: &[Version], demanded: bool) -> Plan {
    let rows =
        conformance::rows().expect("the rows").into_iter().filter(|placed| rows(&placed.row.id)).collect();
    Plan {
        target: target(fault),
        name: None,
        wishes: Arc::new(Wishes {
            seed: 1,
            long_call: Some(("wait".to_owned(), json!({}))),
            ..Wishes::default()
        }),
        rows,
        versions: versions.to_vec(),
        full: true,
        named: false,
        demanded,
        hosts: Vec::new(),
        at_once: 4,
    }
}

/// It is mended in one place, and the last line of its stderr may say where.
#[test]
fn a_server_that_ends_at_whatever_notification_has_one_cause() {
    let asked = |row: &str| row.starts_with("cancellation.") || row == "messages.notification-survived";
    let findings = judge(Fault::DiesOfNotifications, asked, &[OLD]);
    let causes = conformance::causes(&findings, &conformance::rows().expect("the rows"));
    let of_any: Vec<_> = causes.iter().filter(|cause| cause.message.starts_with("a notification")).collect();
    assert_eq!(of_any.len(), 1, "{causes:?}");
    let rows =
        ["cancellation.finished-ignored", "cancellation.malformed-ignored", "cancellation.unknown-ignored"];
    assert!(rows.iter().all(|row| of_any[0].rows.contains(*row)), "{:?}", of_any[0]);
    assert!(of_any[0].rows.contains("messages.notification-survived") && of_any[0].ends, "{:?}", of_any[0]);
}

/// A quick run asks most questions in turn on one connection. That must neither hide a fault nor make one.
#[test]
fn a_quick_run_finds_the_same_faults_in_the_rows_that_it_asks() {
    let quick = |fault, version| {
        let plan = Plan { full: false, ..plan(fault, |_| true, &[version], false) };
        in_paused_time(async { conformance::judge(&plan, &|_| {}, &conformance::Stop::default()).await })
    };
    let (mut survived, mut found) = (Vec::new(), 0);
    for (fault, row, version) in MUTANTS {
        let findings = quick(fault, version);
        let of_row = |one: &&conformance::Judged| one.row == row && one.column == version.as_str();
        match findings.protocol.iter().find(of_row).map(|one| &one.outcome) {
            None => {}
            Some(Outcome::Failed(_)) => found += 1,
            Some(other) => survived.push(format!("{fault:?} survives {row} in {version}: {other:?}")),
        }
    }
    assert!(survived.is_empty(), "{}", survived.join("\n"));
    assert!(found >= 50, "only {found} faults are asked about");
    for version in [OLD, NEW] {
        let failed: Vec<_> = quick(Fault::None, version)
            .protocol
            .into_iter()
            .filter(|one| matches!(one.outcome, Outcome::Failed(_) | Outcome::Flaky(_)))
            .collect();
        assert!(failed.is_empty(), "{failed:?}");
    }
}

/// Most of the time of a quick run is the starts of the server.
#[test]
fn a_quick_run_starts_a_healthy_server_once_for_each_version_and_twice_more_in_each_era() {
    let Target::Inside(serve) = target(Fault::None) else { unreachable!("it is inside of the test") };
    let starts = Rc::new(Cell::new(0));
    let counted = Rc::clone(&starts);
    let counting = Target::Inside(Rc::new(move |input, output| {
        counted.set(counted.get() + 1);
        serve(input, output)
    }));
    let wishes = Arc::new(Wishes { quick: true, seed: 1, ..Wishes::default() });
    let plan =
        Plan { target: counting, wishes, full: false, ..plan(Fault::None, |_| true, &VERSIONS, false) };
    let found =
        in_paused_time(async { conformance::judge(&plan, &|_| {}, &conformance::Stop::default()).await });
    assert_eq!(found.versions, [OLD, NEW], "both eras are judged");
    // A call that lasts is given up together with its connection.
    let given_up = 1;
    // A session opens with one version alone.
    let of_an_older_version = 1;
    let more = 2 * found.versions.len() + given_up + of_an_older_version;
    assert_eq!(starts.get(), VERSIONS.len() + more);
}

/// Rows that are named are asked as a quick run asks, also those that it leaves out; a rule of the lines needs its questions.
#[test]
fn named_rows_are_asked_by_the_means_of_a_quick_run() {
    let ask = |fault, row: &str| {
        let quick = Arc::new(Wishes { quick: true, seed: 1, ..Wishes::default() });
        let plan =
            Plan { full: false, named: true, wishes: quick, ..plan(fault, |id| id == row, &VERSIONS, false) };
        let total = Cell::new(0);
        let news = |one| {
            if let conformance::News::Asked { total: all, .. } = one {
                total.set(all);
            }
        };
        let found =
            in_paused_time(async { conformance::judge(&plan, &news, &conformance::Stop::default()).await });
        (found, total.get())
    };
    let failed = |found: &Findings| {
        found.protocol.iter().filter(|one| matches!(one.outcome, Outcome::Failed(_))).count()
    };
    let (found, asked) = ask(Fault::PromptsByConnection, "prompts.same-everywhere");
    assert_eq!((failed(&found), asked, found.versions.len()), (1, 1, 2), "it is rare");
    let (found, asked) = ask(Fault::MarksByteOrder, "stdio.only-messages");
    assert_eq!(failed(&found), 2, "in each era");
    assert!(asked > 20, "only {asked} questions show lines");
    let (_, asked) = ask(Fault::None, "tools.unknown");
    assert_eq!(asked, 2, "once in each era");
}

#[test]
fn a_line_at_the_end_of_a_server_is_seen_in_every_version_of_a_quick_run() {
    let wishes = Arc::new(Wishes { quick: true, seed: 1, ..Wishes::default() });
    let all = plan(Fault::SaysGoodbye, |_| true, &VERSIONS, false);
    let found = in_paused_time(async {
        conformance::judge(&Plan { wishes, full: false, ..all }, &|_| {}, &conformance::Stop::default()).await
    });
    let judged: Vec<_> = found.protocol.iter().filter(|one| one.row == "stdio.only-messages").collect();
    assert_eq!(judged.len(), 2, "both eras are judged");
    for one in judged {
        let Outcome::Failed(evidence) = &one.outcome else { panic!("{}: {:?}", one.column, one.outcome) };
        assert_eq!(evidence[0].observed.as_deref(), Some("goodbye"), "{}", one.column);
    }
}

#[test]
fn all_that_one_result_lacks_is_told_at_once() {
    let found = judge(Fault::LeavesOutTheCaching, |id| id == "messages.schema", &[NEW]);
    let Outcome::Failed(evidence) = &found.protocol[0].outcome else { panic!("{:?}", found.protocol) };
    let message = &evidence[0].message;
    assert!(message.contains("member \"ttlMs\" is missing, member \"cacheScope\" is missing"), "{message}");
}

#[test]
fn a_line_that_is_no_message_is_told_with_the_request_before_it() {
    let found = judge(Fault::TiresOfCalls, |id| id == "stdio.only-messages", &[OLD]);
    let [judged] = found.protocol.as_slice() else { panic!("{:?}", found.protocol) };
    let Outcome::Failed(evidence) = &judged.outcome else { panic!("{:?}", judged.outcome) };
    let message = &evidence[0].message;
    assert!(
        message.contains(" (while asking about ") && message.contains(", after tools/call "),
        "{message}"
    );
}

#[test]
fn a_result_of_an_unknown_tool_is_shown() {
    let found = judge(Fault::KnowsEveryTool, |id| id == "tools.unknown", &[OLD]);
    let [judged] = found.protocol.as_slice() else { panic!("{:?}", found.protocol) };
    let Outcome::Failed(evidence) = &judged.outcome else { panic!("{:?}", judged.outcome) };
    let said = evidence[0].observed.as_deref().unwrap_or_default();
    assert!(evidence[0].tells && said.starts_with("result {"), "{evidence:?}");
}

#[test]
fn allowed_behaviour_fails_no_row() {
    let mut wrong = Vec::new();
    for (fault, row, version, wanted) in ALLOWED {
        let found = judge(fault, |id| id == row, &[version]);
        let [judged] = found.protocol.as_slice() else { panic!("{row}: {:?}", found.protocol) };
        if format!("{:?}", judged.outcome.status()) != wanted {
            wrong.push(format!("{fault:?} in {row} in {version}: {:?}", judged.outcome));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_server_without_a_fault_fails_no_row_in_any_version() {
    let found = judge(Fault::None, |_| true, &Version::ALL);
    assert!(found.about.unreachable.is_none(), "{:?}", found.about);
    let mut passed = 0;
    for judged in &found.protocol {
        let place = format!("{} in {}", judged.row, judged.column);
        match &judged.outcome {
            Outcome::Passed => passed += 1,
            Outcome::NotApplicable(reason) => assert!(is_expected(reason), "{place}: {reason}"),
            other => panic!("{place}: {other:?}"),
        }
    }
    assert!(passed > 350, "only {passed} rows were passed");
}

/// The reasons why a row may not apply to a server inside the test: it has no process, sends no requests, and
/// has one page only.
fn is_expected(reason: &str) -> bool {
    [
        "about a process",
        "about streamable HTTP",
        "the list has one page",
        "no such message",
        "no result embeds",
        "no tool that was called went wrong",
        "declares tools, prompts",
        "wait",
    ]
    .iter()
    .any(|known| reason.contains(known))
}

#[test]
fn a_fault_is_found_in_the_oldest_versions_too() {
    let older = [Version::V2024_11_05, Version::V2025_03_26];
    for (fault, row) in [
        (Fault::DropsTheList, "tools.list"),
        (Fault::PrintsToStdout, "stdio.only-messages"),
        (Fault::ChangesIds, "messages.same-id"),
        (Fault::DeclaresCompletions, "lifecycle.capabilities-older"),
    ] {
        let found = judge(fault, |id| id == row, &older);
        let failed = found.protocol.iter().filter(|one| matches!(one.outcome, Outcome::Failed(_)));
        assert_eq!(failed.count(), older.len(), "{fault:?} in {row}: {:?}", found.protocol);
    }
}

#[test]
fn a_version_that_is_not_spoken_is_a_gap_when_it_was_demanded_and_a_choice_otherwise() {
    let found = judge(Fault::OffersAnOldVersion, |id| id == "lifecycle.ping", &[OLD]);
    assert!(matches!(found.protocol[0].outcome, Outcome::Passed), "{:?}", found.protocol);
    let found = judge(Fault::DropsTheList, |id| id == "tools.call", &[OLD]);
    assert!(!matches!(found.protocol[0].outcome, Outcome::Passed), "{:?}", found.protocol);
}

/// What fails because of it, like an opening or a cursor that is asked for a list, is no fault of its own.
#[test]
fn a_list_without_a_result_is_one_fault_and_not_that_of_all_who_ask_for_it() {
    for full in [true, false] {
        let hosts = hostcheck::host::all().expect("the profiles");
        let hosts = hosts.iter().filter(|host| host.id == "claude-code@2.1.330").cloned().collect();
        let plan = Plan { hosts, full, ..plan(Fault::ListsNothing, |_| true, &[OLD, NEW], false) };
        let found =
            in_paused_time(async { conformance::judge(&plan, &|_| {}, &conformance::Stop::default()).await });
        let failed = |judged: &[conformance::Judged]| -> BTreeSet<String> {
            let failed =
                judged.iter().filter(|one| matches!(one.outcome, Outcome::Failed(_) | Outcome::Flaky(_)));
            failed.map(|one| one.row.clone()).collect()
        };
        // Both of the protocol say the same of it, so a reader is told one cause.
        let rows = ["lifecycle.capabilities", "tools.list"].map(str::to_owned);
        assert_eq!(failed(&found.protocol), rows.into(), "full: {full}");
        assert_eq!(failed(&found.hosts), ["hosts.tools".to_owned()].into(), "full: {full}");
        let call = found.hosts.iter().find(|one| one.row == "hosts.call").expect("a row");
        assert!(matches!(call.outcome, Outcome::CouldNotRun(_)), "{call:?}");
    }
}

/// What it does with a later request is asked on another connection.
#[test]
fn a_server_that_hangs_of_an_unknown_method_gives_ids_back() {
    let rows = ["messages.one-answer", "messages.same-id", "messages.invalid-cursor"];
    let found = judge(Fault::HangsOfUnknownMethods, |id| rows.contains(&id), &[OLD]);
    let failed = found.protocol.iter().filter(|one| !matches!(one.outcome, Outcome::Passed));
    assert_eq!(failed.map(|one| one.row.as_str()).collect::<Vec<_>>(), rows[..1]);
}

/// It is seen that the server ends, not only that no answer comes.
#[test]
fn a_server_that_ends_at_a_cancelled_call_is_told_to_end() {
    let found = judge(Fault::DiesOfCancels, |id| id == "cancellation.race", &[OLD]);
    let Outcome::Failed(evidence) = &found.protocol[0].outcome else { panic!("{:?}", found.protocol) };
    assert_eq!(evidence[0].message, "the server ends when `tools/call` is cancelled at once");
}

#[test]
fn a_server_that_never_answers_is_given_up_soon_after_the_time_of_one_start() {
    let hosts = hostcheck::host::all().expect("the profiles").to_vec();
    let mute = Target::Inside(Rc::new(|input, output| {
        Box::pin(async move {
            let _open = (input, output);
            std::future::pending().await
        })
    }));
    let plan = Plan { target: mute, hosts, ..plan(Fault::None, |_| true, &VERSIONS, false) };
    let news = std::cell::RefCell::new(Vec::new());
    let judged = async {
        let began = tokio::time::Instant::now();
        let found =
            conformance::judge(&plan, &|one| news.borrow_mut().push(one), &conformance::Stop::default())
                .await;
        (found, began.elapsed())
    };
    let (found, took) = in_paused_time(judged);
    assert!(took.as_secs() <= 35, "{took:?}");
    let reason = found.about.unreachable.expect("it ended");
    assert!(reason.contains("answered nothing: `initialize` was waited for 30 s"), "{reason}");
    assert!(found.hosts.len() > 100 && found.protocol.len() > 100);
    for judged in found.protocol.iter().chain(&found.hosts) {
        assert_eq!(judged.outcome, Outcome::CouldNotRun(reason.clone()), "{}", judged.row);
    }
    let first = news.borrow()[0];
    assert!(matches!(first, conformance::News::Opening(_, limit) if limit.as_secs() == 30), "{first:?}");
}

#[test]
fn a_server_that_speaks_no_version_was_not_judged() {
    let found = judge_as(Fault::RefusesToOpen, |_| true, &VERSIONS, false);
    assert!(!found.protocol.is_empty());
    for judged in &found.protocol {
        assert!(matches!(judged.outcome, Outcome::CouldNotRun(_)), "{}: {:?}", judged.row, judged.outcome);
    }
}
