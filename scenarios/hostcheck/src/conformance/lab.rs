//! The environment of one probe in one version: it starts servers, keeps the record, and collects the
//! outcomes of checks. It never lets a check without an answer look like one that passed.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use fake_hosts::AnyServer;
use fake_hosts::drive::NOT_STARTED;
use schemas::Version;
use serde_json::Value;
use tokio::time::Instant;

use super::discover::Discovered;
use super::heard::Heard;
use super::lent::{Lent, Pool};
use super::outcome::{Outcome, Seen};
use super::session::{ANSWER_WITHIN, Reply, Session};
use super::target::Target;
use super::wire::{Record, Wire};

/// Time limit of a call in a quick run.
const QUICK_CALL_WITHIN: Duration = Duration::from_secs(2);

/// Why a probe ended early: the server could not be brought to the state that the probe needs.
#[derive(Debug, Clone)]
pub(crate) struct Trouble(pub(crate) String);

/// Wishes from the command line.
#[derive(Debug, Clone, Default)]
pub struct Wishes {
    /// Call also tools that do not declare that they only read.
    pub call_all_tools: bool,
    /// Wait no longer for a call than a quick run may last.
    pub quick: bool,
    /// The seed of arguments.
    pub seed: u64,
    /// A tool call that lasts ten to fifty seconds: the tool and its arguments.
    pub long_call: Option<(String, Value)>,
    /// Texts that no report may contain.
    pub secrets: Vec<String>,
}

pub(crate) struct Lab {
    pub(crate) target: Target,
    pub(crate) version: Version,
    pub(crate) wishes: Arc<Wishes>,
    pub(crate) found: Rc<Discovered>,
    pub(crate) record: Rc<RefCell<Record>>,
    outcomes: BTreeMap<&'static str, Outcome>,
    /// The name of the probe.
    question: &'static str,
    /// Whether the question was lent a connection.
    has_one: Cell<bool>,
    /// The connections that this question shares with others; `None` where it has its own.
    pool: Option<Rc<Pool>>,
}

impl Lab {
    /// For a question that shares the connections of a pool, or has its own.
    pub(crate) fn new(
        target: &Target,
        version: Version,
        wishes: &Arc<Wishes>,
        found: &Rc<Discovered>,
        question: &'static str,
        pool: Option<&Rc<Pool>>,
    ) -> Self {
        let record = Record { secrets: wishes.secrets.clone(), ..Record::default() };
        Self {
            target: target.clone(),
            version,
            wishes: Arc::clone(wishes),
            found: Rc::clone(found),
            record: Rc::new(RefCell::new(record)),
            outcomes: BTreeMap::new(),
            question,
            has_one: Cell::new(false),
            pool: pool.cloned(),
        }
    }

    /// Whether the server declared a capability when it was first asked what it is; `None` if that is not known.
    pub(crate) fn declares(&self, capability: &str) -> Option<bool> {
        let speaks = self.found.speaks(self.version)?;
        Some(speaks.capabilities.get(capability).is_some_and(|value| !value.is_null()))
    }

    /// Starts a server without a message to it. Its lines are judged by the rules of the wire. Where the probe opens the
    /// connection, others may use it afterwards.
    pub(crate) fn fresh(&self) -> Result<Lent, Trouble> {
        self.start_heard(true).map(|session| Lent::new(session, self.pool.clone()))
    }

    /// Like [`fresh`](Self::fresh), for a probe that itself breaks the rules: the server's lines are not
    /// judged.
    pub(crate) fn rough(&self) -> Result<Lent, Trouble> {
        self.start_heard(false).map(|session| Lent::new(session, self.pool.clone()))
    }

    fn start_heard(&self, judged: bool) -> Result<Session, Trouble> {
        let heard = Heard::default();
        let mut session = self.start(self.target.server_heard(&heard), judged)?;
        session.wire.hear(heard);
        Ok(session)
    }

