//! A mistake in the configuration: its place, the problem, and the fix.
//! It must never repeat a secret value.

use std::fmt;

/// The origin of a setting. Later variants win over earlier ones.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// The default; it was not set.
    Default,
    /// The configuration file, with the line.
    File {
        /// The file, as the user knows it.
        path: String,
        /// The line, counted from 1.
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

/// One mistake.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {problem}; {fix}")]
pub struct ConfigError {
    /// The place of the mistake.
    pub origin: Origin,
    /// The problem, with the name of the field.
    pub problem: String,
    /// The fix.
    pub fix: String,
}

/// All mistakes, so that the user can correct them in one round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigErrors(pub Vec<ConfigError>);

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl std::error::Error for ConfigErrors {}
