//! How far a check has come, on standard error: a bar on a terminal, else a line now and then.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use undercroft::storage::survey::{Progress, Progressed};

use crate::Failure;
use crate::metadata::text::{bytes, put};

const BAR_EVERY: Duration = Duration::from_millis(200);
const LINE_EVERY: Duration = Duration::from_secs(10);
const BAR_CELLS: usize = 20;
/// Cursor to the line's start, and everything behind it away.
const CLEAR: &str = "\r\x1b[K";

/// What to show.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Show {
    /// A bar if standard error is a terminal, else lines
    Auto,
    Bar,
    Lines,
    None,
}

/// Standard output and standard error, which may be the same terminal.
pub struct Screen {
    progress: Arc<Progress>,
    started: Instant,
    is_bar: bool,
    every: Option<Duration>,
    /// Whether the bar stands on the last line.
    is_drawn: Mutex<bool>,
}

impl Screen {
    pub fn new(show: Show, progress: &Arc<Progress>) -> Self {
        let show = match show {
            Show::Auto if io::stderr().is_terminal() => Show::Bar,
            Show::Auto => Show::Lines,
            other => other,
        };
        let every = match show {
            Show::Bar => Some(BAR_EVERY),
            Show::Lines | Show::Auto => Some(LINE_EVERY),
            Show::None => None,
        };
        let progress = Arc::clone(progress);
        Self { progress, started: Instant::now(), is_bar: show == Show::Bar, every, is_drawn: Mutex::new(false) }
    }

    /// Whether anybody looks at how much there is in all.
    pub fn wants_a_sum(&self) -> bool {
        self.is_bar
    }

    /// Shows progress for ever.
    pub async fn run(&self) {
        let Some(every) = self.every else { return };
        loop {
            tokio::time::sleep(every).await;
            let text = line(&self.progress.now(), self.started.elapsed());
            let mut is_drawn = self.is_drawn.lock().unwrap_or_else(PoisonError::into_inner);
            // Nobody is left to be told if standard error is gone.
            let _ = match self.is_bar {
                true => write!(io::stderr(), "{CLEAR}{text}"),
                false => writeln!(io::stderr(), "{text}"),
            };
            *is_drawn = self.is_bar;
        }
    }

    /// Prints to standard output, with the bar out of the way.
    pub fn print(&self, text: &str) -> Result<bool, Failure> {
        let mut is_drawn = self.is_drawn.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut *is_drawn) {
            let _ = write!(io::stderr(), "{CLEAR}");
        }
        put(text)
    }
}

/// One line of at most 80 characters for all but astronomic numbers.
fn line(now: &Progressed, took: Duration) -> String {
    #[allow(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "for the eye"
    )]
    let per_second = (now.bytes as f64 / took.as_secs_f64().max(0.001)) as u64;
    let done = format!("{}, {}/s, findings: {}", bytes(now.bytes), bytes(per_second), now.findings);
    let Some((segments, all)) = now.of else { return format!("{} segments, {done}", now.segments) };
    let part = |scale: u64| {
        let share = u128::from(now.bytes.min(all)) * u128::from(scale) / u128::from(all.max(1));
        u64::try_from(share).unwrap_or(scale)
    };
    let filled = usize::try_from(part(BAR_CELLS as u64)).unwrap_or(BAR_CELLS).min(BAR_CELLS);
    let bar = "#".repeat(filled) + &".".repeat(BAR_CELLS - filled);
    format!("[{bar}] {:3}% {}/{segments} segments, {done}", part(100), now.segments)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_it_is_once_the_sum_is_known() {
        let mut now = Progressed { segments: 3, bytes: 3 << 20, findings: 1, of: None };
        assert_eq!(line(&now, Duration::from_secs(2)), "3 segments, 3.0 MiB, 1.5 MiB/s, findings: 1");
        now.of = Some((4, 4 << 20));
        let text = line(&now, Duration::from_secs(2));
        assert_eq!(text, "[###############.....]  75% 3/4 segments, 3.0 MiB, 1.5 MiB/s, findings: 1");
        for bytes in [0, 5 << 20, u64::MAX] {
            now.bytes = bytes;
            assert!(line(&now, Duration::ZERO).contains(if bytes == 0 { "  0%" } else { "100%" }));
        }
        now.of = Some((0, 0));
        assert!(line(&now, Duration::ZERO).starts_with("[...."));
    }
}
