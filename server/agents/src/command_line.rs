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
    /// The arguments with which the program stands by for such questions; `None` where it can't.
    pub warm: Option<Vec<String>>,
    /// The model that is asked for too if the program lists it, which is not known of this version.
    pub if_listed: Option<&'static str>,
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
    /// The command line of a question; `None` if the program can't be kept to its permissions.
    pub fn of(question: &Question, choices: Choices<'_>) -> Option<Self> {
        let agent = question.agent;
        let permitting = agent.permitting(question.permissions)?;
        let (model, if_listed) = model(question, choices);
        let mut line = Self {
            arguments: Vec::new(),
            input: None,
            dialect: Dialect::Text,
            session: question.session.clone(),
            warm: warm(question, permitting, choices, model.as_deref()),
            model,
            if_listed,
        };
        let is_prompt_first = matches!(agent.prompt, PromptBy::Joined(_));
        if is_prompt_first {
            line.prompt(question);
        }
        line.words(agent.base);
        line.words(permitting);
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
        Some(line)
    }

    fn words(&mut self, words: &[&str]) {
        self.arguments.extend(words.iter().map(|word| (*word).to_owned()));
    }

    fn begin_session(&mut self, agent: &Agent, choices: Choices<'_>) {
        let (flag, since) = agent.new_session;
        let has_flag = choices.version.is_none_or(|version| version >= since);
        let id = choices.new_session.filter(|_| has_flag);
        if let Some((id, words)) = id.and_then(|id| Some((id, flag.with(id)?))) {
            self.arguments.extend(words);
            self.session = Some(id.to_owned());
        }
    }

    fn prompt(&mut self, question: &Question) {
        match question.agent.prompt {
            PromptBy::Joined(flag) => self.arguments.push(format!("{flag}{}", question.prompt)),
            PromptBy::Input(words) => {
                self.words(words);
                self.input = Some(question.prompt.clone());
            }
        }
    }
}

/// The caller's model, or else the operator's, or else the contract's where the program has it. The second is the
/// contract's where it is not known whether the program has it.
fn model(question: &Question, choices: Choices<'_>) -> (Option<String>, Option<&'static str>) {
    if let Some(model) = question.model.as_deref().or(choices.default_model) {
        return (Some(model.to_owned()), None);
    }
    let Some(default) = question.agent.default_model else { return (None, None) };
    match choices.version.and_then(|version| default.is_listed(version)) {
        Some(true) => (Some(default.name.to_owned()), None),
        Some(false) => (None, None),
        None => (None, Some(default.name)),
    }
}

