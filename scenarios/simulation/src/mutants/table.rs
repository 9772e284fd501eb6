//! The mutants, and the rule that must catch each. One that no rule catches fails the build.

use super::agents::Fault as Agents;
use super::delegate::Fault as Delegate;
use super::disk::Fault as Disk;
use super::files::Fault as Files;
use super::graph::Fault as Graph;
use super::mutant::{Mutant, Way};
use super::speech;
use super::speech::Change::{Line, Messages, Result};

const CLAUDE: &str = "claude-code@2.1.330";
const CLAUDE_SEED: &str = "claude-code@seed";
const COPILOT: &str = "copilot-cli@1.0.102";
const COPILOT_SEED: &str = "copilot-cli@seed";

const LISTENING: (&str, &str) = ("delivery.dm-listening", COPILOT);
const PULLING: (&str, &str) = ("delivery.dm-pulling", COPILOT);

macro_rules! mutants {
    ($( $id:literal: $does:literal, ($rule:literal, $names:literal), $at:expr, $way:ident $given:tt; )*) => {
        /// Every mutant.
        pub const MUTANTS: &[Mutant] = &[$( Mutant {
            id: $id, does: $does, rule: $rule, names: $names, scenario: $at.0, host: $at.1, way: Way::$way $given,
        }, )*];
    };
}

