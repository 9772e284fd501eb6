//! Checks that additions are removed to the byte in any layout, and that obstacles are refused with their place.

use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;
use crate::setup::json::document::{Document, value};

const PROGRAM: &str = "/opt/entraclaw";

fn path(names: &str) -> Vec<String> {
    names.split('.').map(str::to_owned).collect()
}

fn entry() -> Value {
    json!({"command": PROGRAM, "args": ["serve"]})
}

fn hook(event: &str) -> Value {
    json!({"hooks": [{"type": "command", "command": format!("{PROGRAM} hook claude-code {event}")}]})
}

fn edits() -> Vec<Edit> {
    vec![
        Edit::Member { path: path("mcpServers.entraclaw"), value: entry() },
        Edit::Setting { path: path("tools.shell.behavior"), value: json!("inject") },
        Edit::Element { path: path("hooks.Stop"), value: hook("Stop") },
        Edit::Element { path: path("hooks.SessionStart"), value: hook("SessionStart") },
        Edit::Element { path: path("allow"), value: json!("Bash(entraclaw wait:*)") },
    ]
}

fn data(text: &str) -> Value {
    Document::parse(text).unwrap().root().map_or(Value::Null, value)
}

#[rstest]
#[case::absent(
    "{}\n",
    "{\n  \"s\": {\n    \"entraclaw\": {\n      \"command\": \"/opt/entraclaw\",\n      \"args\": [\n        \"serve\"\n      ]\n    }\n  }\n}\n"
)]
#[case::empty(
    "",
    "{\n  \"s\": {\n    \"entraclaw\": {\n      \"command\": \"/opt/entraclaw\",\n      \"args\": [\n        \"serve\"\n      ]\n    }\n  }\n}\n"
)]
#[case::compact(r#"{"a":1}"#, r#"{"a":1, "s": {"entraclaw":{"command":"/opt/entraclaw","args":["serve"]}}}"#)]
#[case::tabs(
    "{\n\t\"a\": 1\n}",
    "{\n\t\"a\": 1,\n\t\"s\": {\n\t\t\"entraclaw\": {\n\t\t\t\"command\": \"/opt/entraclaw\",\n\t\t\t\"args\": [\n\t\t\t\t\"serve\"\n\t\t\t]\n\t\t}\n\t}\n}"
)]
#[case::comments_and_trailing_comma(
    "// mine\n{\n    \"s\": {\n        \"b\": {}, // b\n    }, /* s */\n}\n",
    "// mine\n{\n    \"s\": {\n        \"b\": {}, // b\n        \"entraclaw\": {\n            \"command\": \"/opt/entraclaw\",\n            \"args\": [\n                \"serve\"\n            ]\n        },\n    }, /* s */\n}\n"
)]
#[case::windows(
    "{\r\n  \"s\": {\r\n    \"b\": 1 // last\r\n  }\r\n}\r\n",
    "{\r\n  \"s\": {\r\n    \"b\": 1, // last\r\n    \"entraclaw\": {\r\n      \"command\": \"/opt/entraclaw\",\r\n      \"args\": [\r\n        \"serve\"\r\n      ]\r\n    }\r\n  }\r\n}\r\n"
)]
fn a_member_is_added_in_the_style_of_the_text(#[case] before: &str, #[case] after: &str) {
    let edits = [Edit::Member { path: path("s.entraclaw"), value: entry() }];
    let (text, ops) = apply(before, &edits).unwrap();
    assert_eq!(text, after);
    assert_eq!(undo(&text, &ops).unwrap(), before);
    assert_eq!(apply(&text, &edits).unwrap(), (text, Vec::new()));
}

#[rstest]
#[case("{\n  \"a\": 1,\n  \"b\": }\n", (3, 8))]
#[case("{\"a\": 1", (1, 1))]
#[case("{'a': 1}", (1, 2))]
#[case("{a: 1}", (1, 2))]
#[case("{\"a\": 1 \"b\": 2}", (1, 8))]
#[case("[]", (1, 1))]
#[case("\n  \"text\"", (2, 3))]
#[case("{} {}", (1, 4))]
#[case("{\n  \"s\": []\n}", (2, 8))]
#[case("{\n  \"s\": null\n}", (2, 8))]
#[case("{\"s\": {},\n \"s\": {}}", (2, 2))]
#[case("{\"s\": {\"entraclaw\": {\"command\": \"sh\"}}}", (1, 21))]
#[case("{\"s\": {\"entraclaw\": 5}}", (1, 21))]
fn an_obstacle_is_refused_with_its_place(#[case] text: &str, #[case] place: (usize, usize)) {
    let edits = [Edit::Member { path: path("s.entraclaw"), value: entry() }];
    let problem = apply(text, &edits).unwrap_err();
    assert_eq!(problem.at, Some(place), "{problem}");
    assert!(problem.what.len() > 20, "{problem}");
}

#[test]
fn a_list_of_another_kind_is_refused() {
    let edits = [Edit::Element { path: path("hooks.Stop"), value: hook("Stop") }];
    let problem = apply("{\"hooks\": {\"Stop\": {}}}", &edits).unwrap_err();
    assert!(problem.to_string().contains("line 1, column 20: `hooks.Stop` must be a list"), "{problem}");
}

