//! Replaces the variables in a text of a configuration, by the rules of the host whose form it has. It is pure, and an
//! error never repeats a value.

use std::collections::BTreeMap;

/// The rules of a form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rules {
    /// Nothing is replaced.
    Literal,
    /// `${NAME}`, `${NAME:-otherwise}` and `${env:NAME}`.
    Braces,
    /// These, and `$NAME`.
    BracesAndBare,
    /// `${env:NAME}` and the words of VS Code.
    VsCode,
}

/// What the names of variables stand for.
pub(super) struct Known<'a> {
    /// The environment.
    pub(super) given: &'a BTreeMap<String, String>,
    /// The folder that `${workspaceFolder}` stands for.
    pub(super) workspace: &'a str,
}

/// Why a text could not be filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Gap {
    /// The variable is not set.
    Unset(String),
    /// The editor would ask its user for it.
    Input(String),
    /// The word means nothing here.
    Word(String),
}

/// The text with its variables replaced. The values of the environment that it took go to `used`.
pub(super) fn expand(
    text: &str,
    rules: Rules,
    known: &Known<'_>,
    used: &mut Vec<String>,
) -> Result<String, Gap> {
    if rules == Rules::Literal {
        return Ok(text.to_owned());
    }
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        whole.push_str(before);
        if let Some((word, behind)) = after.strip_prefix('{').and_then(|inside| inside.split_once('}')) {
            whole.push_str(&value(word, rules, known, used)?);
            rest = behind;
            continue;
        }
        let length = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
        let name = &after[..length];
        if rules == Rules::BracesAndBare && name.starts_with(|c: char| !c.is_ascii_digit()) {
            whole.push_str(&variable(name, known, used).ok_or_else(|| Gap::Unset(name.to_owned()))?);
            rest = &after[length..];
        } else {
            whole.push('$');
            rest = after;
        }
    }
    whole.push_str(rest);
    Ok(whole)
}

fn value(word: &str, rules: Rules, known: &Known<'_>, used: &mut Vec<String>) -> Result<String, Gap> {
    if let Some(name) = word.strip_prefix("env:") {
        return match variable(name, known, used) {
            Some(value) => Ok(value),
            // VS Code puts nothing where a variable is not set.
            None if rules == Rules::VsCode => Ok(String::new()),
            None => Err(Gap::Unset(name.to_owned())),
        };
    }
    if rules != Rules::VsCode {
        let (name, otherwise) =
            word.split_once(":-").map_or((word, None), |(name, other)| (name, Some(other)));
        let value = variable(name, known, used).or_else(|| otherwise.map(str::to_owned));
        return value.ok_or_else(|| Gap::Unset(name.to_owned()));
    }
    if let Some(id) = word.strip_prefix("input:") {
        return Err(Gap::Input(id.to_owned()));
    }
    let home = || known.given.get("HOME").or_else(|| known.given.get("USERPROFILE")).cloned();
    let found = match word {
        "workspaceFolder" | "cwd" => Some(known.workspace.to_owned()),
        "workspaceFolderBasename" => {
            known.workspace.rsplit(std::path::MAIN_SEPARATOR).next().map(str::to_owned)
        }
        "userHome" => home(),
        "pathSeparator" | "/" => Some(std::path::MAIN_SEPARATOR.to_string()),
        _ => None,
    };
    found.ok_or_else(|| Gap::Word(word.to_owned()))
}

fn variable(name: &str, known: &Known<'_>, used: &mut Vec<String>) -> Option<String> {
    let value = known.given.get(name)?;
    used.push(value.clone());
    Some(value.clone())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rstest::rstest;

    fn told(text: &str, rules: Rules) -> Result<String, Gap> {
        let given = BTreeMap::from(
            [("TOKEN", "t0"), ("HOME", "/home/alice")]
                .map(|(name, value)| (name.to_owned(), value.to_owned())),
        );
        expand(text, rules, &Known { given: &given, workspace: "/srv/shop" }, &mut Vec::new())
    }

    #[rstest]
    #[case(Rules::Literal, "${TOKEN}", "${TOKEN}")]
    #[case(Rules::Braces, "Bearer ${TOKEN}, ${NONE:-x y} $TOKEN 5$", "Bearer t0, x y $TOKEN 5$")]
    #[case(Rules::Braces, "${env:TOKEN}${TOKEN:-other}", "t0t0")]
    #[case(Rules::BracesAndBare, "$TOKEN/$1/${TOKEN}", "t0/$1/t0")]
    #[case(Rules::VsCode, "${env:TOKEN}-${env:NONE}-$TOKEN", "t0--$TOKEN")]
    #[case(
        Rules::VsCode,
        "${workspaceFolder} ${workspaceFolderBasename} ${userHome}",
        "/srv/shop shop /home/alice"
    )]
    fn each_form_has_its_rules(#[case] rules: Rules, #[case] text: &str, #[case] wanted: &str) {
        assert_eq!(told(text, rules), Ok(wanted.to_owned()));
    }

    #[rstest]
    #[case(Rules::Braces, "${NONE}", Gap::Unset("NONE".to_owned()))]
    #[case(Rules::BracesAndBare, "$NONE", Gap::Unset("NONE".to_owned()))]
    #[case(Rules::VsCode, "${input:key}", Gap::Input("key".to_owned()))]
    #[case(Rules::VsCode, "${TOKEN}", Gap::Word("TOKEN".to_owned()))]
    fn what_can_not_be_filled_in_is_told(#[case] rules: Rules, #[case] text: &str, #[case] gap: Gap) {
        assert_eq!(told(text, rules), Err(gap));
    }
}
