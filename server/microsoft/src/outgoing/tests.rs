//! What an answer may carry out, read back by another parser.

use std::cell::RefCell;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
use proptest::prelude::*;
use rstest::rstest;
use url::Url;

use super::*;

#[path = "../../../sanitize/tests/hostile/mod.rs"]
mod hostile;

#[rstest]
#[case("<p>Done: <b>3</b> of 4, see <a href=\"https://contoso.com/x?a=1&amp;b=2\">here</a></p>")]
#[case("a < b and c > d")]
#[case("1 <2, 3<4")]
#[case("<P STYLE=\"color:red\">x</P><br/><hr />")]
#[case("<p style=\"margin: 0 0 8px; font-family: 'Segoe UI', sans-serif; color: rgb(0, 120, 212)\">x</p>")]
#[case(
    "<table border=1 cellpadding=4 style='border-collapse:collapse'><tr><td colspan=2 bgcolor=#eee>x</td></tr></table>"
)]
#[case("<ol start=3 type=a><li value=\"7\">x</li></ol>")]
#[case("<pre class=\"language-rust\">x</pre><codeblock class=Csharp>x</codeblock>")]
#[case("<a href=\"HTTPS://contoso.com/\" rel=\"noopener noreferrer\">x</a>")]
#[case("<a href=\"https://contoso.com/a b?q=&quot;x&quot;#top\">x</a>")]
#[case("<a href=\"mailto:alice@contoso.com?cc=bob@contoso.com&amp;body=Hi%20there\">x</a>")]
#[case("<span title=\"a > b\">x</span>")]
#[case("<a href=\"https://contoso.com/onboarding?id=3\">welcome</a>")]
#[case("<a href='https://contoso.com/a/on=1/online?x=1&y=2'>x</a>")]
#[case("<a href=\"https://contoso.com/metadata:1?of=profile:x\">x</a>")]
#[case("<a href=\"https://contoso.com/man/curl(1)\">x</a>")]
#[case("<a href=\"mailto:alice@contoso.com?subject=file: x\">x</a>")]
#[case("<span title=\"profile: x, only='y' on = z\">x</span>")]
#[case("<a href=https://contoso.com/x target=_blank>x</a>")]
#[case("<table><tr><td\n  colspan = '2'/>x</table>")]
#[case("plain & simple")]
#[case("<pre><code>List&lt;String&gt;</code></pre>")]
fn harmless_html_leaves(#[case] content: &str) {
    made_anew(content, ContentType::Html, None).unwrap();
}

