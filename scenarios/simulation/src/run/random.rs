//! Draws the steps of a random stretch from the seed.
//! It must never draw a step that only makes sense with luck: every trouble ends, and every label is written before it is used.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use entraclaw_seams::random::{Random as _, SplitMix};
use fake_microsoft::bot::BotFault;
use fake_microsoft::graph::{ChatSpec, DeltaLoss, ErrorBody, FaultAction, FaultSpec, MessageSpec};
use scenario::faults::FaultProfile;
use scenario::{
    BotSay, BotStep, DiskStep, Edit, EntraStep, HostStep, MailWrite, MailboxStep, MessageRef, OperatorStep,
    PersonRef, Random, Scenario, ServerStep, Span, Step, Trouble, Write,
};

use super::kills;
use super::play::{MAIN, Play};
use crate::plan::Cell;

/// The longest time until a message becomes visible, in milliseconds.
const LATE_MS: u64 = 30_000;
/// The longest duration of a trouble, in seconds.
const TROUBLE_S_MAX: u64 = 600;
/// The largest jump of the wall clock, in milliseconds.
const CLOCK_STEP_MS_MAX: u64 = 300_000;
/// The time within which a running server must notice that its policy has changed.
const POLICY_NOTICED: Duration = Duration::from_secs(3);
/// A minute, as Graph tells a throttled client.
const RETRY_AFTER_S: u32 = 60;

/// The people who can write, and their chats.
struct Cast {
    /// The chats that the agent is in.
    chats: Vec<String>,
    /// The person who writes to each chat.
    writers: BTreeMap<String, String>,
    /// The people who may speak at first.
    people: Vec<String>,
    /// People whose mail is heard; empty when the agent has no mailbox.
    mailers: Vec<String>,
    /// People who write to the bot; empty without a bot.
    callers: Vec<String>,
    /// Sessions beside the main one.
    terminals: Vec<String>,
}

impl Cast {
    /// The cast of a scenario.
    fn of(scenario: &Scenario) -> Self {
        let people = scenario.world.people.keys().filter(|person| !scenario.strangers.contains(person));
        let people: Vec<String> = people.cloned().collect();
        let those_if = |there: bool| if there { people.clone() } else { Vec::new() };
        let writer = |(chat, spec): (&String, &ChatSpec)| Some((chat.clone(), spec.members.first()?.clone()));
        Self {
            chats: scenario.world.chats.keys().cloned().collect(),
            writers: scenario.world.chats.iter().filter_map(writer).collect(),
            mailers: those_if(scenario.world.mail.is_some()),
            callers: those_if(scenario.server.get("bot.enabled").is_some_and(|enabled| enabled == "true")),
            people,
            terminals: scenario.sessions.keys().cloned().collect(),
        }
    }
}

/// The steps that a step stands for in a cell; none for one that says itself what happens.
pub(crate) fn drawn(cell: &Cell, step: &Step) -> Option<Vec<Step>> {
    let scenario = &cell.scenario.scenario;
    match step {
        Step::Random(random) => Some(plan(random, cell.seed, cell.faults_of(random), &Cast::of(scenario))),
        Step::Kills(spec) => {
            let chats: Vec<String> = scenario.world.chats.keys().cloned().collect();
            Some(kills::plan(spec, cell.seed, &chats))
        }
        _ => None,
    }
}

/// The steps. The same seed and profile draw the same.
fn plan(random: &Random, seed: u64, faults: &FaultProfile, cast: &Cast) -> Vec<Step> {
    let dice = SplitMix::seeded(seed);
    let (steps, written, closed) = (Vec::new(), Vec::new(), BTreeSet::new());
    let denied = BTreeSet::new();
    Draw { dice, cast, steps, label: 0, written, closed, denied }.plan(random, faults)
}

/// A drawn step as the transcript names it.
pub(crate) fn told(step: &Step) -> String {
    match step {
        Step::Delete(MessageRef { message, .. }) => format!("Delete(MessageRef {{ message: {message:?} }})"),
        other => format!("{other:?}"),
    }
}

/// Whether a step would delete a message that no model has read, so that a loss could not be told from the deletion.
pub(crate) fn is_pointless(play: &Play<'_>, step: &Step) -> bool {
    let Step::Delete(MessageRef { message, if_read: true }) = step else { return false };
    play.with_view(None, |view| {
        view.ledger.by_label(message).is_none_or(|written| view.ledger.showings(written).is_empty())
    })
}

struct Draw<'a> {
    dice: SplitMix,
    cast: &'a Cast,
    steps: Vec<Step>,
    label: u64,
    /// Messages that can still be changed, each with who wrote it.
    written: Vec<(String, Option<String>)>,
    /// Sessions that have ended.
    closed: BTreeSet<String>,
    /// People who are denied at this moment.
    denied: BTreeSet<String>,
}

