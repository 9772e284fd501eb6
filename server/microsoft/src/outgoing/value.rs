//! Whether the value of a listed attribute may leave, by its kind.
//! It must never accept what two readers could take for different things.

use url::Url;

use super::list::{FUNCTIONS, Kind, MAIL_FIELDS, SCHEMES, has_property};

/// How much of a name an error repeats.
const NAME_CHARS_MAX: usize = 32;

/// Why a value may not leave: what is wrong with it and how to mend it. `value` is decoded.
pub(super) fn check(kind: Kind, element: &str, attribute: &str, value: &str) -> Result<(), String> {
    let is = |signs: &str| value.chars().all(|c| c.is_ascii_alphanumeric() || signs.contains(c));
    let fine = match kind {
        Kind::Address => return address(value),
        Kind::Style => return style(element, value),
        Kind::Text => !value.contains(|c: char| c.is_control() && !c.is_ascii_whitespace()),
        Kind::Colour => is("#"),
        Kind::Measure => value.bytes().all(|b| b.is_ascii_digit() || b".%-".contains(&b)),
        Kind::Words => is("-_ +#."),
    };
    if fine {
        return Ok(());
    }
    Err(format!("content: the value of {attribute} in <{element}> is not sent; take it out"))
}

/// A link leads to a whole address with a listed scheme, written so that every reader finds the same.
fn address(value: &str) -> Result<(), String> {
    // Some readers skip blanks and invisible characters before or within a scheme.
    let plain: String = value.chars().filter(char::is_ascii_graphic).collect::<String>().to_ascii_lowercase();
    let is_scheme = |text: &str| text.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b));
    let Some((scheme, rest)) = plain.split_once(':').filter(|(scheme, _)| is_scheme(scheme)) else {
        return Err(
            "content: an address without a scheme is not sent; write it whole, as in https://contoso.com/x"
                .to_owned(),
        );
    };
    if !SCHEMES.contains(&scheme) {
        return Err(format!("content: an address with {}: is not sent; use https", shortened(scheme)));
    }
    let unclear = || {
        format!(
            "content: an address with {scheme}: can be read in two ways; write it whole, without blanks before it, backslashes or control characters"
        )
    };
    let begins =
        value.get(..=scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(&plain[..=scheme.len()]));
    if !begins || value.contains(|c: char| c == '\\' || c.is_control()) {
        return Err(unclear());
    }
    let url = Url::parse(value).map_err(|_| unclear())?;
    if scheme == "mailto" {
        let field = url.query_pairs().find(|(name, _)| !MAIL_FIELDS.contains(&&*name.to_ascii_lowercase()));
        return field.map_or(Ok(()), |(name, _)| {
            let name: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
            Err(format!("content: a mailto: with {}= is not sent; take it out", shortened(&name)))
        });
    }
    if rest.starts_with("//") && url.has_host() { Ok(()) } else { Err(unclear()) }
}

/// Declarations of listed properties, whose values hold words, numbers, colours and names of fonts.
fn style(element: &str, value: &str) -> Result<(), String> {
    for declaration in value.split(';').map(str::trim).filter(|declaration| !declaration.is_empty()) {
        let (property, value) = declaration.split_once(':').unwrap_or((declaration, ""));
        let property = property.trim().to_ascii_lowercase();
        if !has_property(&property) {
            let property: String =
                property.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
            return Err(format!(
                "content: a style of <{element}> has {}, which is not sent; take it out, or use one such as color, font-weight or text-align",
                shortened(&property)
            ));
        }
        if !is_plain_value(value) {
            return Err(format!(
                "content: a style of <{element}> has a value of {property} that is not sent; write words, numbers and colours only, and load nothing"
            ));
        }
    }
    Ok(())
}

fn is_plain_value(value: &str) -> bool {
    let value = value.trim();
    let value = match value.split_once('!') {
        Some((value, "important")) => value,
        _ => value,
    };
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('(') {
        let name = before.rsplit([' ', ',']).next().unwrap_or_default().to_ascii_lowercase();
        if !FUNCTIONS.contains(&name.as_str()) || !before.chars().all(is_plain_sign) {
            return false;
        }
        let Some((arguments, after)) = after.split_once(')') else { return false };
        if !arguments.chars().all(is_plain_sign) {
            return false;
        }
        rest = after;
    }
    rest.chars().all(is_plain_sign)
}

fn is_plain_sign(c: char) -> bool {
    c.is_ascii_alphanumeric() || " #%.,+-'\"".contains(c)
}

fn shortened(name: &str) -> String {
    name.chars().take(NAME_CHARS_MAX).collect()
}
