//! Tables of valid and wrong configurations, with the exact words that a user reads.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use rstest::rstest;

use entraclaw_microsoft::entra::{AgentUserName, Algorithm, KeyStoreKind, Thumbprint};
use entraclaw_microsoft::teams::GroupMessages;

use super::{Auth, Config, Secret, Sources, key};

const TENANT: &str = "aaaaaaaa-0000-0000-0000-000000000001";
const ALICE: &str = "bbbbbbbb-0000-0000-0000-000000000002";

fn from_file(text: &str) -> Sources {
    Sources { file: Some(("config.toml".to_owned(), text.to_owned())), ..Default::default() }
}

fn from_environment(pairs: &[(&str, &str)]) -> Sources {
    let environment: BTreeMap<_, _> = pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
    Sources { environment, ..Default::default() }
}

#[test]
fn an_empty_configuration_has_the_defaults() {
    let config = Config::load(&Sources::default()).unwrap();
    assert_eq!(config.teams.poll_interval, Duration::from_secs(5));
    assert_eq!(config.teams.page_size, 50);
    assert_eq!(config.graph.origin.authority(), "graph.microsoft.com");
    assert_eq!(config.auth, Auth::None);
    assert!(config.allow.is_empty());
}

#[test]
fn a_file_with_every_table_is_understood() {
    let config = Config::load(&from_file(&format!(
        r#"
        [auth]
        [graph]
        url = "http://127.0.0.1:9"
        request_timeout = "2s"
        [identity]
        tenant_id = "{upper}"
        object_id = "{ALICE}"
        [inbox]
        consumer = "claude-code"
        [log]
        level = "debug"
        file = true
        [teams]
        enabled = false
        poll_interval = "50ms"
        overlap = "2s"
        page_size = 10
        sweep_interval = "1m"
        hot_for = "1h"
        group_messages = "mentioned"
        [[allow]]
        tenant_id = "{TENANT}"
        object_id = "{ALICE}"
        name = "Alice"
        [[allow]]
        mail = "Bob@Contoso.com"
        "#,
        upper = TENANT.to_uppercase()
    )))
    .unwrap();
    assert_eq!(config.identity.tenant_id.unwrap().as_str(), TENANT);
    assert_eq!(config.teams.poll_interval, Duration::from_millis(50));
    assert_eq!(config.teams.group_messages, GroupMessages::Mentioned);
    assert!(!config.teams.enabled && config.log.file);
    assert_eq!(config.allow.len(), 2);
    assert_eq!(config.allow[1].mail.as_deref(), Some("bob@contoso.com"));
}

#[test]
fn flags_win_over_environment_over_file() {
    let mut sources = from_environment(&[
        ("ENTRACLAW_TEAMS_POLL_INTERVAL", "7s"),
        ("ENTRACLAW_INBOX_CONSUMER", "from-environment"),
        ("ENTRABOT_TENANT_ID", ALICE),
        ("ENTRACLAW_IDENTITY_TENANT_ID", TENANT),
    ]);
    sources.file = Some((
        "config.toml".to_owned(),
        "teams = { poll_interval = \"9s\", overlap = \"3s\" }\ninbox.consumer = \"file\"".to_owned(),
    ));
    sources.flags.push((&key::INBOX_CONSUMER, "--consumer", "from-flag".to_owned()));
    let config = Config::load(&sources).unwrap();
    assert_eq!(config.teams.poll_interval, Duration::from_secs(7));
    assert_eq!(config.teams.overlap, Duration::from_secs(3));
    assert_eq!(config.inbox.consumer.unwrap().as_str(), "from-flag");
    assert_eq!(config.identity.tenant_id.unwrap().as_str(), TENANT);
}

