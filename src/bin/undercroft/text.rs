//! Text for a terminal: columns and paragraphs.

/// Rows with their cells padded so that columns line up; the last cell of a row is not padded.
pub fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    rows.iter()
        .map(|row| {
            let cells = row.iter().enumerate();
            let line: String =
                cells.map(|(i, cell)| format!("{cell:<width$}  ", width = width(i).unwrap_or(0))).collect();
            line.trim_end().to_owned()
        })
        .collect()
}

/// `text` in lines of at most `width` characters where its words allow it, each behind `indent` blanks.
pub fn paragraph(text: &str, indent: usize, width: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let length = word.chars().count();
        if used > 0 && used + 1 + length <= width {
            out.push(' ');
            used += 1;
        } else {
            if used > 0 {
                out.push('\n');
            }
            out.push_str(&" ".repeat(indent));
            used = indent;
        }
        out.push_str(word);
        used += length;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [["a", "bb", "c"], ["aaaa", "b", ""]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(columns(&rows), ["a     bb  c", "aaaa  b"]);
    }

    #[test]
    fn a_paragraph_keeps_to_its_width() {
        let text = paragraph("one two three four-and-more-than-that five", 2, 12);
        assert_eq!(text, "  one two\n  three\n  four-and-more-than-that\n  five\n");
        assert_eq!(paragraph("", 2, 12), "\n");
    }
}
