//! Writes what a driven host tells into its session's view. It judges nothing.

use std::cell::RefCell;
use std::rc::Rc;

use fake_hosts::drive::{HostEvent, HostEventKind};
use fake_hosts::log::Dir;
use fake_hosts::{Carrier, Outcome};
use reports::event::{Lane, ModelLine};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use super::view::{CallEnd, SessionView};

/// Follows one host run until its last event. `began_ms` is when it began on the cell's clock.
pub(crate) async fn follow(
    mut events: mpsc::Receiver<HostEvent>,
    began_ms: u64,
    view: Rc<RefCell<SessionView>>,
    changed: Rc<Notify>,
) {
    let mut last_ms = began_ms;
    while let Some(event) = events.recv().await {
        last_ms = began_ms + event.at_ms;
        take(event, began_ms, &mut view.borrow_mut());
        while let Ok(event) = events.try_recv() {
            last_ms = began_ms + event.at_ms;
            take(event, began_ms, &mut view.borrow_mut());
        }
        changed.notify_waiters();
    }
    {
        let mut view = view.borrow_mut();
        (view.alive, view.in_turn) = (false, false);
        view.attention.gone(last_ms);
    }
    changed.notify_waiters();
}

fn take(event: HostEvent, began_ms: u64, view: &mut SessionView) {
    let at_ms = began_ms + event.at_ms;
    match event.kind {
        HostEventKind::Wire(wire) => {
            let text = wire.text();
            match wire.dir {
                Dir::HostToServer => view.line(at_ms, true, &text),
                Dir::ServerToHost => view.line(at_ms, false, &text),
                Dir::Event => {
                    view.process(at_ms, &text);
                    view.note(at_ms, Lane::Event, &text);
                }
            }
        }
        HostEventKind::Model(entry) => {
            let Some(carrier) = carrier_word(entry.carrier) else { return };
            if let Some(label) = &entry.label {
                view.call_text(label, &entry.text, entry.is_error);
            }
            view.shown(ModelLine { at_ms, carrier, woke: entry.woke, tool: entry.tool, text: entry.text });
        }
        HostEventKind::CallDone { label, outcome, raw } => {
            let outcome = outcome_word(outcome, raw.as_ref());
            if outcome != "ok" {
                view.ledger.disturb(at_ms);
            }
            view.call_ended(&label, CallEnd { at_ms, outcome, text: String::new(), is_error: false });
        }
        HostEventKind::Ready => {
            view.ready = true;
            view.attention.ready(at_ms);
            view.note(at_ms, Lane::Event, "the host is ready");
        }
        HostEventKind::Failed(reason) => {
            view.note(at_ms, Lane::Event, &format!("the host gives the server up: {reason}"));
            view.facts.insert("given up".to_owned(), reason);
        }
        HostEventKind::Turn { running, by_itself } => view.turn(at_ms, running, by_itself),
        HostEventKind::Dialogs(tools) => view.dialogs = tools,
        HostEventKind::Forms(messages) => view.forms = messages,
        HostEventKind::WokenWith(text) => view.woken(at_ms, &text),
        HostEventKind::Printed(text) => view.printed(at_ms, &text),
        // What it costs shows in the rest; only the judge of servers asks whether a fact is known.
        HostEventKind::Fault { .. } => {}
        HostEventKind::Note(text) => {
            // Messages that it held may come again.
            if text.starts_with("dropped an answer") {
                view.ledger.disturb(at_ms);
            }
            view.note(at_ms, Lane::Event, &text);
        }
    }
}

/// The report's word for what brings messages, which is the carrier's own; nothing for what a model is always shown.
fn carrier_word(carrier: Carrier) -> Option<String> {
    if matches!(carrier, Carrier::Tools | Carrier::Instructions | Carrier::Prompt) {
        return None;
    }
    serde_json::to_value(carrier).ok()?.as_str().map(str::to_owned)
}

/// A tool's own error is an answered call; the rest is told apart by what came.
fn outcome_word(outcome: Outcome, raw: Option<&Value>) -> &'static str {
    match outcome {
        Outcome::Result => "ok",
        Outcome::Error if raw.is_some_and(|raw| raw.get("isError").is_some()) => "ok",
        Outcome::Error if raw.is_some_and(|raw| raw.get("code").is_some()) => "rpc_error",
        Outcome::Error => "closed",
        Outcome::TimedOut => "timed_out",
        Outcome::Cancelled => "cancelled",
        Outcome::Backgrounded => "backgrounded",
    }
}
