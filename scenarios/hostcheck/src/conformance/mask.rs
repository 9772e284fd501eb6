//! Takes secrets out of findings, once, before anything is written or printed. It must reach every text that
//! may contain words of the server.

use super::findings::Findings;
use super::outcome::{Judged, Outcome};

/// The replacement of a secret.
const MASKED: &str = "<secret>";

/// A text without secrets.
pub fn text(text: &str, secrets: &[String]) -> String {
    secrets.iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), MASKED))
}

/// Masks every text of the findings.
pub(super) fn findings(findings: &mut Findings, secrets: &[String]) {
    if secrets.is_empty() {
        return;
    }
    let hide = |place: &mut String| *place = text(place, secrets);
    let about = &mut findings.about;
    let optional = [&mut about.name, &mut about.version, &mut about.unreachable];
    optional.into_iter().flatten().for_each(hide);
    for (_, speaks) in &mut about.versions {
        match speaks {
            Ok(said) | Err(said) => hide(said),
        }
    }
    for judged in findings.protocol.iter_mut().chain(&mut findings.hosts) {
        let Judged { outcome, transcript, session, .. } = judged;
        match outcome {
            Outcome::Passed => {}
            Outcome::Flaky(differing) => hide(&mut differing.reason),
            Outcome::NotApplicable(reason)
            | Outcome::Unsupported(reason)
            | Outcome::Unknown(reason)
            | Outcome::CouldNotRun(reason) => {
                hide(reason);
            }
            Outcome::Failed(evidence) => {
                for one in evidence {
                    hide(&mut one.message);
                    one.expected.iter_mut().chain(&mut one.observed).for_each(hide);
                }
            }
        }
        transcript.iter_mut().map(|line| &mut line.text).for_each(hide);
        session.values_mut().for_each(hide);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conformance::{About, Evidence};

    #[test]
    fn no_text_of_the_findings_keeps_a_secret() {
        let said = || "it said hunter22 twice: hunter22".to_owned();
        let evidence = Evidence {
            message: said(),
            expected: Some(said()),
            observed: Some(said()),
            tells: false,
            at_ms: 0,
        };
        let judged = |outcome| Judged {
            row: "a".to_owned(),
            column: "b".to_owned(),
            outcome,
            transcript: vec![reports::event::WireLine {
                at_ms: 0,
                lane: reports::event::Lane::Stderr,
                text: said(),
            }],
            session: [("x".to_owned(), said())].into(),
        };
        let mut found = Findings {
            about: About {
                name: Some(said()),
                version: Some(said()),
                versions: vec![(schemas::Version::NEWEST, Err(said()))],
                older: None,
                unreachable: Some(said()),
            },
            protocol: vec![judged(Outcome::Failed(vec![evidence])), judged(Outcome::CouldNotRun(said()))],
            hosts: vec![judged(Outcome::NotApplicable(said()))],
            ..Findings::default()
        };
        findings(&mut found, &["hunter22".to_owned()]);
        let shown = format!("{:?} {:?} {:?}", found.about, found.protocol, found.hosts);
        assert!(!shown.contains("hunter22") && shown.contains(MASKED), "{shown}");
    }
}
