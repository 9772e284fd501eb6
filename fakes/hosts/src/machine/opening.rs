//! From the start of a process to an open connection: probe, `initialize`, the modern stream. It requests no
//! list and makes no call.

use std::sync::Arc;

use host_profiles::{Fate, GiveUp, ListKind, OnSilence, StartClock};
use serde_json::{Map, Value, json};

use super::send::Shape;
use super::{Ending, Era, HostMachine, Pending, Phase, Stream, Timer};
use crate::effect::{Effect, HostEventKind};
use crate::names_its_server;

impl HostMachine {
    /// Sends the first message after the process has started.
    pub(super) fn open(&mut self) {
        let profile = Arc::clone(&self.profile);
        let opening = &profile.opening;
        if *opening.start_clock == StartClock::Spawn {
            let limit_ms = self.start_limit_ms();
            self.set_timer(Timer::Start, limit_ms);
        }
        if let (Some(wait_ms), 1) = (*opening.turn_waits_ms, self.spawns) {
            self.set_timer(Timer::TurnAnyway, wait_ms);
        }
        if self.probes() {
            self.link.phase = Phase::Probing;
            let rule = self.profile.wire.probe_id.value.clone();
            let id = self.special_id(&rule);
            let wait_ms = self.probe_limit_ms();
            self.set_timer(Timer::Probe, wait_ms);
            self.request_with(&id, "server/discover", Vec::new(), None, Shape::Opening, Pending::Probe);
        } else {
            self.initialize();
        }
    }

    fn probes(&self) -> bool {
        let opening = &self.profile.opening;
        let by_setting = self.options.negotiate && *opening.probe_configurable;
        (*opening.probe || by_setting) && self.link.probing_allowed && !self.options.legacy_only
    }

    fn start_limit_ms(&self) -> u64 {
        let opening = &self.profile.opening;
        self.options
            .start_timeout_ms
            .filter(|_| *opening.start_timeout_configurable)
            .unwrap_or(*opening.start_timeout_ms)
    }

    fn probe_limit_ms(&self) -> u64 {
        let opening = &self.profile.opening;
        let wait_ms = match self.start_limit_ms().checked_div(*opening.probe_share) {
            Some(share_ms) => share_ms.min(*opening.probe_timeout_ms),
            None => *opening.probe_timeout_ms,
        };
        wait_ms.saturating_sub(*opening.probe_margin_ms)
    }

    fn initialize(&mut self) {
        self.link.phase = Phase::Initializing;
        if *self.profile.opening.start_clock == StartClock::Initialize {
            let probe_ms = if self.probes() { self.probe_limit_ms() } else { 0 };
            let limit_ms = self.start_limit_ms().saturating_sub(probe_ms);
            self.set_timer(Timer::Start, limit_ms);
        }
        let identity = &self.profile.identity;
        let own = vec![
            ("protocolVersion", json!(*identity.protocol_version)),
            ("capabilities", self.capabilities()),
            ("clientInfo", self.client_info()),
        ];
        self.request("initialize", own, None, Shape::Handshake, Pending::Initialize);
    }

    /// The `capabilities` of `initialize`.
    pub(super) fn capabilities(&self) -> Value {
        let identity = &self.profile.identity;
        let experimental = self.mode(&identity.experimental_capabilities);
        experimental
            .filter(|_| self.options.experimental)
            .unwrap_or_else(|| self.mode(&identity.capabilities))
    }

    pub(super) fn on_probe_answer(&mut self, body: Result<Value, Value>) {
        self.timers.remove(&Timer::Probe);
        if self.link.phase != Phase::Probing {
            return;
        }
        let modern = self.profile.opening.modern_version.as_str();
        match body {
            Ok(result) if offers(&result, modern) => {
                self.link.era = Era::Modern;
                self.link.capabilities = result.get("capabilities").cloned().unwrap_or_default();
                self.opened(&result);
            }
            Ok(_) => {
                self.note("the probe's answer does not offer the modern version");
                self.initialize();
            }
            Err(_) => self.initialize(),
        }
    }

    /// A faulty line came while the probe was open.
    pub(super) fn on_probe_fault(&mut self) {
        self.timers.remove(&Timer::Probe);
        self.link.pending.clear();
        self.initialize();
    }

    pub(super) fn probe_silent(&mut self) {
        if self.link.phase != Phase::Probing {
            return;
        }
        self.link.pending.clear();
        match *self.profile.opening.probe_silence {
            OnSilence::Initialize => self.initialize(),
            OnSilence::Fail => {
                self.give_up("the probe got no answer".to_owned(), GiveUp::Shutdown);
            }
        }
    }

    pub(super) fn start_too_slow(&mut self) {
        if matches!(self.link.phase, Phase::Probing | Phase::Initializing) {
            let how = *self.profile.opening.on_start_timeout;
            self.give_up("the server did not open in time".to_owned(), how);
        }
    }

