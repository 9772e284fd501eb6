//! The sandbox of `simulation play`: a fake Graph that people write to on a local page, while a real host's server reads it.
//! It must never listen beyond this machine, answer without the token, or let a text that a person wrote become markup.

mod answer;
mod drive;
mod foreground;
mod form;
mod guard;
mod home;
mod http;
mod news;
mod overlay;
mod page;
mod setup;
mod state;
mod text;
mod world;

pub(crate) use drive::Drive;
pub(crate) use foreground::Foreground;
pub(crate) use guard::{Guard, token};
pub(crate) use home::Home;
pub(crate) use http::serve;
pub(crate) use news::News;
pub(crate) use overlay::{Overlay, PlayHost, Wanted};
pub(crate) use setup::Setup;
pub(crate) use world::World;

use std::cell::RefCell;
use std::rc::Rc;

use tokio::sync::watch;

/// Everything that a request or a tick looks at, shared inside one thread.
pub(crate) struct Control {
    /// The fake Graph and what is remembered of it.
    pub(crate) world: RefCell<World>,
    /// The session that the person drives by hand, with `--drive`.
    pub(crate) drive: Option<Drive>,
    /// The setup of hosts for this sandbox.
    pub(crate) setup: Setup,
    /// The check of each request.
    pub(crate) guard: Guard,
    /// The sandbox's clock.
    pub(crate) clock: fn() -> jiff::Timestamp,
    /// Counts what a page would show differently.
    pub(crate) version: watch::Sender<u64>,
    /// The news for the terminal.
    pub(crate) tell: fn(&News),
}

impl Control {
    /// Takes in what the server has asked and said since the last look.
    pub(crate) fn look(self: &Rc<Self>) {
        let news = {
            let mut world = self.world.borrow_mut();
            if let Some(drive) = &self.drive {
                for line in drive.take_news() {
                    world.reached(&line);
                }
            }
            world.look((self.clock)())
        };
        for told in &news {
            (self.tell)(told);
        }
        self.publish();
    }

    /// Wakes the pages when something has changed.
    pub(crate) fn publish(&self) {
        let now = self.world.borrow().version() + self.drive.as_ref().map_or(0, Drive::version);
        self.version.send_if_modified(|version| {
            let changed = *version != now;
            *version = now;
            changed
        });
    }
}
