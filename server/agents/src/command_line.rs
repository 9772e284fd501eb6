//! From a question to the arguments of the agent's program. Pure.
//!
//! It must never put two values into one argument, nor a caller's text where the program reads a flag.

use crate::agent::{Agent, Dialect, PromptBy};
use crate::question::Question;

/// The arguments and input of one question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    /// The arguments after the program.
    pub arguments: Vec<String>,
    /// The input, if the program reads the prompt from it.
    pub input: Option<String>,
    /// The language of its report.
    pub dialect: Dialect,
    /// The session, if it is known before the program runs.
    pub session: Option<String>,
    /// The model that is asked for; `None` leaves the choice to the program.
    pub model: Option<String>,
}

/// What is decided beside the question.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choices<'a> {
    /// The version of the program, if it is known.
    pub version: Option<[u64; 3]>,
    /// The model that the operator prefers.
    pub default_model: Option<&'a str>,
    /// An id for a new session.
    pub new_session: Option<&'a str>,
}

impl CommandLine {
    /// The command line of a question.
    pub fn of(question: &Question, choices: Choices<'_>) -> Self {
        let agent = question.agent;
        let mut line = Self {
            arguments: Vec::new(),
            input: None,
            dialect: Dialect::Text,
            session: question.session.clone(),
            model: model(question, choices),
        };
        let is_prompt_first = matches!(agent.prompt, PromptBy::Joined(_));
        if is_prompt_first {
            line.prompt(question);
        }
        line.words(agent.base);
        line.words(agent.permitting(question.permissions));
        let (words, dialect, since) = agent.report;
        // An unknown version is taken for a new one: the programs update themselves.
        if choices.version.is_none_or(|version| version >= since) {
            line.words(words);
            line.dialect = dialect;
        }
        if let Some(model) = line.model.clone() {
            line.arguments.extend(agent.model.with(&model).unwrap_or_default());
        }
        if let Some(folder) = &question.add_dir {
            line.arguments.extend(agent.add_dir.with(&folder.to_string_lossy()).unwrap_or_default());
        }
        match &question.session {
            Some(session) => line.arguments.extend(agent.resume.with(session).unwrap_or_default()),
            None => line.begin_session(agent, choices),
        }
        if !is_prompt_first {
            line.prompt(question);
        }
        line
    }

    fn words(&mut self, words: &[&str]) {
        self.arguments.extend(words.iter().map(|word| (*word).to_owned()));
    }

    fn begin_session(&mut self, agent: &Agent, choices: Choices<'_>) {
        // A program that answers as text is older than the flag.
        let flag = choices.new_session.filter(|_| self.dialect != Dialect::Text);
        if let Some((id, words)) = flag.and_then(|id| Some((id, agent.new_session.with(id)?))) {
            self.arguments.extend(words);
            self.session = Some(id.to_owned());
        }
    }

    fn prompt(&mut self, question: &Question) {
        match question.agent.prompt {
            PromptBy::Joined(flag) => self.arguments.push(format!("{flag}{}", question.prompt)),
            PromptBy::Input => self.input = Some(question.prompt.clone()),
            PromptBy::Last => self.arguments.extend(["--".to_owned(), question.prompt.clone()]),
        }
    }
}

/// The caller's model, or else the operator's, or else the contract's where the program has it.
fn model(question: &Question, choices: Choices<'_>) -> Option<String> {
    let default = || {
        let (model, until) = question.agent.default_model?;
        choices.version.is_some_and(|version| version < until).then_some(model)
    };
    question.model.clone().or_else(|| choices.default_model.or_else(default).map(str::to_owned))
}
