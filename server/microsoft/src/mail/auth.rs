//! Checks by the own mail system's headers whether a mail is really from the address in its `From`.
//! It must never believe a line that the sender could have written.

use std::collections::BTreeSet;

use super::wire::Headers;
use entraclaw_inbox::gate::MailAddress;

/// Why an address is believed, as a word for the facts of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Proof {
    /// DMARC passed.
    Dmarc,
    /// Microsoft's composite authentication passed.
    CompositeAuth,
    /// The mail came from inside the organisation.
    Internal,
}

impl Proof {
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Dmarc => "dmarc",
            Self::CompositeAuth => "compauth",
            Self::Internal => "internal",
        }
    }
}

/// The agent's own mail system, as far as it is known.
#[derive(Debug, Clone, Default)]
pub(super) struct House {
    /// The domains of the agent's own addresses.
    pub(super) domains: BTreeSet<String>,
    /// The name under which the organisation's own gateway writes its results; Exchange Online writes none.
    pub(super) authserv_id: Option<String>,
}

/// The content of one `Authentication-Results` header.
#[derive(Debug, Default, PartialEq, Eq)]
struct Results {
    dmarc: Option<String>,
    composite: Option<String>,
    header_from: Option<String>,
    /// The header has the same method or domain twice, so a sender may have tampered with it.
    ambiguous: bool,
}

/// Proves that a mail is from `from`, or says in a few words why that is not proven.
pub(super) fn prove(headers: &Headers, from: &MailAddress, house: &House) -> Result<Proof, &'static str> {
    let results = own_results(headers, house);
    if results.ambiguous {
        return Err("the authentication results contradict each other");
    }
    let says = |method: &Option<String>, word: &str| method.as_deref() == Some(word);
    if says(&results.dmarc, "fail") || says(&results.composite, "fail") {
        return Err("authentication of the sender failed");
    }
    // Exchange removes these headers from mail that comes from outside; it checks no DMARC on internal mail.
    let mut internal = headers.all("x-ms-exchange-organization-authas").peekable();
    let is_internal =
        internal.peek().is_some() && internal.all(|value| value.eq_ignore_ascii_case("internal"));
    if is_internal && house.domains.contains(from.host()) {
        return Ok(Proof::Internal);
    }
    if results.header_from.as_deref().is_some_and(|domain| domain != from.host()) {
        return Err("another domain than the sender's was authenticated");
    }
    if says(&results.dmarc, "pass") {
        Ok(Proof::Dmarc)
    } else if says(&results.composite, "pass") {
        Ok(Proof::CompositeAuth)
    } else {
        Err("the sender is not authenticated")
    }
}

/// The results that the agent's own mail system wrote. Each hop puts its line on top. Without a configured
/// name, only the topmost line counts, and only if it names no service. With a configured name, the gateway
/// removes lines with that name from incoming mail.
fn own_results(headers: &Headers, house: &House) -> Results {
    // The sender may have written the lines below a line that can't be read.
    let mut lines = headers.down_to_unread("authentication-results").map(parse);
    let own = match &house.authserv_id {
        None => lines.next().filter(|(id, _)| id.is_none()),
        Some(own) => lines.find(|(id, _)| id.as_deref() == Some(own)),
    };
    own.map(|(_, results)| results).unwrap_or_default()
}

/// Reads the authentication service's name, if the line begins with one, and its results.
fn parse(line: &str) -> (Option<String>, Results) {
    let plain = without_comments(line);
    let mut statements = plain.split(';').map(str::trim).filter(|s| !s.is_empty()).peekable();
    let mut name = None;
    if let Some(first) = statements.next_if(|first| !first.contains('=')) {
        name = first.split_whitespace().next().map(str::to_ascii_lowercase);
    }
    let mut results = Results::default();
    for statement in statements {
        let mut words = statement.split_whitespace();
        let Some((method, result)) = words.next().and_then(|word| word.split_once('=')) else { continue };
        let slot = match method.to_ascii_lowercase().as_str() {
            "dmarc" => &mut results.dmarc,
            "compauth" => &mut results.composite,
            _ => continue,
        };
        results.ambiguous |= slot.replace(result.to_ascii_lowercase()).is_some();
        let domain = words.find_map(|word| {
            let (name, domain) = word.split_once('=')?;
            name.eq_ignore_ascii_case("header.from").then(|| domain.to_ascii_lowercase())
        });
        if let Some(domain) = domain {
            results.ambiguous |= results.header_from.replace(domain).is_some();
        }
    }
    (name, results)
}

