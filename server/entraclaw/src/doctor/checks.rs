//! The checks of the doctor: one pure function each, over the facts.
//! A check without facts must report that, and must never guess that all is well.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::SignedDuration;

use super::agents::agents;
use super::delegate::delegate;
use super::facts::{Answered, Facts, SignIn};
use super::found::{fail, ok, warn};
use super::memory::memory;
use super::{Check, Diagnosis, Level};
use entraclaw_inbox::journal::LOST_FILE;
use entraclaw_microsoft::entra::{Claims, MAKE_A_NEW_ONE, day};
use entraclaw_session::status::amount::{ago, between, counted};
use entraclaw_session::status::judge;
use entraclaw_work::JOBS_MAX;

/// A disk with less free space than this is nearly full.
const FREE_BYTES_WARN: u64 = 500_000_000;
/// A disk with less free space than this can't store messages for long.
const FREE_BYTES_FAIL: u64 = 20_000_000;
/// With a clock that is off by this, sign-in servers refuse our signatures, and tokens look expired or not yet valid.
const SKEW_FAIL: SignedDuration = SignedDuration::from_mins(5);
/// A clock that is off by this gets a warning.
const SKEW_WARN: SignedDuration = SignedDuration::from_secs(30);
/// A token that ends sooner gets a warning.
const EXPIRY_WARN: SignedDuration = SignedDuration::from_mins(10);
/// A certificate that ends sooner gets a warning, as an administrator may have to add the next one.
const CERTIFICATE_WARN: SignedDuration = SignedDuration::from_hours(30 * 24);
/// So many jobs get a warning.
const JOBS_WARN: u64 = JOBS_MAX as u64 / 10 * 9;
/// A leader that has asked nothing for so long hangs.
const LEADER_SILENT: Duration = Duration::from_secs(120);
/// Graph's application id, which tokens may have instead of its address.
const GRAPH_APP_ID: &str = "00000003-0000-0000-c000-000000000000";

/// What Teams needs: each purpose with scopes, of which one is enough.
const TEAMS_NEEDS: [(&str, &[&str]); 3] = [
    ("reading chats", &["Chat.Read", "Chat.ReadWrite"]),
    ("sending messages", &["ChatMessage.Send", "Chat.ReadWrite"]),
    ("knowing who the agent is", &["User.Read", "User.ReadWrite", "User.ReadBasic.All", "User.Read.All"]),
];

/// What mail needs, in the same form.
const MAIL_NEEDS: [(&str, &[&str]); 2] =
    [("reading the inbox", &["Mail.Read", "Mail.ReadWrite"]), ("sending mail", &["Mail.Send"])];

/// Runs every check.
pub fn examine(facts: &Facts) -> Diagnosis {
    let checks: Vec<Check> = [
        home(facts),
        modes(facts),
        disk(facts),
        config(facts),
        people(facts),
        key(facts),
        sign_in(facts),
        graph(facts),
        clock(facts),
        wake_ups(facts),
        agents(facts),
        delegate(facts),
        unattended(facts),
        leader(facts),
        sessions(facts),
        journal(facts),
        work(facts),
        memory(facts),
    ]
    .into_iter()
    .flatten()
    .collect();
    let level = checks.iter().map(|check| check.level).max().unwrap_or(Level::Ok);
    Diagnosis { v: 1, at: facts.now.to_string(), level, checks }
}

/// Checks the jobs, if there are any.
fn work(facts: &Facts) -> Vec<Check> {
    let Some(work) = &facts.report.work else { return Vec::new() };
    let mut checks = Vec::new();
    if let Some(error) = &work.error {
        checks.push(fail("work", error, "repair work/ in the home folder, or delete what is broken in it"));
    }
    if work.lost > 0 {
        let found = format!("{} ended without a result", counted(work.lost, "job"));
        checks.push(warn("work", found, "start a session of a host: it says so in the inbox"));
    }
    if let Some(at) = work.oldest_ended_at
        && between(at, facts.now).is_some_and(|waits| waits > judge::RESULT_LATE)
    {
        let (results, oldest) = (counted(work.on_the_way, "result"), ago(&at.to_string(), facts.now));
        let found = format!("{results} of work did not reach the inbox, the oldest for {oldest}");
        checks.push(warn("work", found, "start a session of a host; where one runs, see its log"));
    }
    let jobs = work.running + work.on_the_way + work.lost + work.finished;
    if jobs >= JOBS_WARN {
        let found = format!("there are {jobs} jobs, of which {JOBS_MAX} may be kept");
        checks.push(warn("work", found, "wait until some have ended, or cancel some"));
    }
    if checks.is_empty() {
        let found = format!("{} running, {} finished", counted(work.running, "job"), work.finished);
        checks.push(ok("work", found));
    }
    checks
}

