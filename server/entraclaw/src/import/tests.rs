//! Checks what is taken over and what is left, and that existing text is not changed.

use std::collections::BTreeMap;

use rstest::rstest;

use super::*;
use entraclaw_session::config::{Config, Sources};

const TENANT: &str = "aaaaaaaa-0000-0000-0000-000000000001";
const ALICE: &str = "bbbbbbbb-0000-0000-0000-000000000002";
const BOB: &str = "bbbbbbbb-0000-0000-0000-000000000003";
const OTHER: &str = "aaaaaaaa-0000-0000-0000-000000000009";

fn environment(text: &str) -> Found {
    Found { environment: Some(text.to_owned()), ..Found::default() }
}

fn loaded(text: &str) -> Config {
    let sources = Sources { file: Some(("config.toml".to_owned(), text.to_owned())), ..Sources::default() };
    Config::load(&sources).unwrap()
}

fn left(plan: &Plan) -> BTreeMap<&str, &str> {
    plan.left_out.iter().map(|(name, why)| (name.as_str(), why.as_str())).collect()
}

#[test]
fn settings_and_people_are_taken_and_secrets_are_not() {
    let text = format!(
        "# provisioned\nENTRABOT_TENANT_ID={TENANT}\nENTRACLAW_TENANT_ID={OTHER}\nENTRABOT_LOG_LEVEL=WARNING\n\
         ENTRABOT_HUMAN_USER_IDS={ALICE},{BOB},nonsense\nENTRABOT_HUMAN_USER_TENANT_IDS=,{OTHER}\n\
         ENTRABOT_HUMAN_UPNS=alice@contoso.com,bob@contoso.com\nENTRABOT_HUMAN_USER_MAILS=not a mail,Bob@contoso.com\n\
         ENTRABOT_BOT_APP_PASSWORD=hunter2\nENTRABOT_CLIENT_SECRET=s3cret\nENTRABOT_KEEP_MEMORY_LOCAL=true\n\
         ENTRABOT_AGENT_USER_ID=not-a-guid\nENTRABOT_AGENT_ID=nor-this\nHOME=/root\n"
    );
    let plan = plan(&environment(&text), |_| false);
    let (text, lines) = merged("", &plan).unwrap();
    let config = loaded(&text);
    assert_eq!(config.identity.tenant_id.unwrap().as_str(), TENANT);
    assert_eq!(config.log.level, "warn");
    let people: Vec<_> = config
        .allow
        .iter()
        .map(|p| {
            (
                p.tenant_id.as_ref().unwrap().as_str(),
                p.object_id.as_ref().unwrap().as_str(),
                p.mail.as_deref(),
            )
        })
        .collect();
    assert_eq!(people, [(TENANT, ALICE, None), (OTHER, BOB, Some("bob@contoso.com"))]);
    let left = left(&plan);
    assert!(
        left["ENTRABOT_BOT_APP_PASSWORD"].contains("secret")
            && left["ENTRABOT_CLIENT_SECRET"].contains("secret")
    );
    assert!(left["ENTRABOT_KEEP_MEMORY_LOCAL"].contains("no such setting"));
    assert!(left["ENTRABOT_AGENT_USER_ID"].contains("not a GUID"));
    let wrong = left["ENTRABOT_AGENT_ID"];
    assert!(
        wrong.starts_with("line 13: ") && wrong.contains("`auth.agent_id`") && !text.contains("nor-this"),
        "{wrong}"
    );
    assert!(left["ENTRACLAW_TENANT_ID"].contains("another name"));
    assert!(left["person nonsense"].contains("not a GUID"));
    assert!(!left.contains_key("HOME"));
    let everything = format!("{text}{lines:?}{plan:?}");
    assert!(!everything.contains("hunter2") && !everything.contains("s3cret"));
}

