//! Each claim of the fakes about a real CLI, as data: its text, its source, and how sure it is. A test shows each rule by
//! a start of the fake.

/// How sure a rule is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    /// Seen in a run of the real program.
    Seen,
    /// The vendor's documents say so.
    Doc,
    /// It was not seen. The fake needs some behaviour here.
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
    // GitHub Copilot CLI: the command line. A source in brackets is `recordings/AGENT-VERSION/NAME.json`.
    CopilotPromptValue Seen "[copilot-1.0.102/ask-dash, ask-dash-p]" "a value that begins with a dash is none, exit 1; joined by = it is one";
    CopilotUnknownFlag Seen "[copilot-1.0.102/flag-unknown]" "an unknown flag or a second word is \"Invalid command format\", exit 1";
    CopilotNewFlag Seen "[copilot-1.0.24/session-id-not-uuid, copilot-*/help]" "an older version does not know the flags that came later";
    CopilotLastWins Seen "run of copilot 1.0.102: --model a --model b" "of a flag with one value the last counts";
    CopilotTwoPrompts Seen "run of copilot 1.0.102: -p x -i y" "-p and -i together are refused, exit 1";
    CopilotAddDir Seen "[copilot-1.0.102/add-dir-missing]; run of copilot 1.0.102 with a file" "--add-dir must be a folder, else exit 1 before anything else";
    CopilotFolder Seen "[copilot-1.0.102/cwd-missing]" "-C must be a folder";
    CopilotBadValue Seen "run of copilot 1.0.102: --output-format xml" "a value that is not of the list is named with the list, exit 1";
    CopilotVersion Seen "[copilot-1.0.102/version, copilot-0.0.384/version]" "--version prints a sentence with the version; before 0.0.401 the number alone";
    CopilotHelpConfig Seen "[copilot-1.0.102/help-config]" "help config lists the models, one a line in quotes; another topic is an error";
    CopilotNoPrompt Seen "[copilot-1.0.102/ask-empty]" "without a prompt it is exit 1 with one line";
    CopilotStdin Seen "[copilot-1.0.102/ask-stdin, ask-both, ask-stdin-left-open]" "without -p the prompt is read from stdin, with -p stdin is not looked at";
    CopilotTooLong Seen "[copilot-1.0.102/ask-stdin-1mb]" "a prompt above the budget of tokens is refused before the model is asked";
    CopilotInteractive Guess "run of copilot 1.0.102 without a terminal: -i answers like -p; the fake does what -i does with one, so that it is noticed"
        "-i opens the alternate screen and waits for keys";

    // Copilot: who is signed in, and the model.
    CopilotNotSignedIn Seen "[copilot-1.0.102/not-signed-in, not-signed-in-json]" "without a login it is exit 1, stderr says how to sign in, also with JSON output";
    CopilotClassicToken Seen "[copilot-1.0.102/classic-token]" "a classic token is refused by the name of its variable";
    CopilotOffline Seen "run of copilot 1.0.102: COPILOT_OFFLINE=true" "offline without a provider is exit 1 with one line";
    CopilotNoModel Seen "[copilot-1.0.102/model-none]" "a provider of the user's own needs a model";
    CopilotUnknownModel Guess "a provider of the user's own takes every name; the words of GitHub's own service were not seen"
        "a model that is not listed is exit 1";

    // Copilot: forms.
    CopilotText Seen "[copilot-1.0.102/ask]" "the answer and two line ends on stdout, with -s nothing on stderr, exit 0";
    CopilotStats Seen "[copilot-1.0.102/ask-no-silent]" "without -s stderr has changes, duration, tokens and how to resume";
    CopilotToolBox Seen "run of copilot 1.0.102: a shell tool without -s" "without -s stdout has a box for each tool";
    CopilotJson Seen "[copilot-1.0.102/ask-json]" "JSON lines in this order, the last is result with the session and the exit code; -s changes nothing";
    CopilotDenied Seen "[copilot-1.0.102/none-shell]" "a tool that nobody can allow is refused to the model, exit 0";
    CopilotDenyWins Seen "[copilot-1.0.102/deny-shell]" "a denial wins over --allow-all-tools and names its rule";
    CopilotExcluded Seen "[copilot-1.0.102/view-only-shell]" "a tool that is not available does not exist";
    CopilotWorkspace Seen "[copilot-1.0.102/workspace-write-inside, workspace-write-outside, workspace-write-temp, add-dir-write-outside]"
        "files are written in the folder, in those of --add-dir and in the temporary one unless that is disallowed";
    CopilotVariable Seen "[copilot-1.0.102/variable-shell, variable-write-outside, variable-deny-shell]" "COPILOT_ALLOW_ALL=true allows all tools, not all paths, and a denial still wins";
    CopilotPlan Seen "[copilot-1.0.102/plan-shell, plan-write-inside]" "plan mode blocks tools that write or run commands";
    CopilotQuota Seen "[copilot-1.0.102/status-402]" "402 is exit 1 with an empty line and the words on stderr";
    CopilotQuotaJson Seen "[copilot-1.0.102/status-402-json]" "with JSON output stderr is empty, session.error has the status, result the exit code";
    CopilotUnauthorized Seen "[copilot-1.0.102/status-401-json]" "401 names the provider after two retries; errorType is authentication";
    CopilotNotFound Seen "[copilot-1.0.102/model-unknown-404]" "404 names the model and the provider";
    CopilotRateLimit Seen "[copilot-1.0.102/status-429-json]" "429 is told after five retries and about a minute; errorType is rate_limit";
    CopilotServerError Seen "[copilot-1.0.102/status-500]" "500 is told after five retries, which take 16.5 s";
    CopilotDown Seen "[copilot-1.0.102/provider-down-json]" "a provider that can't be reached is told after 24 s, without a status";

    // Copilot: sessions and signals.
    CopilotSessionId Seen "[copilot-1.0.102/session-new-json, session-id-again-json, session-id-not-uuid]" "--session-id goes on with a session or makes one; it must be a UUID then";
    CopilotResume Seen "[copilot-1.0.102/session-resume-json, session-resume-unknown]; run of 1.0.102 with seven letters" "--resume finds an id, seven letters of one or a name, else exit 1";
    CopilotOldResume Seen "[copilot-1.0.24/session-resume-unknown]" "an older version begins a new session for an id that it does not know";
    CopilotPicker Seen "run of copilot 1.0.102: -p hi --resume" "--resume without a value needs a terminal";
    CopilotStore Seen "the store of copilot 1.0.102 after a run" "session-state/ID/events.jsonl has the events that last, each naming the one before";
    CopilotSignal Seen "[copilot-1.0.102/direct-mid-shell-SIGTERM, direct-mid-answer-json-SIGINT]" "SIGTERM and SIGINT end it with exit 0 and what was there; JSON output has abort, and after SIGINT no result";
    CopilotLauncher Seen "[copilot-1.0.102/mid-answer-SIGTERM]" "npm's launcher dies of the signal, the program behind it works on and holds the pipes";

    // Claude Code.
    ClaudeVerbose Seen "[claude-2.1.330/ask-json-without-verbose]" "stream-json needs --verbose";
    ClaudeStdin Seen "[claude-2.1.330/ask-both, ask-stdin-left-open]" "stdin is added to the prompt; a silent one costs three seconds and a warning";
    ClaudeTooMuch Seen "[claude-2.1.330/ask-stdin-12mb]" "more than 10 MB on stdin is refused";
    ClaudeErrorOnStdout Seen "[claude-2.1.330/status-402, not-signed-in]" "in text form an error is on stdout with exit 1, stderr is empty";
    ClaudeErrorSuccess Seen "[claude-2.1.330/status-402-json]" "an error is a result with subtype success, is_error and api_error_status";
    ClaudeRetries Seen "[claude-2.1.330/status-500-json]" "500 is told after ten retries and about three minutes";
    ClaudeTools Seen "[claude-2.1.330/view-only-shell, none-shell]" "a tool that is not offered is unknown; one that needs a question is in permission_denials";
    ClaudeSession Seen "[claude-2.1.330/session-id-again-json, session-resume-unknown-json, session-resume-elsewhere-json]" "an id can be chosen once and resumed from any folder; an unknown one is exit 1";
    ClaudeTerm Seen "[claude-2.1.330/mid-answer-SIGTERM]" "SIGTERM is exit 143 with nothing on stdout in text form";
    ClaudeInterrupt Seen "[claude-2.1.330/mid-answer-json-SIGINT]" "SIGINT is exit 0; JSON has a result with is_error";

    // Codex.
    CodexStdin Seen "[codex-0.169.0/ask-stdin-left-open, ask-both-json]" "with a prompt stdin is read to its end all the same";
    CodexGit Seen "[codex-0.169.0/ask-no-git-check]" "a folder outside a repository needs --skip-git-repo-check";
    CodexStdout Seen "[codex-0.169.0/ask]" "the answer alone is on stdout, everything else on stderr";
    CodexResumeWord Seen "[codex-0.169.0/ask-word-resume, session-resume-json]" "resume is a command before -- and a prompt after it";
    CodexSandbox Seen "[codex-0.169.0/read-only-shell, workspace-write-inside]" "it is read-only unless told; what the sandbox refuses is no event";
    CodexQuota Seen "[codex-0.169.0/status-402-json]" "a refusal ends in turn.failed after five retries, exit 1";
    CodexDown Seen "[codex-0.169.0/provider-down-json]" "a provider that can't be reached is waited for without an end";
    CodexTerm Seen "[codex-0.169.0/mid-answer-json-SIGTERM]" "SIGTERM kills it, without an end line";
    CodexInterrupt Seen "[codex-0.169.0/mid-answer-SIGINT]" "SIGINT is exit 1";

    // Gemini CLI, opencode, Qwen Code.
    GeminiTrust Seen "[gemini-0.61.0/ask-untrusted]" "a folder that is not trusted is exit 55";
    GeminiNotSignedIn Seen "[gemini-0.61.0/not-signed-in]" "without a way to sign in it is exit 41";
    GeminiStatusExit Seen "[gemini-0.61.0/status-402-json]" "with JSON lines a refusal ends with the last eight bits of its status";
    GeminiSignal Seen "[gemini-0.61.0/mid-answer-group-SIGTERM]" "a signal to all its processes ends it with exit 0 and what was there, without a result";
    GeminiLauncher Seen "[gemini-0.61.0/mid-answer-SIGTERM, mid-answer-SIGINT]" "a signal to the process that was started alone does nothing";
    GeminiMissingFolder Seen "[gemini-0.61.0/include-missing]" "a folder that is not there is exit 1";
    GeminiTools Seen "[gemini-0.61.0/default-shell]" "a tool that needs a question is not offered";
    GeminiSession Seen "[gemini-0.61.0/session-resume-elsewhere-json]" "a session belongs to its folder";
    OpencodePermission Seen "[opencode-1.18.33/default-shell, deny-write-inside]" "everything is allowed unless the configuration denies it";
    OpencodeQuotes Seen "[opencode-1.18.33/ask-both, ask-words]" "a word with a space in it reaches the model in quotes";
    OpencodeSignal Seen "[opencode-1.18.33/mid-answer-group-SIGTERM]" "it dies of a signal";
    QwenOutside Seen "[qwen-0.24.4/auto-edit-write-outside]" "auto-edit writes outside the folder too";
    QwenSignal Seen "[qwen-0.24.4/mid-answer-group-SIGTERM]" "it dies of a signal";
    QwenPrompt Seen "[qwen-0.24.4/ask-positional]" "a word after -- is not the prompt";
    QwenNotSignedIn Seen "[qwen-0.24.4/not-signed-in-json]" "without a login JSON lines have a result with the error";
}
