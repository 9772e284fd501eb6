//! Writes claims as the draft of a profile: observed facts with their lines, the others as comments with the
//! reason. The loader accepts the file. It never states a fact as observed that no line shows.

use std::fmt::Write as _;

use fake_hosts::{Evidence, Mode, Profile};
use serde_json::{Value, json};

use super::claim::Claims;
use crate::json_in_yaml::yaml;

/// The profile that a draft extends if the user names no other.
pub const BASE: &str = "generic@tools-only";
/// Longest name or version in an id, in characters.
const ID_PART_MAX: usize = 60;

/// Why a whole section can't be observed here.
const BLIND: [(&str, &str); 8] = [
    ("shell.", "a background shell is not on this wire"),
    ("hooks.", "hooks are not on this wire"),
    ("wake_up.", "a wake-up is not on this wire"),
    ("tasks.", "no call was answered with a task"),
    ("texts.", "what the model is shown is not on this wire"),
    ("names.", "what the model is shown is not on this wire"),
    ("schemas.", "whether a model can call such a tool is not tried"),
    ("fidelity.", "a tolerance is set when recordings are compared"),
];

/// The session that would show a fact.
const NEEDS: [(&str, &str); 15] = [
    ("opening.probe_silence", "--opening probe-silent"),
    ("opening.probe_timeout_ms", "--opening probe-silent"),
    ("opening.probe_exit", "--opening probe-exit"),
    ("opening.on_start_timeout", "--opening initialize-silent"),
    ("opening.start_timeout_ms", "--opening initialize-silent"),
    ("opening.on_refused_version", "--opening version=1999-01-01"),
    ("opening.modern_by_initialize", "--opening version=2026-07-28"),
    ("identity.accepted_versions", "--opening version=…, one for each version"),
    ("lists.undeclared", "--opening no-capabilities"),
    ("notifications.needs_declaration", "--opening quiet"),
    ("notifications.", "the steps `change`, then `note`"),
    ("modern.listen_retry_ms", "--opening modern-refuse-listen"),
    ("modern.", "--opening modern"),
    ("requests.", "the step `ask`"),
    ("life.restart", "the step `exit`, then `note`"),
];

/// The draft of a profile as YAML, extending `base`.
pub fn write(claims: &Claims, base: &Profile) -> String {
    let info = claims.get("identity.client_info", None).map(|claim| &claim.value);
    let part = |name: &str| {
        let text = info.and_then(|info| info.get(name)).and_then(Value::as_str).unwrap_or("unknown");
        let kept = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_');
        let text: String = text.chars().filter(kept).take(ID_PART_MAX).collect();
        if text.is_empty() { "unknown".to_owned() } else { text }
    };
    let (family, version) = (part("name"), part("version"));
    let mut text = String::new();
    // Writing to a string can't fail.
    let _ = write!(
        text,
        "# A draft by `hostcheck probe --report`. Facts that are not named are those of {base}; each is a comment with the\n\
         # reason why it is unknown. Read every line before you believe it.\n\
         id: {id}\nextends: {base}\nfamily: {family}\ntitle: {title}\nabout: drawn from logs of the probe; see the sources\n",
        base = base.id,
        id = quoted(&format!("{family}@{version}")),
        family = quoted(&family),
        title = quoted(&format!("{family} {version}")),
    );
    let facts = base.evidence();
    let mut at = 0;
    while let Some(first) = facts.get(at) {
        let section = first.name.split('.').next().unwrap_or_default();
        let of_section = |fact: &&Evidence| fact.name.split('.').next() == Some(section);
        let count = facts[at..].iter().take_while(of_section).count();
        let lines: Vec<Result<String, String>> =
            facts[at..at + count].iter().map(|fact| line(claims, fact, base)).collect();
        let known = lines.iter().any(Result::is_ok);
        let _ = writeln!(text, "\n{}{section}:", if known { "" } else { "# " });
        for line in lines {
            let _ = match line {
                Ok(line) => writeln!(text, "  {line}"),
                Err(unknown) => writeln!(text, "  # {unknown}"),
            };
        }
        at += count;
    }
    text
}

