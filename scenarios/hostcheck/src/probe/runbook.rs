//! The texts that guide a user and a model through a probe.

/// The instructions of the probe. A host that shows them to its model shows their marked word.
pub const INSTRUCTIONS: &str = "This server examines its host. Call `begin` and follow the steps that it answers with. \
A word to report later: MARK-instructions";

/// The steps for a model, as `begin` returns them.
pub const STEPS: &str = "\
Follow the steps in order. Each is a tool of this server; do nothing else in between. Never invent what you did not see.
 1. begin: you are here.
 2. read_a and read_b, both in one step.
 3. write_a and write_b, both in one step.
 4. structured.
 5. structured_alone.
 6. notify.
 7. heard, with every word beginning with MARK- that you have seen so far, in any place.
 8. ask, once with each of: ping, roots, elicitation, elicitation_url, sampling, unknown.
 9. change, once with each of: tools, prompts, resources, tools_twice, unchanged. End your turn after each. The user
    waits ten seconds, then says \"go on\".
10. stray, only if the era is modern.
11. long_call with seconds 10, 70, 130, 200; then with seconds 200 and progress_every_s 5. If you can act before one has
    answered, call note at once.
12. size with characters 8000, 20000, 40000, 60000 and 100000.
13. heard again, with every word so far. Name the last word of a result only where you see it.
14. interrupt_me: the user presses Esc (or Ctrl+C), waits five seconds, then says \"go on\".
15. answer, if the user knows more of an open question.
16. hold: the user quits the host in its normal way while it runs.
In a session of its own: exit, then note.";

/// The steps for a user, from the configuration to the draft.
pub const RUNBOOK: &str = "\
A real host is examined in a few short sessions; each starts the probe with another opening and a log of its own.

 1. Configure the probe as a stdio server of the host, named `probe`:
      hostcheck probe --log /tmp/probe/legacy.jsonl --mode tui
    Allow its tools. Use an account and a folder that hold nothing private: the log has what the host sends.
 2. Start the host and type: Use the server `probe`: call begin and follow its steps.
    Do as the steps say. Quit the host while `hold` runs; this ends the session.
    Where the model has only the first tools, because the host follows no pages: once more with `--opening one-page` and
    a log of its own.
 3. Once more with `--opening modern --log /tmp/probe/modern.jsonl`.
 4. Short sessions: start the host, wait a minute, quit it. Each with its own --log:
      --opening modern-refuse-listen    --opening probe-silent     --opening probe-exit
      --opening initialize-silent       --opening no-capabilities  --opening quiet (here also: change tools)
      --opening version=2024-11-05      (and 2024-10-07, 2025-03-26, 2025-06-18, 2025-11-25, 2026-07-28,
                                        1999-01-01)
 5. One session in which the model calls `exit` and then `note`.
 6. The same again in the host's headless mode, with `--mode print`.
 7. hostcheck probe --report /tmp/probe/*.jsonl --out my-host.yaml
    It writes the profile's draft: each fact with the lines of the log that show it, the others named as unknown with the
    reason; and the open questions, each answered or marked unanswered.

Logs are written by the rules of `hostcheck record`: mode 0600, secrets masked, never overwritten.

exit codes: 0 served, or a draft was drawn; 2 bad usage; 3 the logs show no fact; as a server also what `exit` was given";
