//! Text for a terminal: columns and paragraphs.

use undercroft::config::visible;

/// Rows with their cells padded so that columns line up; the last cell of a row is not padded. Whatever a cell holds, it stays in
/// its line.
pub fn columns(rows: &[Vec<String>]) -> Vec<String> {
    let rows: Vec<Vec<_>> = rows.iter().map(|row| row.iter().map(|cell| visible(cell)).collect()).collect();
    let mut widths: Vec<usize> = Vec::new();
    for row in &rows {
        widths.resize(widths.len().max(row.len()), 0);
        widths.iter_mut().zip(row).for_each(|(width, cell)| *width = cell.chars().count().max(*width));
    }
    let line = |row: &Vec<_>| -> String {
        row.iter().zip(&widths).map(|(cell, &width)| format!("{cell:<width$}  ")).collect()
    };
    rows.iter().map(|row| line(row).trim_end().to_owned()).collect()
}

/// `text` in lines of at most `width` characters where its words allow it, each behind `indent` blanks.
pub fn paragraph(text: &str, indent: usize, width: usize) -> String {
    let mut out = String::new();
    let mut used = 0;
    for word in text.split_whitespace() {
        let word = visible(word);
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
        out.push_str(&word);
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
    fn a_cell_stays_in_its_line() {
        let rows = [["a\nb", "c\u{1b}[2J"], ["", "\u{202e}"]].map(|row| row.map(str::to_owned).to_vec());
        assert_eq!(columns(&rows), ["a\\nb  c\\u001b[2J", "      \\u202e"]);
    }

    #[test]
    fn many_rows_take_no_longer_than_there_are_many() {
        let rows: Vec<_> = (0..100_000).map(|at| vec!["x".to_owned(), "y".repeat(at % 9)]).collect();
        assert_eq!(columns(&rows).len(), rows.len());
    }

    #[test]
    fn a_paragraph_keeps_to_its_width() {
        let text = paragraph("one two three four-and-more-than-that five", 2, 12);
        assert_eq!(text, "  one two\n  three\n  four-and-more-than-that\n  five\n");
        assert_eq!(paragraph("", 2, 12), "\n");
    }
}