/// A failure from a message of ours, which ends in `; the fix`.
fn fail_with_fix(name: &str, message: &str) -> Check {
    match message.split_once("; ") {
        Some((found, fix)) => fail(name, found, fix),
        None => fail(name, message, "repair it"),
    }
}

fn home(facts: &Facts) -> Vec<Check> {
    let home = &facts.home;
    let check = if let Some(trouble) = &home.trouble {
        fail_with_fix("home", trouble)
    } else if !home.exists {
        warn("home", format!("{} is not there yet", home.path), "nothing to do: the first session makes it")
    } else if let Some(why) = &home.read_only {
        let fix = "make it writable for you, or set ENTRACLAW_HOME to a folder that is";
        fail("home", format!("{} can't be written: {why}", home.path), fix)
    } else {
        ok("home", &home.path)
    };
    let folders = home.folders.iter().map(|trouble| fail_with_fix("home", trouble));
    [check].into_iter().chain(folders).collect()
}

fn modes(facts: &Facts) -> Vec<Check> {
    let open = &facts.home.open_to_others;
    if !facts.home.exists {
        return Vec::new();
    }
    if open.is_empty() {
        return vec![ok("modes", "no other user can read the home folder")];
    }
    let fix = format!("run `chmod -R go= {}`", facts.home.path);
    vec![warn("modes", format!("others may read or write {}", open.join(", ")), fix)]
}

fn disk(facts: &Facts) -> Vec<Check> {
    let Some(free) = facts.home.free_bytes else { return Vec::new() };
    let found = format!("{} MB free", free / 1_000_000);
    let fix = "free some space, or lower `retention.journal_mb`";
    vec![match free {
        ..FREE_BYTES_FAIL => fail("disk", found, fix),
        FREE_BYTES_FAIL..FREE_BYTES_WARN => warn("disk", found, fix),
        _ => ok("disk", found),
    }]
}

fn config(facts: &Facts) -> Vec<Check> {
    let config = &facts.config;
    if !config.mistakes.is_empty() {
        return config.mistakes.iter().map(|mistake| fail_with_fix("config", mistake)).collect();
    }
    if config.has_file {
        return vec![ok("config", "config.toml is understood")];
    }
    vec![warn(
        "config",
        "there is no config.toml; only the environment counts",
        match &facts.home.trouble {
            None => format!(
                "run `entraclaw init`, which writes {}/config.toml with comments, or take another server's settings with \
                 `entraclaw import`",
                facts.home.path
            ),
            Some(_) => "first see to the home folder, above".to_owned(),
        },
    )]
}

fn people(facts: &Facts) -> Vec<Check> {
    let config = &facts.config;
    if !config.mistakes.is_empty() {
        return Vec::new();
    }
    let people = match config.allowed_people {
        0 if config.sponsors => ok("people", "the sponsors of the agent identity may write to the agent"),
        0 if config.pairing => warn(
            "people",
            "no person may write to the agent yet; a stranger who writes gets a code",
            "have the person write to the agent, then run `entraclaw pair CODE`; or run `entraclaw allow`",
        ),
        0 => warn(
            "people",
            "no person may write to the agent, so nothing arrives",
            "run `entraclaw allow TENANT_ID/OBJECT_ID`, or add [[allow]] to config.toml",
        ),
        count => ok("people", format!("{count} may write to the agent")),
    };
    let policy = config.policy_trouble.as_ref().map(|trouble| fail_with_fix("policy", trouble));
    let aside = config.policy_kept_aside.map(|file| {
        let fix = format!("repair it and move it back to policy.json, or delete {}/{file}", facts.home.path);
        warn("policy", format!("a broken policy is kept aside as {file}"), fix)
    });
    let on = [("teams", config.teams), ("mail", config.mail), ("bot", config.bot)];
    let on: Vec<&str> = on.into_iter().filter(|s| s.1).map(|s| s.0).collect();
    let sources = if on.is_empty() {
        warn("sources", "no source is switched on", "set `teams.enabled = true` in config.toml")
    } else {
        ok("sources", on.join(" and "))
    };
    // A running session has its secrets from its host, which this command can't see.
    let runs = facts.report.leader.is_some();
    let bot = config.bot_trouble.as_ref().map(|trouble| {
        let check = fail_with_fix("bot", trouble);
        if runs { Check { level: Level::Warn, ..check } } else { check }
    });
    [Some(people), policy, aside, Some(sources), bot].into_iter().flatten().collect()
}

