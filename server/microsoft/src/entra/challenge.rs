//! The claims challenge of continuous access evaluation: a resource asks for a token with more claims.
//! The header's content must never be more than a question to Entra; it grants nothing.

use serde_json::{Value, json};

use super::assertion::lenient_base64;

/// The longest header that is read, in bytes.
const HEADER_BYTES_MAX: usize = 16 * 1024;
/// How many headers are read.
const HEADERS_MAX: usize = 8;

/// The claims, as JSON text, that a 401 asks for; `None` for an ordinary 401.
///
/// There may be several `WWW-Authenticate` headers, and their parameters come in any order.
pub fn claims_challenge(headers: &[(String, String)]) -> Option<String> {
    let challenges = headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("www-authenticate"));
    challenges.take(HEADERS_MAX).find_map(|(_, value)| {
        let value = value.get(..HEADER_BYTES_MAX.min(value.len()))?;
        let parameters = parameters(value);
        let of = |name: &str| parameters.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        if of("error") != Some("insufficient_claims") {
            return None;
        }
        let claims: Value = serde_json::from_slice(&lenient_base64(of("claims")?)?).ok()?;
        claims.is_object().then(|| claims.to_string())
    })
}

/// Adds the claim by which a client tells that it understands challenges.
pub(super) fn with_capability(claims: &str) -> String {
    let mut claims: Value = serde_json::from_str(claims).unwrap_or_default();
    if !claims.is_object() {
        claims = json!({});
    }
    let token = &mut claims["access_token"];
    if !token.is_object() {
        *token = json!({});
    }
    token["xms_cc"] = json!({"values": ["cp1"]});
    claims.to_string()
}

/// The `name="value"` pairs of a header; any other text around them is ignored.
fn parameters(header: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = header;
    while let Some((before, after)) = rest.split_once("=\"") {
        let name: String = before
            .chars()
            .rev()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_' || *c == '-')
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect();
        let mut value = String::new();
        let mut characters = after.char_indices();
        let mut end = after.len();
        while let Some((at, c)) = characters.next() {
            match c {
                '"' => {
                    end = at + 1;
                    break;
                }
                '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
                _ => value.push(c),
            }
        }
        found.push((name.to_ascii_lowercase(), value));
        rest = after.get(end..).unwrap_or_default();
    }
    found
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use proptest::prelude::*;
    use rstest::rstest;

    use super::*;

    const CLAIMS: &str = r#"{"access_token":{"nbf":{"essential":true,"value":"1"}}}"#;

    fn read(values: &[String]) -> Option<String> {
        let headers: Vec<_> = values.iter().map(|v| ("WWW-Authenticate".to_owned(), v.clone())).collect();
        claims_challenge(&headers)
    }

    #[rstest]
    #[case(format!(r#"Bearer realm="", error="insufficient_claims", claims="{}""#, STANDARD.encode(CLAIMS)))]
    #[case(format!(r#"Bearer claims="{}", authorization_uri="https://x/?a=b", error="insufficient_claims""#, URL_SAFE_NO_PAD.encode(CLAIMS)))]
    #[case(format!(r#"Bearer Claims="{}",Error="insufficient_claims""#, STANDARD.encode(CLAIMS)))]
    fn a_challenge_is_found_in_any_order(#[case] header: String) {
        assert_eq!(read(std::slice::from_ref(&header)).as_deref(), Some(CLAIMS));
        assert_eq!(read(&["Basic realm=\"x\"".to_owned(), header]).as_deref(), Some(CLAIMS));
    }

    #[rstest]
    #[case(r#"Bearer error="invalid_token", claims="e30=""#)]
    #[case(r#"Bearer error="insufficient_claims""#)]
    #[case(r#"Bearer error="insufficient_claims", claims="%%%""#)]
    #[case(r#"Bearer error="insufficient_claims", claims="W10=""#)]
    #[case(r#"Bearer error="insufficient_claims", claims="e30="#)]
    #[case("Bearer")]
    #[case("")]
    fn an_ordinary_401_is_none(#[case] header: &str) {
        let read = read(&[header.to_owned()]);
        assert!(read.is_none() || read.as_deref() == Some("{}"), "{read:?}");
    }

    #[test]
    fn the_capability_is_merged_into_what_was_asked() {
        let merged: Value = serde_json::from_str(&with_capability(CLAIMS)).unwrap();
        assert_eq!(merged["access_token"]["nbf"]["value"], "1");
        assert_eq!(merged["access_token"]["xms_cc"]["values"][0], "cp1");
        assert!(
            with_capability("[]").contains("cp1") && with_capability(r#"{"access_token":7}"#).contains("cp1")
        );
    }

    proptest! {
        #[test]
        fn any_header_is_read_without_panic(header in ".{0,400}") {
            read(std::slice::from_ref(&header));
            read(&[format!("Bearer error=\"insufficient_claims\", claims=\"{header}\"")]);
        }
    }
}