#[test]
fn the_variable_replaces_the_allowlist_of_the_file() {
    let list = format!(" {TENANT}/{ALICE} , bob@contoso.com,,{TENANT}/{}", ALICE.to_uppercase());
    let mut sources = from_environment(&[("ENTRACLAW_ALLOW", &list)]);
    sources.file = Some(("config.toml".to_owned(), "[[allow]]\nmail = \"carol@contoso.com\"".to_owned()));
    let allow = Config::load(&sources).unwrap().allow;
    assert_eq!(allow.len(), 2, "a repeated person counts once");
    assert_eq!(allow[0].object_id.as_ref().unwrap().as_str(), ALICE);
    assert_eq!(allow[1].mail.as_deref(), Some("bob@contoso.com"));
}

#[test]
fn mail_is_off_until_it_is_switched_on() {
    let mail = Config::load(&Sources::default()).unwrap().mail;
    assert!(!mail.enabled && mail.authserv_id.is_none());
    assert_eq!((mail.poll_interval, mail.messages_per_hour), (Duration::from_secs(60), 10));
    let on = [("ENTRACLAW_MAIL_ENABLED", "true"), ("ENTRACLAW_MAIL_AUTHSERV_ID", " MX.contoso.com ")];
    let mail = Config::load(&from_environment(&on)).unwrap().mail;
    assert!(mail.enabled);
    assert_eq!(mail.authserv_id.as_deref(), Some("mx.contoso.com"));
}

#[test]
fn a_token_in_a_file_is_taken_where_none_is_in_the_environment() {
    let file = [("ENTRACLAW_AUTH_TOKEN_FILE", "/run/secrets/token")];
    let config = Config::load(&from_environment(&file)).unwrap();
    assert_eq!(config.auth, Auth::TokenFile("/run/secrets/token".into()));
    assert_eq!(config.auth.mode(), "static");
    let both = [file[0], ("ENTRACLAW_ACCESS_TOKEN", "eyJ.secret.x")];
    assert_eq!(
        Config::load(&from_environment(&both)).unwrap().auth,
        Auth::Static(Secret::new("eyJ.secret.x"))
    );
    let wrong = Config::load(&from_environment(&[("ENTRACLAW_AUTH_TOKEN_FILE", "token")])).unwrap_err();
    assert!(wrong.to_string().contains("`auth.token_file` is not an absolute path"), "{wrong}");
}

#[test]
fn a_token_is_taken_and_never_shown() {
    let config = Config::load(&from_environment(&[("ENTRACLAW_ACCESS_TOKEN", " eyJ.secret.x ")])).unwrap();
    assert_eq!(config.auth, Auth::Static(Secret::new("eyJ.secret.x")));
    assert!(!format!("{config:?}").contains("secret.x"));
    let broken = Config::load(&from_environment(&[("ENTRACLAW_ACCESS_TOKEN", "to ken")])).unwrap_err();
    assert_eq!(
        broken.to_string(),
        "environment variable ENTRACLAW_ACCESS_TOKEN: the token holds a blank or a control character; copy it again"
    );
}