#[rstest]
#[case("", "content: it is empty")]
#[case(" \n", "content: it is empty")]
#[case("<td></td>", "content: nothing of it can be shown")]
#[case("<p>&Tab;</p>&Tab;</p ", "content: <p is not closed")]
#[case("<script>x</script>", "content: <script> is not sent")]
#[case("<SCRIPT src=x>", "content: <script> is not sent")]
#[case("<img src=\"https://contoso.com/x.png\">", "content: <img> is not sent")]
#[case("<at id=\"0\">Alice</at>", "content: <at> is not sent")]
#[case("<attachment id=\"1\"></attachment>", "content: <attachment> is not sent")]
#[case("<svg/onload=x>", "content: <svg> is not sent")]
#[case("<!-- x -->", "content: comments")]
#[case("<a href=\"java\nscript:x\">x</a>", "content: an address with javascript:")]
#[case("<a href=\"javascript&colon;x\">x</a>", "content: an attribute of <a> holds entities")]
#[case("<a href=\"&#106avascript:x\">x</a>", "content: an attribute of <a> holds entities")]
#[case("<a href='&#x6a;avascript:x'>x</a>", "content: an attribute of <a> holds entities")]
#[case("<p onclick=x>", "content: an event attribute of <p>")]
#[case("<p/onclick = x>", "content: an event attribute of <p>")]
#[case("<div style=\"background:url(https://contoso.com)\">", "content: a style of <div>")]
#[case("<a href=\"javascript:x\">", "content: an address with javascript:")]
#[case("<a href=\" \u{1}JaVa\tScRiPt\r\n:x\">", "content: an address with javascript:")]
#[case("<a href=javascript:x>", "content: an address with javascript:")]
#[case("<a href='\u{a0}\u{200b}data:text/html,x'>", "content: an address with data:")]
#[case("<a href=\"vbscript:x\">", "content: an address with vbscript:")]
#[case("<a href=\"FILE:///etc/passwd\">", "content: an address with file:")]
#[case("<a href=\"view-source:javascript:x\">", "content: an address with view-source:")]
#[case("<a title=x href=\"https:javascript:x\">", "content: an address with https: can be read in two ways")]
#[case("<a xlink:href=\"x javascript:x\">", "content: xlink:href in <a> is not sent")]
#[case("<a ping=\"https://contoso.com javascript:x\">", "content: ping in <a> is not sent")]
#[case("<p style=\"a:expression(javascript:x)\">", "content: a style of <p> has a,")]
#[case("<p style='background:\\75rl(x)'>", "content: a style of <p> has a value of background that")]
#[case("<td background=\"https://contoso.com/x.png\">", "content: background in <td> is not sent")]
#[case("<table background=x>", "content: background in <table> is not sent")]
#[case(
    "<p style=\"background:image-set('x' 1x)\">",
    "content: a style of <p> has a value of background that"
)]
#[case(
    "<p style=\"background:-webkit-image-set('x' 1x)\">",
    "content: a style of <p> has a value of background that"
)]
#[case("<p style=\"background:src('x')\">", "content: a style of <p> has a value of background that")]
#[case(
    "<p style=\"background:rgb(1,2,3) url(x)\">",
    "content: a style of <p> has a value of background that"
)]
#[case("<p style=\"background:rgb(url(x))\">", "content: a style of <p> has a value of background that")]
#[case("<p style=\"background:u/**/rl(x)\">", "content: a style of <p> has a value of background that")]
#[case("<p style=\"background-image:none\">", "content: a style of <p> has background-image,")]
#[case("<p style=\"list-style-image:url(x)\">", "content: a style of <p> has list-style-image,")]
#[case("<p style=\"--x:url(x);color:red\">", "content: a style of <p> has --x,")]
#[case("<p style=\"behavior:url(#x)\">", "content: a style of <p> has behavior,")]
#[case("<p style=\"@import 'x'\">", "content: a style of <p> has importx,")]
#[case("<p dynsrc=x>", "content: dynsrc in <p> is not sent")]
#[case("<p lowsrc=x>", "content: lowsrc in <p> is not sent")]
#[case("<p src=x>", "content: src in <p> is not sent")]
#[case("<blockquote cite=\"https://contoso.com\">", "content: cite in <blockquote> is not sent")]
#[case("<p id=x>", "content: id in <p> is not sent")]
#[case("<td width=\"url(x)\">", "content: the value of width in <td> is not sent")]
#[case("<td bgcolor=\"url(x)\">", "content: the value of bgcolor in <td> is not sent")]
#[case("<p class=\"https://contoso.com\">", "content: the value of class in <p> is not sent")]
#[case("<p title=a title=b>", "content: an attribute of <p> stands twice")]
#[case("<a href=\"ms-msdt:/id PCWDiagnostic\">", "content: an address with ms-msdt:")]
#[case("<a href=\"ms-officecmd:{}\">", "content: an address with ms-officecmd:")]
#[case("<a href=\"search-ms:query=x\">", "content: an address with search-ms:")]
#[case("<a href=\"smb://contoso.com/x\">", "content: an address with smb:")]
#[case("<a href=\"tel:123\">", "content: an address with tel:")]
#[case("<a href=\"\\\\host\\share\">", "content: an address without a scheme")]
#[case("<a href=\"//contoso.com/x\">", "content: an address without a scheme")]
#[case("<a href=\"/file:x\">", "content: an address without a scheme")]
#[case("<a href=\"#top\">", "content: an address without a scheme")]
#[case("<a href=\"\">", "content: an address without a scheme")]
#[case("<a href=\"https:\\\\host\\share\">", "content: an address with https: can be read in two ways")]
#[case("<a href=\"https:contoso.com\">", "content: an address with https: can be read in two ways")]
#[case("<a href=\"ht\ntps://contoso.com\">", "content: an address with https: can be read in two ways")]
#[case("<a href=\"https://\">", "content: an address with https: can be read in two ways")]
#[case("<a href=\"mailto:a@contoso.com?attach=/etc/passwd\">", "content: a mailto: with attach= is not sent")]
#[case("</3 and on>", "content: </ without a name")]
#[case("<p ONCLICK='x'>", "content: an event attribute of <p>")]
#[case("<p title=\"x\"onclick=x>", "content: an event attribute of <p>")]
#[case("<p title=\"x\"/onclick=x>", "content: an event attribute of <p>")]
#[case("<p\u{c}onclick\n=\n'x'>", "content: an event attribute of <p>")]
#[case("<p title=x/onclick=x>", "content: an event attribute of <p>")]
#[case("</p onclick=x>", "content: an event attribute of <p>")]
#[case("<p x\"><script>x</script><p y\">", "content: the attributes of <p> can be read in two ways")]
#[case("<p \"onclick=x\">", "content: the attributes of <p> can be read in two ways")]
#[case("<p =onclick=x>", "content: the attributes of <p> can be read in two ways")]
#[case("<p\u{b}onclick=x>", "content: the attributes of <p> can be read in two ways")]
#[case("<p \u{a0}onclick=x>", "content: the attributes of <p> can be read in two ways")]
#[case("<p title=x\"y>", "content: the attributes of <p> can be read in two ways")]
#[case("<p title='<b onclick=x>'>", "content: the attributes of <p> can be read in two ways")]
#[case("<p title='x>", "content: <p is not closed")]
#[case("<p title=", "content: <p is not closed")]
#[case("<p", "content: <p is not closed")]
#[case("List<String>", "content: <string> is not sent")]
fn the_rest_is_told_apart(#[case] content: &str, #[case] start: &str) {
    let error = made_anew(content, ContentType::Html, None).unwrap_err();
    assert!(error.starts_with(start), "{error}");
}

