//! Every broken state as a row of a table, with its finding and its fix.

use jiff::{SignedDuration, Timestamp};
use rstest::rstest;

use super::*;
use entraclaw_agents::{AGENTS, Agent, Found, Missing};
use entraclaw_inbox::gate::Guid;
use entraclaw_inbox::source::SourceState;
use entraclaw_memory::stores::{Agent as Remembered, Surveyed, Tally};
use entraclaw_microsoft::entra::Claims;
use entraclaw_microsoft::entra::Validity;
use entraclaw_session::status::{
    AgentSessions, MemorySummary, Report, SessionFile, SessionLine, SourceLine, SponsorsLine, StatusFile,
};
use entraclaw_work::WorkSummary;

const TENANT: &str = "aaaaaaaa-0000-0000-0000-000000000001";
const OTHER_TENANT: &str = "aaaaaaaa-0000-0000-0000-000000000002";
const AGENT: &str = "bbbbbbbb-0000-0000-0000-000000000003";

fn now() -> Timestamp {
    "2026-11-21T12:00:00Z".parse().unwrap()
}

/// The facts of a machine without problems.
fn well() -> Facts {
    let scopes = ["Chat.Read", "ChatMessage.Send", "User.Read"].map(str::to_owned);
    Facts {
        now: now(),
        home: HomeFacts {
            path: "/home/alice/.entraclaw".to_owned(),
            exists: true,
            free_bytes: Some(10_000_000_000),
            ..HomeFacts::default()
        },
        config: ConfigFacts {
            has_file: true,
            allowed_people: 1,
            teams: true,
            auth: "static",
            tenant_id: Some(TENANT.to_owned()),
            graph_authority: "graph.microsoft.com".to_owned(),
            ..ConfigFacts::default()
        },
        sign_in: SignIn::Token(Claims {
            tenant_id: Guid::parse(TENANT),
            audience: Some("https://graph.microsoft.com/".to_owned()),
            expires_at: Some(now() + SignedDuration::from_mins(50)),
            scopes: Some(scopes.to_vec()),
            ..Claims::default()
        }),
        certificate: Some(CertificateFacts {
            place: "the system's key store".to_owned(),
            validity: Some(validity(400)),
        }),
        graph: Some(GraphFacts {
            me: Answered::Yes(AGENT.to_owned()),
            chats: Some(Answered::Yes("1 or more chats".to_owned())),
            mail: None,
            skew: Some(SignedDuration::ZERO),
        }),
        wake_ups: vec![("codex queue", Answered::Yes("it is there".to_owned()))],
        ask: None,
        delegate: None,
        unattended: Vec::new(),
        memory: None,
        report: Report::default(),
    }
}

/// A certificate of a year that ends in so many days.
fn validity(days: i64) -> Validity {
    let until = now() + SignedDuration::from_hours(days * 24);
    Validity { from: until - SignedDuration::from_hours(730 * 24), until }
}

fn token(facts: &mut Facts) -> &mut Claims {
    match &mut facts.sign_in {
        SignIn::Token(token) => token,
        _ => unreachable!("a test asks for it where there is one"),
    }
}

fn no(error: &str, fix: &str) -> Answered {
    Answered::No { error: error.to_owned(), fix: fix.to_owned() }
}

#[test]
fn a_machine_without_problems_needs_nothing() {
    let diagnosis = examine(&well());
    assert_eq!(diagnosis.level, Level::Ok, "{diagnosis:#?}");
    assert!(diagnosis.checks.iter().all(|check| check.fix.is_none()));
    assert!(show::human(&diagnosis).ends_with("All is well.\n"));
}

#[test]
fn the_local_model_is_checked_where_it_is_used() {
    let of = |facts: &Facts| {
        let checks = examine(facts).checks.into_iter().filter(|check| check.name == "delegate");
        checks.map(|check| (check.level, check.found, check.fix)).collect::<Vec<_>>()
    };
    let mut facts = well();
    assert!(of(&facts).is_empty());
    let mut delegate = DelegateFacts {
        project: "/home/alice/app".to_owned(),
        engine: Ok(Some("/home/alice/.entraclaw/delegate/app.sock".to_owned())),
        model: Ok("Ollama is at http://127.0.0.1:11434: qwen2.5-coder:7b".to_owned()),
    };
    facts.delegate = Some(delegate.clone());
    let found = of(&facts);
    assert!(found.iter().all(|(level, _, fix)| *level == Level::Ok && fix.is_none()), "{found:?}");
    assert!(found[0].1.contains("works; hosts reach it at"), "{found:?}");
    (delegate.engine, delegate.model) = (Ok(None), Err("no model server was found".to_owned()));
    facts.delegate = Some(delegate);
    let found = of(&facts);
    assert!(found.iter().all(|(level, _, fix)| *level == Level::Warn && fix.is_some()), "{found:?}");
    assert!(found[0].1.contains("no engine works in /home/alice/app"), "{found:?}");
}