impl Draw<'_> {
    fn plan(mut self, random: &Random, faults: &FaultProfile) -> Vec<Step> {
        let kinds = faults.weigh(&random.troubles);
        let pause_ms =
            u64::try_from(random.lasting.0.as_millis()).unwrap_or(u64::MAX) / u64::from(random.bursts.max(1));
        for _ in 0..random.bursts {
            // Twice the mean at most, so that the whole is about as long as it should be.
            let pause = self.below(pause_ms.saturating_mul(2).max(1));
            self.advance(pause);
            if kinds.is_empty() || self.below(faults.of_bursts) >= faults.troubled {
                self.burst(random.burst);
                continue;
            }
            let mut heals = Vec::new();
            for _ in 0..faults.at_once {
                if let Some(trouble) = self.one_by_weight(&kinds) {
                    heals.append(&mut self.begin(trouble, random.burst));
                }
            }
            self.burst(random.burst);
            let lasting_ms = (self.below(TROUBLE_S_MAX) + 1) * 1_000;
            self.advance(lasting_ms);
            self.steps.append(&mut heals);
            self.denied.clear();
        }
        self.steps.push(Step::Heal);
        for closed in std::mem::take(&mut self.closed) {
            self.steps.push(Step::Host(HostStep::Start(closed)));
        }
        self.steps
    }

    /// One of these, each as likely as it weighs.
    fn one_by_weight(&mut self, kinds: &[(Trouble, u64)]) -> Option<Trouble> {
        let mut at = self.below(kinds.iter().map(|(_, weight)| weight).sum());
        let found = kinds.iter().find(|(_, weight)| {
            let is_it = at < *weight;
            at = at.saturating_sub(*weight);
            is_it
        });
        found.map(|(trouble, _)| *trouble)
    }

    /// A number below `bound`.
    fn below(&mut self, bound: u64) -> u64 {
        self.dice.next_u64() % bound.max(1)
    }

    fn one_of(&mut self, names: &[String]) -> Option<String> {
        let at = self.below(names.len() as u64);
        names.get(usize::try_from(at).ok()?).cloned()
    }

    fn chat(&mut self) -> Option<String> {
        self.one_of(&self.cast.chats)
    }

    fn advance(&mut self, ms: u64) {
        self.steps.push(Step::Advance(Span(Duration::from_millis(ms))));
    }

    fn burst(&mut self, most: u32) {
        let count = self.below(u64::from(most.max(1))) + 1;
        if !self.cast.mailers.is_empty() && self.below(3) == 0 {
            let from = self.one_of(&self.cast.mailers);
            return self.mails(count, from.as_ref());
        }
        if !self.cast.callers.is_empty() && self.below(3) == 0 {
            let from = self.one_of(&self.cast.callers);
            return self.calls(count, from.as_ref());
        }
        let chat = self.chat();
        self.writes(count, chat.as_ref());
    }

    /// Something that one person says, by any of their ways.
    fn burst_of(&mut self, person: &String, most: u32) {
        let count = self.below(u64::from(most.max(1))) + 1;
        let theirs = |(chat, writer): (&String, &String)| (writer == person).then(|| chat.clone());
        let chats: Vec<String> = self.cast.writers.iter().filter_map(theirs).collect();
        if self.cast.mailers.iter().any(|mailer| mailer == person) && self.below(3) == 0 {
            self.mails(count, Some(person));
        } else if self.cast.callers.iter().any(|caller| caller == person) && self.below(3) == 0 {
            self.calls(count, Some(person));
        } else if let Some(chat) = self.one_of(&chats) {
            self.writes(count, Some(&chat));
        }
    }

    fn writes(&mut self, count: u64, chat: Option<&String>) {
        for _ in 0..count {
            self.write(chat.cloned(), 0);
            let pause = self.below(4_000);
            self.advance(pause);
        }
    }

    /// Messages to the bot, each in the person's own conversation with it.
    fn calls(&mut self, count: u64, from: Option<&String>) {
        for _ in 0..count {
            self.label += 1;
            self.steps.push(Step::Bot(BotStep::Say(BotSay {
                conversation: from.map(|person| format!("bot-{person}")),
                from: from.cloned(),
                text: format!("call {} of the day", self.label),
                label: Some(format!("drawn-{}", self.label)),
                any_status: true,
                ..BotSay::default()
            })));
            let pause = self.below(4_000);
            self.advance(pause);
        }
    }

    fn mails(&mut self, count: u64, from: Option<&String>) {
        for _ in 0..count {
            self.label += 1;
            self.steps.push(Step::Mail(MailWrite {
                from: from.cloned(),
                subject: Some(format!("mail {}", self.label)),
                text: Some(format!("mail {} of the day", self.label)),
                label: Some(format!("drawn-{}", self.label)),
                ..MailWrite::default()
            }));
            let pause = self.below(4_000);
            self.advance(pause);
        }
    }

    fn write(&mut self, chat: Option<String>, visible_after_ms: u64) {
        self.label += 1;
        let label = format!("drawn-{}", self.label);
        let writer = chat.as_ref().and_then(|chat| self.cast.writers.get(chat)).cloned();
        // A message that was never heard is news when it is changed later.
        if writer.as_ref().is_none_or(|writer| !self.denied.contains(writer)) {
            self.written.push((label.clone(), writer));
        }
        let late = MessageSpec { visible_after_ms, ..MessageSpec::default() };
        self.steps.push(Step::Write(Write {
            chat,
            text: Some(format!("message {} of the day", self.label)),
            label: Some(label),
            message: (visible_after_ms > 0).then_some(late),
            ..Write::default()
        }));
    }

    fn fault(&mut self, action: FaultAction, chat: Option<String>, probability: Option<f64>) {
        self.steps.push(Step::Fault(FaultSpec { chat, probability, ..FaultSpec::always(action) }));
    }

    fn restart(&mut self) {
        self.advance(200);
        self.steps.push(Step::Host(HostStep::Kill(MAIN.to_owned())));
        self.steps.push(Step::Host(HostStep::Start(MAIN.to_owned())));
    }

    fn terminal(&mut self) {
        let Some(name) = self.one_of(&self.cast.terminals) else { return };
        if self.closed.remove(&name) {
            return self.steps.push(Step::Host(HostStep::Start(name)));
        }
        self.closed.insert(name.clone());
        match self.below(3) {
            0 => self.steps.push(Step::Host(HostStep::Exit(name))),
            1 => self.steps.push(Step::Host(HostStep::Kill(name))),
            _ => {
                self.steps.push(Step::Server(ServerStep::Crash(name.clone())));
                self.advance(200);
                self.steps.push(Step::Host(HostStep::Kill(name)));
            }
        }
    }

    /// Something goes wrong; the steps that end it.
    fn begin(&mut self, trouble: Trouble, burst: u32) -> Vec<Step> {
        let status = |code, retry_after_s, body| FaultAction::Status {
            code,
            retry_after_s,
            form: fake_microsoft::graph::RetryAfterForm::default(),
            body,
        };
        let mut heals = Vec::new();
        match trouble {
            Trouble::Throttle => {
                let chat = self.chat();
                self.fault(status(429, Some(RETRY_AFTER_S), ErrorBody::Envelope), chat, None);
                heals.push(Step::Heal);
            }
            Trouble::Outage => {
                self.fault(FaultAction::ResetBeforeApply, None, None);
                heals.push(Step::Heal);
            }
            Trouble::ServerError => {
                self.fault(status(503, None, ErrorBody::Html), None, None);
                heals.push(Step::Heal);
            }
            Trouble::CutJson => {
                self.fault(FaultAction::TruncatedJson { keep_percent: 60 }, None, Some(0.5));
                heals.push(Step::Heal);
            }
            Trouble::LostAnswer => {
                let always = FaultSpec::always(FaultAction::ResetAfterApply);
                let method = Some("POST".to_owned());
                self.steps.push(Step::Fault(FaultSpec { method, probability: Some(0.5), ..always }));
                if !self.cast.callers.is_empty() {
                    self.steps.push(Step::Bot(BotStep::Fault(BotFault::LostAnswer)));
                }
                heals.push(Step::Heal);
            }
            Trouble::TokenRefused => {
                self.fault(status(401, None, ErrorBody::Envelope), None, None);
                heals.push(Step::Heal);
            }
            Trouble::Slow => {
                self.fault(FaultAction::Slow { delay_ms: 8_000 }, None, Some(0.5));
                heals.push(Step::Heal);
            }
            Trouble::Late => {
                let chat = self.chat();
                self.write(chat, LATE_MS);
            }
            Trouble::Change => {
                let count = self.written.len() as u64;
                if count > 0 {
                    let at = usize::try_from(self.below(count)).unwrap_or(0);
                    let (message, _) = self.written.swap_remove(at);
                    let step = if self.below(2) == 0 {
                        Step::Edit(Edit { message, text: format!("changed after {}", self.label) })
                    } else {
                        Step::Delete(MessageRef { message, if_read: true })
                    };
                    self.steps.push(step);
                }
            }
            Trouble::LostReply => self.steps.push(Step::Host(HostStep::LoseReply(MAIN.to_owned()))),
            Trouble::Crash => {
                self.burst(burst);
                self.steps.push(Step::Server(ServerStep::Crash(MAIN.to_owned())));
                self.restart();
            }
            Trouble::PowerCut => {
                self.burst(burst);
                let terminals = self.cast.terminals.iter().filter(|name| !self.closed.contains(*name));
                let open: Vec<String> = terminals.cloned().collect();
                self.steps.extend(open.iter().map(|name| Step::Server(ServerStep::Crash(name.clone()))));
                self.steps.push(Step::Server(ServerStep::PowerCut(MAIN.to_owned())));
                // No program outlives the power.
                let hosts = open.iter().cloned().chain([MAIN.to_owned()]);
                self.steps.extend(hosts.map(|name| Step::Host(HostStep::Kill(name))));
                self.restart();
                self.steps.extend(open.into_iter().map(|name| Step::Host(HostStep::Start(name))));
            }
            Trouble::DiskFull => {
                let after_bytes = self.below(4_000);
                self.steps.push(Step::Disk(DiskStep::Full { after_bytes }));
                heals.push(Step::Disk(DiskStep::Heal));
            }
            Trouble::FailedSync => {
                self.steps.push(Step::Disk(DiskStep::FailSync));
                heals.push(Step::Disk(DiskStep::Heal));
            }
            Trouble::ClockStep => {
                let ahead_ms = self.below(2 * CLOCK_STEP_MS_MAX + 1).cast_signed();
                let by_ms = ahead_ms - CLOCK_STEP_MS_MAX.cast_signed();
                self.steps.push(Step::Server(ServerStep::ClockStep(by_ms)));
            }
            Trouble::Terminal => self.terminal(),
            Trouble::Denied => {
                if let Some(person) = self.one_of(&self.cast.people) {
                    self.denied.insert(person.clone());
                    // Changes in the meantime would need rules of their own.
                    self.written.retain(|(_, writer)| writer.as_ref() != Some(&person));
                    let who = PersonRef { person: person.clone(), unsettled: true };
                    let noticed = Step::Advance(Span(POLICY_NOTICED));
                    self.steps.push(Step::Operator(OperatorStep::Deny(who.clone())));
                    self.steps.push(noticed.clone());
                    self.burst_of(&person, burst);
                    heals.extend([Step::Operator(OperatorStep::Allow(who)), noticed]);
                }
            }
            Trouble::TokenExpiry => self.steps.push(Step::Entra(EntraStep::EndTokens)),
            Trouble::DeltaReset => {
                let how = if self.below(2) == 0 { DeltaLoss::Gone } else { DeltaLoss::NotFound };
                self.steps.push(Step::Mailbox(MailboxStep::Forget(how)));
            }
        }
        heals
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scenario::faults::{PROFILES, USUAL};
    use std::sync::Arc;

    use scenario::{Loaded, load_builtin};

    fn draw<'a>(all: &'a [Arc<Loaded>], id: &str) -> impl Fn(u64, &FaultProfile) -> Vec<Step> + 'a {
        let scenario = &all.iter().find(|loaded| loaded.id() == id).unwrap().scenario;
        let random = scenario.steps.iter().find_map(|step| match &step.value {
            Step::Random(random) => Some(random),
            _ => None,
        });
        move |seed, faults| plan(random.unwrap(), seed, faults, &Cast::of(scenario))
    }

    /// A checksum of what the steps say.
    fn sum(steps: &[Step]) -> u32 {
        steps
            .iter()
            .flat_map(|step| told(step).into_bytes())
            .fold(7, |sum: u32, byte| sum.wrapping_mul(16_777_619) ^ u32::from(byte))
    }

    /// Seeds that were found are worth nothing when they draw something else.
    #[test]
    fn the_usual_profile_draws_the_same_steps_as_before() {
        let all = load_builtin().unwrap();
        let sums = ["days.random", "days.listening", "days.signed-in"]
            .map(|id| [1, 2, 4_711].map(|seed| sum(&draw(all, id)(seed, USUAL))));
        let were = [
            [647_551_176, 3_625_091_358, 1_416_685_952],
            [514_983_527, 2_669_888_804, 1_826_266_060],
            [334_756_606, 3_654_361_362, 3_327_851_113],
        ];
        assert_eq!(sums, were, "a corpus that people keep says something else now");
    }

    #[test]
    fn a_profile_decides_the_troubles_and_all_of_them_end() {
        let all = load_builtin().unwrap();
        let draw = draw(all, "days.signed-in");
        for profile in PROFILES {
            let steps = draw(3, profile);
            let troubled = steps
                .iter()
                .any(|step| !matches!(step, Step::Write(_) | Step::Mail(_) | Step::Advance(_) | Step::Heal));
            assert_eq!(troubled, profile.troubled > 0, "{}", profile.name);
            assert!(matches!(steps.last(), Some(Step::Heal)));
        }
        let crash = draw(3, FaultProfile::named("crash").unwrap());
        assert!(!crash.iter().any(|step| matches!(step, Step::Fault(_) | Step::Disk(_))));
    }
}
