//! The table of host features, prepared for the template. Unknown must never look like no.

use crate::event::{Answer, Feature, HostSupport, Support};

/// Most bytes of text that all notes take, approximately; the rest is counted.
const NOTES_BYTES_MAX: usize = 120_000;
/// Bytes of a note besides its own texts.
const NOTE_BYTES: usize = 80;

/// An answer that several hosts share.
pub(super) struct Note<'a> {
    pub(super) feature: &'a str,
    pub(super) support: Support,
    pub(super) text: Option<&'a str>,
    pub(super) source: &'a str,
    pub(super) hosts: String,
}

/// Rows by area, in the order of their first row.
pub(super) fn features(table: &HostSupport) -> Vec<(&str, Vec<&Feature>)> {
    let mut areas: Vec<(&str, Vec<&Feature>)> = Vec::new();
    for feature in &table.features {
        match areas.iter_mut().find(|(area, _)| *area == feature.area) {
            Some((_, features)) => features.push(feature),
            None => areas.push((&feature.area, vec![feature])),
        }
    }
    areas
}

/// Every answer with its source, once for the hosts that share it, and the number of those left out.
pub(super) fn notes(table: &HostSupport) -> (Vec<Note<'_>>, usize) {
    let mut notes: Vec<Note<'_>> = Vec::new();
    for feature in &table.features {
        let first = notes.len();
        for (Answer { support, note, source }, host) in feature.answers.iter().zip(&table.hosts) {
            let text = note.as_deref();
            let same = |known: &&mut Note<'_>| {
                (known.support, known.text, known.source) == (*support, text, source.as_str())
            };
            if let Some(known) = notes[first..].iter_mut().find(same) {
                known.hosts.push_str(", ");
                known.hosts.push_str(host);
            } else {
                let feature = feature.title.as_str();
                notes.push(Note { feature, support: *support, text, source, hosts: host.clone() });
            }
        }
    }
    let mut bytes = 0;
    let fits = |note: &&Note<'_>| {
        let text = note.text.unwrap_or_default();
        bytes += NOTE_BYTES + note.feature.len() + text.len() + note.source.len() + note.hosts.len();
        bytes <= NOTES_BYTES_MAX
    };
    let shown = notes.iter().take_while(fits).count();
    let left_out = notes.len() - shown;
    notes.truncate(shown);
    (notes, left_out)
}
