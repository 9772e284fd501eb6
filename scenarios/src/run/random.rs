//! Draws the steps of a random stretch from the seed.
//! It must never draw a step that only makes sense with luck: every trouble ends, and every label is written before it is used.

use std::time::Duration;

use entraclaw::random::{Random as _, SplitMix};
use fakes::graph::{DeltaLoss, ErrorBody, FaultAction, FaultSpec, MessageSpec};

use super::play::{MAIN, Play};
use crate::scenario::{
    DiskStep, Edit, EntraStep, HostStep, MailWrite, MailboxStep, MessageRef, Random, Scenario, ServerStep,
    Span, Step, Trouble, Write,
};

/// How late a message can become visible, in milliseconds.
const LATE_MS: u64 = 30_000;
/// How long a trouble lasts at most, in seconds.
const TROUBLE_S_MAX: u64 = 600;
/// How far the wall clock jumps at most, in milliseconds.
const CLOCK_STEP_MS_MAX: u64 = 300_000;
/// A minute, as Graph tells a throttled client.
const RETRY_AFTER_S: u32 = 60;

/// Who can write, and where.
pub(crate) struct Cast {
    /// The chats that the agent is in.
    chats: Vec<String>,
    /// The people whose mail counts; nobody when the agent has no mailbox.
    mailers: Vec<String>,
}

impl Cast {
    /// That of a scenario.
    pub(crate) fn of(scenario: &Scenario) -> Self {
        let people = scenario.world.people.keys().filter(|person| !scenario.strangers.contains(person));
        let mailers = people.filter(|_| scenario.world.mail.is_some());
        Self { chats: scenario.world.chats.keys().cloned().collect(), mailers: mailers.cloned().collect() }
    }
}

/// The steps.
pub(crate) fn plan(random: &Random, seed: u64, cast: &Cast) -> Vec<Step> {
    Draw { dice: SplitMix::seeded(seed), cast, steps: Vec::new(), label: 0, written: Vec::new() }.plan(random)
}

/// Whether a drawn step would take back what nobody has read yet: then nobody could say whether it was lost.
pub(crate) fn is_pointless(play: &Play<'_>, step: &Step) -> bool {
    let Step::Delete(MessageRef { message }) = step else { return false };
    play.with_view(None, |view| {
        view.ledger.by_label(message).is_none_or(|written| view.ledger.showings(written).is_empty())
    })
}

struct Draw<'a> {
    dice: SplitMix,
    cast: &'a Cast,
    steps: Vec<Step>,
    label: u64,
    /// Messages that can still be changed.
    written: Vec<String>,
}

impl Draw<'_> {
    fn plan(mut self, random: &Random) -> Vec<Step> {
        let pause_ms =
            u64::try_from(random.lasting.0.as_millis()).unwrap_or(u64::MAX) / u64::from(random.bursts.max(1));
        for _ in 0..random.bursts {
            // Twice the mean at most, so that the whole is about as long as it should be.
            let pause = self.below(pause_ms.saturating_mul(2).max(1));
            self.advance(pause);
            let trouble = (!random.troubles.is_empty() && self.below(3) == 0).then(|| {
                let at = self.below(random.troubles.len() as u64);
                random.troubles[usize::try_from(at).unwrap_or(0)]
            });
            match trouble {
                Some(trouble) => self.trouble(trouble, random.burst),
                None => self.burst(random.burst),
            }
        }
        self.steps.push(Step::Heal);
        self.steps
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
            return self.mails(count);
        }
        let chat = self.chat();
        for _ in 0..count {
            self.write(chat.clone(), 0);
            let pause = self.below(4_000);
            self.advance(pause);
        }
    }

    fn mails(&mut self, count: u64) {
        let from = self.one_of(&self.cast.mailers);
        for _ in 0..count {
            self.label += 1;
            self.steps.push(Step::Mail(MailWrite {
                from: from.clone(),
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
        self.written.push(label.clone());
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

    /// Something goes wrong, people write on, and it is over.
    fn trouble(&mut self, trouble: Trouble, burst: u32) {
        let status = |code, retry_after_s, body| FaultAction::Status {
            code,
            retry_after_s,
            form: fakes::graph::RetryAfterForm::default(),
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
                    let message = self.written.swap_remove(at);
                    let step = if self.below(2) == 0 {
                        Step::Edit(Edit { message, text: format!("changed after {}", self.label) })
                    } else {
                        Step::Delete(MessageRef { message })
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
                self.steps.push(Step::Server(ServerStep::PowerCut(MAIN.to_owned())));
                self.restart();
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
            Trouble::TokenExpiry => self.steps.push(Step::Entra(EntraStep::EndTokens)),
            Trouble::DeltaReset => {
                let how = if self.below(2) == 0 { DeltaLoss::Gone } else { DeltaLoss::NotFound };
                self.steps.push(Step::Mailbox(MailboxStep::Forget(how)));
            }
        }
        self.burst(burst);
        let lasting_ms = (self.below(TROUBLE_S_MAX) + 1) * 1_000;
        self.advance(lasting_ms);
        self.steps.append(&mut heals);
    }
}
