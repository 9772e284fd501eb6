//! The dates of a certificate are read before a key is kept, and by the doctor.

use entraclaw::doctor::{Check, Diagnosis, Level};
use jiff::{Timestamp, ToSpan as _, tz::TimeZone};
use rstest::rstest;

use super::support::{AGENT, ALICE, Fixture, TENANT};

const KEY: &str = include_str!("../../../../../fakes/microsoft/src/entra/credentials/blueprint.key.pem");

/// A certificate for [`KEY`] that is valid between two days, counted from today.
fn certificate(from_days: i64, until_days: i64) -> String {
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let day = |days: i64| {
        let date = today.checked_add(days.days()).unwrap();
        rcgen::date_time_ymd(date.year().into(), date.month().cast_unsigned(), date.day().cast_unsigned())
    };
    let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
    (params.not_before, params.not_after) = (day(from_days), day(until_days));
    params.self_signed(&rcgen::KeyPair::from_pem(KEY).unwrap()).unwrap().pem()
}

/// An agent user at a sign-in server that can't be reached.
fn fixture() -> Fixture {
    Fixture::new().config(&format!(
        "[auth]\nmode = \"agent-user\"\nlogin_url = \"http://127.0.0.1:9\"\nkey_store = \"file\"\n\
         blueprint_id = \"{ALICE}\"\nagent_id = \"{AGENT}\"\n[identity]\ntenant_id = \"{TENANT}\"\nobject_id = \"{AGENT}\"\n"
    ))
}

fn kept(fixture: &Fixture, certificate: &str) {
    fixture.file(&format!("keys/private-key.{TENANT}.{ALICE}"), KEY);
    fixture.file(&format!("keys/certificate.{TENANT}.{ALICE}"), certificate);
}

fn dates(fixture: &Fixture) -> Option<Check> {
    let diagnosis: Diagnosis = serde_json::from_str(&fixture.run(&["doctor", "--json"]).out).unwrap();
    diagnosis.checks.into_iter().find(|check| check.name == "key")
}

#[rstest]
#[case::ended(-400, -3, "the certificate ended on ", "make a new key with its certificate")]
#[case::not_yet(3, 400, "the certificate is not valid before ", "set the clock of this machine")]
fn a_certificate_that_is_not_valid_today_is_refused(
    #[case] from: i64,
    #[case] until: i64,
    #[case] problem: &str,
    #[case] fix: &str,
) {
    let fixture = fixture();
    let pem = fixture.file("brought.pem", &format!("{KEY}{}", certificate(from, until)));
    let said = fixture.run(&["login", "--key", pem.to_str().unwrap()]);
    assert_eq!(said.code, 1, "{}", said.err);
    assert!(
        said.err.starts_with("error: ") && said.err.contains(problem) && said.err.contains(fix),
        "{}",
        said.err
    );
    assert!(!said.out.contains("three hops"), "nothing is asked: {}", said.out);
    assert!(!fixture.home.join(format!("keys/private-key.{TENANT}.{ALICE}")).exists(), "nothing is kept");

    // The same where it was kept before.
    kept(&fixture, &certificate(from, until));
    let said = fixture.run(&["login"]);
    assert!(said.code == 1 && said.err.contains(problem), "{}", said.err);
}

/// The key is kept as soon as login says so, and later commands don't ask for it again.
#[test]
fn a_kept_key_that_has_not_signed_in_is_not_asked_for_again() {
    let fixture = fixture();
    let pem = fixture.file("brought.pem", &format!("{KEY}{}", certificate(-3, 400)));
    let said = fixture.run(&["login", "--key", pem.to_str().unwrap()]);
    assert!(
        said.code == 1 && said.out.contains("The private key is kept in files"),
        "{} {}",
        said.out,
        said.err
    );
    let said = fixture.run(&["status"]);
    assert!(said.code == 1 && !said.out.contains("no key has been brought"), "{}", said.out);
    assert!(
        said.out.contains("has not signed in yet; run `entraclaw login`, which tries it"),
        "{}",
        said.out
    );
}

#[rstest]
#[case::ended(-400, -3, Level::Fail, "ended on ", Some("login --key"))]
#[case::not_yet(3, 400, Level::Fail, "is not valid before ", Some("clock"))]
#[case::ends_soon(-300, 5, Level::Warn, "ends on ", Some("login --key"))]
#[case::good(-300, 60, Level::Ok, "is good until ", None)]
fn the_doctor_reads_the_dates_in_the_key_store(
    #[case] from: i64,
    #[case] until: i64,
    #[case] level: Level,
    #[case] found: &str,
    #[case] fix: Option<&str>,
) {
    let fixture = fixture();
    kept(&fixture, &certificate(from, until));
    let check = dates(&fixture).expect("the doctor looks at it");
    assert_eq!(check.level, level, "{check:?}");
    assert!(check.found.contains(found), "{check:?}");
    assert_eq!(check.fix.is_some(), fix.is_some(), "{check:?}");
    assert!(check.fix.as_deref().unwrap_or_default().contains(fix.unwrap_or_default()), "{check:?}");
}

#[test]
fn a_certificate_of_the_configuration_is_read_too() {
    let fixture = fixture();
    kept(&fixture, &certificate(-300, 300));
    let file = fixture.file("given.crt", &certificate(-300, 5));
    let named = format!("ENTRACLAW_AUTH_CERTIFICATE_FILE={}", file.display());
    let (name, value) = named.split_once('=').unwrap();
    let fixture = fixture.with(name, value);
    assert_eq!(dates(&fixture).unwrap().level, Level::Warn);
}