#[rstest]
#[case(
    "[teams]\npol_interval = \"5s\"",
    "config.toml, line 2: unknown key `teams.pol_interval`; did you mean `teams.poll_interval`?"
)]
#[case(
    "[graph]\nagent_id = 1",
    "config.toml, line 2: unknown key `graph.agent_id`; `agent_id` belongs below [auth] or [identity]"
)]
#[case("[inbox]\nreader = 1", "config.toml, line 2: unknown key `inbox.reader`; [inbox] takes consumer")]
#[case(
    "\n\n[zzz]\nx = 1",
    "config.toml, line 3: unknown table `zzz`; the tables are ask, auth, bot, context, delegate, gate, graph, identity, inbox, log, mail, mcp, \
     mcp.external, retention, teams, tools, wake, allow"
)]
#[case(
    "[[allow]]\nmail = \"a@b\"\nzzzzzzzz = 1",
    "config.toml, line 3: unknown key `allow.zzzzzzzz`; an entry of `allow` takes tenant_id, object_id, mail, name"
)]
#[case(
    "[tools]\nsets = \"inbond\"",
    "config.toml, line 2: `tools.sets` names \"inbond\"; did you mean inbound? write some of inbound, reply, chats, people, \
     files, mail, bot, ask, context, delegate, with commas between"
)]
#[case(
    "[wake]\nwhole_text = \"operatr\"",
    "config.toml, line 2: `wake.whole_text` is \"operatr\"; did you mean operator? write \"operator\", \"allowed\" or \"nobody\""
)]
#[case(
    "[graph]\nurl = \"http://127.0.0.1:8000/graph?x\"\n[teams]\npoll_interval = \"300ms\"",
    "config.toml, line 2: `graph.url` holds a query or a fragment; write a root such as \"https://graph.microsoft.com\""
)]
#[case("\n\n[team]\nx = 1", "config.toml, line 3: unknown table `team`; did you mean `teams`?")]
#[case("teams = 3", "config.toml, line 1: `teams` is not a table; write [teams] on a line of its own")]
#[case(
    "[teams]\npoll_interval = 5",
    "config.toml, line 2: `teams.poll_interval` is 5 without a unit; add a unit, such as \"5s\" or \"5m\""
)]
#[case(
    "[teams]\npoll_interval = 1.5",
    "config.toml, line 2: `teams.poll_interval` is \"1.5\", which is not a duration; write a whole number and a unit, such as \"5s\" or \"500ms\""
)]
#[case(
    "poll_interval = \"5s\"\n[teams]",
    "config.toml, line 1: `poll_interval` stands above every table; move it below a line [mail] or [teams]"
)]
#[case(
    "[retention]\njournal_days = -1",
    "config.toml, line 2: `retention.journal_days` is \"-1\"; write a whole number from 0 to 1000000"
)]
#[case(
    "[retention]\nconsumer_idle_days = 0.5",
    "config.toml, line 2: `retention.consumer_idle_days` is \"0.5\"; write a whole number from 1 to 3650"
)]
#[case("[log]\nfiles = 0", "config.toml, line 2: `log.files` is \"0\"; write a whole number from 1 to 100")]
#[case(
    "[teams]\npoll_interval = \"500ms\"",
    "config.toml, line 2: `teams.poll_interval` is 500ms; write 1s or more; less is for a Graph on loopback, set by `graph.url`"
)]
#[case(
    "[mail]\npoll_interval = \"1ms\"",
    "config.toml, line 2: `mail.poll_interval` is 1ms; write 10ms to 24h"
)]
#[case(
    "[mail]\nmessages_per_hour = 0",
    "config.toml, line 2: `mail.messages_per_hour` is \"0\"; write a number from 1 to 100"
)]
#[case(
    "[mail]\nauthserv_id = \"a; dmarc=pass\"",
    "config.toml, line 2: `mail.authserv_id` is \"a; dmarc=pass\"; write the host name before the first semicolon of Authentication-Results"
)]
#[case(
    "[teams]\npoll_interval = \"0s\"",
    "config.toml, line 2: `teams.poll_interval` is 0s; write 10ms to 24h"
)]
#[case(
    "[teams]\npoll_interval = [1]",
    "config.toml, line 2: `teams.poll_interval` is of the type array; write a text in quotes, a number, true or false"
)]
#[case(
    "[teams]\npage_size = 51",
    "config.toml, line 2: `teams.page_size` is \"51\"; write a number from 1 to 50, the most that Graph gives"
)]
#[case("[teams]\nenabled = \"yes\"", "config.toml, line 2: `teams.enabled` is \"yes\"; write true or false")]
#[case(
    "[teams]\ngroup_messages = \"some\"",
    "config.toml, line 2: `teams.group_messages` is \"some\"; write \"all\" or \"mentioned\""
)]
#[case(
    "[graph]\nurl = \"http://graph.contoso.com\"",
    "config.toml, line 2: `graph.url` is plain http to graph.contoso.com, which would show the access token to the network; use https; http is for 127.0.0.0/8, [::1] and localhost only"
)]
#[case(
    "[auth]\nmode = \"static\"",
    "config.toml, line 2: `auth.mode` is static, but there is no token; set ENTRACLAW_ACCESS_TOKEN to an access token for Microsoft Graph, or `auth.token_file` to a file of yours alone that holds one"
)]
#[case(
    "[auth]\nmode = \"browser\"",
    "config.toml, line 2: `auth.mode` is browser, but `identity.tenant_id` is missing; set it to the directory (tenant) id\nconfig.toml, line 2: `auth.mode` is browser, but `auth.client_id` is missing; set it to the application (client) id of the app registration"
)]
#[case(
    "auth.mode = \"agent-user\"\nidentity.tenant_id = \"x\"\nauth.blueprint_id = \"y\"\nauth.agent_id = \"bbbbbbbb-0000-0000-0000-000000000002\"",
    "config.toml, line 1: `auth.mode` is agent-user, but the agent user is not named; set `identity.object_id`, or `identity.user_name`\nconfig.toml, line 2: `identity.tenant_id` is \"x\", which is not a GUID; write it like 00000000-0000-0000-0000-000000000000\nconfig.toml, line 3: `auth.blueprint_id` is \"y\", which is not a GUID; write it like 00000000-0000-0000-0000-000000000000"
)]
#[case(
    "[auth]\nlogin_url = \"http://login.contoso.com\"",
    "config.toml, line 2: `auth.login_url` is plain http to login.contoso.com, which would show the sign-in to the network; use https; http is for 127.0.0.0/8, [::1] and localhost only"
)]
#[case(
    "[auth]\nkey_store = \"keyring\"",
    "config.toml, line 2: `auth.key_store` is \"keyring\"; write \"system\", or \"file\" to keep secrets in files with mode 0600"
)]
#[case(
    "[auth]\naccess_token = \"x\"",
    "config.toml, line 2: unknown key `auth.access_token`; a token is never kept in this file: set ENTRACLAW_ACCESS_TOKEN, or name a file of its own in `auth.token_file`"
)]
#[case(
    "[identity]\ntenant_id = \"contoso.com\"",
    "config.toml, line 2: `identity.tenant_id` is \"contoso.com\", which is not a GUID; write it like 00000000-0000-0000-0000-000000000000"
)]
#[case(
    "[log]\nlevel = \"loud\"",
    "config.toml, line 2: `log.level` is \"loud\"; write off, error, warn, info, debug or trace"
)]
#[case(
    "[inbox]\nconsumer = \"../x\"",
    "config.toml, line 2: `inbox.consumer` is \"../x\"; use 1 to 64 of a-z, 0-9, '.', '_' and '-', beginning with a letter or digit"
)]
#[case(
    "[allow]\nmail = \"a@b\"",
    "config.toml, line 1: `allow` is not a list; write [[allow]] with double brackets, once for each person"
)]
#[case(
    "[[allow]]\nobject_id = \"bbbbbbbb-0000-0000-0000-000000000002\"",
    "config.toml, line 1: an entry of `allow` has no `tenant_id`; add `tenant_id`: a person is a tenant id with an object id"
)]
#[case(
    "[[allow]]\nname = \"Alice\"",
    "config.toml, line 1: an entry of `allow` names nobody; add `tenant_id` and `object_id`, or `mail`"
)]
#[case(
    "[[allow]]\nemail = \"a@b\"\nmail = \"a@b\"",
    "config.toml, line 2: unknown key `allow.email`; did you mean `allow.mail`?"
)]
#[case(
    "[[allow]]\nmail = \"alice\"",
    "config.toml, line 1: `allow.mail` is \"alice\"; write one address such as alice@contoso.com"
)]
#[case(
    "[[allow]]\nmail = 3",
    "config.toml, line 1: an entry of `allow` names nobody; add `tenant_id` and `object_id`, or `mail`\nconfig.toml, line 2: `allow.mail` is of the type integer; write a text in quotes"
)]
fn a_bad_file_says_where_what_and_how(#[case] text: &str, #[case] message: &str) {
    assert_eq!(Config::load(&from_file(text)).unwrap_err().to_string(), message);
}

