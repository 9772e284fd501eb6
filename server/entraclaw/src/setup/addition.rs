//! What `setup --with` adds: a carrier that is off by default, other coding agents as tools, shared context, or the local
//! model of a project.
//!
//! It must never read a word in two ways.

use std::collections::BTreeSet;

use super::content::Content;
use super::request::Carrier;
use entraclaw_inbox::tool::ToolSet;
use entraclaw_session::config::key;

/// The only addition whose value may have a comma.
const WITH_A_PATH: &str = "input-file=";

/// One addition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addition {
    /// A carrier.
    Carrier(Carrier),
    /// Other coding agents as tools.
    Ask,
    /// Shared context, and the search over all sessions.
    Context,
    /// Handing work to the local model of a project.
    Delegate,
}

/// The additions of one word of the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Additions(pub Vec<Addition>);

impl Additions {
    /// Reads additions with commas between.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut additions = Vec::new();
        let mut rest = text;
        loop {
            let whole = rest.starts_with(WITH_A_PATH);
            let (word, more) = rest.split_once(',').filter(|_| !whole).unwrap_or((rest, ""));
            additions.push(Addition::parse(word)?);
            if more.is_empty() {
                return Ok(Self(additions));
            }
            rest = more;
        }
    }
}

impl Addition {
    fn parse(word: &str) -> Result<Self, String> {
        match word {
            "ask" => Ok(Self::Ask),
            "context" => Ok(Self::Context),
            "delegate" => Ok(Self::Delegate),
            _ => match word.split_once('=') {
                Some((name @ ("ask" | "context" | "delegate"), _)) => Err(format!("{name} takes no value")),
                _ => Carrier::parse(word).map(Self::Carrier),
            },
        }
    }

    /// The set of tools that it adds; `None` for a carrier.
    pub fn set(&self) -> Option<ToolSet> {
        match self {
            Self::Carrier(_) => None,
            Self::Ask => Some(ToolSet::Ask),
            Self::Context => Some(ToolSet::Context),
            Self::Delegate => Some(ToolSet::Delegate),
        }
    }
}

/// The sets of tools of an entry that adds some to those of the configuration.
pub fn sets_with(added: &BTreeSet<ToolSet>, configured: &BTreeSet<ToolSet>) -> String {
    let is_in = |set: &ToolSet| added.contains(set) || configured.contains(set);
    let sets: Vec<&str> = ToolSet::ALL.iter().filter(|set| is_in(set)).map(|set| set.as_str()).collect();
    sets.join(", ")
}

/// Whether a text that setup wrote adds a set of tools: setup names sets only to add some.
pub fn adds(text: &str, set: ToolSet) -> bool {
    text.split(&key::TOOLS_SETS.variable()).skip(1).any(|rest| {
        // Of JSON or TOML: what ends the name, then the value in quotes.
        let value = rest.split_once([':', '=']).map_or("", |(_, value)| value);
        let value = value.split('"').nth(1).unwrap_or_default();
        value.split(',').any(|word| word.trim() == set.as_str())
    })
}

/// Whether the content of a file adds a set of tools.
pub fn content_adds(content: &Content, set: ToolSet) -> bool {
    adds(&serde_json::to_string(content).unwrap_or_default(), set)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_with_commas_between() {
        let additions = |text| Additions::parse(text).map(|Additions(all)| all);
        assert_eq!(additions("ask"), Ok(vec![Addition::Ask]));
        let both = vec![Addition::Carrier(Carrier::Port(5000)), Addition::Ask];
        assert_eq!(additions("port=5000,ask"), Ok(both));
        let path = Addition::Carrier(Carrier::InputFile(Some("/srv/a,b".to_owned())));
        let last = Additions::parse("ask,input-file=/srv/a,b");
        assert!(!cfg!(unix) || last == Ok(Additions(vec![Addition::Ask, path])), "{last:?}");
        for wrong in
            ["", ",", "ask,,queue", "ask=1", "Ask", "asks", "ask queue", "delegat", "context=x", "delegate=x"]
        {
            assert!(Additions::parse(wrong).is_err(), "{wrong}");
        }
        let refused = Additions::parse("ask,delegat").unwrap_err();
        assert!(refused.starts_with("\"delegat\" is none of ask, context, delegate, channel, "), "{refused}");
        assert_eq!(additions("context,ask"), Ok(vec![Addition::Context, Addition::Ask]));
        assert!(Additions::parse("aks").unwrap_err().ends_with("; did you mean ask?"));
    }

    #[test]
    fn the_configured_sets_are_kept() {
        let few = [ToolSet::Inbound, ToolSet::Reply].into();
        assert_eq!(sets_with(&[ToolSet::Ask].into(), &few), "inbound, reply, ask");
        let all = [ToolSet::Context, ToolSet::Delegate, ToolSet::Ask].into();
        assert_eq!(sets_with(&all, &ToolSet::DEFAULT.into()), ToolSet::ALL.map(ToolSet::as_str).join(", "));
    }

    #[test]
    fn what_a_text_adds_is_read_from_its_value() {
        for text in [
            r#"{"env": {"ENTRACLAW_TOOLS_SETS": "inbound, context"}}"#,
            "ENTRACLAW_TOOLS_SETS = \"inbound, context\"\nx = \"ask\"",
        ] {
            assert!(adds(text, ToolSet::Context) && !adds(text, ToolSet::Ask), "{text}");
        }
        assert!(!adds("context", ToolSet::Context));
    }
}