/// Removes comments and quoted texts, which can hold anything, and blanks around `=`.
fn without_comments(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    let mut depth = 0_u32;
    let mut quoted = false;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' if quoted || depth > 0 => {
                chars.next();
            }
            '"' if depth == 0 => quoted = !quoted,
            '(' if !quoted => depth += 1,
            ')' if !quoted => depth = depth.saturating_sub(1),
            c if quoted || depth > 0 => {
                // A placeholder, so that the words before and after the quoted text are not joined.
                if quoted && !out.ends_with('_') {
                    out.push('_');
                }
                let _ = c;
            }
            c => out.push(c),
        }
    }
    out.replace(" =", "=").replace("= ", "=")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const PASS: &str = "spf=pass (sender IP is 192.0.2.1) smtp.mailfrom=fabrikam.com; dkim=pass (signature was verified) header.d=fabrikam.com;dmarc=pass action=none header.from=fabrikam.com;compauth=pass reason=100";

    fn prove_with(
        headers: &[(&str, &str)],
        from: &str,
        authserv_id: Option<&str>,
    ) -> Result<Proof, &'static str> {
        let headers = Headers::of(headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));
        let house = House {
            domains: BTreeSet::from(["contoso.com".to_owned()]),
            authserv_id: authserv_id.map(str::to_owned),
        };
        prove(&headers, &MailAddress::parse(from).unwrap(), &house)
    }

    #[rstest]
    #[case(PASS, Some(Proof::Dmarc))]
    #[case("dmarc=pass header.from=fabrikam.com", Some(Proof::Dmarc))]
    #[case(
        "spf=none; dmarc=none header.from=fabrikam.com; compauth=pass reason=109",
        Some(Proof::CompositeAuth)
    )]
    #[case(
        "spf=pass; dmarc=bestguesspass header.from=fabrikam.com;compauth=pass reason=109",
        Some(Proof::CompositeAuth)
    )]
    #[case("spf=pass; dmarc=bestguesspass header.from=fabrikam.com", None)]
    #[case("dmarc = pass header.from = fabrikam.com", Some(Proof::Dmarc))]
    #[case("DMARC=Pass header.from=Fabrikam.com", Some(Proof::Dmarc))]
    #[case("dmarc=fail action=none header.from=fabrikam.com", None)]
    #[case("dmarc=fail header.from=fabrikam.com;compauth=pass", None)]
    #[case("dmarc=pass header.from=fabrikam.com;compauth=fail reason=601", None)]
    #[case("dmarc=pass header.from=example.com", None)]
    #[case("dmarc=pass header.from=fabri\u{212a}am.com", None)]
    #[case("dmarc=pass header.from=fabrikam.com; dmarc=pass header.from=fabrikam.com", None)]
    #[case("spf=pass (x; dmarc=pass) smtp.mailfrom=example.com", None)]
    #[case("spf=pass smtp.mailfrom=\"x; dmarc=pass\"; dmarc=none", None)]
    #[case("spf=pass (a (nested; dmarc=pass) b; dmarc=pass", None)]
    #[case("spf=pass smtp.mailfrom=dmarc=pass", None)]
    #[case("mx.example.com; dmarc=pass header.from=fabrikam.com", None)]
    #[case("none", None)]
    #[case("", None)]
    fn results_of_the_own_service(#[case] line: &str, #[case] proof: Option<Proof>) {
        assert_eq!(prove_with(&[("Authentication-Results", line)], "alice@fabrikam.com", None).ok(), proof);
    }

    #[test]
    fn only_the_topmost_line_is_the_own_one() {
        let fail = "spf=fail; dmarc=fail header.from=fabrikam.com";
        let none = "spf=none; dmarc=none header.from=fabrikam.com";
        for top in [fail, none] {
            let lines = [("authentication-results", top), ("Authentication-Results", PASS)];
            prove_with(&lines, "alice@fabrikam.com", None).unwrap_err();
        }
        // A line with a name comes from a relay; it does not make the line without a name below it the
        // topmost.
        for named in ["mx.example.com; dmarc=fail", "mx.example.com; none", "mx.contoso.com"] {
            let lines = [("Authentication-Results", named), ("Authentication-Results", PASS)];
            prove_with(&lines, "alice@fabrikam.com", None).unwrap_err();
        }
        let others = [("Authentication-Results-Original", PASS), ("ARC-Authentication-Results", PASS)];
        prove_with(&others, "alice@fabrikam.com", None).unwrap_err();
        let lines = [("Authentication-Results", PASS), ("Authentication-Results", fail)];
        prove_with(&lines, "alice@fabrikam.com", None).unwrap();
    }

    #[test]
    fn headers_below_a_line_that_is_too_long_are_not_believed() {
        let long = format!("spf=fail; dmarc=fail; dkim=pass header.d={}", "a".repeat(17_000));
        let named = format!("mx.contoso.com; {PASS}");
        for own in [None, Some("mx.contoso.com")] {
            let below = if own.is_some() { named.as_str() } else { PASS };
            let lines = [("Authentication-Results", long.as_str()), ("Authentication-Results", below)];
            prove_with(&lines, "alice@fabrikam.com", own).unwrap_err();
            prove_with(&lines[1..], "alice@fabrikam.com", own).unwrap();
        }
        let inner = [
            ("X-MS-Exchange-Organization-AuthAs", long.as_str()),
            ("X-MS-Exchange-Organization-AuthAs", "Internal"),
        ];
        prove_with(&inner, "alice@contoso.com", None).unwrap_err();
    }

    #[test]
    fn a_gateway_of_ones_own_is_known_by_its_name() {
        let gateway = format!("MX.contoso.com 1; {PASS}");
        let lines = [("Authentication-Results", "dmarc=fail"), ("Authentication-Results", gateway.as_str())];
        prove_with(&lines, "alice@fabrikam.com", Some("mx.contoso.com")).unwrap();
        prove_with(&lines, "alice@fabrikam.com", Some("mx.example.com")).unwrap_err();
        prove_with(&lines[..1], "alice@fabrikam.com", Some("mx.contoso.com")).unwrap_err();
    }

    #[rstest]
    #[case(&["Internal"], "alice@contoso.com", Some(Proof::Internal))]
    #[case(&["Internal"], "alice@fabrikam.com", None)]
    #[case(&["Anonymous"], "alice@contoso.com", None)]
    #[case(&["Anonymous", "Internal"], "alice@contoso.com", None)]
    #[case(&[], "alice@contoso.com", None)]
    fn inner_mail_is_marked_by_exchange(
        #[case] marks: &[&str],
        #[case] from: &str,
        #[case] proof: Option<Proof>,
    ) {
        let headers: Vec<_> = marks.iter().map(|m| ("X-MS-Exchange-Organization-AuthAs", *m)).collect();
        assert_eq!(prove_with(&headers, from, None).ok(), proof);
        let none =
            "dkim=none (message not signed) header.d=none;dmarc=none action=none header.from=contoso.com";
        let with_none = [vec![("Authentication-Results", none)], headers.clone()].concat();
        assert_eq!(prove_with(&with_none, from, None).ok(), proof);
        let with_fail = [vec![("Authentication-Results", "dmarc=fail")], headers].concat();
        assert_eq!(prove_with(&with_fail, from, None).ok(), None);
    }
}