#[rstest]
#[case::no_home_known(
    |f: &mut Facts| f.home.trouble = Some("there is no home folder; set ENTRACLAW_HOME or give --home".to_owned()),
    Level::Fail, "home", "there is no home folder", "ENTRACLAW_HOME")]
#[case::new_home(|f: &mut Facts| f.home.exists = false, Level::Warn, "home", "is not there yet", "first session")]
#[case::read_only_home(
    |f: &mut Facts| f.home.read_only = Some("Read-only file system".to_owned()),
    Level::Fail, "home", "can't be written: Read-only file system", "writable")]
#[case::folder(
    |f: &mut Facts| f.home.folders = vec!["/home/alice/.entraclaw/inbox is a symlink; put a folder in its place".to_owned()],
    Level::Fail, "home", "inbox is a symlink", "put a folder")]
#[case::source_fails(
    |f: &mut Facts| {
        lead(f, 3);
        let source = &mut f.report.status.as_mut().unwrap().sources[0];
        source.state.error = Some("chat x could not be read: refused; see why".to_owned());
        source.state.failures = 2;
    },
    Level::Fail, "session", "teams: chat x could not be read: refused", "see why")]
#[case::idle_session(
    |f: &mut Facts| {
        let file = SessionFile { trouble: Some("the journal could not be opened; repair it".to_owned()), ..Default::default() };
        f.report.sessions = vec![SessionLine { alive: true, file }];
    },
    Level::Fail, "session", "the journal could not be opened", "repair it")]
#[case::audit(
    |f: &mut Facts| f.report.journal.interactions_failed_total = 2,
    Level::Fail, "audit", "2 lines of the audit log", "interactions/")]
#[case::open_files(
    |f: &mut Facts| f.home.open_to_others = vec!["config.toml".to_owned()],
    Level::Warn, "modes", "others may read or write config.toml", "chmod -R go= /home/alice/.entraclaw")]
#[case::little_room(|f: &mut Facts| f.home.free_bytes = Some(100_000_000), Level::Warn, "disk", "100 MB free", "free some space")]
#[case::full_disk(|f: &mut Facts| f.home.free_bytes = Some(1_000), Level::Fail, "disk", "0 MB free", "free some space")]
#[case::wrong_config(
    |f: &mut Facts| f.config.mistakes = vec!["config.toml, line 2: unknown key `teams.x`; did you mean `teams.y`?".to_owned()],
    Level::Fail, "config", "line 2: unknown key `teams.x`", "did you mean `teams.y`?")]
#[case::no_config(|f: &mut Facts| f.config.has_file = false, Level::Warn, "config", "no config.toml", "entraclaw import")]
#[case::no_person(|f: &mut Facts| f.config.allowed_people = 0, Level::Warn, "people", "no person may write", "[[allow]]")]
#[case::signed_in_elsewhere(
    |f: &mut Facts| { lead(f, 3); f.sign_in = SignIn::None; },
    Level::Warn, "sign-in", "the session that leads has its own", "environment of its host")]
#[case::no_person_yet(
    |f: &mut Facts| { f.config.allowed_people = 0; f.config.pairing = true; },
    Level::Warn, "people", "gets a code", "entraclaw pair")]
#[case::broken_policy(
    |f: &mut Facts| f.config.policy_trouble = Some("policy.json is broken (EOF), so nobody is let in by it; repair it".to_owned()),
    Level::Fail, "policy", "broken (EOF)", "repair it")]
#[case::policy_aside(
    |f: &mut Facts| f.config.policy_kept_aside = Some("policy.json.broken"),
    Level::Warn, "policy", "kept aside as policy.json.broken", "delete /home/alice/.entraclaw/policy.json.broken")]
#[case::cannot_read_mail(
    |f: &mut Facts| f.config.mail = true,
    Level::Fail, "scopes", "does not allow reading the inbox", "Mail.Read")]