#[rstest]
#[case::table("# mine\n[identity]\ntenant_id = \"{OTHER}\" # keep\n\n[teams]\npage_size = 10\n")]
#[case::dotted("identity.tenant_id = \"{OTHER}\" # keep\n# mine\n[teams]\npage_size = 10\n")]
#[case::inline("identity = { tenant_id = \"{OTHER}\" } # keep\n# mine\n[teams]\npage_size = 10\n")]
fn existing_text_stays(#[case] before: &str) {
    let before = before.replace("{OTHER}", OTHER);
    let text = format!(
        "ENTRABOT_TENANT_ID={TENANT}\nENTRABOT_AGENT_USER_ID={BOB}\nENTRABOT_HUMAN_USER_ID={ALICE}\n"
    );
    let plan = plan(&environment(&text), |_| false);
    let (after, lines) = merged(&before, &plan).unwrap();
    let config = loaded(&after);
    assert_eq!(config.identity.tenant_id.unwrap().as_str(), OTHER, "{after}");
    assert_eq!(config.identity.object_id.unwrap().as_str(), BOB, "{after}");
    assert_eq!((config.teams.page_size, config.allow.len()), (10, 1), "{after}");
    assert!(after.contains("# keep") && after.contains("# mine"), "{after}");
    assert!(lines[0].contains(&format!("stays \"{OTHER}\"")) && lines[0].starts_with('='), "{lines:?}");
    // A second time there is nothing left to do.
    let (again, lines) = merged(&after, &plan).unwrap();
    assert_eq!(again, after);
    assert!(lines.iter().all(|line| line.starts_with('=')), "{lines:?}");
}

#[test]
fn a_list_in_one_line_gets_its_entry_too() {
    let before = format!("allow = [{{ tenant_id = \"{TENANT}\", object_id = \"{BOB}\" }}]\n");
    let text =
        format!("ENTRABOT_TENANT_ID={TENANT}\nENTRABOT_HUMAN_USER_IDS={ALICE},{}\n", BOB.to_uppercase());
    let plan = plan(&environment(&text), |_| false);
    let (after, lines) = merged(&before, &plan).unwrap();
    assert_eq!(loaded(&after).allow.len(), 2, "{after}");
    assert!(lines.contains(&format!("= {} may write already", BOB.to_uppercase())), "{lines:?}");
    assert!(merged("[broken", &plan).unwrap_err().contains("not TOML"));
    assert!(merged("identity = 3", &plan).unwrap_err().contains("no table"));
}

#[test]
fn positions_go_on_where_the_other_server_stopped() {
    let cursor = |at: &str| format!("{{\"last_ts\":\"{at}\",\"seen_ids_tail\":[],\"bootstrapped\":true}}");
    let found = Found {
        watched_chats: Some("19:a@thread.v2\n19:b@thread.v2\n19:x_y@unq.gbl.spaces\n\nnonsense\n".to_owned()),
        email_cursor: Some("2026-11-20T08:00:00.001Z\n".to_owned()),
        chat_cursors: vec![
            ("19%3Aa%40thread.v2.json".to_owned(), cursor("2026-11-20T10:00:00.5Z")),
            ("19%3Ab%40thread.v2.json".to_owned(), cursor("2026-11-19T10:00:00+00:00")),
            ("19%3Ac%40thread.v2.json".to_owned(), "{\"last_ts\":".to_owned()),
            ("..%2Fx.json".to_owned(), cursor("2026-11-19T10:00:00Z")),
        ],
        ..Found::default()
    };
    let made = plan(&found, |_| false);
    assert_eq!(made.files.len(), 3);
    let teams: serde_json::Value = serde_json::from_slice(&made.files[0].1).unwrap();
    assert_eq!(
        teams["since"], "2026-11-20T10:00:00.5Z",
        "an unknown chat begins where the newest was read to"
    );
    assert_eq!(teams["watermark"], "2026-11-19T10:00:00Z", "the list is read back to the oldest");
    assert_eq!(teams["chats"]["19:b@thread.v2"]["read_to"], "2026-11-19T10:00:00Z");
    let mail: serde_json::Value = serde_json::from_slice(&made.files[1].1).unwrap();
    assert_eq!(
        (&mail["since"], &mail["link"]),
        (&"2026-11-20T08:00:00.001Z".into(), &serde_json::Value::Null)
    );
    let watched: serde_json::Value = serde_json::from_slice(&made.files[2].1).unwrap();
    assert_eq!(watched["chats"]["19:b@thread.v2"], "2026-11-19T10:00:00Z", "{watched}");
    let left_out = left(&made);
    assert!(left_out.contains_key("19%3Ac%40thread.v2.json") && left_out.contains_key("..%2Fx.json"));
    // Positions of this server win.
    let made = plan(&found, |path| path.starts_with("sources/"));
    assert!(made.files.is_empty());
    assert!(left(&made)["chat_cursors"].contains("already"));
}