#[test]
fn bounds_and_secrets() {
    let long = "ä".repeat(CONTENT_CHARS_MAX);
    assert_eq!(made_anew(&long, ContentType::Text, None).unwrap(), long);
    assert!(made_anew(&(long + "x"), ContentType::Text, None).unwrap_err().contains("send it in parts"));
    let token = Secret::new("eyJ.x.y");
    for (content, content_type) in [
        ("my token is eyJ.x.y", ContentType::Text),
        ("my token is eyJ.x.y", ContentType::Html),
        ("my token is &#101;yJ.x.y", ContentType::Html),
        ("my token is e<b></b>yJ.x.y", ContentType::Html),
        // It is in nothing that leaves, and shows all the same that a model has it.
        ("my token is </p title=\"eyJ.x.y\">", ContentType::Html),
        (&format!("{} e<b></b>yJ.x.y", "word ".repeat(5_000)), ContentType::Html),
    ] {
        let error = made_anew(content, content_type, Some(&token)).unwrap_err();
        assert!(error.contains("access token") && !error.contains("eyJ"), "{error}");
    }
    let error = made_anew(&"<".repeat(CONTENT_CHARS_MAX), ContentType::Html, None).unwrap_err();
    assert!(error.contains("send it in parts"), "{error}");
    made_anew(&("<br>".repeat(ELEMENTS_MAX) + "x"), ContentType::Html, None).unwrap();
    let error = made_anew(&"<b>".repeat(ELEMENTS_MAX + 1), ContentType::Html, None).unwrap_err();
    assert!(error.contains("tags; send it in parts"), "{error}");
    made_anew("<script> as text", ContentType::Text, None).unwrap();
}

#[test]
fn a_message_is_recognised_after_teams_has_rewritten_it() {
    assert_eq!(
        visible("Hello <b>you</b> &amp; me", true),
        visible("<p>Hello&nbsp;<strong>you</strong> &amp; me</p>\n", true)
    );
    assert_ne!(visible("one", true), visible("two", true));
}

#[rstest]
#[case::as_text(false)]
#[case::as_html(true)]
fn a_message_of_the_greatest_length_is_recognised_by_its_end_too(#[case] html: bool) {
    let long = "ä".repeat(CONTENT_CHARS_MAX - 1);
    let shown = visible(&(long.clone() + "x"), html);
    assert!(shown == long.clone() + "x", "{} bytes of it are shown", shown.len());
    assert!(shown != visible(&(long + "y"), html));
}