/// Checks the certificate that an agent user signs in with.
fn key(facts: &Facts) -> Vec<Check> {
    let Some(certificate) = &facts.certificate else { return Vec::new() };
    let place = &certificate.place;
    let Some(validity) = certificate.validity else {
        let fix = "look at it with `openssl x509 -noout -dates`, and bring it anew with `entraclaw login --key FILE`";
        return vec![warn("key", format!("the dates of the certificate in {place} can't be read"), fix)];
    };
    if let Err(error) = validity.check(facts.now) {
        return vec![fail("key", format!("{}; it is in {place}", error.problem), error.fix)];
    }
    let left = validity.until.duration_since(facts.now);
    let until = day(validity.until);
    vec![if left <= CERTIFICATE_WARN {
        let days = counted(u64::try_from(left.as_hours() / 24).unwrap_or_default(), "day");
        warn("key", format!("the certificate in {place} ends on {until}, in {days}"), MAKE_A_NEW_ONE)
    } else {
        ok("key", format!("the certificate in {place} is good until {until}"))
    }]
}

fn sign_in(facts: &Facts) -> Vec<Check> {
    if !facts.config.mistakes.is_empty() {
        // Nothing was tried with a wrong configuration.
        return Vec::new();
    }
    match &facts.sign_in {
        // A bot has credentials of its own.
        SignIn::None if facts.config.bot && !facts.config.mail => {
            vec![ok("sign-in", "none, so only the bot is heard")]
        }
        SignIn::None if facts.report.leader.is_some() => vec![warn(
            "sign-in",
            "none in this environment; the session that leads has its own",
            "to check that one, run the doctor with the environment of its host",
        )],
        SignIn::None => vec![fail(
            "sign-in",
            "none is configured here",
            "set `auth.mode` in config.toml and run `entraclaw login`; or, for a token you have, set ENTRACLAW_AUTH=static and ENTRACLAW_ACCESS_TOKEN, here and in the host's configuration",
        )],
        SignIn::Failed { problem, fix } => vec![fail("sign-in", problem, fix)],
        SignIn::Token(token) => token_checks(facts, token),
    }
}

fn token_checks(facts: &Facts, token: &Claims) -> Vec<Check> {
    let renew = match facts.config.auth {
        "static" => {
            "get a new token and write it into the file of `auth.token_file`, or set ENTRACLAW_ACCESS_TOKEN and start the \
             host again"
        }
        _ => "look at the clock of this machine; a token that was signed in for just now should live longer",
    };
    let mut checks = vec![match token.expires_at {
        None => ok("sign-in", "there is a token that does not say when it ends"),
        Some(at) => {
            // This uses Graph's clock, as ours may be wrong.
            let skew = facts.graph.as_ref().and_then(|graph| graph.skew).unwrap_or_default();
            let left = at.duration_since(facts.now) - skew;
            if left <= SignedDuration::ZERO {
                fail("sign-in", format!("the token ended {} ago", ago(&at.to_string(), facts.now)), renew)
            } else if left < EXPIRY_WARN {
                warn("sign-in", format!("the token ends in {} min", left.as_mins()), renew)
            } else {
                let mode = facts.config.auth;
                ok("sign-in", format!("by {mode}; there is a token for {} more min", left.as_mins()))
            }
        }
    }];
    if let (Some(wanted), Some(found)) = (&facts.config.tenant_id, &token.tenant_id)
        && wanted != found.as_str()
    {
        checks.push(fail(
            "tenant",
            format!("the token is of tenant {found}, `identity.tenant_id` is {wanted}"),
            "sign in to the right tenant, or correct `identity.tenant_id`",
        ));
    } else if let Some(found) = &token.tenant_id {
        checks.push(ok("tenant", found.as_str()));
    }
    if let Some(audience) = token.audience.as_ref().filter(|_| !facts.config.graph_is_local)
        && !is_for_graph(audience, &facts.config.graph_authority)
    {
        checks.push(fail(
            "audience",
            format!("the token is for {audience}, not for Graph"),
            format!("ask for a token for https://{}", facts.config.graph_authority),
        ));
    }
    checks.extend(scopes(facts, token));
    checks
}

