//! Decides which links are shown and in what form, and whether a link's text names another place than its target.
//! It must never show a scheme that is not on the list, credentials, or a host in letters that only look familiar.

use std::fmt::Write as _;

use url::{Host, Url};

use super::characters;
use super::tally::Tally;

/// Longest address that is read; a longer one is left out and counted.
const MAX_HREF_BYTES: usize = 8 * 1024;
/// Longest address that is shown whole.
const MAX_SHOWN_BYTES: usize = 2 * 1024;
/// Most words of a link's text that are checked for a host.
const MAX_CHECKED_WORDS: usize = 64;
/// Longest such word.
const MAX_CHECKED_WORD_BYTES: usize = 512;
/// The hosts of Outlook's click protection end so.
const SAFE_LINKS_SUFFIX: &str = ".safelinks.protection.outlook.com";
/// Endings that make a word with a dot far more likely a file name than a host.
const FILE_ENDINGS: [&str; 36] = [
    "c", "cc", "cpp", "cs", "css", "csv", "doc", "docx", "exe", "gif", "go", "h", "html", "java", "jpg",
    "js", "json", "log", "md", "pdf", "php", "png", "ppt", "pptx", "ps", "py", "rb", "rs", "sh", "sql",
    "toml", "ts", "txt", "xlsx", "yaml", "zip",
];

/// The target of a link, in the form that is shown.
struct Target {
    url: Url,
    /// In ASCII and without `www.`; `None` for mail.
    host: Option<String>,
    shown: String,
}

/// A link's text with its address, or `None` if the text stands alone. `repeated` says that an earlier part of the same
/// link already shows the address; then only a mismatch is shown.
pub(super) fn show(label: &str, href: &str, repeated: bool, tally: &mut Tally) -> Option<String> {
    let target = target(href, tally)?;
    let readable = characters::clean(label, &mut Tally::default());
    let readable = readable.trim();
    if readable.is_empty() {
        return None;
    }
    let other = other_host(readable, &target);
    if repeated && other.is_none() {
        return None;
    }
    let same = readable == target.shown
        || (readable.is_ascii() && Url::parse(readable).is_ok_and(|named| named == target.url));
    let mut out = if same { target.shown.clone() } else { format!("{label} ({})", target.shown) };
    if target.host.as_deref().is_some_and(|host| host.split('.').any(|part| part.starts_with("xn--"))) {
        tally.flag("idn_host");
        out.push_str(" [warning: the host has non-ASCII letters]");
    }
    if let Some(other) = other {
        tally.flag("link_mismatch");
        let leads_to = target.host.as_deref().unwrap_or(&target.shown);
        let _ = write!(out, " [warning: the text names {other} but the link leads to {leads_to}]");
    }
    Some(out)
}

fn target(href: &str, tally: &mut Tally) -> Option<Target> {
    let href = href.trim();
    if href.len() > MAX_HREF_BYTES {
        tally.remove(if is_data(href) { "data_url" } else { "link" });
        return None;
    }
    let Ok(url) = Url::parse(href) else {
        // Relative addresses and fragments mean nothing outside their page.
        return None;
    };
    let mut url = unwrapped(url);
    match url.scheme() {
        "mailto" => {
            let address = url.path();
            (!address.is_empty()).then(|| Target { shown: cut(address), host: None, url: url.clone() })
        }
        "http" | "https" => {
            if !url.username().is_empty() || url.password().is_some() {
                tally.remove("userinfo");
                let _ = url.set_username("");
                let _ = url.set_password(None);
            }
            let host = bare_host(&url);
            Some(Target { shown: cut(url.as_str()), host, url })
        }
        scheme => {
            tally.remove(if scheme == "data" { "data_url" } else { "link" });
            None
        }
    }
}

/// Whether an address has the scheme `data:`.
pub(super) fn is_data(address: &str) -> bool {
    address.trim_start().get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:"))
}

/// The address inside a click-protection link, unwrapped once.
fn unwrapped(url: Url) -> Url {
    if !url.host_str().is_some_and(|host| host.ends_with(SAFE_LINKS_SUFFIX)) {
        return url;
    }
    let inner =
        url.query_pairs().find(|(key, _)| key == "url").and_then(|(_, inner)| Url::parse(&inner).ok());
    inner.unwrap_or(url)
}

fn cut(address: &str) -> String {
    if address.len() <= MAX_SHOWN_BYTES {
        return address.to_owned();
    }
    let end = (0..=MAX_SHOWN_BYTES).rev().find(|&at| address.is_char_boundary(at)).unwrap_or(0);
    format!("{}…", &address[..end])
}