/// What a tokenizer by the standard sees of a text: elements with their attributes, decoded, and all characters.
#[derive(Default)]
struct Seen {
    tags: RefCell<Vec<SeenTag>>,
    text: RefCell<String>,
}

type SeenTag = (String, Vec<(String, String)>);

impl TokenSink for Seen {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        match token {
            Token::TagToken(tag) => {
                let attributes = tag.attrs.iter().map(|a| (a.name.local.to_string(), a.value.to_string()));
                self.tags.borrow_mut().push((tag.name.to_string(), attributes.collect()));
            }
            Token::CharacterTokens(text) => self.text.borrow_mut().push_str(&text),
            Token::CommentToken(_) | Token::DoctypeToken(_) => {
                self.tags.borrow_mut().push(("!".to_owned(), Vec::new()));
            }
            Token::NullCharacterToken | Token::ParseError(_) | Token::EOFToken => {}
        }
        TokenSinkResult::Continue
    }
}

fn seen(content: &str) -> Seen {
    let tokenizer = Tokenizer::new(Seen::default(), TokenizerOpts::default());
    let queue = BufferQueue::default();
    queue.push_back(StrTendril::from(content));
    let _ = tokenizer.feed(&queue);
    tokenizer.end();
    tokenizer.sink
}

/// The characters that a reader sees, in no order: a browser moves what stands in a table outside of its cells.
fn letters(content: &str) -> Vec<char> {
    let mut letters: Vec<char> =
        seen(content).text.into_inner().chars().filter(|c| !c.is_whitespace()).collect();
    letters.sort_unstable();
    letters
}

/// A style by the CSS standard: its properties, and every function in it.
fn style_of(value: &str) -> (Vec<String>, Vec<String>) {
    fn walk(parser: &mut cssparser::Parser<'_>, properties: &mut Vec<String>, functions: &mut Vec<String>) {
        use cssparser::Token as Css;
        let mut at_start = true;
        let mut last = String::new();
        while let Ok(token) = parser.next_including_whitespace_and_comments().cloned() {
            match &token {
                Css::Semicolon => at_start = true,
                Css::Colon if at_start => {
                    properties.push(last.to_ascii_lowercase());
                    at_start = false;
                }
                Css::Ident(name) => last = name.to_string(),
                Css::Function(name) => functions.push(name.to_ascii_lowercase()),
                Css::UnquotedUrl(_) | Css::BadUrl(_) => functions.push("url".to_owned()),
                Css::AtKeyword(_) => functions.push("@".to_owned()),
                _ => {}
            }
            if matches!(
                token,
                Css::Function(_) | Css::ParenthesisBlock | Css::SquareBracketBlock | Css::CurlyBracketBlock
            ) {
                let _: Result<(), cssparser::ParseError<()>> = parser.parse_nested_block(|inner| {
                    walk(inner, &mut Vec::new(), functions);
                    Ok(())
                });
            }
        }
    }
    let (mut properties, mut functions) = (Vec::new(), Vec::new());
    let mut parser = cssparser::Parser::new(value);
    walk(&mut parser, &mut properties, &mut functions);
    (properties, functions)
}

/// Everything that a standard reader finds in what leaves is on the list.
fn assert_listed(content: &str) {
    for (element, attributes) in seen(content).tags.into_inner() {
        assert!(list::elements().any(|listed| listed == element), "{element} in {content:?}");
        for (attribute, value) in attributes {
            let kind = list::kind(&element, &attribute);
            assert!(kind.is_some(), "{attribute} of {element} in {content:?}");
            if attribute == "href" {
                let url = Url::parse(&value).unwrap();
                assert!(list::SCHEMES.contains(&url.scheme()), "{value:?} in {content:?}");
            }
            if attribute == "style" {
                let (properties, functions) = style_of(&value);
                assert!(properties.iter().all(|p| list::has_property(p)), "{content:?}");
                assert!(functions.iter().all(|f| list::FUNCTIONS.contains(&f.as_str())), "{content:?}");
            }
        }
    }
}