#[case::no_inbox(
    |f: &mut Facts| f.graph.as_mut().unwrap().mail = Some(no("graph answered 404", "check the mailbox")),
    Level::Fail, "mail", "404", "mailbox")]
#[case::bot_without_credentials(
    |f: &mut Facts| { f.config.bot = true; f.config.bot_trouble = Some("`bot.app_id` is missing; set it".to_owned()); },
    Level::Fail, "bot", "`bot.app_id` is missing", "set it")]
#[case::no_source(|f: &mut Facts| f.config.teams = false, Level::Warn, "sources", "no source", "teams.enabled")]
#[case::no_sign_in(|f: &mut Facts| { f.sign_in = SignIn::None; f.graph = None; }, Level::Fail, "sign-in", "none is configured", "ENTRACLAW_ACCESS_TOKEN")]
#[case::sign_in_failed(
    |f: &mut Facts| f.sign_in = SignIn::Failed { problem: "the key is gone".to_owned(), fix: "run `entraclaw login`".to_owned() },
    Level::Fail, "sign-in", "the key is gone", "entraclaw login")]
#[case::certificate_ended(
    |f: &mut Facts| f.certificate.as_mut().unwrap().validity = Some(validity(-1)),
    Level::Fail, "key", "the certificate ended on 2026-11-20 12:00 UTC", "make a new key")]
#[case::certificate_not_yet(
    |f: &mut Facts| f.certificate.as_mut().unwrap().validity = Some(validity(731)),
    Level::Fail, "key", "is not valid before 2026-11-22", "set the clock")]
#[case::certificate_ends_soon(
    |f: &mut Facts| f.certificate.as_mut().unwrap().validity = Some(validity(30)),
    Level::Warn, "key", "ends on 2026-12-21 12:00 UTC, in 30 days", "make a new key")]
#[case::certificate_unreadable(
    |f: &mut Facts| f.certificate.as_mut().unwrap().validity = None,
    Level::Warn, "key", "the dates of the certificate in the system's key store can't be read", "openssl")]
#[case::expired(
    |f: &mut Facts| token(f).expires_at = Some(now() - SignedDuration::from_mins(3)),
    Level::Fail, "sign-in", "ended 3 min ago", "get a new token")]
#[case::ends_soon(
    |f: &mut Facts| token(f).expires_at = Some(now() + SignedDuration::from_mins(3)),
    Level::Warn, "sign-in", "ends in 3 min", "get a new token")]
#[case::wrong_tenant(
    |f: &mut Facts| token(f).tenant_id = Guid::parse(OTHER_TENANT),
    Level::Fail, "tenant", "the token is of tenant aaaaaaaa-0000-0000-0000-000000000002", "identity.tenant_id")]
#[case::wrong_audience(
    |f: &mut Facts| token(f).audience = Some("https://outlook.office.com".to_owned()),
    Level::Fail, "audience", "is for https://outlook.office.com", "https://graph.microsoft.com")]
#[case::cannot_send(
    |f: &mut Facts| { token(f).scopes.as_mut().unwrap().retain(|scope| scope != "ChatMessage.Send"); },
    Level::Fail, "scopes", "does not allow sending messages", "ChatMessage.Send")]
#[case::application(|f: &mut Facts| token(f).is_application = true, Level::Fail, "scopes", "stands for a program", "agent user")]
#[case::no_network(
    |f: &mut Facts| f.graph = Some(GraphFacts { me: no("cannot reach graph.microsoft.com", "check the network"), chats: None, mail: None, skew: None }),
    Level::Fail, "graph", "cannot reach", "check the network")]
#[case::other_user(
    |f: &mut Facts| f.config.object_id = Some(OTHER_TENANT.to_owned()),
    Level::Fail, "graph", "the token is of user bbbbbbbb", "identity.object_id")]
#[case::no_chats(
    |f: &mut Facts| f.graph.as_mut().unwrap().chats = Some(no("graph answered 403", "check the licence")),
    Level::Fail, "chats", "403", "licence")]
#[case::clock_unknown(|f: &mut Facts| f.graph.as_mut().unwrap().skew = None, Level::Warn, "clock", "not compared", "5 minutes")]
#[case::clock_behind(
    |f: &mut Facts| f.graph.as_mut().unwrap().skew = Some(SignedDuration::from_secs(60)),
    Level::Warn, "clock", "is 60 s behind Graph's", "time synchronisation")]
