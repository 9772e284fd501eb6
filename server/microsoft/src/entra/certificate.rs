//! Reads from a certificate the time in which it is valid.
//! It must never judge who signed the certificate: Entra does that, and knows the certificate by its
//! thumbprint.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use x509_cert::Certificate;
use x509_cert::der::Decode as _;

use super::{AuthError, AuthFailure};
use entraclaw_seams::secret::Secret;

/// The fix for a certificate that has expired.
pub const MAKE_A_NEW_ONE: &str = "make a new key with its certificate, add the certificate to the blueprint application, \
                                  and bring both with `entraclaw login --key FILE`";

/// The time in which a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Validity {
    /// The start of the validity.
    pub from: Timestamp,
    /// The end of the validity.
    pub until: Timestamp,
}

impl Validity {
    /// The dates of the first certificate of a PEM text; `None` where they can't be read.
    pub fn read(certificate_pem: &Secret) -> Option<Self> {
        let der = CertificateDer::from_pem_slice(certificate_pem.expose().as_bytes()).ok()?;
        let certificate = Certificate::from_der(&der).ok()?;
        let validity = certificate.tbs_certificate().validity();
        let instant = |time: x509_cert::time::Time| {
            Timestamp::UNIX_EPOCH.checked_add(SignedDuration::try_from(time.to_unix_duration()).ok()?).ok()
        };
        Some(Self { from: instant(validity.not_before)?, until: instant(validity.not_after)? })
    }

    /// Refuses a certificate that is not valid now.
    ///
    /// # Errors
    /// When the certificate is or was valid, and what helps.
    pub fn check(&self, now: Timestamp) -> Result<(), AuthError> {
        if now < self.from {
            let problem = format!(
                "the certificate is not valid before {}, and it is {} here",
                day(self.from),
                day(now)
            );
            let fix = "set the clock of this machine if it is wrong, else wait until then or make a new certificate";
            return Err(AuthError::new(AuthFailure::Credential, problem, fix));
        }
        if now > self.until {
            let problem =
                format!("the certificate ended on {}, and it is {} here", day(self.until), day(now));
            return Err(AuthError::new(AuthFailure::Credential, problem, MAKE_A_NEW_ONE));
        }
        Ok(())
    }
}

/// A time for people to read, to the minute.
pub fn day(at: Timestamp) -> String {
    at.to_zoned(TimeZone::UTC).strftime("%Y-%m-%d %H:%M UTC").to_string()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const CERTIFICATE: &str =
        include_str!("../../../../fakes/microsoft/src/entra/credentials/blueprint.cert.pem");

    #[rstest]
    #[case::the_first_second("2020-01-01T00:00:00Z", None)]
    #[case::the_last_second("2126-10-29T01:59:32Z", None)]
    #[case::before(
        "2019-12-31T23:59:59Z",
        Some("is not valid before 2020-01-01 00:00 UTC, and it is 2019-12-31 23:59 UTC")
    )]
    #[case::after("2126-10-29T01:59:33Z", Some("ended on 2126-10-29 01:59 UTC"))]
    fn the_dates_are_those_that_openssl_wrote(#[case] now: &str, #[case] problem: Option<&str>) {
        let validity = Validity::read(&Secret::new(CERTIFICATE)).unwrap();
        let checked = validity.check(now.parse().unwrap());
        match (checked, problem) {
            (Ok(()), None) => {}
            (Err(error), Some(problem)) => assert!(error.problem.contains(problem), "{error}"),
            (checked, problem) => panic!("{checked:?} {problem:?}"),
        }
    }

    #[rstest]
    #[case("nonsense")]
    #[case("-----BEGIN CERTIFICATE-----\nMAMCAQE=\n-----END CERTIFICATE-----\n")]
    fn what_is_no_certificate_has_no_dates(#[case] text: &str) {
        assert_eq!(Validity::read(&Secret::new(text)), None);
    }
}