const PIECES: &[&str] = &[
    "<a",
    "<p",
    "</b",
    "<b",
    ">",
    "/>",
    " ",
    "\t",
    "\n",
    "\u{c}",
    "\u{b}",
    "\u{a0}",
    "\0",
    "\u{1}",
    "/",
    "=",
    "\"",
    "'",
    "`",
    "<",
    "<!--",
    "<script>",
    "<img src=x>",
    "href",
    "HREF",
    "title",
    "style",
    "onclick",
    "on",
    "x",
    "javascript:",
    "JavaScript",
    "java",
    "script:",
    ":",
    "data:",
    "file:",
    "https:",
    "//contoso.com/",
    "&#106;",
    "&colon;",
    "&Tab;",
    "&NewLine;",
    "&amp;",
    "&",
    ";",
    "url(",
    "ä",
    "?q=",
];

const STYLES: &[&str] = &[
    "color",
    "background",
    "background-image",
    ":",
    ";",
    "red",
    "#fff",
    "url(",
    "rgb(",
    "image-set(",
    "src(",
    ")",
    "(",
    "'",
    "\\",
    "/*",
    "*/",
    "\\75 rl(",
    ",",
    "1px",
    "--x",
    "var(",
    "!important",
    "@import",
    "{",
    "}",
    " ",
    "\n",
    "x",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases * 16))]

    #[test]
    fn what_leaves_holds_listed_things_only_and_all_of_the_text(
        picked in prop::collection::vec(prop::sample::select(PIECES), 1..24),
        styled in prop::collection::vec(prop::sample::select(STYLES), 1..12),
    ) {
        // In most of the cases something of an attribute stands there from the start, or few would leave at all.
        let (loose, style) = (picked.concat(), styled.concat());
        let framed = [
            loose.clone(),
            format!("<a href=\"{loose}\">x</a>"),
            format!("<a href=\"https://contoso.com/{loose}\">x</a>"),
            format!("<a href={loose}>x</a>"),
            format!("<table><tr><td title='{loose}'>{loose}</table>"),
            format!("<p style=\"{style}\">x</p>"),
            format!("<p style=\"color:{style}\">x</p>"),
        ];
        for content in framed {
            let Ok(leaves) = made_anew(&content, ContentType::Html, None) else { continue };
            assert_listed(&leaves);
            prop_assert_eq!(letters(&content), letters(&leaves), "{:?} became {:?}", content, leaves);
            let again = made_anew(&leaves, ContentType::Html, None);
            prop_assert!(again.is_ok() || leaves.contains('&'), "{:?}: {:?}", leaves, again);
        }
    }

    #[test]
    fn whatever_a_model_writes_leaves_listed_or_not_at_all(content in any::<String>()) {
        if let Ok(leaves) = made_anew(&content, ContentType::Html, None) {
            assert_listed(&leaves);
        }
    }
}

#[test]
fn hostile_html_leaves_listed_or_not_at_all() {
    for shape in hostile::SHAPES {
        if let Ok(leaves) = made_anew(&shape.text(CONTENT_CHARS_MAX), ContentType::Html, None) {
            assert_listed(&leaves);
        }
    }
    for unit in ["<b>", "<div>", "<p><b>", "<table><tr><td>", "<a href=https://contoso.com>", "</b></p>"] {
        let content = unit.repeat(ELEMENTS_MAX / unit.matches('<').count()) + "x";
        if let Ok(leaves) = made_anew(&content, ContentType::Html, None) {
            assert_listed(&leaves);
        }
    }
}

#[test]
fn the_html_is_made_anew() {
    for (content, leaves) in [
        ("<P STYLE='color:red'>a<br/>b", "<p style=\"color:red\">a<br>b</p>"),
        ("a < b &copy; <3", "a &lt; b © &lt;3"),
        ("<b>x<i>y</b>z</i>", "<b>x<i>y</i></b><i>z</i>"),
        (
            "<a href=https://contoso.com/x?a=1&b=2>x</a>",
            "<a href=\"https://contoso.com/x?a=1&amp;b=2\">x</a>",
        ),
    ] {
        assert_eq!(made_anew(content, ContentType::Html, None).unwrap(), leaves);
    }
}
