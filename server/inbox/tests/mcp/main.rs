//! The connection, spoken to in raw lines: no client library stands between a test and the wire, except in
//! `interop`, where an independent one is the point.

mod acknowledgement;
mod carriers;
mod edges;
mod events;
mod flow;
mod framing;
mod hostile;
mod interop;
mod lifecycle;
mod machine;
mod mail;
mod modern;
mod permissions;
mod schemas;
mod sending;
mod support;
mod tasks;
mod tools;
mod wake_ups;
