//! Messages with their expected verdicts, for every version that an entry names.

use std::collections::BTreeSet;

use crate::entries::{Entry, corpus, verdict};
use schemas::{Version, catalog, validate_line};

#[test]
fn every_message_gets_its_verdict() {
    let mut faults = Vec::new();
    for entry in corpus() {
        for version in entry.versions() {
            let found = verdict(version, &entry);
            let mut wrong: Vec<String> =
                found.errors.iter().map(|error| format!("{} {}", error.path, error.rule)).collect();
            wrong.sort();
            let mut wanted = entry.wrong.clone();
            wanted.sort();
            if found.valid != found.errors.is_empty() || wrong != wanted || found.definition != entry.is {
                faults.push(format!(
                    "{version} line {} of {}: {}\n  wanted {} {wanted:?}\n  found  {} {:?}",
                    entry.line, entry.file, entry.msg, entry.is, found.definition, found.errors
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{} faults\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn every_version_has_its_share_and_every_message_type_is_there() {
    let entries = corpus();
    for version in Version::ALL {
        let here: Vec<&Entry> = entries.iter().filter(|e| e.versions().contains(&version)).collect();
        let valid = here.iter().filter(|e| e.wrong.is_empty()).count();
        assert!(valid >= 40 && here.len() - valid >= 20, "{version}: {valid} valid of {}", here.len());
        let used: BTreeSet<&str> =
            here.iter().filter(|e| e.wrong.is_empty()).map(|e| e.is.as_str()).collect();
        let catalog = catalog(version);
        let mut wanted: BTreeSet<&str> = catalog
            .methods()
            .flat_map(|(_, d)| std::iter::once(d.name.as_str()).chain(d.result.as_deref()))
            .collect();
        wanted.extend(catalog.error_codes().map(|code| catalog.error(Some(code))));
        wanted.extend(["CreateTaskResult", "InputRequiredResult"].into_iter().filter(|n| catalog.has(n)));
        wanted.extend(["JSONRPCRequest", "JSONRPCNotification"]);
        wanted.extend([catalog.result_envelope(), catalog.error_envelope()]);
        let missing: Vec<_> = wanted.difference(&used).collect();
        assert!(missing.is_empty(), "{version}: no valid example of {missing:?}");
    }
}

#[test]
fn a_line_is_judged_without_its_surroundings() {
    let verdict = validate_line(Version::V2025_11_25, r#"{"jsonrpc":"2.0","id":1,"result":{}}"#);
    assert!(verdict.valid);
    assert_eq!(verdict.definition, "JSONRPCResultResponse");
    for (line, rule) in [
        ("{", "not-json"),
        ("", "not-json"),
        ("{} {}", "not-json"),
        ("[1", "not-json"),
        ("\u{feff}{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}", "byte-order-mark"),
        ("{\"jsonrpc\":\"2.0\",\n\"id\":1,\"method\":\"ping\"}", "one-line"),
    ] {
        let verdict = validate_line(Version::V2025_11_25, line);
        let rules: Vec<_> = verdict.errors.iter().map(|error| error.rule).collect();
        assert_eq!(rules, [rule], "{line:?}");
    }
}

/// A line that is a word of a log is none from its beginning, so a place would say nothing.
#[test]
fn a_line_that_is_not_json_names_the_place_where_a_part_of_it_could_be_read() {
    for (line, message) in [("hello", "a line is not JSON"), ("{} {}", "a line is not JSON from column 4 on")]
    {
        let verdict = validate_line(Version::V2025_11_25, line);
        assert_eq!(verdict.errors[0].message, message, "{line:?}");
    }
}
