//! Every colour of text has a contrast of at least 4.5 to 1 on its background (WCAG 2.1 AA), in both themes.

use std::collections::BTreeMap;

const STYLE: &str = include_str!("../templates/style.css");

/// The colours of a `:root` block by name.
fn theme(block: &str) -> BTreeMap<&str, [f64; 3]> {
    let block = block.split_once('}').unwrap().0;
    let declarations = block.split(';').filter_map(|declaration| declaration.trim().strip_prefix("--"));
    declarations
        .filter_map(|declaration| {
            let (name, value) = declaration.split_once(':')?;
            Some((name, colour(value.trim().strip_prefix('#')?)))
        })
        .collect()
}

fn colour(hex: &str) -> [f64; 3] {
    let part = |index: usize| match hex.len() {
        3 => u8::from_str_radix(&hex[index..=index].repeat(2), 16).unwrap(),
        6 => u8::from_str_radix(&hex[2 * index..2 * index + 2], 16).unwrap(),
        _ => panic!("#{hex}"),
    };
    [0, 1, 2].map(|index| f64::from(part(index)) / 255.0)
}

fn luminance(colour: [f64; 3]) -> f64 {
    let [red, green, blue] =
        colour.map(|part| if part <= 0.04045 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) });
    0.2126 * red + 0.7152 * green + 0.0722 * blue
}

fn contrast(first: [f64; 3], second: [f64; 3]) -> f64 {
    let (first, second) = (luminance(first), luminance(second));
    (first.max(second) + 0.05) / (first.min(second) + 0.05)
}

#[test]
fn text_is_readable_in_both_themes() {
    let mut blocks = STYLE.split(":root {").skip(1);
    for name in ["light", "dark"] {
        let theme = theme(blocks.next().unwrap());
        let mut pairs = vec![("accent", "bg"), ("accent", "card"), ("ink", "mark-del"), ("ink", "mark-ins")];
        for ground in ["bg", "card", "code", "hair", "pass-bg", "fail-bg"] {
            pairs.extend([("ink", ground), ("soft", ground)]);
        }
        for state in ["pass", "fail", "error", "flaky", "notrun", "known", "unsup"] {
            pairs.extend([(state, "bg"), (state, "card")]);
        }
        let own: Vec<(String, String)> = ["pass", "fail", "error", "flaky", "notrun", "known", "unsup"]
            .iter()
            .map(|state| ((*state).to_owned(), format!("{state}-bg")))
            .collect();
        pairs.extend(own.iter().map(|(state, ground)| (state.as_str(), ground.as_str())));
        for (text, ground) in pairs {
            let found = contrast(theme[text], theme[ground]);
            assert!(found >= 4.5, "{name}: --{text} on --{ground} is {found:.2}");
        }
    }
}

#[test]
fn the_measure_is_right() {
    assert!((contrast(colour("000"), colour("ffffff")) - 21.0).abs() < 0.01);
    assert!((contrast(colour("777777"), colour("fff")) - 4.48).abs() < 0.01);
}
