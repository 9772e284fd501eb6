//! What may leave: the bounds and the HTML of a message that a model wrote.
//! It must never let out what Teams would run, load or fetch, nor a secret of ours.

mod attributes;

use attributes::{Attribute, Unread};

use crate::config::Secret;
use crate::sanitize::{Context, Limits, Markup, sanitize};
use crate::tool::ContentType;

/// The most characters of one message. Teams takes about 28 kB.
pub(super) const CONTENT_CHARS_MAX: usize = 28_000;

/// Elements of Teams' dialect that need nothing beside the text.
const ELEMENTS: &[&str] = &[
    "a",
    "b",
    "blockquote",
    "br",
    "code",
    "codeblock",
    "del",
    "div",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "span",
    "strike",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
];

/// How much of an unknown element's name an error repeats.
const ELEMENT_CHARS_MAX: usize = 32;

/// Attributes that are addresses.
const ADDRESS_ATTRIBUTES: &[&str] = &["cite", "href", "src"];
/// Attributes that only hold text or a name.
const TEXT_ATTRIBUTES: &[&str] = &["alt", "aria-label", "class", "id", "lang", "name", "title"];
/// Schemes that run, hold or open something instead of leading somewhere. In an attribute of which nothing is known
/// they may stand nowhere.
const SCHEMES_REFUSED: &[&str] = &["data", "file", "javascript", "vbscript"];

/// Why a text may not leave, with what to do.
pub(in crate::source) fn check(
    content: &str,
    content_type: ContentType,
    token: Option<&Secret>,
) -> Result<(), String> {
    let chars = content.chars().count();
    if chars > CONTENT_CHARS_MAX {
        return Err(format!(
            "content: {chars} characters, at most {CONTENT_CHARS_MAX} are taken; send it in parts"
        ));
    }
    if content.trim().is_empty() {
        return Err("content: it is empty; write what to say".to_owned());
    }
    if token.is_some_and(|token| content.contains(token.expose())) {
        return Err("content: it holds the access token; take it out".to_owned());
    }
    match content_type {
        ContentType::Text => Ok(()),
        ContentType::Html => check_html(content),
    }
}

fn check_html(content: &str) -> Result<(), String> {
    let mut rest = content;
    while let Some(open) = rest.find('<') {
        rest = &rest[open + 1..];
        let name = rest.strip_prefix('/').unwrap_or(rest);
        let length = name.bytes().take_while(|b| b.is_ascii_alphanumeric() || b"-:".contains(b)).count();
        let (name, after) = name.split_at(length);
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            if rest.starts_with(['!', '?']) {
                return Err("content: comments and declarations are not sent; take them out".to_owned());
            }
            // A lone bracket is text.
            continue;
        }
        let name: String = name.chars().take(ELEMENT_CHARS_MAX).collect::<String>().to_ascii_lowercase();
        if !ELEMENTS.contains(&name.as_str()) {
            return Err(format!(
                "content: <{name}> is not sent; use plain text elements such as <p>, <b>, <ul>, <pre>, <a href>, or write &lt; for a bracket"
            ));
        }
        let (attributes, end) = attributes::read(after).map_err(|unread| match unread {
            Unread::Open => format!("content: <{name} is not closed; add >"),
            Unread::Doubtful => format!(
                "content: the attributes of <{name}> can be read in two ways; write each as name=\"value\", with &lt; for a bracket"
            ),
        })?;
        if holds_entities(&after[..end]) {
            return Err(format!(
                "content: an attribute of <{name}> holds entities; write the characters themselves"
            ));
        }
        attributes.iter().try_for_each(|attribute| check_attribute(&name, attribute))?;
        rest = &after[end..];
    }
    Ok(())
}

