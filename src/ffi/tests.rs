#![allow(clippy::unwrap_used, reason = "t")]
