//! The lists of a server: at the opening, page by page, and again when they have changed. It never shows a
//! list to the model before its last page.

use std::collections::BTreeSet;

use host_profiles::{GiveUp, ListChanged, ListKind, OnRepeat};
use serde_json::{Value, json};

use super::send::Shape;
use super::{Era, HostMachine, Pending, Phase, Timer};
use crate::effect::{Carrier, HostEventKind};
use crate::{names, schema};

/// Most pages of one list that are requested, whatever the profile says.
const PAGES_MAX: usize = 1000;

impl HostMachine {
    /// Requests the lists of the opening.
    pub(super) fn start_lists(&mut self) {
        self.timers.remove(&Timer::ListsAnyway);
        if self.link.lists_started || self.link.phase != Phase::Open {
            return;
        }
        self.link.lists_started = true;
        let profile = self.profile.clone();
        let order = match self.link.era {
            Era::Legacy => self.options.mode.of(&profile.lists.order),
            Era::Modern => &profile.lists.modern_order,
        };
        if !self.link.quick {
            let wanted = |kind: &ListKind| self.declares(*kind) || profile.lists.undeclared.contains(kind);
            let waiting = order.iter().copied().filter(wanted).collect();
            self.link.lists_waiting = waiting;
            self.next_lists();
        }
        self.tell_ready();
    }

    /// Requests the next waiting list of the opening, or all if the host does not request them one by one.
    fn next_lists(&mut self) {
        while let Some(kind) = self.link.lists_waiting.pop_front() {
            self.ask_list(kind, Vec::new(), Vec::new());
            if *self.profile.lists.one_by_one {
                return;
            }
        }
    }

    /// Begins the first turn without the tools of a server that is not open.
    pub(super) fn turn_without_tools(&mut self) {
        if !self.link.ready_told {
            self.note("the turn begins without the server's tools");
            self.link.ready_told = true;
            self.tell(HostEventKind::Ready);
        }
    }

    /// Whether the server has the capability of a list.
    fn declares(&self, kind: ListKind) -> bool {
        self.link.capabilities.get(kind.capability()).is_some()
    }

    /// Whether the server declares that it reports changes of a list.
    pub(super) fn declares_changes(&self, kind: ListKind) -> bool {
        self.link.capabilities.get(kind.capability()).and_then(|capability| capability.get("listChanged"))
            == Some(&Value::Bool(true))
    }

    pub(super) fn ask_list(&mut self, kind: ListKind, cursors: Vec<String>, items: Vec<Value>) -> String {
        let own = cursors.last().map(|cursor| vec![("cursor", json!(cursor))]).unwrap_or_default();
        let pending = Pending::List { kind, cursors, items };
        let key = self.request(kind.method(), own, None, Shape::Plain, pending);
        let limit_ms = self.profile.lists.timeout_ms.unwrap_or_else(|| self.call_limit_ms());
        self.set_timer(Timer::List(key.clone()), limit_ms);
        key
    }

    pub(super) fn on_list_answer(
        &mut self,
        kind: ListKind,
        mut cursors: Vec<String>,
        mut items: Vec<Value>,
        body: Result<Value, Value>,
    ) {
        let profile = self.profile.clone();
        let faults = &profile.faults;
        let result = match body {
            Ok(result) => result,
            Err(error) => {
                self.note(format!("{} was refused: {error}", kind.method()));
                self.list_done(kind);
                return;
            }
        };
        let mut fails = false;
        if let Some(Value::Array(page)) = result.get(kind.member()) {
            if kind == ListKind::Tools {
                self.tell_features(page);
            }
            items.extend(page.iter().cloned());
        } else {
            self.note(format!("{} brought no array {}", kind.method(), kind.member()));
            fails = self.fails_by(&faults.no_items, "faults.no_items");
        }
        let next = match result.get("nextCursor") {
            Some(Value::String(cursor)) => Some(cursor.as_str()),
            Some(Value::Null) => {
                fails |= self.fails_by(&faults.null_cursor, "faults.null_cursor");
                None
            }
            Some(_) => {
                fails |= self.fails_by(&faults.wrong_cursor, "faults.wrong_cursor");
                None
            }
            None => None,
        };
        let next = next.filter(|_| !fails && *profile.lists.follow_cursor);
        let next = next.filter(|cursor| self.follows(cursor, &cursors, &mut fails));
        if fails {
            return self.list_done(kind);
        }
        if let Some(cursor) = next {
            let was_blocking = self.catalog.blocking.len();
            cursors.push(cursor.to_owned());
            let key = self.ask_list(kind, cursors, items);
            if was_blocking > 0 {
                self.catalog.blocking.insert(key);
            }
            return;
        }
        match kind {
            ListKind::Tools => self.take_tools(&items, &result),
            ListKind::Prompts if self.mode(&self.profile.lists.fetch_prompts) => self.fetch_prompts(&items),
            _ => {}
        }
        self.compare_with_last(kind, items);
        self.list_done(kind);
    }

