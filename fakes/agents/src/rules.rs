//! Each claim of the fakes about a real CLI, as data: its text, its source, and how sure it is. A test shows each rule by
//! a start of the fake.

/// How sure a rule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Seen in a run of the real program.
    Seen,
    /// The vendor's documents say so.
    Doc,
    /// Nobody saw it. The fake needs some behaviour here.
    Guess,
}

/// One claim about a CLI.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rule {
    /// Its name.
    pub id: RuleId,
    /// The claim as text.
    pub says: &'static str,
    /// The run, page or reason behind it.
    pub source: &'static str,
    /// How sure it is.
    pub mark: Mark,
}

/// All claims, in the order of the file.
pub fn rules() -> &'static [Rule] {
    TABLE
}

macro_rules! rules {
    ($( $variant:ident $mark:ident $source:literal $says:literal; )*) => {
        /// The name of a rule.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum RuleId {
            $( #[doc = concat!("`", stringify!($variant), "`; [`rules`] has what it says.")] $variant, )*
        }

        static TABLE: &[Rule] = &[
            $( Rule { id: RuleId::$variant, says: $says, source: $source, mark: Mark::$mark }, )*
        ];
    };
}

rules! {
    // GitHub Copilot CLI: the command line.
    CopilotPromptValue Seen "run of copilot 1.0.102: -p \"--help\"" "a value that begins with a dash is none, exit 1; joined by = it is one";
    CopilotUnknownFlag Seen "run of copilot 1.0.102: --bogus -p x" "an unknown flag or a second word is \"Invalid command format\", exit 1";
    CopilotLastWins Seen "run of copilot 1.0.102: --model a --model b" "of a flag with one value the last counts";
    CopilotTwoPrompts Seen "run of copilot 1.0.102: -p x -i y" "-p and -i together are refused, exit 1";
    CopilotAddDir Seen "run of copilot 1.0.102: --add-dir of nothing and of a file" "--add-dir must be a folder, else exit 1 before anything else";
    CopilotBadValue Seen "run of copilot 1.0.102: --output-format xml" "a value that is not of the list is named with the list, exit 1";
    CopilotVersion Seen "run of copilot 1.0.102: --version" "--version prints the version and how to update";
    CopilotHelpConfig Seen "run of copilot 1.0.102: help config" "help config lists the models, one a line in quotes; another topic is an error";
    CopilotNoPrompt Seen "run of copilot 1.0.102: -p \"\" and an empty stdin" "without a prompt it is exit 1 with one line";
    CopilotStdin Seen "run of copilot 1.0.102: a prompt on stdin" "without -p the prompt is read from stdin";
    CopilotInteractive Guess "1.0.102 without a terminal answered -i like -p; the fake does what it does with one, so that -i is noticed"
        "-i opens the alternate screen and waits for keys";

    // Who is signed in, and the model.
    CopilotNotSignedIn Seen "run of copilot 1.0.102 without a login" "without a login it is exit 1, stderr says how to sign in, also with JSON output";
    CopilotClassicToken Seen "run of copilot 1.0.102: GH_TOKEN=ghp_…" "a classic token is refused by the name of its variable";
    CopilotOffline Seen "run of copilot 1.0.102: COPILOT_OFFLINE=true" "offline without a provider is exit 1 with one line";
    CopilotUnknownModel Guess "a provider of the user's own takes every name; the words of GitHub's own service were not seen"
        "a model that is not listed is exit 1";

    // Forms.
    CopilotText Seen "run of copilot 1.0.102: -p hi -s" "the answer and two line ends on stdout, with -s nothing on stderr, exit 0";
    CopilotStats Seen "run of copilot 1.0.102: -p hi" "without -s stderr has changes, duration, tokens and how to resume";
    CopilotToolBox Seen "run of copilot 1.0.102: a shell tool without -s" "without -s stdout has a box for each tool";
    CopilotJson Seen "run of copilot 1.0.102: --output-format json" "JSON lines in this order, the last is result with the session and the exit code; -s changes nothing";
    CopilotDenied Seen "run of copilot 1.0.102: a tool without --allow-all-tools" "a tool that nobody can allow is refused to the model, exit 0";
    CopilotDenyWins Seen "run of copilot 1.0.102: --allow-all-tools --deny-tool=shell" "a denial wins over --allow-all-tools and names its rule";
    CopilotExcluded Seen "run of copilot 1.0.102: --excluded-tools=bash" "an excluded tool does not exist";
    CopilotQuota Seen "run of copilot 1.0.102: a provider that answers 402" "402 is exit 1 with an empty line and the words on stderr";
    CopilotQuotaJson Seen "run of copilot 1.0.102: the same with JSON output" "with JSON output stderr is empty, session.error has the status, result the exit code";
    CopilotUnauthorized Seen "run of copilot 1.0.102: a provider that answers 401" "401 names the provider; errorType is authentication";
    CopilotNotFound Seen "run of copilot 1.0.102: a provider that answers 404" "404 names the model and the provider";
    CopilotServerError Seen "run of copilot 1.0.102: a provider that answers 500" "500 is told after five retries, which take 16.5 s";

    // Sessions and signals.
    CopilotSessionId Seen "run of copilot 1.0.102: --session-id with a UUID and with a word" "--session-id goes on with a session or makes one; it must be a UUID then";
    CopilotResume Seen "run of copilot 1.0.102: --resume=ID, seven letters of it, an unknown one" "--resume finds an id, seven letters of one or a name, else exit 1";
    CopilotPicker Seen "run of copilot 1.0.102: -p hi --resume" "--resume without a value needs a terminal";
    CopilotStore Seen "the store of copilot 1.0.102 after a run" "session-state/ID/events.jsonl has the events that last, each naming the one before";
    CopilotSignal Seen "run of copilot 1.0.102: SIGTERM to the program itself in a tool and in a stream" "SIGTERM and SIGINT end it with exit 0 and what was there; JSON output has abort, and no result";
    CopilotLauncher Seen "run of copilot 1.0.102 by npm: SIGTERM to the launcher only" "npm's launcher dies of the signal, the program behind it works on and holds the pipes";
}