/// The first host or mail address in the text that is not the link's target.
fn other_host(text: &str, target: &Target) -> Option<String> {
    let could_be = |word: &&str| word.contains('.') && word.len() <= MAX_CHECKED_WORD_BYTES;
    for word in text.split_whitespace().filter(could_be).take(MAX_CHECKED_WORDS) {
        let word = word.trim_matches(|c: char| c.is_ascii_punctuation() && !matches!(c, '/' | '-' | '_'));
        let named = match &target.host {
            Some(host) => named_host(word).filter(|named| named != host),
            None => named_address(word).filter(|named| !named.eq_ignore_ascii_case(&target.shown)),
        };
        if named.is_some() {
            return named;
        }
    }
    None
}

fn named_address(word: &str) -> Option<String> {
    let address = word.strip_prefix("mailto:").unwrap_or(word);
    let (user, host) = address.rsplit_once('@')?;
    (!user.is_empty() && host.contains('.')).then(|| address.to_owned())
}

/// The host that a word names: in an address with a scheme, or as a name with dots that looks like a host.
fn named_host(word: &str) -> Option<String> {
    if word.get(..4).is_some_and(|start| start.eq_ignore_ascii_case("http")) && word.contains("://") {
        return Url::parse(word).ok().as_ref().and_then(bare_host);
    }
    if word.contains('@') {
        return None;
    }
    let name = word.split(['/', '?', '#', ':']).next().unwrap_or_default();
    let url = Url::parse(&format!("https://{name}/")).ok()?;
    let Some(Host::Domain(domain)) = url.host() else { return None };
    let ending = domain.rsplit('.').next().unwrap_or_default();
    let plausible = ending.len() >= 2
        && (ending.starts_with("xn--") || ending.bytes().all(|b| b.is_ascii_alphabetic()))
        && !domain.starts_with('.')
        && domain.contains('.')
        && (word.len() > name.len() || FILE_ENDINGS.binary_search(&ending).is_err());
    if plausible { bare_host(&url) } else { None }
}

fn bare_host(url: &Url) -> Option<String> {
    let host = url.host_str()?.trim_end_matches('.');
    Some(host.strip_prefix("www.").unwrap_or(host).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(label: &str, href: &str) -> String {
        show(label, href, false, &mut Tally::default()).unwrap_or_else(|| label.to_owned())
    }

    #[test]
    fn address_follows_text_once() {
        assert_eq!(shown("docs", "https://x.example/a?b=1&c=2"), "docs (https://x.example/a?b=1&c=2)");
        assert_eq!(shown("https://x.example", "https://x.example/"), "https://x.example/");
        assert_eq!(shown("bob@contoso.com", "mailto:bob@contoso.com?subject=hi"), "bob@contoso.com");
        assert_eq!(shown("main.rs", "https://x.example/main.rs"), "main.rs (https://x.example/main.rs)");
    }

    #[test]
    fn only_listed_schemes_are_shown() {
        for href in
            ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "ms-teams:x", "x", "#a", ""]
        {
            assert_eq!(shown("go", href), "go");
        }
    }

    #[test]
    fn an_address_that_is_too_long_is_left_out() {
        let href = |len: usize| format!("https://x.example/{}", "a".repeat(len - 18));
        assert!(shown("go", &href(MAX_HREF_BYTES)).starts_with("go (https://x.example/aaa"));
        assert_eq!(shown("go", &href(MAX_HREF_BYTES + 1)), "go");
    }

    #[test]
    fn credentials_are_removed_and_hosts_are_punycode() {
        assert_eq!(shown("go", "https://contoso.com@evil.example/"), "go (https://evil.example/)");
        assert!(shown("go", "https://раypal.com/").starts_with("go (https://xn--"));
    }

    #[test]
    fn a_text_that_names_another_place_is_flagged() {
        for text in ["https://contoso.com", "contoso.com", "see www.contoso.com/docs.", "CONTOSO.com:443"] {
            let out = shown(text, "https://evil.example/");
            assert!(out.contains("[warning: the text names contoso.com but"), "{out}");
        }
        for (text, host) in [("(contoso.com),", "contoso.com"), ("httpbin.org", "httpbin.org")] {
            let out = shown(text, "https://evil.example/");
            assert!(out.contains(&format!("the text names {host} but")), "{out}");
        }
        let late = format!("{}contoso.com", "word ".repeat(MAX_CHECKED_WORDS));
        assert!(
            shown(&late, "https://evil.example/").contains("warning"),
            "words without a dot do not count"
        );
        for text in ["readme.md", "v1.2", "e.g. this", "www.evil.example", "EVIL.example/x"] {
            assert!(!shown(text, "https://evil.example/").contains("warning"), "{text}");
        }
        assert!(shown("alice@contoso.com", "mailto:bob@evil.example").contains("warning"));
    }

    #[test]
    fn click_protection_is_unwrapped() {
        let href = "https://eur01.safelinks.protection.outlook.com/?url=https%3A%2F%2Fcontoso.com%2Fa&data=x";
        assert_eq!(shown("a", href), "a (https://contoso.com/a)");
    }

    #[test]
    fn file_endings_are_sorted() {
        assert!(FILE_ENDINGS.is_sorted());
    }
}
