//! From hostcheck's event stream to every report. Sees events and nothing else; the same events give the same bytes.

pub mod event;
