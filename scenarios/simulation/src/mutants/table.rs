//! The mutants, and the rule that must catch each. One that no rule catches fails the build.

use super::disk::Fault as Disk;
use super::graph::Fault as Graph;
use super::mutant::{Mutant, Way};
use super::speech;

/// A row: the rule with what its finding must name, and the scenario with its host.
const fn mutant(
    id: &'static str,
    does: &'static str,
    caught_by: (&'static str, &'static str),
    at: (&'static str, &'static str),
    way: Way,
) -> Mutant {
    Mutant { id, does, rule: caught_by.0, names: caught_by.1, scenario: at.0, host: at.1, way }
}

const CLAUDE: &str = "claude-code@2.1.330";
const CLAUDE_SEED: &str = "claude-code@seed";
const COPILOT: &str = "copilot-cli@1.0.102";
const COPILOT_SEED: &str = "copilot-cli@seed";

const LISTENING: (&str, &str) = ("delivery.dm-listening", COPILOT);
const PULLING: (&str, &str) = ("delivery.dm-pulling", COPILOT);

/// Every mutant.
pub const MUTANTS: &[Mutant] = &[
    // The wire.
    mutant(
        "answers-twice",
        "answers a call twice",
        ("wire.schema", "second-response"),
        LISTENING,
        Way::Speaks(speech::answers_twice),
    ),
    mutant(
        "another-id",
        "answers with an id that nobody used",
        ("wire.schema", "no-such-request"),
        LISTENING,
        Way::Speaks(speech::answers_another_id),
    ),
    mutant(
        "prints",
        "prints a line for people to stdout",
        ("wire.schema", "not-json"),
        LISTENING,
        Way::Speaks(speech::prints),
    ),
    mutant(
        "result-and-error",
        "answers with a result and an error",
        ("wire.schema", ""),
        LISTENING,
        Way::Speaks(speech::result_and_error),
    ),
    mutant(
        "spreads-lines",
        "spreads a message over several lines",
        ("wire.schema", ""),
        LISTENING,
        Way::Speaks(speech::spreads_lines),
    ),
    mutant(
        "byte-order-mark",
        "begins with a byte order mark",
        ("wire.schema", "byte-order-mark"),
        LISTENING,
        Way::Speaks(speech::byte_order_mark),
    ),
    mutant(
        "latin-1",
        "writes a byte that is not UTF-8",
        ("expect.model", ""),
        LISTENING,
        Way::Speaks(speech::latin1),
    ),
    mutant(
        "older-envelope",
        "says jsonrpc 1.0",
        ("wire.schema", ""),
        LISTENING,
        Way::Speaks(speech::older_envelope),
    ),
    mutant(
        "wrong-era",
        "agrees on a version that nobody offered",
        ("wire.schema", ""),
        ("delivery.dm-listening", CLAUDE),
        Way::Speaks(speech::wrong_era),
    ),
    mutant(
        "speaks-first",
        "logs before it was greeted",
        ("wire.schema", ""),
        LISTENING,
        Way::Speaks(speech::speaks_first),
    ),
    mutant(
        "undeclared",
        "tells of prompts without having any",
        ("wire.schema", "undeclared-capability"),
        ("delivery.dm-listening", CLAUDE),
        Way::Speaks(speech::undeclared_prompts),
    ),
    mutant(
        "foreign-progress",
        "tells of progress that nobody asked for",
        ("wire.schema", ""),
        LISTENING,
        Way::Speaks(speech::foreign_progress),
    ),
    mutant(
        "backward-progress",
        "tells of progress that goes back",
        ("wire.schema", ""),
        ("carriers.parked-in-turn", COPILOT),
        Way::Speaks(speech::backward_progress),
    ),
    mutant(
        "broken-schema",
        "lists tools whose arguments are no object",
        ("wire.schema", ""),
        LISTENING,
        Way::Speaks(speech::broken_schema),
    ),
    mutant(
        "hears-no-cancel",
        "answers a call that was cancelled",
        ("expect.model", ""),
        ("waiting.interrupted-wait", CLAUDE),
        Way::Hears(speech::hears_no_cancel),
    ),
    // What the model sees.
    mutant(
        "drops-a-reply",
        "never answers one call",
        ("expect.result", ""),
        ("tools.missing-argument", COPILOT),
        Way::Speaks(speech::drops_a_reply),
    ),
    mutant(
        "sleeps-past-the-limit",
        "answers after the host's minute",
        ("expect.model", ""),
        ("delivery.dm-listening", COPILOT_SEED),
        Way::Speaks(speech::sleeps_past_the_limit),
    ),
    mutant(
        "is-slow",
        "takes 20 s for every line",
        ("expect.model", ""),
        LISTENING,
        Way::Speaks(speech::is_slow),
    ),
    mutant(
        "dies-at-work",
        "ends in the middle of its work",
        ("expect.model", ""),
        LISTENING,
        Way::Speaks(speech::dies_at_work),
    ),
    mutant(
        "ends-by-itself",
        "ends although nobody asked it to",
        ("oracle.died", ""),
        LISTENING,
        Way::Hears(speech::hears_the_end),
    ),
    mutant(
        "never-rests",
        "looks again and again and never waits",
        ("sim.livelock", "virtual time stood still"),
        LISTENING,
        Way::Hears(speech::never_rests),
    ),
    mutant(
        "turns-the-order",
        "hands out the newest message first",
        ("oracle.order", ""),
        ("overflow.burst-in-one-poll", COPILOT),
        Way::Speaks(speech::turns_the_order),
    ),
    mutant(
        "says-it-again",
        "hands a message out twice, without a mark",
        ("oracle.repeated", ""),
        ("graph.polite", COPILOT),
        Way::Speaks(speech::says_it_again),
    ),
    mutant(
        "drops-a-message",
        "leaves a message out now and then",
        ("expect.model", ""),
        ("delivery.dm-pulling", COPILOT),
        Way::Speaks(speech::drops_a_message),
    ),
    mutant(
        "drops-the-first",
        "leaves the first message out",
        ("oracle.lost", ""),
        ("delivery.quotes-and-files", COPILOT),
        Way::Speaks(speech::drops_the_first),
    ),
    mutant(
        "marks-all-redelivered",
        "calls every message one that comes again",
        ("oracle.mark", "again although nothing was lost"),
        LISTENING,
        Way::Speaks(speech::marks_all_redelivered),
    ),
    mutant(
        "marks-all-pushed",
        "calls every message one that was pushed",
        ("oracle.mark", "marked pushed"),
        LISTENING,
        Way::Speaks(speech::marks_all_pushed),
    ),
    mutant(
        "forgets-marks",
        "marks nothing that comes again",
        ("oracle.repeated", ""),
        ("delivery.push-then-pull-is-marked", CLAUDE_SEED),
        Way::Speaks(speech::forgets_marks),
    ),
    mutant(
        "makes-messages-up",
        "hands out a message that nobody wrote",
        ("oracle.unknown", ""),
        LISTENING,
        Way::Speaks(speech::makes_messages_up),
    ),
    mutant(
        "changes-a-text",
        "loses characters on the way",
        ("oracle.text", ""),
        LISTENING,
        Way::Speaks(speech::changes_a_text),
    ),
    mutant(
        "two-texts",
        "pushes another text than it hands out",
        ("oracle.parity", ""),
        ("delivery.push-then-pull-is-marked", CLAUDE_SEED),
        Way::Speaks(speech::changes_what_it_pushes),
    ),
    mutant(
        "writes-beside-the-json",
        "adds a remark to its JSON",
        ("oracle.unreadable", ""),
        LISTENING,
        Way::Speaks(speech::writes_beside_the_json),
    ),
    mutant(
        "opens-tags",
        "shows channel tags as they were typed",
        ("expect.model", "&lt;/channel&gt;"),
        ("sanitise.forged-channel-tag", COPILOT),
        Way::Speaks(speech::opens_tags),
    ),
    mutant(
        "pushes-nothing",
        "declares a channel and pushes nothing",
        ("expect.model", ""),
        ("delivery.channel-wakes-idle", CLAUDE_SEED),
        Way::Speaks(speech::pushes_nothing),
    ),
    mutant(
        "cuts-waits-short",
        "ends every wait after a second",
        ("expect.result", ""),
        ("waiting.fifty-seconds-below-sixty", COPILOT_SEED),
        Way::Hears(speech::cuts_waits_short),
    ),
    mutant(
        "leaks-the-token",
        "puts its token into a result",
        ("oracle.secret", ""),
        LISTENING,
        Way::Speaks(speech::leaks_the_token),
    ),
    // The disk.
    mutant(
        "never-syncs",
        "syncs nothing",
        ("expect.model", ""),
        ("bot.power-cut", COPILOT),
        Way::Disk(Disk::NeverSyncs),
    ),
    mutant(
        "keeps-no-marks",
        "does not write down what was handed out",
        ("oracle.repeated", ""),
        ("dedup.restart", COPILOT),
        Way::Disk(Disk::SwallowsAppends("inbox/consumers")),
    ),
    mutant(
        "keeps-no-messages",
        "moves on before a message is kept, which the channel of a bot does not bring again",
        ("expect.model", ""),
        ("bot.power-cut", COPILOT),
        Way::Disk(Disk::SwallowsAppends("inbox/2")),
    ),
    mutant(
        "all-lead",
        "polls in every session",
        ("expect.graph", ""),
        ("sessions.one-polls", COPILOT),
        Way::Disk(Disk::SharesLocks),
    ),
    // Graph.
    mutant(
        "asks-twice",
        "asks Graph twice for everything",
        ("expect.graph", ""),
        ("graph.idle-cost-one", COPILOT),
        Way::Graph(Graph::AsksTwice),
    ),
    mutant(
        "sends-twice",
        "sends every answer twice",
        ("expect.sent", ""),
        ("delivery.answer-where-asked", COPILOT),
        Way::Graph(Graph::SendsTwice),
    ),
    mutant(
        "sends-again",
        "sends again what it got no answer to",
        ("oracle.sent-twice", ""),
        ("graph.send-not-repeated", COPILOT),
        Way::Graph(Graph::SendsAgain),
    ),
    mutant(
        "never-sends",
        "says that it sent, and did not",
        ("oracle.untrue", "is not there"),
        ("delivery.answer-where-asked", COPILOT),
        Way::Graph(Graph::NeverSends),
    ),
    mutant(
        "sees-no-limits",
        "asks again at once where it was told to wait",
        ("expect.model", ""),
        ("graph.one-chat-throttled", COPILOT),
        Way::Graph(Graph::SeesNoLimits),
    ),
    mutant(
        "takes-the-token-elsewhere",
        "shows its token to another origin",
        ("oracle.foreign-origin", ""),
        LISTENING,
        Way::Graph(Graph::TakesTokenElsewhere),
    ),
    mutant(
        "takes-all-for-one",
        "takes everybody for a person who may speak",
        ("oracle.stranger", ""),
        ("gate.stranger", COPILOT),
        Way::Graph(Graph::TakesAllForOne),
    ),
    mutant(
        "goes-deaf",
        "stops reading after a while",
        ("expect.model", ""),
        PULLING,
        Way::Graph(Graph::GoesDeaf(6)),
    ),
    // Settings that a server must not have by itself.
    mutant(
        "polls-rarely",
        "looks once a minute",
        ("expect.model", ""),
        LISTENING,
        Way::Setting("ENTRACLAW_TEAMS_POLL_INTERVAL", "60s"),
    ),
    mutant(
        "leaves-the-rested-alone",
        "looks once a minute, with nobody at the keyboard",
        ("expect.model", "of rest or the next boundary"),
        ("days.unattended-door", CLAUDE),
        Way::Setting("ENTRACLAW_TEAMS_POLL_INTERVAL", "60s"),
    ),
    mutant(
        "leaves-the-busy-alone",
        "looks every twenty seconds, which a tool of the host's own does not wait for",
        ("expect.model", "of rest or the next boundary"),
        ("days.unattended-whole-text", CLAUDE),
        Way::Setting("ENTRACLAW_TEAMS_POLL_INTERVAL", "20s"),
    ),
    mutant(
        "wakes-sixty-an-hour",
        "wakes an idle session sixty times an hour at most",
        ("expect.model", "of rest or the next boundary"),
        ("carriers.socket-hundred-an-hour", CLAUDE),
        Way::Setting("ENTRACLAW_DOORS_MESSAGES_PER_HOUR", "60"),
    ),
    mutant(
        "hears-all-in-groups",
        "hands out what was said to others in a group",
        ("expect.model", ""),
        ("gate.group-mentions", COPILOT),
        Way::Setting("ENTRACLAW_GATE_GROUP_MESSAGES", "all"),
    ),
];

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