    /// Whether the host asks for the page of a cursor, after pages with the cursors before. A list may fail instead.
    fn follows(&mut self, cursor: &str, before: &[String], fails: &mut bool) -> bool {
        let profile = self.profile.clone();
        let faults = &profile.faults;
        if cursor.is_empty() && !*faults.empty_cursor_followed {
            self.tell_fault(&faults.empty_cursor_followed, "faults.empty_cursor_followed", true);
            return false;
        }
        if before.iter().any(|one| one == cursor) {
            let rule = *faults.repeated_cursor;
            self.tell_fault(&faults.repeated_cursor, "faults.repeated_cursor", rule != OnRepeat::Fails);
            *fails = rule == OnRepeat::Fails;
            if rule != OnRepeat::GoesOn {
                return false;
            }
        }
        let pages_max = faults.pages_max.map_or(PAGES_MAX, |max| usize::try_from(max).unwrap_or(PAGES_MAX));
        if before.len() + 1 >= pages_max.min(PAGES_MAX) {
            *fails = self.fails_by(&faults.beyond_pages, "faults.beyond_pages");
            return false;
        }
        true
    }

    /// Some hosts request a list once more if a change left it unchanged.
    fn compare_with_last(&mut self, kind: ListKind, items: Vec<Value>) {
        let Some(again_ms) = *self.profile.notifications.unchanged_again_ms else {
            return;
        };
        let same = self.link.last_lists.get(&kind) == Some(&items);
        if self.link.changed.remove(&kind) && same {
            self.set_timer(Timer::Unchanged(kind), again_ms);
        }
        self.link.last_lists.insert(kind, items);
    }

    pub(super) fn list_once_more(&mut self, kind: ListKind) {
        if self.link.phase == Phase::Open {
            self.ask_list(kind, Vec::new(), Vec::new());
        }
    }

    fn take_tools(&mut self, items: &[Value], result: &Value) {
        let facts = self.profile.clone();
        let server = self.options.server_name.clone();
        let refused = schema::refuses_for(&facts.schemas, items);
        if let Some((tool, feature)) = refused {
            self.note(format!("the list of tools was refused: `{tool}` has {}", feature.words()));
        }
        let mut names = BTreeSet::new();
        let doubled =
            items.iter().filter_map(|item| item.get("name")?.as_str()).any(|name| !names.insert(name));
        let doubled = doubled && self.fails_by(&facts.faults.doubled_names, "faults.doubled_names");
        let items = if refused.is_some() || doubled { &[] } else { items };
        let tools: Vec<_> = items
            .iter()
            .filter_map(|item| names::tool(&facts.names, &facts.schemas, &server, item))
            .collect();
        if tools.len() < items.len() {
            let left_out = items.len() - tools.len();
            self.note(format!("{left_out} tools were left out"));
        }
        self.catalog.replace(tools);
        self.catalog.uncached = self.link.era == Era::Modern
            && *self.profile.modern.relist_when_uncached
            && self.link.stream.is_none()
            && result.get("ttlMs").and_then(Value::as_u64).unwrap_or(0) == 0;
        let text = names::listing(self.catalog.tools());
        self.show(Carrier::Tools, None, None, text, false, false);
    }