fn is_for_graph(audience: &str, authority: &str) -> bool {
    let host = audience.strip_prefix("https://").unwrap_or(audience).trim_end_matches('/');
    host == authority || audience == GRAPH_APP_ID
}

fn scopes(facts: &Facts, token: &Claims) -> Vec<Check> {
    if token.is_application {
        return vec![fail(
            "scopes",
            "the token stands for a program; chats of /me need one that stands for the agent's own user",
            "sign in as the agent user, with delegated permissions",
        )];
    }
    let Some(scopes) = &token.scopes else { return Vec::new() };
    let teams = TEAMS_NEEDS.iter().filter(|_| facts.config.teams);
    let needs = teams.chain(MAIL_NEEDS.iter().filter(|_| facts.config.mail));
    let has =
        |any_of: &[&str]| any_of.iter().any(|s| scopes.iter().any(|scope| scope.eq_ignore_ascii_case(s)));
    let missing: Vec<Check> = needs
        .filter(|(_, any_of)| !has(any_of))
        .map(|(what, any_of)| {
            let wanted = any_of.first().copied().unwrap_or("");
            fail(
                "scopes",
                format!("the token does not allow {what}"),
                format!("grant the delegated permission {wanted} and sign in again"),
            )
        })
        .collect();
    if missing.is_empty() { vec![ok("scopes", "everything that is switched on is allowed")] } else { missing }
}

fn graph(facts: &Facts) -> Vec<Check> {
    let Some(graph) = &facts.graph else { return Vec::new() };
    let mut checks = Vec::new();
    match &graph.me {
        Answered::Yes(object_id) => match &facts.config.object_id {
            Some(wanted) if wanted != object_id && !object_id.is_empty() => checks.push(fail(
                "graph",
                format!("the token is of user {object_id}, `identity.object_id` is {wanted}"),
                "sign in as the agent, or correct `identity.object_id`",
            )),
            _ => checks.push(ok(
                "graph",
                format!("{} knows the agent as {object_id}", facts.config.graph_authority),
            )),
        },
        Answered::No { error, fix } => checks.push(fail("graph", error, fix)),
    }
    for (name, answer) in [("chats", &graph.chats), ("mail", &graph.mail)] {
        match answer {
            Some(Answered::Yes(found)) => checks.push(ok(name, found)),
            Some(Answered::No { error, fix }) => checks.push(fail(name, error, fix)),
            None => {}
        }
    }
    checks
}

fn clock(facts: &Facts) -> Vec<Check> {
    const FIX: &str = "set the clock, best by switching on time synchronisation";
    if !facts.config.mistakes.is_empty() {
        return Vec::new();
    }
    let Some(skew) = facts.graph.as_ref().and_then(|graph| graph.skew) else {
        return vec![warn(
            "clock",
            "not compared with Graph's, which gave no answer or was not asked",
            "look at it yourself: a clock that is 5 minutes off keeps sign-in from working",
        )];
    };
    let found = match skew.as_secs() {
        0 => "agrees with Graph's".to_owned(),
        secs if secs > 0 => format!("is {secs} s behind Graph's"),
        secs => format!("is {} s ahead of Graph's", -secs),
    };
    vec![if skew.abs() >= SKEW_FAIL {
        fail("clock", found, FIX)
    } else if skew.abs() >= SKEW_WARN {
        warn("clock", found, FIX)
    } else {
        ok("clock", found)
    }]
}

