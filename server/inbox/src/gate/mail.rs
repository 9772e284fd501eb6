//! The gate for mail: it knows the addresses of the allowlist, and nothing else. It must never be asked about
//! an address that the mail system has not vouched for.

use std::sync::Arc;

use jiff::Timestamp;

use super::address::MailAddress;
use super::{Gate, Person, Verdict};
use crate::journal::Journal;

/// The gate as the mail source uses it.
#[derive(Clone)]
pub struct MailGate(Arc<Gate>);

impl MailGate {
    /// A gate for these addresses; a text that is not an address lets no sender in.
    pub fn new<'a>(addresses: impl IntoIterator<Item = &'a str>) -> Self {
        let addresses = addresses.into_iter().filter_map(MailAddress::parse);
        let people =
            addresses.map(|address| Person { mail: Some(address.as_str().to_owned()), ..Person::default() });
        Self::over(Arc::new(Gate::for_people(people.collect())))
    }

    /// Follows the addresses that `gate` lets in, as its policy changes.
    pub fn over(gate: Arc<Gate>) -> Self {
        Self(gate)
    }

    /// Does what [`Gate::look`] does.
    pub fn look(&self, journal: &Journal) {
        self.0.look(journal);
    }

    /// Whether no address is let in.
    pub fn is_closed(&self) -> bool {
        self.0.people().iter().all(|person| person.mail.is_none())
    }

    /// Whether mail may be sent to this address.
    pub fn allows(&self, address: &MailAddress) -> bool {
        self.decide(address, None) == Verdict::Accept
    }

    /// Whether mail from this address may be delivered. Without a time in `written`, the mail counts as
    /// written now.
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
    fn an_empty_list_lets_no_person_in() {
        assert!(MailGate::new([]).is_closed() && MailGate::new(["nonsense"]).is_closed());
        assert!(!MailGate::new(["nonsense", "alice@contoso.com"]).is_closed());
    }
}