#[rstest]
#[case::of_a_group("19:a@thread.v2", true)]
#[case::of_the_longest_id(&format!("19:{}", "a".repeat(509)), true)]
#[case::too_long(&format!("19:{}", "a".repeat(510)), false)]
#[case::with_a_comma("19:a@thread.v2,19:b@thread.v2", false)]
#[case::with_a_control_character("19:a\u{7}@thread.v2", false)]
#[case::of_no_chat("8:orgid:a", false)]
fn only_what_can_be_the_id_of_a_chat_is_taken(#[case] id: &str, #[case] is_taken: bool) {
    let list = serde_json::json!({id: {"title": "Team", "added_at": "2026-11-18T10:00:00"}});
    let found = Found { watched_chats_json: Some(list.to_string()), ..Found::default() };
    let (text, _) = merged("", &plan(&found, |_| false)).unwrap();
    assert_eq!(loaded(&text).teams.watchable.contains(id), is_taken, "{text}");
}

/// The other server's two forms of the list, and the configuration that follows.
#[rstest]
#[case::plain(Some("19:a@thread.v2\n"), None)]
#[case::json(None, Some(r#"{"19:a@thread.v2": {"title": "Team", "added_at": "2026-11-18T10:00:00"}}"#))]
#[case::both(
    Some("19:a@thread.v2\n19:z@unq.gbl.spaces\n"),
    Some(r#"{"19:a@thread.v2": {"title": "Team", "added_at": "2026-11-18T10:00:00"}, "x": 3}"#)
)]
fn watched_groups_are_heard_whole_here_too(#[case] plain: Option<&str>, #[case] json: Option<&str>) {
    let cursor = r#"{"last_ts":"2026-11-18T10:00:00Z"}"#.to_owned();
    let found = Found {
        watched_chats: plain.map(str::to_owned),
        watched_chats_json: json.map(str::to_owned),
        chat_cursors: vec![("19%3Aa%40thread.v2.json".to_owned(), cursor)],
        ..Found::default()
    };
    let made = plan(&found, |_| false);
    let (text, lines) = merged("", &made).unwrap();
    assert!(loaded(&text).teams.watchable.contains("19:a@thread.v2"), "{text}");
    assert!(!text.contains("unq.gbl") && lines[0].contains("from watched_chats"), "{text}{lines:?}");
    let (path, bytes, what) = made.files.last().unwrap();
    let list: serde_json::Value = serde_json::from_slice(bytes).unwrap();
    assert_eq!(
        (*path, &list["chats"]["19:a@thread.v2"]),
        ("sources/watched_chats.json", &"2026-11-18T10:00:00Z".into())
    );
    assert_eq!(what, "1 group is heard whole, of people who may write");
    // A list of this home stays.
    let made = plan(&found, |path| path == "sources/watched_chats.json");
    assert_eq!(made.files.len(), 1);
}

#[test]
fn a_broken_list_is_reported() {
    let found = Found { watched_chats_json: Some("[1]".to_owned()), ..Found::default() };
    assert!(left(&plan(&found, |_| false))["watched_chats.json"].contains("no JSON object"));
}

/// The switch for reactions is taken over, in any of the words that the other server accepts.
#[rstest]
#[case("True", true)]
#[case("on", true)]
#[case("1", true)]
#[case("False", false)]
#[case("no", false)]
#[case("0", false)]
fn the_switch_of_reactions_is_taken(#[case] word: &str, #[case] reactions: bool) {
    let plan = plan(&environment(&format!("ENTRABOT_REACTIONS_ENABLED={word}\n")), |_| false);
    assert!(plan.left_out.is_empty(), "{:?}", plan.left_out);
    let (text, _) = merged("", &plan).unwrap();
    assert_eq!(loaded(&text).teams.reactions, reactions, "{text}");
}