/// Checks the wake-ups. A missing one is only a warning, as messages come by the other carriers.
fn wake_ups(facts: &Facts) -> Vec<Check> {
    let mut checks: Vec<Check> = facts
        .wake_ups
        .iter()
        .map(|(name, answered)| match answered {
            Answered::Yes(found) => ok("wake_ups", format!("{name}: {found}")),
            Answered::No { error, fix } => warn("wake_ups", format!("{name}: {error}"), fix),
        })
        .collect();
    let alive = facts.report.sessions.iter().filter(|session| session.alive);
    let carriers = alive.flat_map(|session| &session.file.carriers);
    let is_shut =
        |carrier: &&String| ["(failing)", "(held:", "(refused"].iter().any(|word| carrier.contains(word));
    let failing: BTreeSet<&String> = carriers.filter(is_shut).collect();
    checks.extend(failing.into_iter().map(|carrier| {
        let fix = "see the session's log; its messages wait for inbox_pull";
        warn("wake_ups", format!("{carrier}, says a session"), fix)
    }));
    checks
}

/// Warns of what stops a host while no person is at the machine.
fn unattended(facts: &Facts) -> Vec<Check> {
    let split = |trouble: &String| match trouble.split_once("; ") {
        Some((found, fix)) => warn("unattended", found, fix),
        None => warn("unattended", trouble, "be there when it happens"),
    };
    facts.unattended.iter().map(split).collect()
}

fn leader(facts: &Facts) -> Vec<Check> {
    let report = &facts.report;
    let Some(leader) = &report.leader else {
        let alive = report.sessions.iter().filter(|session| session.alive).count();
        return vec![match alive {
            0 => ok("leader", "no session is running; the first one polls"),
            count => warn(
                "leader",
                format!("{count} sessions are running and none polls"),
                "see `entraclaw status`; a session polls when it is signed in and a source is switched on",
            ),
        }];
    };
    let pid = leader.file.pid;
    let silent = report.status.as_ref().and_then(|status| {
        let sources = status.sources.iter();
        sources.filter_map(|s| between(s.state.asked_at?, facts.now).map(|t| (s, t))).min_by_key(|(_, t)| *t)
    });
    vec![match silent {
        Some((source, time))
            if judge::late_after(source).is_some_and(|late| time > LEADER_SILENT.max(late)) =>
        {
            fail(
                "leader",
                format!("process {pid} leads, but has asked nothing for {} s", time.as_secs()),
                format!("if it hangs, end it with `kill {pid}`; another session takes over"),
            )
        }
        _ => ok("leader", format!("process {pid} polls; other sessions follow and take over when it ends")),
    }]
}

/// Reports the problems that the sessions have written down.
fn sessions(facts: &Facts) -> Vec<Check> {
    let idle = facts.report.sessions.iter().filter_map(judge::idle);
    let reading = judge::reading(&facts.report, facts.now);
    idle.chain(reading).map(|problem| fail_with_fix("session", &problem)).collect()
}

fn journal(facts: &Facts) -> Vec<Check> {
    let journal = &facts.report.journal;
    let mut checks = Vec::new();
    if let Some(error) = &journal.error {
        checks.push(fail(
            "journal",
            format!("it can't be read: {error}"),
            "repair the home folder's disk or rights",
        ));
    }
    if let Some(failure) = &journal.disk_failure {
        let fix = "free some space; messages are in memory until then";
        checks.push(fail("journal", format!("the disk takes no writes: {failure}"), fix));
    }
    if journal.interactions_failed_total > 0 {
        checks.push(fail_with_fix("audit", &judge::audit(journal)));
    }
    if let Some(lost) = &journal.lost {
        let fix = format!("look at the disk, and delete {LOST_FILE} once you have read this");
        match journal.gone_total {
            0 => checks.push(warn("journal", lost, &fix)),
            _ => checks.push(fail("journal", lost, &fix)),
        }
    }
    for damage in &journal.damage {
        checks.push(warn("journal", damage, judge::mending(&facts.report)));
    }
    if !journal.kept_aside.is_empty() {
        let found = format!("unreadable pieces are kept in inbox/: {}", journal.kept_aside.join(", "));
        checks.push(warn("journal", found, "look at them, then delete them; check the disk"));
    }
    if checks.is_empty() {
        checks.push(ok("journal", format!("{}, no damage", counted(journal.records, "message"))));
    }
    checks
}