/// The arguments of the program that stands by: what permits, and the model. A folder beside its own is for one question.
fn warm(
    question: &Question,
    permitting: &[&str],
    choices: Choices<'_>,
    model: Option<&str>,
) -> Option<Vec<String>> {
    let warm = question.agent.warm?;
    if question.add_dir.is_some() || choices.version.is_none_or(|version| version < warm.oldest) {
        return None;
    }
    let words = warm.arguments.iter().chain(question.agent.base).chain(permitting);
    let mut arguments: Vec<String> = words.map(|word| (*word).to_owned()).collect();
    if let Some(model) = model {
        arguments.extend(question.agent.model.with(model)?);
    }
    Some(arguments)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::AGENTS;
    use crate::permissions::Permissions;
    use proptest::prelude::*;
    use rstest::rstest;

    fn question(prompt: &str) -> Question {
        Question {
            agent: &AGENTS[0],
            prompt: prompt.to_owned(),
            title: String::new(),
            model: None,
            add_dir: None,
            session: None,
            permissions: Permissions::All,
        }
    }

    fn of(version: Option<[u64; 3]>) -> CommandLine {
        let choices = Choices { version, default_model: None, new_session: Some("an-id") };
        CommandLine::of(&question("p"), choices).unwrap()
    }

    #[rstest]
    #[case(Some([0, 0, 412]), Dialect::Text, None, Some("gpt-4.1"), None)]
    #[case(Some([0, 0, 422]), Dialect::Copilot, None, Some("gpt-4.1"), None)]
    #[case(Some([1, 0, 24]), Dialect::Copilot, None, Some("gpt-4.1"), None)]
    #[case(Some([1, 0, 25]), Dialect::Copilot, None, None, Some("gpt-4.1"))]
    #[case(Some([1, 0, 60]), Dialect::Copilot, Some("an-id"), None, None)]
    #[case(Some([1, 0, 102]), Dialect::Copilot, Some("an-id"), None, None)]
    #[case(Some([1, 0, 103]), Dialect::Copilot, Some("an-id"), None, Some("gpt-4.1"))]
    #[case(None, Dialect::Copilot, Some("an-id"), None, Some("gpt-4.1"))]
    fn a_version_gets_the_flags_that_it_has(
        #[case] version: Option<[u64; 3]>,
        #[case] dialect: Dialect,
        #[case] session: Option<&str>,
        #[case] model: Option<&str>,
        #[case] if_listed: Option<&str>,
    ) {
        let line = of(version);
        assert_eq!((line.dialect, line.session.as_deref(), line.model.as_deref()), (dialect, session, model));
        assert_eq!(line.if_listed, if_listed);
        let has = |beginning: &str| line.arguments.iter().any(|argument| argument.starts_with(beginning));
        assert_eq!(has("--session-id="), session.is_some());
        assert_eq!(has("--model="), model.is_some());
    }

    #[test]
    fn a_question_of_its_own_folder_finds_no_program_that_stands_by() {
        let warm = |question: &Question, version| {
            CommandLine::of(question, Choices { version: Some(version), ..Choices::default() }).unwrap().warm
        };
        let read_only = Question { permissions: Permissions::ReadOnly, ..question("p") };
        let line = warm(&read_only, [1, 0, 102]).unwrap();
        assert_eq!(line[0], "--acp");
        assert!(line.contains(&"--deny-tool=shell".to_owned()));
        assert!(!line.iter().any(|argument| argument.starts_with("--prompt") || argument.contains("json")));
        assert_eq!(warm(&read_only, [1, 0, 60]), None);
        let beside = Question { add_dir: Some("/tmp".into()), ..read_only };
        assert_eq!(warm(&beside, [1, 0, 102]), None);
    }

    #[test]
    fn the_operators_model_wins_over_the_contracts_and_the_callers_over_both() {
        let choices = Choices { version: Some([0, 0, 420]), default_model: Some("mine"), new_session: None };
        assert_eq!(CommandLine::of(&question("p"), choices).unwrap().model.as_deref(), Some("mine"));
        let unknown = Choices { version: None, ..choices };
        assert_eq!(CommandLine::of(&question("p"), unknown).unwrap().if_listed, None);
        let question = Question { model: Some("yours".to_owned()), ..question("p") };
        assert_eq!(CommandLine::of(&question, choices).unwrap().model.as_deref(), Some("yours"));
    }

    #[test]
    fn a_session_is_resumed_in_place_of_a_new_one() {
        let question = Question { session: Some("old".to_owned()), ..question("p") };
        let line =
            CommandLine::of(&question, Choices { new_session: Some("new"), ..Choices::default() }).unwrap();
        assert!(line.arguments.contains(&"--resume=old".to_owned()));
        assert_eq!(line.session.as_deref(), Some("old"));
        assert!(!line.arguments.iter().any(|argument| argument.contains("new")));
    }

    proptest! {
        // A question whose model begins with a dash is refused before this; a word of one dash is an argument of some agents.
        #[test]
        fn a_callers_text_is_never_an_argument_of_its_own(
            prompt in "\\PC{1,80}",
            model in "[^\u{0}-][^\u{0}]{0,19}",
        ) {
            for agent in AGENTS {
                for permissions in Permissions::ALL {
                    let question = Question {
                        agent, permissions, model: Some(model.clone()), ..question(&prompt)
                    };
                    let line = CommandLine::of(&question, Choices::default());
                    prop_assert_eq!(line.is_some(), agent.permitting(permissions).is_some());
                    let Some(line) = line else { continue };
                    let known = |argument: &str| {
                        agent.base.contains(&argument)
                            || agent.permitting(permissions).unwrap_or_default().contains(&argument)
                            || agent.report.0.contains(&argument)
                            || matches!(agent.prompt, PromptBy::Input(words) if words.contains(&argument))
                    };
                    let mut arguments = line.arguments.iter().map(String::as_str).filter(|a| !known(a));
                    let mut texts = 0;
                    while let Some(argument) = arguments.next() {
                        match agent.prompt {
                            PromptBy::Joined(flag) if argument.strip_prefix(flag) == Some(&prompt) => texts += 1,
                            _ => {
                                let model = agent.model.with(&model).unwrap_or_default();
                                prop_assert_eq!(argument, model[0].as_str());
                                if let Some(value) = model.get(1) {
                                    prop_assert_eq!(arguments.next(), Some(value.as_str()));
                                }
                            }
                        }
                    }
                    let by_input = usize::from(line.input.as_deref() == Some(&prompt));
                    prop_assert_eq!(texts + by_input, 1);
                }
            }
        }
    }
}