fn check_attribute(element: &str, attribute: &Attribute<'_>) -> Result<(), String> {
    let Attribute { name, value, quoted } = attribute;
    // A slash ends a value without quotes for some readers, and what follows would be a name.
    let hides_event =
        |value: &str| value.split('/').any(|word| is_event(word.trim_start()) && word.contains('='));
    if is_event(name) || (!quoted && hides_event(value)) {
        return Err(format!("content: an event attribute of <{element}> is not sent; take it out"));
    }
    // Of the rest, readers skip this or that before or within a scheme.
    let plain: String = value.chars().filter(char::is_ascii_graphic).collect();
    let plain = plain.to_ascii_lowercase();
    let refused = match name.as_str() {
        name if TEXT_ATTRIBUTES.contains(&name) => None,
        name if ADDRESS_ATTRIBUTES.contains(&name) => refused_scheme(&plain),
        _ => SCHEMES_REFUSED.iter().find(|scheme| plain.contains(&format!("{scheme}:"))).copied(),
    };
    if let Some(scheme) = refused {
        return Err(format!("content: an address with {scheme}: is not sent; use https"));
    }
    let is_other = !TEXT_ATTRIBUTES.contains(&name.as_str()) && !ADDRESS_ATTRIBUTES.contains(&name.as_str());
    if is_other && (plain.contains("url(") || (name == "style" && plain.contains('\\'))) {
        return Err(format!("content: a style of <{element}> loads something; take it out"));
    }
    Ok(())
}

fn is_event(name: &str) -> bool {
    name.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("on"))
}

/// The scheme at an address's start that is not sent, also behind other schemes: some hand on what follows them.
fn refused_scheme(address: &str) -> Option<&'static str> {
    let mut rest = address;
    while let Some((scheme, after)) = rest.split_once(':') {
        if !scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b)) {
            return None;
        }
        if let Some(refused) = SCHEMES_REFUSED.iter().find(|refused| **refused == scheme) {
            return Some(refused);
        }
        rest = after;
    }
    None
}

/// Whether there are entities that could hide something, such as the letters of a scheme.
fn holds_entities(attributes: &str) -> bool {
    attributes.match_indices('&').any(|(at, _)| {
        let rest = &attributes[at + 1..];
        let name = rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric());
        let harmless = ["amp;", "quot;", "lt;", "gt;"].iter().any(|known| rest.starts_with(known));
        rest.starts_with('#') || (name.starts_with(';') && !harmless)
    })
}