#[rstest]
#[case("[teams\npoll_interval = \"5s\"", "config.toml, line 1: it is not TOML: ")]
#[case("[teams]\na = 1\na = 2", "config.toml, line 3: it is not TOML: ")]
#[case("\u{0}", "config.toml, line 1: it is not TOML: ")]
fn a_file_that_is_not_toml_names_the_line(#[case] text: &str, #[case] start: &str) {
    let message = Config::load(&from_file(text)).unwrap_err().to_string();
    assert!(message.starts_with(start), "{message}");
}

#[rstest]
#[case(&[("ENTRACLAW_TEAMS_POLL_INTERVAL", "fast")], "environment variable ENTRACLAW_TEAMS_POLL_INTERVAL: `teams.poll_interval` is \"fast\", which is not a duration; write a whole number and a unit, such as \"5s\" or \"500ms\"")]
#[case(&[("ENTRACLAW_GRAPH_URL", "https://a:b@contoso.com")], "environment variable ENTRACLAW_GRAPH_URL: `graph.url` holds user information; remove the part before the @")]
#[case(&[("ENTRACLAW_ALLOW", "Alice")], "environment variable ENTRACLAW_ALLOW: `allow.object_id` is \"Alice\", which is not a GUID; write it like 00000000-0000-0000-0000-000000000000\nenvironment variable ENTRACLAW_ALLOW: an entry of `allow` has no `tenant_id`; add `tenant_id`: a person is a tenant id with an object id")]
#[case(&[("ENTRACLAW_AUTH", "magic")], "environment variable ENTRACLAW_AUTH: `auth.mode` is none that is known (5 characters); write \"agent-user\", \"device-code\", \"browser\" or \"static\"")]
#[case(&[("ENTRACLAW_AUTH", "satic")], "environment variable ENTRACLAW_AUTH: `auth.mode` is none that is known (5 characters); did you mean static? write \"agent-user\", \"device-code\", \"browser\" or \"static\"")]
#[case(&[("ENTRACLAW_TOOLS_SETS", ",")], "environment variable ENTRACLAW_TOOLS_SETS: `tools.sets` names no set of tools; write some of inbound, reply, chats, people, files, mail, bot, ask, context, delegate, with commas between, or leave it out for the usual ones")]
#[case(&[("ENTRACLAW_GRAPH_URI", "x")], "environment variable ENTRACLAW_GRAPH_URI: it is not a known setting; did you mean ENTRACLAW_GRAPH_URL?")]
fn a_bad_environment_names_the_variable(#[case] pairs: &[(&str, &str)], #[case] message: &str) {
    assert_eq!(Config::load(&from_environment(pairs)).unwrap_err().to_string(), message);
}

