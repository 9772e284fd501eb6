//! One connection that several questions use in turn, because a start costs more than all of their answers. It is lent to
//! one question at a time, and only while the server answers; what fails on it is asked again on a connection of its own.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut};
use std::rc::Rc;

use super::session::Session;

/// The place of a connection that waits for the next question.
#[derive(Default)]
pub(crate) struct Idle(RefCell<Option<Session>>);

impl Idle {
    fn with(session: Option<Session>) -> Rc<Self> {
        Rc::new(Self(RefCell::new(session.filter(|session| session.wire.is_whole()))))
    }

    /// The connection, which is then no longer here.
    pub(crate) fn take(&self) -> Option<Session> {
        self.0.borrow_mut().take()
    }
}

/// The connections that the questions in one version share.
#[derive(Default, Clone)]
pub(crate) struct Shared {
    /// For questions that keep the rules.
    pub(crate) plain: Rc<Idle>,
    /// For questions that break them, so that the server's lines prove nothing.
    pub(crate) rough: Rc<Idle>,
}

impl Shared {
    /// Beginning with a connection that is already open.
    pub(crate) fn with(session: Option<Session>) -> Self {
        Self { plain: Idle::with(session), ..Self::default() }
    }
}

/// A connection in use. Where it came from an [`Idle`] place it goes back there, unless one of its pipes was closed.
pub(crate) struct Lent {
    /// `None` only while it is dropped.
    session: Option<Session>,
    home: Option<Rc<Idle>>,
}

impl Lent {
    pub(crate) fn new(session: Session, home: Option<Rc<Idle>>) -> Self {
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
        if let (Some(home), Some(session)) = (self.home.take(), self.session.take())
            && session.wire.is_whole()
        {
            *home.0.borrow_mut() = Some(session);
        }
    }
}