/// What a reader sees of a text, to recognise a message of ours in a chat, whose HTML Teams has rewritten.
pub(super) fn visible(content: &str, html: bool) -> String {
    let markup = if html { Markup::Html } else { Markup::Text };
    let limits = Limits { max_text_bytes: 256 * 1024, ..Limits::default() };
    let clean = sanitize(content, markup, &Context::default(), &limits);
    clean.text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use html5ever::tendril::StrTendril;
    use html5ever::tokenizer::{BufferQueue, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts};
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("<p>Done: <b>3</b> of 4, see <a href=\"https://contoso.com/x?a=1&amp;b=2\">here</a></p>")]
    #[case("a < b and c > d")]
    #[case("1 <2, 3<4")]
    #[case("<P STYLE=\"color:red\">x</P><br/><hr />")]
    #[case("<span title=\"a > b\">x</span>")]
    #[case("<a href=\"https://contoso.com/onboarding?id=3\">welcome</a>")]
    #[case("<a href='https://contoso.com/a/on=1/online?x=1&y=2'>x</a>")]
    #[case("<a href=\"https://contoso.com/metadata:1?of=profile:x\">x</a>")]
    #[case("<a href=\"https://contoso.com/man/curl(1)\">x</a>")]
    #[case("<a href=\"mailto:alice@contoso.com?subject=file: x\">x</a>")]
    #[case("<a href=\"/file:x\">x</a>")]
    #[case("<span title=\"profile: x, only='y' on = z\">x</span>")]
    #[case("<a href=https://contoso.com/x target=_blank>x</a>")]
    #[case("<td\n  colspan = '2'/>")]
    #[case("plain & simple")]
    #[case("<pre><code>List&lt;String&gt;</code></pre>")]
    fn harmless_html_leaves(#[case] content: &str) {
        check(content, ContentType::Html, None).unwrap();
    }

    #[rstest]
    #[case("", "content: it is empty")]
    #[case(" \n", "content: it is empty")]
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
    #[case("<a href=\"view-source:javascript:x\">", "content: an address with javascript:")]
    #[case("<a title=x href=\"https:javascript:x\">", "content: an address with javascript:")]
    #[case("<a xlink:href=\"x javascript:x\">", "content: an address with javascript:")]
    #[case("<a ping=\"https://contoso.com javascript:x\">", "content: an address with javascript:")]
    #[case("<p style=\"a:expression(javascript:x)\">", "content: an address with javascript:")]
    #[case("<p style='background:\\75rl(x)'>", "content: a style of <p>")]
    #[case("<td background=\"url(x)\">", "content: a style of <td>")]
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
        let error = check(content, ContentType::Html, None).unwrap_err();
        assert!(error.starts_with(start), "{error}");
    }

    #[test]
    fn bounds_and_secrets() {
        let long = "ä".repeat(CONTENT_CHARS_MAX);
        check(&long, ContentType::Text, None).unwrap();
        assert!(check(&(long + "x"), ContentType::Text, None).unwrap_err().contains("send it in parts"));
        let token = Secret::new("eyJ.x.y");
        let error = check("my token is eyJ.x.y", ContentType::Text, Some(&token)).unwrap_err();
        assert!(!error.contains("eyJ"), "{error}");
        check("<script> as text", ContentType::Text, None).unwrap();
    }

    #[test]
    fn a_message_is_recognised_after_teams_has_rewritten_it() {
        assert_eq!(
            visible("Hello <b>you</b> &amp; me", true),
            visible("<p>Hello&nbsp;<strong>you</strong> &amp; me</p>\n", true)
        );
        assert_ne!(visible("one", true), visible("two", true));
    }

    /// What a tokenizer by the standard sees of a tag: names and decoded values.
    #[derive(Default)]
    struct Seen(std::cell::RefCell<Vec<SeenTag>>);

    type SeenTag = (String, Vec<(String, String)>);

    impl TokenSink for Seen {
        type Handle = ();

        fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
            if let Token::TagToken(tag) = token {
                let attributes =
                    tag.attrs.iter().map(|a| (a.name.local.to_string(), a.value.to_string())).collect();
                self.0.borrow_mut().push((tag.name.to_string(), attributes));
            }
            TokenSinkResult::Continue
        }
    }

    fn tags(content: &str) -> Vec<SeenTag> {
        let tokenizer = Tokenizer::new(Seen::default(), TokenizerOpts::default());
        let queue = BufferQueue::default();
        queue.push_back(StrTendril::from(content));
        let _ = tokenizer.feed(&queue);
        tokenizer.end();
        tokenizer.sink.0.into_inner()
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_096))]

        #[test]
        fn what_leaves_runs_nothing(picked in prop::collection::vec(prop::sample::select(PIECES), 1..24)) {
            // In half of the cases something of an attribute stands there from the start, or few would leave at all.
            let loose = picked.concat();
            for content in [loose.clone(), format!("<a href=\"{loose}\">x</a>"), format!("<a href={loose}>x</a>")] {
                if check(&content, ContentType::Html, None).is_err() {
                    continue;
                }
                for (name, attributes) in tags(&content) {
                    prop_assert!(ELEMENTS.contains(&name.as_str()), "{name} in {content:?}");
                    for (attribute, value) in attributes {
                        prop_assert!(!attribute.starts_with("on"), "{attribute} in {content:?}");
                        let base = url::Url::parse("https://contoso.com").unwrap();
                        let scheme = base.join(&value).map(|url| url.scheme().to_owned()).unwrap_or_default();
                        let runs = attribute == "href" && SCHEMES_REFUSED.contains(&scheme.as_str());
                        prop_assert!(!runs, "{value:?} in {content:?}");
                    }
                }
            }
        }
    }
}
