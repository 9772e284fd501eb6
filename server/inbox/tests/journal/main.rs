//! The journal, tried through its public interface on a disk that can fail in every way, and on a real one.

mod basics;
mod consumers;
mod damage;
mod delivery_states;
mod faults;
mod handover;
mod interleaved;
mod lost;
mod lost_alive;
mod model;
mod named;
mod notices;
mod order;
mod real_disk;
mod remade;
mod retention;
mod schemas;
mod slow;
mod stopped;
mod support;
