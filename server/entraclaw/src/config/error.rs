//! What is wrong with the configuration: where it stands, what it says, how to repair it.
//! It must never repeat a secret value.

use std::fmt;

/// Where a setting came from. Later ones win over earlier ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// The configuration file, with the line from 1.
    File {
        /// The file as the user may name it.
        path: String,
        /// Line from 1.
        line: usize,
    },
    /// An environment variable.
    Environment(String),
    /// A command line flag.
    Flag(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line } => write!(f, "{path}, line {line}"),
            Self::Environment(name) => write!(f, "environment variable {name}"),
            Self::Flag(name) => write!(f, "flag {name}"),
        }
    }
}

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {problem}; {fix}")]
pub struct ConfigError {
    /// Where it stands.
    pub origin: Origin,
    /// What is wrong, naming the field.
    pub problem: String,
    /// What to write instead.
    pub fix: String,
}

/// Everything that is wrong, so that one round repairs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl std::error::Error for ConfigErrors {}