#[case::clock_wrong(
    |f: &mut Facts| f.graph.as_mut().unwrap().skew = Some(SignedDuration::from_hours(-2)),
    Level::Fail, "clock", "is 7200 s ahead of Graph's", "time synchronisation")]
#[case::silent_leader(|f: &mut Facts| lead(f, 600), Level::Fail, "leader", "process 77 leads, but has asked nothing for 600 s", "kill 77")]
#[case::no_leader(
    |f: &mut Facts| f.report.sessions = vec![SessionLine { alive: true, ..Default::default() }],
    Level::Warn, "leader", "1 sessions are running and none polls", "entraclaw status")]
#[case::damage(
    |f: &mut Facts| f.report.journal.damage = vec!["inbox/x.jsonl: 1 unreadable pieces".to_owned()],
    Level::Warn, "journal", "1 unreadable", "start a session: it mends")]
#[case::damage_beside_a_leader(
    |f: &mut Facts| {
        lead(f, 1);
        f.report.journal.damage = vec!["records 1 to 60 are in no file".to_owned()];
    },
    Level::Warn, "journal", "1 to 60", "process 77, which polls, mends it within ten seconds")]
#[case::quarantine(
    |f: &mut Facts| f.report.journal.kept_aside = vec!["x.jsonl.damaged".to_owned()],
    Level::Warn, "journal", "x.jsonl.damaged", "check the disk")]
#[case::unreadable_journal(
    |f: &mut Facts| f.report.journal.error = Some("Permission denied".to_owned()),
    Level::Fail, "journal", "Permission denied", "rights")]
#[case::results_that_no_session_brings(
    |f: &mut Facts| f.report.work = Some(WorkSummary {
        on_the_way: 2,
        oldest_ended_at: Some(now() - SignedDuration::from_mins(5)),
        ..WorkSummary::default()
    }),
    Level::Warn, "work", "2 results of work did not reach the inbox, the oldest for 5 min", "start a session")]
#[case::lost_work(
    |f: &mut Facts| f.report.work = Some(WorkSummary { lost: 1, ..WorkSummary::default() }),
    Level::Warn, "work", "1 job ended without a result", "says so in the inbox")]
#[case::too_much_work(
    |f: &mut Facts| f.report.work = Some(WorkSummary { running: 1_900, ..WorkSummary::default() }),
    Level::Warn, "work", "1900 jobs, of which 2000 may be kept", "cancel some")]
#[case::unreadable_work(
    |f: &mut Facts| f.report.work = Some(WorkSummary { error: Some("1 job can't be read".to_owned()), ..WorkSummary::default() }),
    Level::Fail, "work", "1 job can't be read", "repair work/")]
fn a_broken_state_names_itself_and_its_fix(
    #[case] breaks: fn(&mut Facts),
    #[case] level: Level,
    #[case] name: &str,
    #[case] found: &str,
    #[case] fix: &str,
) {
    let mut facts = well();
    breaks(&mut facts);
    let diagnosis = examine(&facts);
    let check = diagnosis.checks.iter().find(|check| check.level == level);
    let check = check.unwrap_or_else(|| panic!("nothing of that level: {diagnosis:#?}"));
    assert_eq!(check.name, name, "{diagnosis:#?}");
    assert!(check.found.contains(found), "{}", check.found);
    assert!(check.fix.as_deref().unwrap_or("").contains(fix), "{:?}", check.fix);
    assert_eq!(diagnosis.level, level, "{diagnosis:#?}");
}

#[test]
fn a_result_is_late_only_after_its_whole_minute() {
    for (waits_s, level) in [(60, Level::Ok), (61, Level::Warn)] {
        let oldest_ended_at = Some(now() - SignedDuration::from_secs(waits_s));
        let work = WorkSummary { on_the_way: 1, oldest_ended_at, ..WorkSummary::default() };
        let mut facts = well();
        facts.report.work = Some(work);
        assert_eq!(examine(&facts).level, level, "after {waits_s} s");
    }
}

/// A leader that asked `ago_s` seconds ago.
fn lead(facts: &mut Facts, ago_s: i64) {
    let file = SessionFile { pid: 77, leads: true, ..SessionFile::default() };
    facts.report.leader = Some(SessionLine { alive: true, file });
    let asked_at = Some(now() - SignedDuration::from_secs(ago_s));
    let state = SourceState { asked_at, ..SourceState::default() };
    let source = SourceLine { name: "teams".to_owned(), poll_interval_ms: Some(5_000), state };
    facts.report.status = Some(StatusFile { sources: vec![source], ..StatusFile::default() });
}