    fn start(&self, server: AnyServer, judged: bool) -> Result<Session, Trouble> {
        let wire = Wire::start(server, Rc::clone(&self.record), judged, !self.version.is_modern());
        let wire = wire.map_err(|error| Trouble(format!("{NOT_STARTED}: {error}")))?;
        let mut session = Session::new(wire, self.version);
        session.question = self.question;
        Ok(session)
    }

    /// Opens a server: a connection that other questions used, if it still answers, or a new one.
    pub(crate) async fn open(&self) -> Result<Lent, Trouble> {
        self.lend(true).await
    }

    /// Opens a server that declares a capability. Where it does not, none of these checks applies.
    pub(crate) async fn open_with(
        &mut self,
        capability: &str,
        checks: &[&'static str],
    ) -> Result<Option<Lent>, Trouble> {
        let session = self.open().await?;
        if session.declares(capability) {
            return Ok(Some(session));
        }
        self.skip_all(checks, format!("the server declares no {capability}"));
        Ok(None)
    }

    /// Opens a server for a probe that itself breaks the rules.
    pub(crate) async fn open_rough(&self) -> Result<Lent, Trouble> {
        self.lend(false).await
    }

    /// Starts and opens a server whose stderr is not read.
    pub(crate) async fn open_with_stderr_unread(&self) -> Result<Lent, Trouble> {
        let session = Self::opened(self.start(self.target.server_with_stderr_unread(), false)?).await?;
        Ok(Lent::new(session, None))
    }

    /// Opens a server that is about to end, in whatever version and by whichever questions it was used before.
    pub(crate) async fn open_to_end(&self) -> Result<Lent, Trouble> {
        match self.pool.as_ref().and_then(|pool| pool.take(|_| true)) {
            Some(mut session) => {
                self.has_one.set(true);
                session.wire.go_on(Rc::clone(&self.record));
                Ok(Lent::new(session, None))
            }
            None => Ok(Lent::new(Self::opened(self.start_heard(true)?).await?, None)),
        }
    }

    /// A connection of the pool on which only rules were kept, to close it.
    pub(crate) fn last(&self) -> Option<Session> {
        let is_judged = |session: &Session| session.version == self.version && session.wire.is_judged();
        let mut session = self.pool.as_ref()?.take(is_judged)?;
        session.wire.go_on(Rc::clone(&self.record));
        Some(session)
    }

    async fn lend(&self, judged: bool) -> Result<Lent, Trouble> {
        while let Some(mut session) = self.take(judged) {
            session.wire.go_on(Rc::clone(&self.record));
            if !judged {
                session.wire.stop_judging();
            }
            if session.is_alive().await {
                return Ok(Lent::new(session, self.pool.clone()));
            }
        }
        let session = Self::opened(self.start_heard(judged)?).await?;
        Ok(Lent::new(session, self.pool.clone()))
    }

    /// A connection of the pool. A question that is asked again gets another one than that on which it failed.
    fn take(&self, judged: bool) -> Option<Session> {
        let pool = self.pool.as_ref()?;
        let other = |session: &Session| session.version == self.version && session.question != self.question;
        let same_kind = |session: &Session| other(session) && session.wire.is_judged() == judged;
        let mut session = if judged {
            pool.take(same_kind)?
        } else {
            // One on which only rules were kept serves as well, but not the other way round.
            pool.take(same_kind).or_else(|| pool.take(other))?
        };
        // The second connection of a question is for comparing.
        if !self.has_one.replace(true) {
            session.question = self.question;
        }
        Some(session)
    }

    async fn opened(mut session: Session) -> Result<Session, Trouble> {
        match session.open().await {
            Reply::Result(_) => Ok(session),
            other => Err(Trouble(format!("the handshake failed: {}", other.say()))),
        }
    }

    /// Time limit of a call. A longer one is cancelled, and does not count as a failure.
    pub(crate) fn call_within(&self) -> Duration {
        if self.wishes.quick { QUICK_CALL_WITHIN } else { ANSWER_WITHIN }
    }

    /// Calls a tool, and remembers how long it took. A call that lasts too long is cancelled.
    pub(crate) async fn call(&self, session: &mut Session, tool: &str, params: Value) -> Reply {
        let (from, began) = (session.wire.received.len(), Instant::now());
        let id = session.start("tools/call", params.clone());
        let reply = session.answer_to(&id, from, self.call_within()).await;
        self.found.pace.note(tool, params, &reply, began.elapsed());
        if reply == Reply::Silent {
            session.cancel(&id, "it lasts too long");
        }
        reply
    }

    /// Whether a quick run knows that a tool is slow.
    pub(crate) fn is_slow(&self, tool: &str) -> bool {
        self.wishes.quick && self.found.pace.is_slow(tool) == Some(true)
    }

    /// Whether a tool has refused another call in the same way.
    pub(crate) fn has_refused(&self, tool: &str, params: &Value, reply: &Reply) -> bool {
        self.found.pace.has_refused(tool, params, reply)
    }

    /// Whether a quick run calls a tool no more: it is slow or may be, and the time for such calls is used up.
    pub(crate) fn has_no_time_for(&self, tool: &str) -> bool {
        let pace = &self.found.pace;
        self.wishes.quick && pace.is_spent() && pace.is_slow(tool) != Some(false)
    }

    /// The outcome of checks whose calls last too long to be waited for.
    pub(crate) fn too_slow(&self, tools: &str) -> Outcome {
        let within = self.call_within().as_secs();
        let longer = if self.wishes.quick { "; --full waits longer" } else { "" };
        Outcome::CouldNotRun(format!("calls that last longer than {within} s are cancelled: {tools}{longer}"))
    }

    pub(crate) fn pass(&mut self, check: &'static str) {
        self.tell(check, Outcome::Passed);
    }

    /// The check does not apply, for this reason.
    pub(crate) fn skip(&mut self, check: &'static str, reason: impl Into<String>) {
        self.tell(check, Outcome::NotApplicable(reason.into()));
    }

    /// All of these checks have this outcome.
    pub(crate) fn tell_all(&mut self, checks: &[&'static str], outcome: &Outcome) {
        for check in checks {
            self.tell(check, outcome.clone());
        }
    }

    /// None of these checks applies, for this reason.
    pub(crate) fn skip_all(&mut self, checks: &[&'static str], reason: impl AsRef<str>) {
        for check in checks {
            self.skip(check, reason.as_ref());
        }
    }

    pub(crate) fn fail(
        &mut self,
        check: &'static str,
        message: impl Into<String>,
        expected: &str,
        observed: &(impl Seen + ?Sized),
    ) {
        let failed = self.record.borrow().failed(message, expected, observed);
        self.tell(check, failed);
    }

    /// The check passes if `holds`, and fails otherwise.
    pub(crate) fn expect(
        &mut self,
        check: &'static str,
        holds: bool,
        message: &str,
        expected: &str,
        observed: &(impl Seen + ?Sized),
    ) {
        if holds {
            self.pass(check);
        } else {
            self.fail(check, message, expected, observed);
        }
    }

    /// Adds an outcome. A check with two outcomes combines them.
    pub(crate) fn tell(&mut self, check: &'static str, outcome: Outcome) {
        let outcome = match self.outcomes.remove(check) {
            Some(before) => before.and(outcome),
            None => outcome,
        };
        self.outcomes.insert(check, outcome);
    }

    /// Whether a connection was used that other questions had used.
    pub(crate) fn was_lent(&self) -> bool {
        self.has_one.get()
    }

    /// The outcomes, and the record.
    pub(crate) fn finish(self) -> (BTreeMap<&'static str, Outcome>, Record) {
        (self.outcomes, self.record.take())
    }
}
