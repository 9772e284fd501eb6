//! What may leave, in chats and in mail: the bounds of a message that a model wrote, and its HTML, made anew.
//! It must never let out what a reader's client would run, load or open by itself, nor a secret of ours.
//!
//! Two readers look at HTML. `attributes` reads it strictly and refuses, by name and with what to do, what is not on
//! the list or could be read in two ways; so the model learns of everything that would not arrive. Then `ammonia`
//! parses it as a browser does and writes it anew from the tree, by the same list: what was not understood as
//! something on the list is not in what leaves.

mod attributes;
mod list;
mod value;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ammonia::{Builder, UrlRelative};

use attributes::{Attribute, Unread};

use entraclaw_inbox::tool::ContentType;
use entraclaw_sanitize::{Context, Limits, Markup, sanitize};
use entraclaw_seams::secret::Secret;

/// The most characters of one message. Teams takes about 28 kB.
pub(super) const CONTENT_CHARS_MAX: usize = 28_000;
/// How much of a name an error repeats.
const NAME_CHARS_MAX: usize = 32;
/// The most elements of one message. A parser pays for each with those that are open around it.
const ELEMENTS_MAX: usize = 4_000;

/// What leaves, or why it may not, with what to do.
pub(crate) fn made_anew(
    content: &str,
    content_type: ContentType,
    token: Option<&Secret>,
) -> Result<String, String> {
    check_length(content)?;
    if content.trim().is_empty() {
        return Err("content: it is empty; write what to say".to_owned());
    }
    let holds_token = |text: &str| token.is_some_and(|token| text.contains(token.expose()));
    let leaves = match content_type {
        ContentType::Text => content.to_owned(),
        ContentType::Html => {
            check_html(content)?;
            html_anew(content)?
        }
    };
    // A token whose letters are written as entities is one only afterwards.
    if holds_token(content) || holds_token(&leaves) || holds_token(&visible(&leaves, true)) {
        return Err("content: it holds the access token; take it out".to_owned());
    }
    check_length(&leaves)?;
    if leaves.trim().is_empty() {
        return Err("content: nothing of it can be shown; write what to say".to_owned());
    }
    Ok(leaves)
}

fn check_length(content: &str) -> Result<(), String> {
    let chars = content.chars().count();
    if chars > CONTENT_CHARS_MAX {
        return Err(format!(
            "content: {chars} characters, at most {CONTENT_CHARS_MAX} are taken; send it in parts"
        ));
    }
    Ok(())
}

fn check_html(content: &str) -> Result<(), String> {
    let mut rest = content;
    let mut elements = 0;
    while let Some(open) = rest.find('<') {
        rest = &rest[open + 1..];
        let name = rest.strip_prefix('/').unwrap_or(rest);
        let length = name.bytes().take_while(|b| b.is_ascii_alphanumeric() || b"-:".contains(b)).count();
        let (name, after) = name.split_at(length);
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            if rest.starts_with(['!', '?']) {
                return Err("content: comments and declarations are not sent; take them out".to_owned());
            }
            if rest.starts_with('/') {
                return Err(
                    "content: </ without a name can be read in two ways; write &lt; for a bracket".to_owned()
                );
            }
            // A lone bracket is text.
            continue;
        }
        elements += 1;
        if elements > ELEMENTS_MAX {
            return Err(format!("content: more than {ELEMENTS_MAX} tags; send it in parts, or as text"));
        }
        let name: String = name.chars().take(NAME_CHARS_MAX).collect::<String>().to_ascii_lowercase();
        if !list::elements().any(|element| element == name) {
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
        let mut seen = BTreeSet::new();
        for attribute in &attributes {
            if !seen.insert(&attribute.name) {
                return Err(format!("content: an attribute of <{name}> stands twice; keep one of them"));
            }
            check_attribute(&name, attribute)?;
        }
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
    let Some(kind) = list::kind(element, name) else {
        let name: String = name.chars().take(NAME_CHARS_MAX).collect();
        return Err(format!("content: {name} in <{element}> is not sent; take it out"));
    };
    value::check(kind, element, name, &decoded(value))
}

fn is_event(name: &str) -> bool {
    name.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("on"))
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

/// The value of an attribute that holds no entities but the harmless ones.
fn decoded(value: &str) -> String {
    value.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
}

/// The same HTML, written from the tree that a browser would make of it, by the list alone.
fn html_anew(content: &str) -> Result<String, String> {
    let unlisted = Arc::new(AtomicBool::new(false));
    let noted = Arc::clone(&unlisted);
    let judge = move |element: &str, attribute: &str, value: &str| {
        let kind = list::kind(element, attribute);
        let listed = kind.is_some_and(|kind| value::check(kind, element, attribute, value).is_ok());
        noted.fetch_or(!listed, Ordering::Relaxed);
        listed
    };
    let names =
        |attributes: &[(&'static str, list::Kind)]| attributes.iter().map(|&(name, _)| name).collect();
    let mut builder = Builder::empty();
    builder
        .tags(list::elements().collect())
        .clean_content_tags(["script", "style"].into())
        .generic_attributes(names(list::ATTRIBUTES))
        .tag_attributes(list::ATTRIBUTES_OF.iter().map(|&(element, own)| (element, names(own))).collect())
        .url_schemes(list::SCHEMES.iter().copied().collect())
        .url_relative(UrlRelative::Deny)
        .link_rel(None)
        .strip_comments(true)
        .attribute_filter(move |element: &str, attribute: &str, value: &str| {
            judge(element, attribute, value).then(|| Cow::Owned(value.to_owned()))
        });
    let html = builder.clean(content).to_string();
    // The strict reader saw something else than a browser would.
    if unlisted.load(Ordering::Relaxed) {
        return Err("content: an attribute can be read in two ways; write each as name=\"value\", with &amp; for an ampersand".to_owned());
    }
    Ok(html)
}

/// What a reader sees of a text, to recognise a message of ours in a chat, whose HTML Teams has rewritten.
pub(super) fn visible(content: &str, html: bool) -> String {
    let markup = if html { Markup::Html } else { Markup::Text };
    let limits = Limits { max_text_bytes: 256 * 1024, ..Limits::default() };
    let clean = sanitize(content, markup, &Context::default(), &limits);
    clean.text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
