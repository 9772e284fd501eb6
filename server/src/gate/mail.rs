//! Who may speak by mail: addresses of the allowlist, and nothing else.
//! It must never be asked about an address that the mail system has not vouched for.

use std::sync::Arc;

use jiff::Timestamp;

use super::{Gate, Person, Verdict};
use crate::journal::Journal;

/// The longest address that is one, in bytes.
const ADDRESS_BYTES_MAX: usize = 320;

/// A mail address in one spelling, so that comparing is exact. Only ASCII letters have two cases here: other alphabets
/// fold different letters into one.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct MailAddress(String);

impl MailAddress {
    /// Reads an address; `None` for everything that is not one local part at one host.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (local, host) = text.split_once('@')?;
        let odd = |c: char| c.is_whitespace() || c.is_control() || "<>()[]\\,;:\"@".contains(c);
        let shaped = !local.is_empty() && !host.is_empty() && !local.contains(odd) && !host.contains(odd);
        (shaped && text.len() <= ADDRESS_BYTES_MAX).then(|| Self(text.to_ascii_lowercase()))
    }

    /// The canonical spelling.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What stands before the `@`.
    pub fn local(&self) -> &str {
        self.0.split_once('@').map_or("", |(local, _)| local)
    }

    /// What stands behind it.
    pub fn host(&self) -> &str {
        self.0.split_once('@').map_or("", |(_, host)| host)
    }
}

/// The gate as mail sees it.
#[derive(Clone)]
pub struct MailGate(Arc<Gate>);

impl MailGate {
    /// A gate for these addresses; what is no address lets nobody in.
    pub fn new<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Self {
        let addresses = addresses.into_iter().filter_map(MailAddress::parse);
        let people = addresses.map(|address| Person { mail: Some(address.0), ..Person::default() });
        Self::over(Arc::new(Gate::for_people(people.collect())))
    }

    /// The addresses that a gate lets in, as its policy changes.
    pub fn over(gate: Arc<Gate>) -> Self {
        Self(gate)
    }

    /// As [`Gate::look`].
    pub fn look(&self, journal: &Journal) {
        self.0.look(journal);
    }

    /// Whether nobody is let in.
    pub fn is_closed(&self) -> bool {
        self.0.people().iter().all(|person| person.mail.is_none())
    }

    /// Whether mail may be sent to this address.
    pub fn allows(&self, address: &MailAddress) -> bool {
        self.decide(address, None) == Verdict::Accept
    }

    /// Whether mail of this address may be heard, as if it were written now where no moment is stated.
    pub fn decide(&self, address: &MailAddress, written: Option<Timestamp>) -> Verdict {
        self.0.decide_mail(address.as_str(), written)
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("alice@contoso.com", true)]
    #[case(" Alice@CONTOSO.com ", true)]
    #[case("bob@contoso.com", false)]
    #[case("alice@contoso.com.example.com", false)]
    #[case("alice@contoso.com@example.com", false)]
    #[case("<alice@contoso.com>", false)]
    #[case("Alice <alice@contoso.com>", false)]
    #[case("\u{430}lice@contoso.com", false)]
    #[case("mike@contoso.com", true)]
    #[case("MIKE@contoso.com", true)]
    #[case("mi\u{212a}e@contoso.com", false)]
    #[case("mike@CONTO\u{17f}O.com", false)]
    #[case("alice", false)]
    #[case("@", false)]
    #[case("", false)]
    fn only_listed_addresses_pass(#[case] text: &str, #[case] allowed: bool) {
        let gate = MailGate::new(["alice@contoso.com", "mike@contoso.com", "nonsense"]);
        assert_eq!(MailAddress::parse(text).is_some_and(|address| gate.allows(&address)), allowed);
    }

    #[test]
    fn an_empty_list_lets_nobody_in() {
        assert!(MailGate::new([]).is_closed() && MailGate::new(["nonsense"]).is_closed());
        assert_eq!(MailAddress::parse(&format!("a@{}", "b".repeat(400))), None);
    }
}