#[test]
fn deep_and_large_texts_are_handled() {
    let deep = "[".repeat(200_000);
    assert!(apply(&deep, &edits()).is_err());
    let deep = format!("{{\"a\": {}1{}}}", "[".repeat(400), "]".repeat(400));
    assert_eq!(undo(&apply(&deep, &edits()).unwrap().0, &apply(&deep, &edits()).unwrap().1).unwrap(), deep);
    let items = vec!["\"0123456789\""; 80_000].join(",");
    let large = format!("{{\"a\": [{items}]}}\n");
    assert!(large.len() > 1_000_000);
    let (text, ops) = apply(&large, &edits()[..1]).unwrap();
    assert_eq!(undo(&text, &ops).unwrap(), large);
}

#[test]
fn an_entry_that_a_person_wrote_for_us_is_taken_over_and_given_back() {
    let before = r#"{
  "s": {
    "entraclaw": {"type": "stdio", "command": "entraclaw", "args": ["serve", "--tools", "inbound"], "env": {"A": "b"}},
    "other": {}
  }
}"#;
    let wanted = json!({"command": PROGRAM, "args": ["serve"], "env": {"ENTRACLAW_HOME": "/h"}});
    let (text, ops) = apply(before, &[Edit::Member { path: path("s.entraclaw"), value: wanted }]).unwrap();
    let entry = &data(&text)["s"]["entraclaw"];
    assert_eq!(entry["command"], PROGRAM);
    assert_eq!(entry["type"], "stdio");
    assert_eq!(entry["env"], json!({"A": "b", "ENTRACLAW_HOME": "/h"}));
    assert_eq!(undo(&text, &ops).unwrap(), before);
}

#[test]
fn what_stands_right_behind_the_comma_of_ours_stays_whole() {
    let (text, ops) =
        apply(r#"{"s":{}}"#, &[Edit::Member { path: path("s.entraclaw"), value: entry() }]).unwrap();
    for written in ["\"b\":1", "  \"b\":1"] {
        let theirs = text.replace(r#"["serve"]}"#, &format!(r#"["serve"]}},{written}"#));
        let undone = undo(&theirs, &ops).unwrap();
        assert!(theirs != text, "{theirs}");
        assert_eq!(undone, r#"{"s":{"b":1}}"#, "{theirs}");
    }
}

#[test]
fn a_setting_is_given_back_unless_it_was_changed_again() {
    let before = "{\n  \"x\": {\"y\": \"silent\" /* mine */}\n}\n";
    let (text, ops) = apply(before, &[Edit::Setting { path: path("x.y"), value: json!("inject") }]).unwrap();
    assert_eq!(text, "{\n  \"x\": {\"y\": \"inject\" /* mine */}\n}\n");
    assert_eq!(undo(&text, &ops).unwrap(), before);
    let theirs = text.replace("inject", "notify");
    assert_eq!(undo(&theirs, &ops).unwrap(), theirs);
}

#[rstest]
#[case::inside("{ /* mine */ }\n")]
#[case::beside("// mine\n{}\n")]
fn a_root_that_a_person_has_written_at_stays(#[case] theirs: &str) {
    let (_, ops) = apply("", &edits()).unwrap();
    assert_eq!(undo("{}\n", &ops).unwrap(), "");
    assert_eq!(undo(theirs, &ops).unwrap(), theirs);
}

#[test]
fn foreign_content_beside_ours_stays() {
    let (text, ops) = apply("{}\n", &edits()).unwrap();
    let theirs = text
        .replace("\"Stop\": [", "\"Stop\": [\n      {\"hooks\": []},")
        .replace("\"mcpServers\": {", "\"mcpServers\": {\n    \"mine\": {\"command\": \"x\"},")
        .replace("hook claude-code SessionStart\"", "hook claude-code SessionStart\", \"timeout\": 3");
    let left = data(&undo(&theirs, &ops).unwrap());
    assert_eq!(left, json!({"mcpServers": {"mine": {"command": "x"}}, "hooks": {"Stop": [{"hooks": []}]}}));
    // Without a receipt settings are left, as they may be the user's own.
    let left = data(&undo(&theirs, &guess(&theirs, &edits()).unwrap()).unwrap());
    let setting = json!({"shell": {"behavior": "inject"}});
    assert_eq!(
        left,
        json!({"mcpServers": {"mine": {"command": "x"}}, "hooks": {"Stop": [{"hooks": []}]}, "tools": setting})
    );
}

#[test]
fn empty_containers_are_not_ours_without_a_receipt() {
    let theirs = "{\n  \"mcpServers\": {},\n  \"hooks\": {\"Stop\": [ ]}\n}\n";
    assert_eq!(guess(theirs, &edits()).unwrap(), []);
    let (text, _) = apply(theirs, &edits()[..1]).unwrap();
    assert_ne!(text, theirs);
    let left = data(&undo(&text, &guess(&text, &edits()).unwrap()).unwrap());
    assert_eq!(left["hooks"], json!({"Stop": []}));
}

/// A text of JSON in any layout.
fn texts() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z\\\\\"/{}\\[\\],:ü\n]{0,6}".prop_map(Value::from),
    ];
    let any_value = scalar.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z]{1,3}", inner, 0..4)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    });
    let object = |names: &'static [&'static str], values: BoxedStrategy<Value>| {
        prop::collection::btree_map(prop::sample::select(names), values, 0..3).prop_map(|members| {
            Value::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
        })
    };
    let any_value = any_value.boxed();
    let list = prop::collection::vec(any_value.clone(), 0..3).prop_map(Value::from).boxed();
    let hooks = object(&["Stop", "SessionStart", "Other"], list.clone());
    let servers = object(&["mine", "other"], any_value.clone());
    let root = (
        prop::option::of(hooks),
        prop::option::of(servers),
        prop::option::of(list),
        prop::collection::btree_map("[b-g]{1,2}", any_value, 0..3),
        any::<bool>(),
    );
    let root = root.prop_map(|(hooks, servers, allow, rest, ours_first)| {
        let ours = [("hooks", hooks), ("mcpServers", servers), ("allow", allow)];
        let ours = ours.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        let members: Vec<_> =
            if ours_first { ours.chain(rest).collect() } else { rest.into_iter().chain(ours).collect() };
        Value::Object(members.into_iter().collect())
    });
    (root, prop::collection::vec(any::<u8>(), 1..40), any::<bool>()).prop_map(|(root, choices, windows)| {
        let mut layout =
            Layout { choices: choices.into_iter().cycle().take(100_000).collect(), out: String::new() };
        layout.gap();
        layout.put(&root);
        layout.gap();
        if windows { layout.out.replace('\n', "\r\n") } else { layout.out }
    })
}

