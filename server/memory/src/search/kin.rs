//! Words of one family that have different stems, such as `choose` and `chosen`, or `fail` and `failure`.
//!
//! It must never join words that only look alike: each rule names an ending that makes another word of the same family.

/// Forms of verbs that no ending explains, as stems.
const VERBS: [&[&str]; 48] = [
    &["beat", "beaten"],
    &["begin", "began", "begun"],
    &["break", "broke", "broken", "breakag"],
    &["bring", "brought"],
    &["build", "built"],
    &["buy", "bought"],
    &["catch", "caught"],
    &["choos", "chose", "chosen", "choic"],
    &["deal", "dealt"],
    &["draw", "drew", "drawn"],
    &["drive", "drove", "driven"],
    &["fall", "fell", "fallen"],
    &["feel", "felt"],
    &["fight", "fought"],
    &["find", "found"],
    &["forget", "forgot", "forgotten"],
    &["freez", "froze", "frozen"],
    &["get", "got", "gotten"],
    &["give", "gave", "given"],
    &["go", "went", "gone"],
    &["grow", "grew", "grown", "growth"],
    &["hide", "hid", "hidden"],
    &["hold", "held"],
    &["keep", "kept"],
    &["know", "knew", "known"],
    &["lead", "led"],
    &["leav", "left"],
    &["lose", "lost", "loss"],
    &["make", "made"],
    &["mean", "meant"],
    &["meet", "met"],
    &["pay", "paid"],
    &["rise", "rose", "risen"],
    &["run", "ran"],
    &["say", "said"],
    &["see", "saw", "seen"],
    &["sell", "sold"],
    &["send", "sent"],
    &["show", "shown"],
    &["speak", "spoke", "spoken"],
    &["spend", "spent"],
    &["stick", "stuck"],
    &["take", "took", "taken"],
    &["teach", "taught"],
    &["tell", "told"],
    &["think", "thought"],
    &["throw", "threw", "thrown"],
    &["write", "wrote", "written"],
];
/// Endings of a word and of another one of its family, where the stemmer keeps both.
const ENDINGS: [(&str, &str); 8] = [
    // `complain`, `complaint`
    ("ain", "aint"),
    // `decide`, `decision`
    ("id", "is"),
    // `include`, `inclusion`
    ("ud", "us"),
    // `extend`, `extension`
    ("end", "ens"),
    // `fail`, `failure`
    ("", "ur"),
    // `host`, `hoster`
    ("", "er"),
    // `permit`, `permission`
    ("mit", "miss"),
    // `analyze`, `analysis`
    ("lyz", "lysi"),
];
/// Shortest stem that an ending is put to, as a short one with an ending is often another word.
const STEM_CHARS: usize = 4;

/// Stems of words of the same family.
pub(super) fn kin(stem: &str) -> Vec<String> {
    if let Some(forms) = VERBS.iter().find(|forms| forms.contains(&stem)) {
        return forms.iter().filter(|form| **form != stem).map(|form| (*form).to_owned()).collect();
    }
    let swap = |from: &str, to: &str| {
        let base = stem.strip_suffix(from)?;
        (base.len() + from.len().min(to.len()) >= STEM_CHARS && base.is_ascii())
            .then(|| format!("{base}{to}"))
    };
    ENDINGS.iter().flat_map(|(one, other)| [swap(one, other), swap(other, one)]).flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::super::schema::stems;
    use super::*;

    #[test]
    fn a_word_has_its_family() {
        for (one, other) in [
            ("complain", "complaint"),
            ("choose", "chosen"),
            ("choice", "chose"),
            ("decided", "decision"),
            ("including", "inclusion"),
            ("extend", "extension"),
            ("failed", "failure"),
            ("hosted", "hoster"),
            ("permitted", "permission"),
            ("analyzing", "analysis"),
            ("broken", "breaks"),
            ("wrote", "writing"),
        ] {
            let (one, other) = (stems(one).remove(0), stems(other).remove(0));
            assert!(kin(&one).contains(&other), "{one} {other} {:?}", kin(&one));
            assert!(kin(&other).contains(&one), "{other} {one} {:?}", kin(&other));
        }
        assert!(kin("her").is_empty() && !kin("port").contains(&"portal".to_owned()));
    }

    #[test]
    fn an_ending_is_put_to_a_stem_that_is_long_enough_and_of_plain_letters() {
        for (stem, expected) in [
            ("fail", &["failur", "failer"][..]),
            ("failur", &["failurur", "fail", "failurer"]),
            ("log", &[]),
            ("logs", &["logsur", "logser"]),
            ("größ", &[]),
            // The shorter one of both has four letters.
            ("amit", &["amitur", "amiter", "amiss"]),
            ("mit", &[]),
            ("choos", &["chose", "chosen", "choic"]),
        ] {
            assert_eq!(kin(stem), expected, "{stem}");
        }
    }
}
