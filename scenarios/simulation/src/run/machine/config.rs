//! The server's own file of settings, from the variables that would set the same.
//!
//! It must never write a secret; those have their own store.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use entraclaw_session::config::key::{ALL, ALLOW_VARIABLE, HOME_VARIABLE, Key};

/// The text of `config.toml`.
pub(super) fn text(variables: &BTreeMap<String, String>) -> anyhow::Result<String> {
    let mut sections: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
    let mut allow = "";
    for (name, value) in variables {
        if name == ALLOW_VARIABLE {
            allow = value;
        } else if name != HOME_VARIABLE {
            let key = key(name).ok_or_else(|| anyhow::anyhow!("{name} can't stand in config.toml"))?;
            sections.entry(key.section).or_default().insert(key.name, value);
        }
    }
    let mut text = String::new();
    for (section, keys) in sections {
        writeln!(text, "[{section}]")?;
        for (name, value) in keys {
            writeln!(text, "{name} = {}", quoted(value)?)?;
        }
    }
    for person in allow.split(',').filter(|person| !person.is_empty()) {
        writeln!(text, "[[allow]]")?;
        match person.split_once('/') {
            Some((tenant, object)) => {
                writeln!(text, "tenant_id = {}\nobject_id = {}", quoted(tenant)?, quoted(object)?)?;
            }
            None => writeln!(text, "mail = {}", quoted(person)?)?,
        }
    }
    Ok(text)
}

fn key(variable: &str) -> Option<&'static Key> {
    ALL.iter().copied().find(|key| key.variable() == variable || key.aliases.contains(&variable))
}

/// A text of JSON is one of TOML too.
fn quoted(text: &str) -> serde_json::Result<String> {
    serde_json::to_string(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use entraclaw_session::config::{Config, Sources};

    #[test]
    fn a_file_sets_what_the_variables_set_and_a_token_has_no_place_in_it() {
        let ids = "11111111-2222-4333-8444-555555555555/66666666-7777-4888-9999-000000000000";
        let mut variables = BTreeMap::from([
            ("ENTRACLAW_ALLOW".to_owned(), format!("{ids},alice@contoso.com")),
            ("ENTRACLAW_TEAMS_POLL_INTERVAL".to_owned(), "7s".to_owned()),
            ("ENTRACLAW_BLUEPRINT_APP_ID".to_owned(), "11111111-2222-4333-8444-555555555555".to_owned()),
            ("ENTRACLAW_LOG_LEVEL".to_owned(), "debug".to_owned()),
        ]);
        let load = |environment, file| Config::load(&Sources { flags: Vec::new(), environment, file });
        let by_file = load(BTreeMap::new(), Some(("config.toml".to_owned(), text(&variables).unwrap())));
        assert_eq!(by_file.unwrap(), load(variables.clone(), None).unwrap());
        variables.insert("ENTRACLAW_ACCESS_TOKEN".to_owned(), "hush".to_owned());
        assert!(!text(&variables).unwrap_err().to_string().contains("hush"));
    }
}
