//! The user's consent to a call: given by settings, by a hook, or in a dialog that waits without a limit. A
//! call that waits for consent is not sent, and only the user's answer or an interrupt ends its wait.

use host_profiles::{Hook, HookAnswer, Unallowed};
use serde_json::json;

use super::HostMachine;
use crate::effect::{HostEventKind, Outcome};

impl HostMachine {
    /// The fate of a call of this tool by the user's settings alone.
    pub(super) fn consent_to(&self, tool: &str) -> Unallowed {
        let facts = &self.profile.consent;
        let only_reads = self.catalog.find(tool).is_some_and(|tool| tool.read_only);
        if self.only_plans && !only_reads {
            return self.mode(&facts.plan);
        }
        let Some(unasked) = &self.options.unasked else { return Unallowed::Runs };
        if unasked.iter().any(|name| name == "*" || name == tool) || (*facts.spares_reading && only_reads) {
            return Unallowed::Runs;
        }
        self.mode(&facts.calls)
    }

    /// Asks the user's hook if the host has one, otherwise the user.
    pub(super) fn ask_consent(&mut self, seq: u64, tool: &str, arguments: serde_json::Value) {
        let event = self.profile.consent.hook.value.clone();
        let name = format!("{}/{tool}", self.options.server_name);
        let own = event.as_ref().map(|event| {
            vec![("hookName", json!(event)), ("toolName", json!(name)), ("toolInput", arguments)]
        });
        // The hook's answer is no text for the model.
        let hook = event.map(|event| Hook { event, answer: HookAnswer::Context, text: String::new() });
        if self.run_consent_hook(hook, seq, own.unwrap_or_default()).is_none() {
            self.open_dialog(seq);
        }
    }

    /// Opens a dialog, unless the call has ended meanwhile.
    pub(super) fn open_dialog(&mut self, seq: u64) {
        if let Some(tool) = self.waiting_tool(seq) {
            self.note(format!("a dialog asks whether {tool} may run, and waits for the user"));
            self.dialogs.push_back(seq);
            self.tell_dialogs();
        }
    }

    pub(super) fn answer_dialog(&mut self, allow: bool) {
        let Some(seq) = self.dialogs.pop_front() else { return self.note("no dialog is open") };
        self.tell_dialogs();
        if allow {
            return self.send_call(seq);
        }
        let tool = self.waiting_tool(seq).unwrap_or_default();
        let text = self.words(&self.profile.texts.denied.clone(), &tool, "");
        self.finish(seq, Outcome::Error, None, text, true);
    }

    /// The call has ended, so its dialog closes.
    pub(super) fn close_dialog(&mut self, seq: u64) {
        let open = self.dialogs.len();
        self.dialogs.retain(|one| *one != seq);
        if self.dialogs.len() < open {
            self.tell_dialogs();
        }
    }

    fn tell_dialogs(&mut self) {
        let tools = self.dialogs.iter().filter_map(|seq| self.waiting_tool(*seq)).collect();
        self.tell(HostEventKind::Dialogs(tools));
    }
}