    /// The list is complete, was refused, or will not come.
    fn list_done(&mut self, kind: ListKind) {
        let open = &self.link.pending;
        self.catalog.blocking.retain(|key| open.contains_key(key));
        self.next_lists();
        if kind == ListKind::Tools {
            self.tell_ready();
        }
    }

    pub(super) fn list_too_slow(&mut self, key: &str) {
        let Some(Pending::List { kind, .. }) = self.link.pending.remove(key) else {
            return;
        };
        if *self.profile.lists.timeout_drops_server {
            let reason = self.profile.calls.timeout_reason.value.clone();
            if let Ok(id) = serde_json::from_str::<Value>(key) {
                self.cancel(&id, Some(&reason));
            }
            if kind == ListKind::Tools && !self.link.ready_told {
                let reason = format!("{} was not answered in time", kind.method());
                self.give_up(reason, GiveUp::Shutdown);
                return;
            }
        }
        self.note(format!("{} was not answered in time", kind.method()));
        self.list_done(kind);
    }

    fn tell_ready(&mut self) {
        let tools_to_come = self.open_lists().contains(&ListKind::Tools)
            || self.link.lists_waiting.contains(&ListKind::Tools);
        if !self.link.ready_told && !tools_to_come {
            self.link.ready_told = true;
            self.tell(HostEventKind::Ready);
        }
    }

    /// The server reports that a list has changed.
    pub(super) fn list_changed(&mut self, kind: ListKind) {
        let facts = &self.profile.notifications;
        let rule = match kind {
            ListKind::Tools => &facts.tools_list_changed,
            ListKind::Prompts => &facts.prompts_list_changed,
            ListKind::Resources | ListKind::ResourceTemplates => &facts.resources_list_changed,
        };
        let rule = self.mode(rule);
        if *self.profile.notifications.needs_declaration && !self.declares_changes(kind) {
            return self.note(format!("dropped an undeclared change of {}", kind.method()));
        }
        if kind == ListKind::Tools && rule != ListChanged::Drop {
            self.link.setting_lost |= *self.profile.calls.setting_lost_on_change;
        }
        match rule {
            ListChanged::Drop => self.note(format!("dropped a change of {}", kind.method())),
            ListChanged::NextStep => self.catalog.stale = true,
            ListChanged::Now => self.relist_soon(kind),
        }
    }

    /// Requests a list again at once, but not more often than the host does.
    fn relist_soon(&mut self, kind: ListKind) {
        let interval_ms = *self.profile.notifications.relist_interval_ms;
        let due_ms =
            self.link.last_relist_ms.get(&kind).map_or(0, |last_ms| last_ms.saturating_add(interval_ms));
        if due_ms <= self.now_ms {
            self.relist_now(kind);
        } else {
            self.timers.insert(Timer::Relist(kind), due_ms);
        }
    }

    pub(super) fn relist_now(&mut self, kind: ListKind) {
        if self.link.phase != Phase::Open {
            return;
        }
        self.link.last_relist_ms.insert(kind, self.now_ms);
        let profile = self.profile.clone();
        let kinds = match kind {
            ListKind::Resources => profile.notifications.resources_relist.as_slice(),
            ref one => std::slice::from_ref(one),
        };
        for kind in kinds {
            self.link.changed.insert(*kind);
            self.ask_list(*kind, Vec::new(), Vec::new());
        }
    }

    /// Before a model request: the list of tools is requested if it must be, and the next call waits for it.
    pub(super) fn before_model_request(&mut self) {
        if self.link.phase == Phase::Open && (self.catalog.stale || self.catalog.uncached) {
            self.catalog.stale = false;
            self.ask_tools_blocking();
        }
    }

    pub(super) fn ask_tools_blocking(&mut self) {
        let key = self.ask_list(ListKind::Tools, Vec::new(), Vec::new());
        self.catalog.blocking.insert(key);
    }
}