#[test]
fn the_python_servers_names_are_understood() {
    let names = [
        ("ENTRACLAW_AUTH", "agent-user"),
        ("ENTRABOT_TENANT_ID", TENANT),
        ("ENTRABOT_BLUEPRINT_APP_ID", ALICE),
        ("ENTRABOT_AGENT_ID", TENANT),
        ("ENTRABOT_AGENT_USER_UPN", "agent@contoso.com"),
        ("ENTRACLAW_BLUEPRINT_CERT_THUMBPRINT", &"0f".repeat(32)),
        ("ENTRACLAW_LOGIN_URL", "http://127.0.0.1:9"),
        ("ENTRACLAW_AUTH_ALGORITHM", "RS256"),
        ("ENTRACLAW_AUTH_KEY_STORE", "file"),
    ];
    let config = Config::load(&from_environment(&names)).unwrap();
    let Auth::AgentUser(who) = &config.auth else { panic!("{:?}", config.auth) };
    assert_eq!(
        (who.tenant_id.as_str(), who.blueprint_id.as_str(), who.agent_id.as_str()),
        (TENANT, ALICE, TENANT)
    );
    assert_eq!(who.user, AgentUserName::PrincipalName("agent@contoso.com".to_owned()));
    assert_eq!((who.algorithm, who.thumbprint), (Algorithm::Rs256, Some(Thumbprint([0x0f; 32]))));
    assert!(config.sign_in.authority.is_loopback());
    assert_eq!(config.sign_in.key_store, KeyStoreKind::File);
}