/// The line of a fact, or the text of a comment if it is unknown.
fn line(claims: &Claims, fact: &Evidence, base: &Profile) -> Result<String, String> {
    let field = fact.name.split('.').nth(1).unwrap_or_default();
    let by_mode = fact
        .value
        .as_object()
        .is_some_and(|value| value.len() == 2 && value.contains_key("tui") && value.contains_key("print"));
    let (value, mark, source) = if by_mode {
        let (tui, print) =
            (claims.get(&fact.name, Some(Mode::Tui)), claims.get(&fact.name, Some(Mode::Print)));
        match (tui, print) {
            (Some(tui), Some(print)) => {
                let value = json!({"tui": tui.value, "print": print.value});
                (value, "observed", format!("tui {}; print {}", tui.evidence, print.evidence))
            }
            (Some(seen), None) => half("tui", &seen.value, &seen.evidence, fact, base),
            (None, Some(seen)) => half("print", &seen.value, &seen.evidence, fact, base),
            (None, None) => return Err(unknown(claims, &fact.name, field)),
        }
    } else {
        match claims.get(&fact.name, None) {
            Some(seen) => (seen.value.clone(), "observed", seen.evidence.clone()),
            None => return Err(unknown(claims, &fact.name, field)),
        }
    };
    Ok(format!(
        "{field}: {{ value: {}, mark: {mark}, source: {} }}",
        yaml(&value.to_string()),
        quoted(&source)
    ))
}

/// A fact that was observed in one mode only: the value of the other mode is that of the base, so the fact as
/// a whole is not observed.
fn half(
    mode: &str,
    seen: &Value,
    evidence: &str,
    fact: &Evidence,
    base: &Profile,
) -> (Value, &'static str, String) {
    let mut value = fact.value.clone();
    value[mode] = seen.clone();
    let other = if mode == "tui" { "print" } else { "tui" };
    (value, "guess", format!("{mode} observed: {evidence}; {other} unknown, as in {}", base.id))
}

fn unknown(claims: &Claims, name: &str, field: &str) -> String {
    let reason = match (claims.contradictions.get(name), claims.hints.get(name)) {
        (Some(both), _) => format!("seen differently: {both}"),
        (None, Some(hint)) => hint.clone(),
        (None, None) => {
            let needs = NEEDS.iter().find(|(start, _)| name.starts_with(start));
            let blind = BLIND.iter().find(|(section, _)| name.starts_with(section));
            match (needs, blind) {
                (Some((_, session)), _) => format!("not seen in these logs; it may show with {session}"),
                (None, Some((_, reason))) => (*reason).to_owned(),
                (None, None) => "not seen in these logs".to_owned(),
            }
        }
    };
    let reason = quoted(&reason);
    format!("{field}: unknown: {}", reason.trim_matches('"'))
}

fn quoted(text: &str) -> String {
    yaml(&Value::from(text).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_draft_without_a_single_fact_is_a_profile_that_loads() {
        let base = fake_hosts::profile(BASE).unwrap();
        let text = write(&Claims::default(), &base);
        let profile = fake_hosts::load("draft", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(profile.id, "unknown@unknown");
        assert!(text.contains("  # timeout_ms: unknown: not seen in these logs"), "{text}");
    }

    #[test]
    fn a_hostile_name_stays_a_name() {
        let mut claims = Claims::default();
        let info = json!({"name": "evil\n: - {x", "version": "1\u{2028}2"});
        claims.add("identity.client_info", info.clone(), "log:1\n# \"".to_owned());
        claims.hint("calls.timeout_ms", "two\nlines".to_owned());
        let base = fake_hosts::profile(BASE).unwrap();
        let text = write(&claims, &base);
        let profile = fake_hosts::load("draft", &text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!((profile.id.as_str(), &profile.identity.client_info.value), ("evil-x@12", &info));
    }
}
