//! The sanitiser from outside: exact vectors, and properties that hold for every input.

mod hostile;

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use entraclaw_sanitize::{
    Attachment, AttachmentKind, Context, Limits, Markup, Mention, Sanitized, clean_file_name, clean_name,
    sanitize,
};
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use rstest::rstest;
use serde::Deserialize;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeEmoji, UnicodeGeneralCategory};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct VectorFile {
    #[expect(dead_code, reason = "it is for readers of the file")]
    about: String,
    vectors: Vec<Vector>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    id: String,
    input: String,
    #[serde(default)]
    markup: Option<String>,
    #[serde(default)]
    attachments: Vec<VectorAttachment>,
    #[serde(default)]
    mentions: Vec<VectorMention>,
    max_bytes: Option<usize>,
    max_quote_bytes: Option<usize>,
    want: String,
    #[serde(default)]
    removed: BTreeMap<String, u32>,
    #[serde(default)]
    flagged: BTreeMap<String, u32>,
    #[serde(default)]
    left_out_bytes: usize,
    #[serde(default)]
    mentions_me: bool,
    #[serde(default)]
    hosted_images: Vec<String>,
    why: String,
}

#[derive(Deserialize)]
struct VectorAttachment {
    id: String,
    #[serde(flatten)]
    kind: VectorKind,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum VectorKind {
    Quote { author: Option<String>, html: String },
    Forwarded { author: Option<String>, html: String },
    File(String),
    Card(Option<String>),
    Code(Option<String>),
    Image(Option<String>),
    Other(String),
}

#[derive(Deserialize)]
struct VectorMention {
    id: i64,
    name: String,
    is_me: bool,
    person: Option<String>,
}

impl Vector {
    fn run(&self) -> Sanitized {
        let attachments = self.attachments.iter().map(VectorAttachment::to_attachment).collect();
        let mentions = self.mentions.iter().map(VectorMention::to_mention).collect();
        let defaults = Limits::default();
        let limits = Limits {
            max_text_bytes: self.max_bytes.unwrap_or(defaults.max_text_bytes),
            max_quote_bytes: self.max_quote_bytes.unwrap_or(defaults.max_quote_bytes),
            ..defaults
        };
        let markup = match self.markup.as_deref() {
            None => Markup::Html,
            Some("text") => Markup::Text,
            Some(other) => panic!("vector {}: unknown markup {other}", self.id),
        };
        sanitize(&self.input, markup, &Context { attachments, mentions }, &limits)
    }
}

impl VectorAttachment {
    fn to_attachment(&self) -> Attachment {
        let kind = match &self.kind {
            VectorKind::Quote { author, html } => {
                AttachmentKind::Quote { author: author.clone(), html: html.clone() }
            }
            VectorKind::Forwarded { author, html } => {
                AttachmentKind::Forwarded { author: author.clone(), html: html.clone() }
            }
            VectorKind::File(name) => AttachmentKind::File { name: name.clone() },
            VectorKind::Card(title) => AttachmentKind::Card { title: title.clone() },
            VectorKind::Code(language) => AttachmentKind::Code { language: language.clone() },
            VectorKind::Image(name) => AttachmentKind::Image { name: name.clone() },
            VectorKind::Other(content_type) => AttachmentKind::Other { content_type: content_type.clone() },
        };
        Attachment { id: self.id.clone(), kind }
    }
}

impl VectorMention {
    fn to_mention(&self) -> Mention {
        Mention { id: self.id, name: self.name.clone(), is_me: self.is_me, person: self.person.clone() }
    }
}

fn vectors() -> Vec<Vector> {
    let file: VectorFile = serde_json::from_str(include_str!("vectors/sanitize.json")).unwrap();
    file.vectors
}

fn owned(counts: &BTreeMap<&'static str, u32>) -> BTreeMap<String, u32> {
    counts.iter().map(|(&kind, &count)| (kind.to_owned(), count)).collect()
}

#[test]
fn every_vector_gives_exactly_its_expected_result() {
    let vectors = vectors();
    assert!(vectors.len() > 130, "the file is cut: {} vectors", vectors.len());
    let mut wrong = String::new();
    for vector in &vectors {
        let out = vector.run();
        let same = out.text == vector.want
            && owned(&out.removed) == vector.removed
            && owned(&out.flagged) == vector.flagged
            && out.left_out_bytes == vector.left_out_bytes
            && out.mentions_me == vector.mentions_me
            && out.hosted_images == vector.hosted_images
            && out.empty == vector.want.is_empty();
        if !same {
            let _ = write!(
                wrong,
                "\n{} ({})\n  input {:?}\n  want  {:?} {:?} {:?}\n  got   {out:?}\n",
                vector.id, vector.why, vector.input, vector.want, vector.removed, vector.flagged
            );
        }
        assert_safe(&out.text);
        assert_idempotent(&out.text, &Limits::default());
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn vector_ids_are_unique_and_every_vector_has_a_reason() {
    let vectors = vectors();
    let ids: std::collections::BTreeSet<_> = vectors.iter().map(|vector| &vector.id).collect();
    assert_eq!(ids.len(), vectors.len());
    assert!(vectors.iter().all(|vector| !vector.why.is_empty()));
}

/// Our vectors have every input of the collection beside the repository, if that is present.
#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads its own environment and an optional file")]
fn no_input_of_the_shared_collection_is_missing() {
    #[derive(Deserialize)]
    struct Shared {
        vectors: Vec<SharedVector>,
    }
    #[derive(Deserialize)]
    struct SharedVector {
        id: String,
        input: String,
    }
    let shared = std::env::var("ENTRACLAW_SHARED").map_or_else(
        |_| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared")),
        PathBuf::from,
    );
    let file = shared.join("vectors/sanitize.json");
    let Ok(text) = std::fs::read_to_string(&file) else {
        println!("absent, so nothing compared: {}", file.display());
        return;
    };
    let shared: Shared = serde_json::from_str(&text).unwrap();
    let ours: BTreeMap<_, _> = vectors().into_iter().map(|vector| (vector.id, vector.input)).collect();
    for SharedVector { id, input } in &shared.vectors {
        assert_eq!(ours.get(id), Some(input), "{id}");
    }
    println!("compared {} inputs", shared.vectors.len());
}

#[rstest]
#[case::cell("<table><tr><td>a#b</td><td>c</td></tr></table>")]
#[case::head("<table><tr><th>a#b</th><th>c</th></tr></table>")]
#[case::caption("<table><caption>a#b</caption><tr><td>c</td><td>d</td></tr></table>")]
fn a_block_around_a_table_is_not_ended_from_within_it(
    #[case] table: &str,
    #[values("div", "blockquote", "ul")] block: &str,
) {
    let text = |end: &str| {
        let html = format!("<{block}>{}</{block}>after", table.replace('#', end));
        sanitize(&html, Markup::Html, &Context::default(), &Limits::default()).text
    };
    assert_eq!(text(&format!("</{block}>")), text(""));
}

#[rstest]
#[case::paragraph("<p #>a<p>seen")]
#[case::heading("<p #>a<h2>seen</h2>")]
#[case::item("<ul><li #>a<li>seen</ul>")]
#[case::term("<dl><dt #>a<dd>seen</dl>")]
#[case::definition("<dl><dd #>a<dt>seen</dl>")]
#[case::row("<table><tr #><td>a<tr><td>seen</table>")]
#[case::cell("<table><tr><td #>a<td>seen</table>")]
#[case::head_of_a_column("<table><tr><th #>a<th>seen</table>")]
#[case::caption("<table><caption #>a<tr><td>seen</table>")]
#[case::part_of_a_table("<table><thead #><tr><td>a<tbody><tr><td>seen</table>")]
#[case::option("<select><option #>a<option>seen</select>")]
#[case::head("<head #>a<body>seen")]
#[case::link("<a href=x #>a<a href=x>seen</a>")]
fn an_element_that_the_next_one_ends_hides_nothing_of_that(#[case] html: &str) {
    let html = html.replace('#', "style='display:none'");
    let out = sanitize(&html, Markup::Html, &Context::default(), &Limits::default());
    assert!(out.text.ends_with("seen") && !out.text.contains('a'), "{}", out.text);
    assert_eq!(out.removed["hidden"], 1);
}

#[rstest]
#[case::item("<li #><ul><li>a</ul>b")]
#[case::row("<table><tr #><td><table><tr><td>a</table>b</table>")]
#[case::cell("<table><tr><td #><table><tr><td>a</table>b</table>")]
#[case::paragraph("<div><p #><button><div>a</div></button>b</div>")]
#[case::option("<option #><table><tr><td><option>a</option></table>b</option>")]
fn an_element_inside_a_hidden_one_of_its_kind_does_not_end_it(#[case] html: &str) {
    let html = html.replace('#', "style='display:none'");
    let out = sanitize(&html, Markup::Html, &Context::default(), &Limits::default());
    assert_eq!(out.text, "");
}

#[test]
fn what_is_nested_too_deep_takes_the_place_of_the_deepest() {
    let within = |outer: usize| {
        let html = format!("{}<b style='display:none'><i>a</i>seen</b>", "<i>".repeat(outer));
        sanitize(&html, Markup::Html, &Context::default(), &Limits::default()).text
    };
    assert_eq!((within(254).as_str(), within(255).as_str()), ("", "seen"));
}

#[test]
fn a_huge_input_is_bounded_and_the_text_says_so() {
    let limits = Limits::default();
    for unit in ["e\u{301}\u{301}\u{301}", "\u{301}", "word ", "<p>x</p>", "<img ", "😀"] {
        let input = unit.repeat(2 * 1024 * 1024 / unit.len());
        for markup in [Markup::Html, Markup::Text] {
            let out = sanitize(&input, markup, &Context::default(), &limits);
            assert!(out.text.len() <= limits.max_text_bytes);
            assert!(out.left_out_bytes >= input.len() - limits.max_input_bytes - 4096);
            assert!(out.text.ends_with("more bytes of this message were not read …]"), "{unit:?}");
            assert_safe(&out.text);
            assert_idempotent(&out.text, &limits);
        }
    }
}

#[test]
fn hostile_shapes_are_safe_and_idempotent() {
    for shape in hostile::SHAPES {
        let input = shape.text(25_000);
        assert!(input.len() <= 25_000 && input.len() > 24_000, "{}", shape.name);
        for markup in [Markup::Html, Markup::Text] {
            let out = sanitize(&input, markup, &Context::default(), &Limits::default());
            assert_safe(&out.text);
            assert_idempotent(&out.text, &Limits::default());
        }
    }
}

#[test]
fn a_quote_cannot_push_the_message_out() {
    let quote = AttachmentKind::Quote { author: Some("Bob".to_owned()), html: "<p>long</p>".repeat(50_000) };
    let context =
        Context { attachments: vec![Attachment { id: "1".to_owned(), kind: quote }], ..Context::default() };
    let out = sanitize(
        "<attachment id=\"1\"></attachment><p>my answer</p>",
        Markup::Html,
        &context,
        &Limits::default(),
    );
    assert!(out.text.ends_with("\n\nmy answer"), "{}", out.text);
    assert!(out.text.contains("bytes of this quote were left out"), "{}", out.text);
}

#[test]
fn many_quotes_leave_room_for_the_message() {
    let quote = |number: u32| Attachment {
        id: number.to_string(),
        kind: AttachmentKind::Quote { author: None, html: "<p>long quote</p>".repeat(500) },
    };
    let context = Context { attachments: (0..10).map(quote).collect(), ..Context::default() };
    let tags: Vec<_> = (0..10).map(|number| format!("<attachment id=\"{number}\"></attachment>")).collect();
    let answer = "answer ".repeat(500);
    let input = format!("{}<p>{answer}</p>", tags.concat());
    let out = sanitize(&input, Markup::Html, &context, &Limits::default());
    assert!(out.text.ends_with(answer.trim_end()), "{}", out.text);
    assert_eq!(out.flagged["unverified_quote"], 10);
}

#[test]
fn many_attachments_are_counted_not_listed() {
    let file = |number| Attachment {
        id: format!("{number}"),
        kind: AttachmentKind::File { name: format!("{number}.txt") },
    };
    let context = Context { attachments: (0..1000).map(file).collect(), ..Context::default() };
    for markup in [Markup::Html, Markup::Text] {
        let out = sanitize("see", markup, &context, &Limits::default());
        assert!(out.text.starts_with("see\n"), "{}", out.text);
        assert!(out.text.ends_with("[file: 49.txt]\n[950 more attachments]"), "{}", out.text);
    }
}

/// Checks that an output has nothing forbidden, without the sanitiser's own tables where possible.
fn assert_safe(text: &str) {
    assert!(!text.contains(['<', '>']), "bracket in {text:?}");
    for (at, _) in text.match_indices('&') {
        let known = ["&amp;", "&lt;", "&gt;"].iter().any(|escape| text[at..].starts_with(escape));
        assert!(known, "bare & in {text:?}");
    }
    assert_eq!(text.nfc().collect::<String>(), text, "not composed");
    for live in ["](http", "](/", "](javascript:", "]:http", "]: http", "]:\nhttp"] {
        assert!(!text.contains(live), "live Markdown in {text:?}");
    }
    assert!(!text.contains("\n\n\n\n"), "too many blank lines in {text:?}");
    assert!(!text.starts_with('\n') && !text.ends_with(['\n', ' ', '\t']), "blank ends in {text:?}");
    assert!(!text.contains(" \n") && !text.contains("\t\n"), "blank line ends in {text:?}");
    let chars: Vec<char> = text.chars().collect();
    let mut marks = 0;
    for (at, &c) in chars.iter().enumerate() {
        let before = at.checked_sub(1).map(|at| chars[at]);
        let after = chars.get(at + 1).copied();
        assert!(is_allowed(c, before, after), "{c:?} at {at} in {text:?}");
        marks = if c.general_category_group() == GeneralCategoryGroup::Mark { marks + 1 } else { 0 };
        assert!(marks <= 8, "{marks} marks in {text:?}");
    }
}

fn is_allowed(c: char, before: Option<char>, after: Option<char>) -> bool {
    let is_emoji = |c: Option<char>| c.is_some_and(|c| !c.is_ascii() && c.is_emoji_char());
    match c {
        '\n' | '\t' => true,
        // Joiners are allowed between emoji, and between letters or signs of scripts beyond Latin, Greek and Cyrillic.
        '\u{200c}' | '\u{200d}' => {
            let sides = [before, after].map(|side| side.unwrap_or(' '));
            let emoji = is_emoji(after) && (is_emoji(before) || matches!(sides[0], '\u{fe0f}' | '\u{e007f}'));
            emoji
                || (sides[1] >= '\u{600}'
                    && !matches!(sides[1], '\u{2000}'..='\u{206f}')
                    && sides[0] >= '\u{300}')
        }
        '\u{fe0f}' => {
            is_emoji(before)
                || (before.is_some_and(|c| "0123456789#*".contains(c)) && after == Some('\u{20e3}'))
        }
        '\u{fe0e}' => is_emoji(before),
        '\u{e0061}'..='\u{e007a}' => before.is_some_and(|c| c == '🏴' || c > '\u{e0000}'),
        '\u{e007f}' => before.is_some_and(|c| c > '\u{e0000}'),
        '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{3164}'
        | '\u{ffa0}'
        | '\u{2800}'
        | '＜'
        | '＞'
        | '﹤'
        | '﹥'
        | '\u{180b}'..='\u{180f}'
        | '\u{fe00}'..='\u{fe0d}'
        | '\u{e0100}'..='\u{e01ef}' => false,
        c => match c.general_category() {
            GeneralCategory::Control
            | GeneralCategory::PrivateUse
            | GeneralCategory::Unassigned
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator => false,
            GeneralCategory::SpaceSeparator => c == ' ',
            // Signs that enclose the number after them are visible.
            GeneralCategory::Format => {
                ('\u{600}'..='\u{8ff}').contains(&c) && c != '\u{61c}'
                    || matches!(c, '\u{110bd}' | '\u{110cd}')
            }
            _ => true,
        },
    }
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

fn assert_idempotent(text: &str, limits: &Limits) {
    let again = sanitize(&unescaped(text), Markup::Text, &Context::default(), limits);
    assert_eq!(again.text, text);
    assert_eq!(again.removed, BTreeMap::new(), "{text:?}");
    assert_eq!(again.left_out_bytes, 0);
}

/// Pieces that trigger each other's rules in random order.
const PIECES: [&str; 92] = [
    "a",
    "word ",
    " ",
    "\n",
    "\n\n\n\n",
    "\t",
    "\r\n",
    "\r",
    "&",
    "&amp;",
    "&lt;",
    "&#x202e;",
    "&#27;",
    "&#0;",
    "&nbsp;",
    "<",
    ">",
    "</",
    "/>",
    "<b>",
    "</b>",
    "<p>",
    "</p>",
    "<div>",
    "</div>",
    "<br>",
    "<ul>",
    "<ol start=3>",
    "<li>",
    "</li>",
    "</ul>",
    "<blockquote>",
    "</blockquote>",
    "<pre>",
    "</pre>",
    "<code>",
    "</code>",
    "<s>",
    "</s>",
    "<sup>",
    "</sup>",
    "<table>",
    "<tr>",
    "<td>",
    "</td>",
    "</table>",
    "<h2>",
    "</h2>",
    "<hr>",
    "<a href=\"https://x.example/\">",
    "<a href='javascript:x'>",
    "<a href=\"https://раypal.com/](\">",
    "</a>",
    "https://contoso.com",
    "<img alt=\"x]y\">",
    "<emoji alt=\"😀\">",
    "<at id=\"0\">",
    "<at id=\"7\">",
    "</at>",
    "<attachment id=\"q\">",
    "<attachment id=\"f\">",
    "<span style=\"display:none\">",
    "<span style=\"font-size:0\">",
    "<i style=\"font-size:9px\">",
    "</span>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "\"",
    "'",
    "`",
    "```",
    "```\n",
    "![x](https://",
    "[r]:",
    "](",
    "](//",
    "│ ",
    "\u{1b}[31m",
    "\u{1b}]0;",
    "\u{9b}",
    "\u{7}",
    "e\u{301}",
    "\u{301}\u{323}",
    "\u{202e}",
    "\u{200d}",
    "\u{200c}",
    "\u{fe0f}",
    "…",
];
const RARE: [&str; 22] = [
    "👨",
    "🏽",
    "❤",
    "🏴",
    "🏳",
    "\u{e0067}",
    "\u{e007f}",
    "\u{1f1e9}",
    "می",
    "क्",
    "\u{94d}",
    "1",
    "\u{20e3}",
    "\u{115f}",
    "\u{e000}",
    "\u{378}",
    "＜",
    "\u{2028}",
    "\u{85}",
    "\u{a0}",
    "\u{3000}",
    "\u{1100}\u{1161}\u{11a8}",
];

fn hostile_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => prop::sample::select(&PIECES[..]).prop_map(str::to_owned),
        3 => prop::sample::select(&RARE[..]).prop_map(str::to_owned),
        1 => any::<char>().prop_map(String::from),
        1 => (prop::sample::select(&PIECES[..]), 2..300usize).prop_map(|(piece, times)| piece.repeat(times)),
    ];
    prop::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

fn context() -> Context {
    Context {
        attachments: vec![
            Attachment {
                id: "q".to_owned(),
                kind: AttachmentKind::Quote {
                    author: Some("A\"\u{202e}]".to_owned()),
                    html: "<ul><li>q".to_owned(),
                },
            },
            Attachment {
                id: "f".to_owned(),
                kind: AttachmentKind::File { name: "../a\u{200b}<b".to_owned() },
            },
        ],
        mentions: vec![Mention { id: 0, name: "Agent <x>".to_owned(), is_me: true, person: None }],
    }
}

fn config() -> ProptestConfig {
    let file = FileFailurePersistence::Direct("proptest-regressions/sanitize.txt");
    ProptestConfig { failure_persistence: Some(Box::new(file)), ..ProptestConfig::default() }
}

/// The line of a fence is of our making, and a class can say anything.
#[rstest]
#[case::a_word("C#", "c#")]
#[case::a_prefixed_word("language-Rust", "rust")]
#[case::a_long_word("language-abcdefghijklmnopqrstu", "")]
#[case::a_short_word_with_other_signs("a`b", "")]
fn the_language_of_a_fence_is_a_short_word_of_plain_signs(#[case] class: &str, #[case] language: &str) {
    let html = format!("<codeblock class=\"{class}\"><code>x</code></codeblock>");
    let clean = sanitize(&html, Markup::Html, &Context::default(), &Limits::default());
    assert_eq!(clean.text, format!("```{language}\nx\n```"));
}

#[test]
fn inside_code_a_block_begins_a_line_and_nothing_else_does() {
    let html = "<codeblock><code>a<b>b</b><div>c</div><div>d</div></code></codeblock>";
    let clean = sanitize(html, Markup::Html, &Context::default(), &Limits::default());
    assert_eq!(clean.text, "```\nab\nc\nd\n```");
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_string_becomes_safe_and_a_second_pass_changes_nothing(input in any::<String>()) {
        for markup in [Markup::Html, Markup::Text] {
            let out = sanitize(&input, markup, &Context::default(), &Limits::default());
            assert_safe(&out.text);
            assert_idempotent(&out.text, &Limits::default());
        }
    }

    #[test]
    fn any_mixture_becomes_safe_and_bounded_and_a_second_pass_changes_nothing(input in hostile_text(), max_text_bytes in 0..4000usize) {
        let limits = Limits { max_text_bytes, max_quote_bytes: 0, ..Limits::default() };
        for markup in [Markup::Html, Markup::Text] {
            let out = sanitize(&input, markup, &context(), &limits);
            prop_assert!(out.text.len() <= max_text_bytes.max(512));
            prop_assert_eq!(out.left_out_bytes > 0, out.text.contains("bytes of this message were left out here"));
            assert_safe(&out.text);
            assert_idempotent(&out.text, &limits);
        }
    }

    #[test]
    fn typed_text_is_the_same_in_both_markups(words in prop::collection::vec("[a-z0-9<>&;/\"'(){}=!#._-]{1,12}", 0..20)) {
        let typed = words.join(" ");
        let html = typed.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        let from_text = sanitize(&typed, Markup::Text, &Context::default(), &Limits::default());
        let from_html = sanitize(&html, Markup::Html, &Context::default(), &Limits::default());
        prop_assert_eq!(unescaped(&from_text.text), typed);
        prop_assert_eq!(from_text.text, from_html.text);
    }

    /// A browser does not show a tag of any name that is open at the end; in plain text a person typed it.
    #[test]
    fn a_tag_that_is_open_at_the_end_is_dropped_in_html_and_stays_in_text(
        tag in "[!?]|/?[a-z][a-z0-9:-]{0,30}",
        rest in prop::collection::vec("[a-z0-9<=\"' /._-]{1,12}", 0..20),
    ) {
        let open = format!("<{tag} {}", rest.join(" "));
        let html = sanitize(&format!("<p>hello</p>{open}"), Markup::Html, &Context::default(), &Limits::default());
        prop_assert_eq!(html.text, "hello");
        let text = sanitize(&open, Markup::Text, &Context::default(), &Limits::default());
        prop_assert_eq!(unescaped(&text.text), open.trim_end());
    }

    #[test]
    fn names_become_safe_and_a_second_pass_changes_nothing(input in prop_oneof![any::<String>(), hostile_text()]) {
        let name = clean_name(&input);
        prop_assert!(name.chars().count() <= 256);
        let forbidden = ['<', '>', '"', '\n', '[', ']', '{', '}', '`'];
        prop_assert!(!name.contains(forbidden), "{}", name);
        prop_assert_eq!(clean_name(&name), name.clone());
        let file = clean_file_name(&input);
        prop_assert!(!file.is_empty() && file.chars().count() <= 120);
        let forbidden = ['/', '\\', '\n', '\0', ':', '<', '>', '"', '|', '?', '*'];
        prop_assert!(!file.contains(forbidden), "{}", file);
        prop_assert!(!file.starts_with(['.', '-', ' ']) && !file.ends_with(['.', ' ']));
        prop_assert_eq!(clean_file_name(&file), file.clone());
        for c in name.chars().chain(file.chars()) {
            prop_assert!(c != '\u{202e}' && c != '\u{200b}' && !c.is_control(), "{:?}", c);
        }
    }
}