/// The environment is read in the order of its names, and an alias stands before or after the regular one.
#[test]
fn the_regular_name_of_a_variable_wins_over_its_alias() {
    let config = Config::load(&from_environment(&[
        ("CONTEXT_FILE_NAME", "alias.md"),
        ("ENTRACLAW_CONTEXT_FILE_NAME", "regular.md"),
        ("ENTRACLAW_LOG_LEVEL", "warn"),
        ("LOG_LEVEL", "trace"),
    ]))
    .unwrap();
    assert_eq!((config.context.file_name.as_str(), config.log.level.as_str()), ("regular.md", "warn"));
}

#[test]
fn folders_that_a_call_may_name_stand_between_commas() {
    let load = |text: &str| Config::load(&from_environment(&[("ENTRACLAW_CONTEXT_WORKSPACES", text)]));
    let folders = load("/home/alice/a, /home/alice/b,,").unwrap().context.workspaces;
    assert_eq!(folders, ["/home/alice/a", "/home/alice/b"].map(PathBuf::from));
    let error = load("/home/alice/a,b").unwrap_err().to_string();
    assert!(error.contains("names `b`, which is not an absolute path"), "{error}");
}

#[test]
fn a_persons_sign_in_always_asks_for_offline_access() {
    let mut names = vec![
        ("ENTRACLAW_AUTH", "device-code"),
        ("ENTRACLAW_TENANT_ID", TENANT),
        ("ENTRACLAW_CLIENT_ID", ALICE),
        ("ENTRACLAW_AUTH_SCOPES", "Chat.Read"),
    ];
    let scopes = |names: &[(&str, &str)]| match Config::load(&from_environment(names)).unwrap().auth {
        Auth::Delegated(who) => who.scopes,
        other => panic!("{other:?}"),
    };
    assert_eq!(scopes(&names), "offline_access Chat.Read");
    names.pop();
    assert!(scopes(&names).starts_with("offline_access "));
}

#[test]
fn scopes_are_as_long_as_a_thousand_characters() {
    let load = |chars: usize| {
        let scopes = "x".repeat(chars);
        Config::load(&from_environment(&[
            ("ENTRACLAW_AUTH", "device-code"),
            ("ENTRACLAW_TENANT_ID", TENANT),
            ("ENTRACLAW_CLIENT_ID", ALICE),
            ("ENTRACLAW_AUTH_SCOPES", &scopes),
        ]))
    };
    assert!(load(1_000).is_ok());
    assert!(load(1_001).unwrap_err().to_string().contains("`auth.scopes` is no list of scopes"));
}

#[test]
fn an_empty_variable_is_ignored() {
    let config = Config::load(&from_environment(&[
        ("ENTRACLAW_GRAPH_URL", ""),
        ("ENTRACLAW_AUTH", " "),
        ("ENTRACLAW_TENANT_ID", ""),
        ("ENTRACLAW_TEAMS_POLL_INTERVAL", ""),
    ]));
    assert_eq!(config.unwrap(), Config::default());
}

