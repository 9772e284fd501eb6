//! The provider `context` on the wire, in both eras, over simulated files.

mod calls;
mod resources;
mod scope;
mod sessions;
mod support;
mod watching;