    pub(super) fn on_initialize_answer(&mut self, body: Result<Value, Value>) {
        if self.link.phase != Phase::Initializing {
            return;
        }
        let how = *self.profile.opening.on_refused_version;
        let result = match body {
            Ok(result) => result,
            Err(error) => return self.give_up(format!("initialize was refused: {error}"), how),
        };
        let version = result.get("protocolVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
        let accepted = &self.profile.identity.accepted_versions;
        if version.is_empty() || !accepted.iter().any(|one| *one == version || one == "*") {
            let reason = format!("protocol version {version:?} is not supported");
            return self.give_up(reason, how);
        }
        if !names_its_server(&result) {
            let profile = self.profile.clone();
            let fact = &profile.schemas.server_info;
            self.tell_fault(fact, "schemas.server_info", **fact == Fate::Taken);
        }
        if self.opening_fails(&result) {
            return self.give_up("the answer to initialize is not complete".to_owned(), how);
        }
        if *self.profile.schemas.server_info == Fate::Refused && !names_its_server(&result) {
            return self.give_up("`serverInfo` has no name or no version".to_owned(), how);
        }
        self.link.capabilities = result.get("capabilities").cloned().unwrap_or_default();
        self.notify("notifications/initialized", None);
        let opening = &self.profile.opening;
        if *opening.modern_by_initialize && version == *opening.modern_version {
            self.link.era = Era::Modern;
        }
        self.opened(&result);
    }

    /// The handshake is complete, in either era.
    fn opened(&mut self, result: &Value) {
        self.timers.remove(&Timer::Start);
        self.link.phase = Phase::Open;
        self.show_instructions(result);
        if self.link.era == Era::Legacy || !*self.profile.modern.listen {
            return self.start_lists();
        }
        if *self.profile.modern.lists_wait_for_listen {
            let wait_ms = *self.profile.modern.lists_wait_max_ms;
            self.set_timer(Timer::ListsAnyway, wait_ms);
            self.listen();
        } else {
            self.listen();
            self.start_lists();
        }
    }

    /// Requests the stream of changes.
    pub(super) fn listen(&mut self) {
        if self.link.phase != Phase::Open {
            return;
        }
        let mut filter = Map::new();
        for kind in [ListKind::Tools, ListKind::Prompts, ListKind::Resources] {
            if self.declares_changes(kind) {
                filter.insert(kind.filter().to_owned(), json!(true));
            }
        }
        let rule = self.profile.wire.listen_id.value.clone();
        let id = self.special_id(&rule);
        self.link.stream = Some(Stream { id: id.clone(), acknowledged: false });
        self.request_with(
            &id,
            "subscriptions/listen",
            vec![("notifications", Value::Object(filter))],
            None,
            Shape::Opening,
            Pending::Listen,
        );
    }

    /// The stream was refused, or has ended.
    pub(super) fn on_listen_answer(&mut self, ended: bool) {
        self.link.stream = None;
        self.note(if ended { "the stream of changes ended" } else { "the stream of changes was refused" });
        let waits = &self.profile.modern.listen_retry_ms;
        if let Some(wait_ms) = waits.get(self.link.listen_refusals).copied() {
            self.link.listen_refusals += 1;
            self.set_timer(Timer::Listen, wait_ms);
        }
        if *self.profile.modern.relist_on_refusal {
            self.link.lists_started = false;
        }
        self.start_lists();
    }

    /// The stream was acknowledged.
    pub(super) fn on_acknowledged(&mut self) {
        let Some(stream) = &mut self.link.stream else {
            return self.note("dropped an acknowledgement of no stream");
        };
        if stream.acknowledged {
            return self.note("dropped a second acknowledgement");
        }
        stream.acknowledged = true;
        if *self.profile.modern.discover_after_acknowledgement {
            self.request("server/discover", Vec::new(), None, Shape::Plain, Pending::SecondDiscover);
        }
        self.start_lists();
    }

    /// Gives the server up; the session goes on without it.
    pub(super) fn give_up(&mut self, reason: String, how: GiveUp) {
        self.link.phase = Phase::Failed;
        self.link.pending.clear();
        self.forget_timers();
        self.catalog.clear();
        self.ending = Ending::GaveUp;
        self.tell(HostEventKind::Failed(reason));
        match how {
            GiveUp::CloseStdin => self.effects.push(Effect::CloseStdin),
            GiveUp::Shutdown => self.shutdown(),
        }
    }
}

/// Whether a discovery result offers a version.
fn offers(result: &Value, version: &str) -> bool {
    result
        .get("supportedVersions")
        .and_then(Value::as_array)
        .is_some_and(|versions| versions.iter().any(|one| one == version))
}