#[test]
fn zero_means_no_limit() {
    let retention =
        Config::load(&from_file("[retention]\njournal_days = 0\njournal_mb = 7")).unwrap().retention;
    assert_eq!((retention.journal.days, retention.journal.bytes()), (None, Some(7_000_000)));
    assert_eq!(retention.consumer_idle_days, 30);
}

#[test]
fn every_mistake_is_reported_at_once() {
    let errors = Config::load(&from_file("[teams]\nx = 1\n[graph]\nurl = \"no\"")).unwrap_err();
    assert_eq!(errors.0.len(), 2);
}

/// All settings that a way to sign in requires, so that each setting is read.
const COMPLETE: &[(&str, &str)] = &[
    ("ENTRACLAW_ACCESS_TOKEN", "token"),
    ("ENTRACLAW_AUTH_MODE", "agent-user"),
    ("ENTRACLAW_AUTH_AGENT_ID", ALICE),
    ("ENTRACLAW_AUTH_BLUEPRINT_ID", ALICE),
    ("ENTRACLAW_AUTH_CLIENT_ID", ALICE),
    ("ENTRACLAW_IDENTITY_AGENT_ID", ALICE),
    ("ENTRACLAW_IDENTITY_OBJECT_ID", ALICE),
    ("ENTRACLAW_IDENTITY_TENANT_ID", TENANT),
];

fn with(base: &[(&str, &str)], settings: &[(String, String)]) -> Result<Config, String> {
    let mut sources = from_environment(base);
    sources.environment.extend(settings.iter().cloned());
    Config::load(&sources).map_err(|errors| errors.to_string())
}

#[test]
fn the_key_table_has_the_defaults_of_the_loader() {
    let stated: Vec<_> = key::ALL
        .iter()
        .filter(|key| !key.default.is_empty())
        .map(|key| (key.variable(), key.default.to_owned()))
        .collect();
    assert!(stated.len() > 40, "{stated:?}");
    for base in [&[][..], COMPLETE] {
        assert_eq!(with(base, &stated), with(base, &[]));
    }
}

#[test]
fn the_loader_takes_exactly_the_values_of_the_key_table() {
    // Some settings are read only by one way to sign in.
    let local = |mode| {
        [COMPLETE, &[("ENTRACLAW_GRAPH_URL", "http://127.0.0.1:9"), ("ENTRACLAW_AUTH_MODE", mode)]].concat()
    };
    let bases = [local("agent-user"), local("browser")];
    for key in key::ALL {
        let (good, bad): (Vec<String>, Vec<String>) = match key.takes {
            key::Takes::Truth => (vec!["true".into(), "false".into()], vec!["yes".into()]),
            key::Takes::Time { ms_min, ms_max } => (
                vec![format!("{ms_min}ms"), format!("{ms_max}ms")],
                vec![
                    ms_min.checked_sub(1).map_or_else(|| "-1ms".into(), |ms| format!("{ms}ms")),
                    format!("{}ms", ms_max + 1),
                ],
            ),
            key::Takes::Number { min, max } => (
                vec![min.to_string(), max.to_string()],
                vec![(i64::from(min) - 1).to_string(), (i64::from(max) + 1).to_string()],
            ),
            key::Takes::OneOf(words) => {
                (words.iter().map(|word| (*word).to_owned()).collect(), vec!["something-else".into()])
            }
            key::Takes::Id => (vec![ALICE.into()], vec!["alice".into()]),
            key::Takes::Text(_) => continue,
        };
        let load =
            |value: &str| bases.each_ref().map(|base| with(base, &[(key.variable(), value.to_owned())]));
        for value in good {
            let loaded = load(&value);
            assert!(loaded.iter().all(Result::is_ok), "{} is said to take {value}: {loaded:?}", key.field());
        }
        for value in bad {
            let refused = load(&value).iter().any(Result::is_err);
            assert!(refused, "{} takes {value}, which its entry does not say", key.field());
        }
    }
}