struct Layout {
    choices: std::collections::VecDeque<u8>,
    out: String,
}

impl Layout {
    fn choice(&mut self) -> u8 {
        self.choices.pop_front().unwrap_or(0)
    }

    fn gap(&mut self) {
        let gaps = ["", "", " ", "\n", "\n  ", "\n    ", "\t", " // note\n  ", "/* note */", " \n", "\n\n"];
        let gap = gaps[usize::from(self.choice()) % gaps.len()];
        self.out.push_str(gap);
    }

    fn put(&mut self, value: &Value) {
        let (open, close) = match value {
            Value::Object(_) => ('{', '}'),
            Value::Array(_) => ('[', ']'),
            scalar => return self.out.push_str(&scalar.to_string()),
        };
        let members: Vec<(Option<String>, &Value)> = match value {
            Value::Object(members) => {
                members.iter().map(|(name, value)| (Some(name.clone()), value)).collect()
            }
            other => other.as_array().into_iter().flatten().map(|value| (None, value)).collect(),
        };
        self.out.push(open);
        self.gap();
        let count = members.len();
        for (index, (name, value)) in members.into_iter().enumerate() {
            if let Some(name) = name {
                self.out.push_str(&Value::from(name).to_string());
                self.gap();
                self.out.push(':');
                self.gap();
            }
            self.put(value);
            self.gap();
            if index + 1 < count || self.choice().is_multiple_of(4) {
                self.out.push(',');
                self.gap();
            }
        }
        self.out.push(close);
    }
}

proptest! {
    #[test]
    fn in_any_layout_a_removal_restores_the_same_bytes(text in texts()) {
        let before = data(&text);
        let (with, ops) = apply(&text, &edits()).unwrap();
        let after = data(&with);
        prop_assert_eq!(&after["mcpServers"]["entraclaw"], &entry());
        prop_assert_eq!(&after["tools"]["shell"]["behavior"], "inject");
        prop_assert!(after["hooks"]["Stop"].as_array().unwrap().contains(&hook("Stop")));
        for (name, value) in before.as_object().unwrap() {
            if !["hooks", "mcpServers", "allow", "tools"].contains(&name.as_str()) {
                prop_assert_eq!(&after[name], value);
            }
        }
        prop_assert_eq!(apply(&with, &edits()).unwrap(), (with.clone(), Vec::new()));
        prop_assert_eq!(undo(&with, &ops).unwrap(), text);
    }

    #[test]
    fn a_persons_addition_in_between_survives(text in texts()) {
        let mine = [Edit::Setting { path: path("zzz.mine"), value: json!({"k": [1, 2]}) }];
        let (with, ops) = apply(&text, &edits()).unwrap();
        let (edited, _) = apply(&with, &mine).unwrap();
        let (alone, _) = apply(&text, &mine).unwrap();
        prop_assert_eq!(data(&undo(&edited, &ops).unwrap()), data(&alone));
    }

    #[test]
    fn hostile_texts_are_refused_or_changed_without_a_panic(text in "[\\[\\]{}:,\"a1/* \n\\\\]{0,40}") {
        if let Ok((with, ops)) = apply(&text, &edits()) {
            prop_assert_eq!(undo(&with, &ops).unwrap(), text);
        }
    }
}
