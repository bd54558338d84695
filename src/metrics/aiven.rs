//! Names that Aiven's plugin has for what is counted here: the table that the Java side publishes them by.

/// The table, of which the Java side has a copy in its jar. `bean` begins one, `if` says for which store alone; below stand
/// its attributes and what they are made of:
/// - `count`: `…-rate` and `…-total` of a counter,
/// - `total`: one attribute of a counter, or of one less another, times a factor,
/// - `time`: `…-avg` and `…-max`, of microseconds in all, how many, and the longest,
/// - `avg`: the first of these alone.
///
/// Behind a metric's name may stand the value of its label, or `*` for the sum of all. `without` names what is not there.
const TABLE: &str = include_str!("../../java-shim/src/main/resources/io/undercroft/kafka/aiven-metrics.txt");

/// A line of the table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Line {
    Bean { name: String, only: Option<String> },
    Attributes { names: Vec<String>, sources: Vec<String> },
    Without { names: String, why: String },
}

/// The lines of the table, in its order. One that has another form is left out.
pub fn lines() -> impl Iterator<Item = Line> {
    TABLE.lines().filter_map(line)
}

fn line(text: &str) -> Option<Line> {
    let (word, rest) = text.trim().split_once(' ')?;
    let rest = rest.trim();
    if word == "bean" {
        let (name, only) = rest.split_once(" if ").map_or((rest, None), |(name, only)| (name, Some(only.to_owned())));
        return Some(Line::Bean { name: name.to_owned(), only });
    }
    let (stem, of) = rest.split_once(" = ")?;
    let stem = stem.trim();
    let names = match word {
        "without" => return Some(Line::Without { names: stem.to_owned(), why: of.to_owned() }),
        "count" => vec![format!("{stem}-rate"), format!("{stem}-total")],
        "total" => vec![stem.to_owned()],
        "time" => vec![format!("{stem}-avg"), format!("{stem}-max")],
        "avg" => vec![format!("{stem}-avg")],
        _ => return None,
    };
    let of = of.split_once(" * ").map_or(of, |(sources, _)| sources);
    // A hyphen is part of names; one between blanks takes away.
    let sources = of.split(", ").flat_map(|source| source.split(" - ")).map(|source| source.trim().to_owned());
    Some(Line::Attributes { names, sources: sources.collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_understood() {
        for text in TABLE.lines().filter(|text| !text.is_empty() && !text.starts_with('#')) {
            assert!(line(text).is_some(), "{text}");
        }
        assert_eq!(
            line("total a = b-total - c-total get * 1000"),
            Some(Line::Attributes {
                names: vec!["a".to_owned()],
                sources: vec!["b-total".to_owned(), "c-total get".to_owned()]
            })
        );
        assert_eq!(line("# comment = x"), None);
    }
}