// A row: the name, what it does, the rule with what its finding must name, the scenario with its host, and the way.
mutants! {
    // The wire.
    "answers-twice": "answers a call twice",
        ("wire.schema", "second-response"), LISTENING, Speaks(Result(speech::answers_twice));
    "another-id": "answers with an id that no request had",
        ("wire.schema", "no-such-request"), LISTENING, Speaks(Result(speech::answers_another_id));
    "prints": "prints a line for people to stdout",
        ("wire.schema", "not-json"), LISTENING, Speaks(Line(speech::prints));
    "result-and-error": "answers with a result and an error",
        ("wire.schema", ""), LISTENING, Speaks(Result(speech::result_and_error));
    "spreads-lines": "spreads a message over several lines",
        ("wire.schema", ""), LISTENING, Speaks(Result(speech::spreads_lines));
    "byte-order-mark": "begins with a byte order mark",
        ("wire.schema", "byte-order-mark"), LISTENING, Speaks(Line(speech::byte_order_mark));
    "latin-1": "writes a byte that is not UTF-8",
        ("expect.model", ""), LISTENING, Speaks(Line(speech::latin1));
    "older-envelope": "says jsonrpc 1.0",
        ("wire.schema", ""), LISTENING, Speaks(Line(speech::older_envelope));
    "wrong-era": "agrees on a version that the host did not offer",
        ("wire.schema", ""), ("delivery.dm-listening", CLAUDE), Speaks(Line(speech::wrong_era));
    "speaks-first": "logs before it was greeted",
        ("wire.schema", ""), LISTENING, Speaks(Line(speech::speaks_first));
    "undeclared": "tells of prompts without having any",
        ("wire.schema", "undeclared-capability"), ("delivery.dm-listening", CLAUDE),
        Speaks(Result(speech::undeclared_prompts));
    "foreign-progress": "tells of progress that no request asked for",
        ("wire.schema", ""), LISTENING, Speaks(Result(speech::foreign_progress));
    "backward-progress": "tells of progress that goes back",
        ("wire.schema", ""), ("carriers.parked-in-turn", COPILOT), Speaks(Line(speech::backward_progress));
    "broken-schema": "lists tools whose arguments are no object",
        ("wire.schema", ""), LISTENING, Speaks(Line(speech::broken_schema));
    "hears-no-cancel": "answers a call that was cancelled",
        ("expect.model", ""), ("waiting.interrupted-wait", CLAUDE), Hears(Line(speech::hears_no_cancel));
    // What the model sees.
    "drops-a-reply": "never answers one call",
        ("expect.result", ""), ("tools.missing-argument", COPILOT), Speaks(Result(speech::drops_a_reply));
    "sleeps-past-the-limit": "answers after the host's minute",
        ("expect.model", ""), ("delivery.dm-listening", COPILOT_SEED),
        Speaks(Result(speech::sleeps_past_the_limit));
    "is-slow": "takes 20 s for every line",
        ("expect.model", ""), LISTENING, Speaks(Line(speech::is_slow));
    "dies-at-work": "ends in the middle of its work",
        ("expect.model", ""), LISTENING, Speaks(Result(speech::dies_at_work));
    "ends-by-itself": "ends without being asked to",
        ("oracle.died", ""), LISTENING, Hears(Line(speech::hears_the_end));
    "never-rests": "looks again and again and never waits",
        ("sim.livelock", "virtual time stood still"), LISTENING, Hears(Line(speech::never_rests));
    "turns-the-order": "hands out the newest message first",
        ("oracle.order", ""), ("overflow.burst-in-one-poll", COPILOT),
        Speaks(Messages(speech::turns_the_order));
    "says-it-again": "hands a message out twice, without a mark",
        ("oracle.repeated", ""), ("graph.polite", COPILOT), Speaks(Messages(speech::says_it_again));
    "drops-a-message": "leaves a message out now and then",
        ("expect.model", ""), ("delivery.dm-pulling", COPILOT), Speaks(Messages(speech::drops_a_message));
    "drops-the-first": "leaves the first message out",
        ("oracle.lost", ""), ("delivery.quotes-and-files", COPILOT),
        Speaks(Messages(speech::drops_the_first));
    "marks-all-redelivered": "calls every message one that comes again",
        ("oracle.mark", "again although nothing was lost"), LISTENING,
        Speaks(Messages(speech::marks_all_redelivered));
    "marks-all-pushed": "calls every message one that was pushed",
        ("oracle.mark", "marked pushed"), LISTENING, Speaks(Messages(speech::marks_all_pushed));
    "forgets-marks": "marks nothing that comes again",
        ("oracle.repeated", ""), ("delivery.push-then-pull-is-marked", CLAUDE_SEED),
        Speaks(Messages(speech::forgets_marks));
    "makes-messages-up": "hands out a message that no person wrote",
        ("oracle.unknown", ""), LISTENING, Speaks(Messages(speech::makes_messages_up));
    "changes-a-text": "loses characters on the way",
        ("oracle.text", ""), LISTENING, Speaks(Messages(speech::changes_a_text));
    "two-texts": "pushes another text than it hands out",
        ("oracle.parity", ""), ("delivery.push-then-pull-is-marked", CLAUDE_SEED),
        Speaks(Line(speech::changes_what_it_pushes));
    "writes-beside-the-json": "adds a remark to its JSON",
        ("oracle.unreadable", ""), LISTENING, Speaks(Line(speech::writes_beside_the_json));
    "opens-tags": "shows channel tags as they were typed",
        ("expect.model", "&lt;/channel&gt;"), ("sanitise.forged-channel-tag", COPILOT),
        Speaks(Line(speech::opens_tags));
    "pushes-nothing": "declares a channel and pushes nothing",
        ("expect.model", ""), ("delivery.channel-wakes-idle", CLAUDE_SEED),
        Speaks(Line(speech::pushes_nothing));
    "cuts-waits-short": "ends every wait after a second",
        ("expect.result", ""), ("waiting.fifty-seconds-below-sixty", COPILOT_SEED),
        Hears(Line(speech::cuts_waits_short));
    "leaks-the-token": "puts its token into a result",
        ("oracle.secret", ""), LISTENING, Speaks(Result(speech::leaks_the_token));
    // The disk.
    "never-syncs": "syncs nothing",
        ("expect.model", ""), ("bot.power-cut", COPILOT), Disk(Disk::NeverSyncs);
    "keeps-no-marks": "does not write down what was handed out",
        ("oracle.repeated", ""), ("dedup.restart", COPILOT), Disk(Disk::DropsAppends("inbox/consumers"));
    "keeps-no-messages": "moves on before a message is kept, which the channel of a bot does not bring again",
        ("expect.model", ""), ("bot.power-cut", COPILOT), Disk(Disk::DropsAppends("inbox/2"));
    "all-lead": "polls in every session",
        ("expect.graph", ""), ("sessions.one-polls", COPILOT), Disk(Disk::SharesLocks);
    // Graph.
    "asks-twice": "asks Graph twice for everything",
        ("expect.graph", ""), ("graph.idle-cost-one", COPILOT), Graph(Graph::AsksTwice);
    "sends-twice": "sends every answer twice",
        ("expect.sent", ""), ("delivery.answer-where-asked", COPILOT), Graph(Graph::SendsTwice);
    "sends-again": "sends again what it got no answer to",
        ("oracle.sent-twice", ""), ("graph.send-not-repeated", COPILOT), Graph(Graph::SendsAgain);
    "never-sends": "says that it sent, and did not",
        ("oracle.untrue", "is not there"), ("delivery.answer-where-asked", COPILOT), Graph(Graph::NeverSends);
    "sees-no-limits": "asks again at once where it was told to wait",
        ("expect.model", ""), ("graph.one-chat-throttled", COPILOT), Graph(Graph::SeesNoLimits);
    "takes-the-token-elsewhere": "shows its token to another origin",
        ("oracle.foreign-origin", ""), LISTENING, Graph(Graph::TakesTokenElsewhere);
    "takes-all-for-one": "takes everybody for a person who may speak",
        ("oracle.stranger", ""), ("gate.stranger", COPILOT), Graph(Graph::TakesAllForOne);
    "goes-deaf": "stops reading after a while",
        ("expect.model", ""), PULLING, Graph(Graph::GoesDeaf(6));
    // Other agents.
    "drops-stderr": "does not show what another agent says on stderr",
        ("expect.result", ""), ("ask.an-ordinary-token", COPILOT), Agents(Agents::DropsStderr);
    "takes-every-end": "takes an agent that printed something and ended with 1 for one that answered",
        ("expect.result", ""), ("ask.ends-with-an-error-as-text", COPILOT), Agents(Agents::TakesEveryEnd);
    "leaves-a-grandchild": "ends no process of an agent whose program has ended",
        ("expect.agents", "2 processes of agents run"), ("ask.leaves-children", COPILOT),
        Agents(Agents::LeavesGrandchildren);
    "leaks-an-agents-token": "shows an agent's token in an error",
        ("oracle.secret", "a line of session"), ("ask.leaks-its-token", COPILOT),
        Speaks(Result(speech::leaks_an_agents_token));
    // Shared context.
    "loses-an-append": "confirms a note that is not on the disk yet",
        ("expect.file", "note"), ("context.power-cut", COPILOT), Files(Files::NeverSyncs);
    "shows-a-secret": "shows a secret of a session",
        ("expect.result", "holds"), ("context.secrets", COPILOT), Speaks(Result(speech::shows_a_secret));
    "misses-kind-2": "does not understand what the editor's log pushes",
        ("expect.result", ""), ("context.editor-log", COPILOT), Files(Files::MissesPushes);
    "forgets-to-notify": "does not tell of a change of the context",
        ("expect.wire", ""), ("context.notified", "generic@bare"), Files(Files::TellsNothing);
    // The local model.
    "forgets-the-partial-text": "asks a paused step from its beginning and adds the answer to what was said",
        ("oracle.exact", "without interruption"), ("delegate.person-first", COPILOT), Delegate(Delegate::ForgetsPartial);
    "believes-the-cache": "calls a step exact because the server says that it was restored",
        ("expect.delegate", "is exact"), ("delegate.a-cache-that-lies", COPILOT), Delegate(Delegate::BelievesTheCache);
    "person-in-line": "puts the person into the line of the hosts",
        ("oracle.order", "it is the turn of"), ("delegate.two-hosts-and-a-person", COPILOT), Delegate(Delegate::PersonInLine);
    "lets-a-path-out": "writes where the model says, wherever that is",
        ("oracle.outside", "outside.txt"), ("delegate.paths-out", COPILOT), Delegate(Delegate::LetsPathsOut);
    "loses-a-task": "begins with an empty store when it is started again",
        ("oracle.lost", "is gone"), ("delegate.engine-ended", COPILOT), Delegate(Delegate::LosesItsStore);
    "runs-a-tool-twice": "runs each tool twice",
        ("oracle.done-twice", "a tool ran 2 times"), ("delegate.chat-with-tools", COPILOT), Delegate(Delegate::RunsTwice);
    // Settings that a server must not have by itself.
    "polls-rarely": "looks once a minute",
        ("expect.model", ""), LISTENING, Setting("ENTRACLAW_TEAMS_POLL_INTERVAL", "60s");
    "leaves-the-rested-alone": "looks once a minute, without a user at the keyboard",
        ("expect.model", "of rest or the next boundary"), ("days.unattended-wake-up", CLAUDE),
        Setting("ENTRACLAW_TEAMS_POLL_INTERVAL", "60s");
    "leaves-the-busy-alone": "looks every twenty seconds, which a tool of the host's own does not wait for",
        ("expect.model", "of rest or the next boundary"), ("days.unattended-whole-text", CLAUDE),
        Setting("ENTRACLAW_TEAMS_POLL_INTERVAL", "20s");
    "wakes-sixty-an-hour": "wakes an idle session sixty times an hour at most",
        ("expect.model", "of rest or the next boundary"), ("carriers.socket-hundred-an-hour", CLAUDE),
        Setting("ENTRACLAW_WAKE_MESSAGES_PER_HOUR", "60");
    "hears-all-in-groups": "hands out what was said to others in a group",
        ("expect.model", ""), ("gate.group-mentions", COPILOT), Setting("ENTRACLAW_GATE_GROUP_MESSAGES", "all");
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::MUTANTS;
    use crate::mutants::Verdict;

    #[test]
    fn names_are_unique_and_rows_are_whole() {
        let ids: BTreeSet<_> = MUTANTS.iter().map(|mutant| mutant.id).collect();
        assert_eq!(ids.len(), MUTANTS.len());
        assert!(MUTANTS.iter().all(|mutant| !mutant.does.is_empty() && mutant.rule.contains('.')));
    }

    /// A mutant that survives is a fault of the harness.
    #[test]
    fn every_mutant_is_caught_by_its_rule() {
        let missed: Vec<_> = MUTANTS
            .iter()
            .filter_map(|mutant| {
                let played = mutant.play().unwrap();
                match mutant.verdict(&played) {
                    Verdict::Caught(_) => None,
                    other => Some(format!("{} ({}): {other:?}", mutant.id, mutant.rule)),
                }
            })
            .collect();
        assert!(missed.is_empty(), "{}", missed.join("\n"));
    }
}
