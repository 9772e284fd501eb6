//! Connections that several questions use in turn, because a start costs more than all of their answers. Each is lent to
//! one question at a time, and only while the server answers; what fails on one is asked again on another.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use super::session::Session;

/// Open connections that wait for the next question, in the order in which they came back.
#[derive(Default)]
pub(crate) struct Pool(RefCell<Vec<Session>>);

impl Pool {
    /// With connections that are open already.
    pub(crate) fn with(sessions: impl IntoIterator<Item = Session>) -> Rc<Self> {
        let pool = Self::default();
        sessions.into_iter().for_each(|session| pool.put(session));
        Rc::new(pool)
    }

    /// The first connection that fits, which is then no longer here.
    pub(crate) fn take(&self, fits: impl Fn(&Session) -> bool) -> Option<Session> {
        let mut waiting = self.0.borrow_mut();
        let place = waiting.iter().position(fits)?;
        Some(waiting.remove(place))
    }

    fn put(&self, session: Session) {
        if session.is_open && session.wire.is_whole() {
            self.0.borrow_mut().push(session);
        }
    }
}

/// A connection in use. Where others may use it after this question it goes to their pool, unless one of its pipes was
/// closed or it never opened.
pub(crate) struct Lent {
    /// `None` only while it is dropped.
    session: Option<Session>,
    home: Option<Rc<Pool>>,
}

impl Lent {
    pub(crate) fn new(session: Session, home: Option<Rc<Pool>>) -> Self {
        Self { session: Some(session), home }
    }
}

impl Deref for Lent {
    type Target = Session;

    fn deref(&self) -> &Session {
        self.session.as_ref().expect("a connection until it is dropped")
    }
}

impl DerefMut for Lent {
    fn deref_mut(&mut self) -> &mut Session {
        self.session.as_mut().expect("a connection until it is dropped")
    }
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(home), Some(session)) = (self.home.take(), self.session.take()) {
            home.put(session);
        }
    }
}