#[test]
fn another_leader_is_no_problem() {
    let mut facts = well();
    lead(&mut facts, 3);
    let diagnosis = examine(&facts);
    assert_eq!(diagnosis.level, Level::Ok);
    assert!(diagnosis.checks.iter().any(|check| check.found.contains("process 77 polls")));
}

#[test]
fn unknown_sponsors_are_reported_with_the_fix() {
    let mut facts = well();
    lead(&mut facts, 3);
    let trouble =
        "it is not known who the sponsors of the agent are, so what they write waits: x; do y".to_owned();
    facts.report.status.as_mut().unwrap().sponsors = Some(SponsorsLine { trouble, awaited: true });
    let diagnosis = examine(&facts);
    let told =
        diagnosis.checks.iter().find(|check| check.found.contains("sponsors of the agent are")).unwrap();
    assert_eq!((told.level, told.fix.as_deref()), (Level::Fail, Some("do y")));
}

#[test]
fn a_token_without_claims_is_accepted() {
    let mut facts = well();
    facts.sign_in = SignIn::Token(Claims::default());
    assert_eq!(examine(&facts).level, Level::Ok);
}

#[test]
fn foreign_text_can_t_control_the_terminal() {
    let mut facts = well();
    facts.graph.as_mut().unwrap().me = no("graph answered \u{1b}[2J403\nmore", "x\u{202e}");
    let shown = show::human(&examine(&facts));
    let shown = anstream::adapter::strip_str(&shown).to_string();
    assert!(shown.contains("graph answered 403 more"), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
}

#[test]
fn a_failing_wake_up_is_reported_with_the_fix() {
    let mut facts = well();
    facts.wake_ups =
        vec![("opencode port", no("no program is at 127.0.0.1:4096", "start the host with that port"))];
    let carriers = vec!["pull".to_owned(), "codex queue (failing)".to_owned()];
    let file = SessionFile { carriers, ..SessionFile::default() };
    facts.report.sessions = vec![
        SessionLine { alive: true, file: file.clone() },
        SessionLine { alive: true, file: file.clone() },
        SessionLine { alive: false, file },
    ];
    let wake_ups: Vec<_> =
        examine(&facts).checks.into_iter().filter(|check| check.name == "wake_ups").collect();
    assert!(wake_ups.iter().all(|check| check.level == Level::Warn && check.fix.is_some()), "{wake_ups:?}");
    let found: Vec<&str> = wake_ups.iter().map(|check| check.found.as_str()).collect();
    assert_eq!(
        found,
        ["opencode port: no program is at 127.0.0.1:4096", "codex queue (failing), says a session"]
    );
}

/// The agents of a machine, with the versions of those that are installed.
fn agents(facts: &mut Facts, versions: &[(&str, Option<&str>)]) {
    let found = |agent: &Agent| {
        let (_, version) = versions.iter().find(|(name, _)| *name == agent.name)?;
        let path = format!("/usr/bin/{}", agent.program).into();
        let version_seen = version.map(str::to_owned);
        Some(Found { path, version: version_seen, signed_in: version.map(|_| true), stamp: None })
    };
    let row = |agent| AgentFacts { agent, found: found(agent).ok_or(Missing::NotInstalled) };
    facts.ask = Some(AskFacts { permissions: "all", agents: AGENTS.iter().map(row).collect() });
}

fn of_agents(facts: &Facts) -> Vec<Check> {
    examine(facts).checks.into_iter().filter(|check| check.name == "agents").collect()
}

#[test]
fn agents_are_named_with_version_and_path_where_they_can_be_asked() {
    let mut facts = well();
    assert_eq!(of_agents(&facts), []);
    agents(&mut facts, &[("copilot", Some("1.0.102")), ("codex", None)]);
    let [check] = of_agents(&facts).try_into().unwrap();
    assert_eq!((check.level, check.fix), (Level::Ok, None));
    let shown = "Copilot 1.0.102 (/usr/bin/copilot, signed in), Codex of an unknown version (/usr/bin/codex)";
    assert_eq!(check.found, format!("{shown}; `ask` may do \"all\" at most (ask.permissions)"));
}

#[test]
fn the_oldest_version_that_can_be_asked_is_no_warning() {
    let mut facts = well();
    let copilot = AGENTS.iter().find(|agent| agent.name == "copilot").unwrap();
    let [major, minor, patch] = copilot.oldest;
    let warnings = |facts: &Facts| of_agents(facts).iter().filter(|check| check.level == Level::Warn).count();
    agents(&mut facts, &[("copilot", Some(&format!("{major}.{minor}.{patch}")))]);
    assert_eq!(warnings(&facts), 0);
    agents(&mut facts, &[("copilot", Some("0.0.1"))]);
    assert_eq!(warnings(&facts), 1);
}

#[test]
fn what_keeps_an_agent_from_being_asked_has_its_fix() {
    let mut facts = well();
    agents(&mut facts, &[]);
    let [none] = of_agents(&facts).try_into().unwrap();
    assert_eq!(none.level, Level::Fail);
    assert!(none.fix.unwrap().contains("npm install -g @github/copilot"));

    agents(&mut facts, &[("claude-code", Some("2.1.330"))]);
    let [_, missing] = of_agents(&facts).try_into().unwrap();
    assert_eq!(missing.level, Level::Warn);
    assert!(missing.found.contains("Copilot is not installed"), "{}", missing.found);

    agents(&mut facts, &[("copilot", Some("0.0.384"))]);
    let [_, old] = of_agents(&facts).try_into().unwrap();
    assert_eq!(old.level, Level::Warn);
    assert!(old.found.contains("0.0.384 is too old") && old.found.contains("0.0.412"), "{}", old.found);

    agents(&mut facts, &[("claude-code", Some("2.1.330"))]);
    facts.ask.as_mut().unwrap().agents[0].found = Err(Missing::NoProgram("/opt/nothing".into()));
    let [_, wrong] = of_agents(&facts).try_into().unwrap();
    assert_eq!(wrong.level, Level::Fail);
    assert!(wrong.found.contains("COPILOT_BINARY_PATH") && wrong.found.contains("/opt/nothing"));
}

#[test]
fn what_stops_an_unattended_host_is_a_warning() {
    let mut facts = well();
    facts.unattended =
        vec!["the first answer of Codex CLI stops at a dialog; add --allow-answers to its setup".to_owned()];
    let diagnosis = examine(&facts);
    let check = diagnosis.checks.iter().find(|check| check.name == "unattended").unwrap();
    assert_eq!((check.level, diagnosis.level), (Level::Warn, Level::Warn));
    assert_eq!(check.fix.as_deref(), Some("add --allow-answers to its setup"));
}

#[test]
fn what_the_memory_can_t_read_or_does_not_know_is_a_warning() {
    let store = |agent, troubles: &[(&str, &str)], unknown: &[(&str, u64)]| Surveyed {
        agent,
        sessions: 3,
        newest: None,
        read: 3,
        tally: Tally {
            unknown: unknown.iter().map(|(kind, count)| ((*kind).to_owned(), *count)).collect(),
            malformed: unknown.len() as u64,
            too_long: 0,
        },
        troubles: troubles.iter().map(|(path, why)| ((*path).into(), (*why).to_owned())).collect(),
    };
    let mut facts = well();
    let agents = vec![AgentSessions { agent: Remembered::Claude, sessions: 3 }];
    facts.report.memory = Some(MemorySummary { bytes: 12_000_000, agents });
    let stores = vec![
        store(Remembered::Claude, &[], &[]),
        store(Remembered::Codex, &[("/c/a", "permission denied"), ("/c/b", "x")], &[]),
        store(Remembered::Opencode, &[], &[("a", 1), ("b", 9)]),
    ];
    let meanings = Some("/m is no table: it is not there; leave it out".to_owned());
    facts.memory = Some(MemoryFacts { files_max: 20, stores, meanings });
    let diagnosis = examine(&facts);
    let found: Vec<&str> = diagnosis
        .checks
        .iter()
        .filter(|check| check.name == "memory")
        .map(|check| check.found.as_str())
        .collect();
    assert_eq!(
        found,
        [
            "3 sessions (claude 3); index 12 MB",
            "codex: /c/a can't be read: permission denied, and 1 more",
            "opencode: what this version does not know, in 3 sessions of the newest 20: \"b\" 9, \"a\" 1, 2 broken lines",
            "/m is no table: it is not there",
        ]
    );
    assert_eq!(diagnosis.level, Level::Warn);
}
