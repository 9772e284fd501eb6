//! What `setup --with` adds: a carrier that is off by default, or other coding agents as tools.
//!
//! It must never read a word in two ways.

use std::collections::BTreeSet;

use super::content::Content;
use super::request::Carrier;
use crate::config::key;
use entraclaw_inbox::tool::ToolSet;

/// The only addition whose value may have a comma.
const WITH_A_PATH: &str = "input-file=";

/// One addition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addition {
    /// A carrier.
    Carrier(Carrier),
    /// Other coding agents as tools.
    Ask,
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
            _ if word.starts_with("ask=") => Err("ask takes no value".to_owned()),
            _ => Carrier::parse(word).map(Self::Carrier),
        }
    }
}

/// The sets of tools of an entry that adds other coding agents to those of the configuration.
pub fn sets_with_ask(configured: &BTreeSet<ToolSet>) -> String {
    let is_in = |set: &ToolSet| *set == ToolSet::Ask || configured.contains(set);
    let sets: Vec<&str> = ToolSet::ALL.iter().filter(|set| is_in(set)).map(|set| set.as_str()).collect();
    sets.join(", ")
}

/// Whether a text that setup wrote adds other coding agents: setup names sets of tools for nothing else.
pub fn adds_ask(text: &str) -> bool {
    text.contains(&key::TOOLS_SETS.variable())
}

/// Whether the content of a file adds other coding agents.
pub fn content_adds_ask(content: &Content) -> bool {
    adds_ask(&serde_json::to_string(content).unwrap_or_default())
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
        for wrong in ["", ",", "ask,,queue", "ask=1", "Ask", "asks", "ask queue", "delegate", "context,ask"] {
            assert!(Additions::parse(wrong).is_err(), "{wrong}");
        }
        let refused = Additions::parse("ask,delegate").unwrap_err();
        assert!(refused.starts_with("\"delegate\" is none of ask, channel, "), "{refused}");
        assert!(Additions::parse("aks").unwrap_err().ends_with("; did you mean ask?"));
    }

    #[test]
    fn the_configured_sets_are_kept() {
        let few = [ToolSet::Inbound, ToolSet::Reply].into();
        assert_eq!(sets_with_ask(&few), "inbound, reply, ask");
        let usual = sets_with_ask(&ToolSet::DEFAULT.into());
        assert_eq!(usual, ToolSet::ALL.map(ToolSet::as_str).join(", "));
    }
}
