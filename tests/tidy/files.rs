//! Length, names and what a file may not mention.

/// No source is longer.
const LINES_MAX: usize = 700;
/// No room's `mod.rs` is as long.
const ROOM_LINES_MAX: usize = 80;
/// Names that say nothing.
const EMPTY_NAMES: &[&str] = &["util", "utils", "helper", "helpers", "common", "misc", "manager2", "v2"];
/// Folder that the project's first machine worked in; put together so that this file doesn't name it.
const WORK_FOLDER: &str = concat!("/wo", "rk/");
/// Hosts that build files may name.
const HOSTS: &[&str] = &[
    "github.com",
    "crates.io",
    "doc.rust-lang.org",
    "www.rust-lang.org",
    "rustup.rs",
    "sh.rustup.rs",
    "www.w3.org",
    "localhost",
    "127.0.0.1",
];
/// Domains of which build files may name any host.
const DOMAINS: &[&str] =
    &["apache.org", "example.org", "example.com", "debian.org", "keepachangelog.com", "semver.org"];

/// Sources that are too long or have a name that says nothing.
pub fn complaints(path: &str, text: &str) -> Vec<String> {
    if !path.starts_with("src/") || !path.ends_with(".rs") {
        return Vec::new();
    }
    let mut found = Vec::new();
    let lines = text.lines().count();
    let parts: Vec<_> = path.trim_end_matches(".rs").split('/').collect();
    if lines > LINES_MAX {
        found.push(format!("{path}: {lines} lines, and {LINES_MAX} is the most"));
    }
    if parts.len() == 3 && parts[2] == "mod" && lines >= ROOM_LINES_MAX {
        found.push(format!("{path}: {lines} lines, and a room's mod.rs has fewer than {ROOM_LINES_MAX}"));
    }
    if let Some(name) = parts.iter().find(|part| EMPTY_NAMES.contains(part)) {
        found.push(format!("{path}: the name `{name}` says nothing"));
    }
    found
}

/// Folders and hosts of one machine.
pub fn machine_complaints(path: &str, text: &str) -> Vec<String> {
    text.lines()
        .enumerate()
        .filter_map(|(at, line)| {
            let what = if names_work_folder(line) {
                "a folder of one machine".to_owned()
            } else if is_build_file(path) {
                format!("the host `{}`, which is not in the list", hosts(line).find(|host| !is_known(host))?)
            } else {
                return None;
            };
            Some(format!("{path}:{}: names {what}", at + 1))
        })
        .collect()
}

fn names_work_folder(line: &str) -> bool {
    let is_in_path = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | ')' | '}' | '>');
    line.match_indices(WORK_FOLDER).any(|(at, _)| !line[..at].chars().next_back().is_some_and(is_in_path))
}

fn is_build_file(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    path.starts_with(".ci/")
        || name == "Makefile"
        || [".toml", ".lock", ".xml", ".sh", ".mk", ".yml", ".yaml", ".properties"]
            .iter()
            .any(|end| name.ends_with(end))
}

/// Hosts of the addresses in a line.
fn hosts(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices("://").filter_map(|(at, _)| {
        let host = &line[at + 3..];
        let end = host.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '.' | '-')));
        Some(&host[..end.unwrap_or(host.len())]).filter(|host| !host.is_empty())
    })
}

fn is_known(host: &str) -> bool {
    let is_in = |domain: &str| host.strip_suffix(domain).is_some_and(|front| front.is_empty() || front.ends_with('.'));
    HOSTS.contains(&host) || DOMAINS.iter().any(|domain| is_in(domain))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_is_found() {
        assert_eq!(complaints("src/wire/key.rs", &"x\n".repeat(701)).len(), 1);
        assert!(complaints("src/wire/key.rs", &"x\n".repeat(700)).is_empty());
        assert_eq!(complaints("src/wire/mod.rs", &"x\n".repeat(80)).len(), 1);
        assert!(complaints("src/wire/mod.rs", &"x\n".repeat(79)).is_empty());
        assert!(complaints("src/metadata/log/mod.rs", &"x\n".repeat(200)).is_empty(), "not a room's");
    }

    #[test]
    fn a_name_that_says_nothing_is_found() {
        for path in ["src/wire/util.rs", "src/storage/helpers/mod.rs", "src/common/mod.rs"] {
            assert_eq!(complaints(path, "").len(), 1, "{path}");
        }
        assert!(complaints("src/wire/utilization.rs", "").is_empty());
    }

    #[test]
    fn a_folder_of_one_machine_is_found() {
        for line in
            [format!("cd {WORK_FOLDER}x"), format!("root = \"{WORK_FOLDER}main\""), format!("see ..{WORK_FOLDER}")]
        {
            let is_relative = line.contains("..");
            assert_eq!(machine_complaints("README.md", &line).len(), usize::from(!is_relative), "{line}");
        }
        assert!(machine_complaints("Makefile", &format!("mkdir -p target{WORK_FOLDER}x")).is_empty());
    }

    #[test]
    fn a_host_outside_of_the_list_is_found_in_build_files() {
        let line = "<url>https://mirror.internal:8081/maven</url>";
        assert_eq!(machine_complaints("java-shim/pom.xml", line).len(), 1);
        assert_eq!(machine_complaints("Cargo.lock", "source = \"registry+http://10.0.0.1/index\"").len(), 1);
        assert_eq!(machine_complaints("Cargo.toml", "a = \"https://notapache.org/\"").len(), 1);
        assert!(machine_complaints("README.md", line).is_empty(), "papers may link anywhere");
        for line in
            ["http://maven.apache.org/POM/4.0.0", "registry+https://github.com/rust-lang/crates.io-index", "file://$x"]
        {
            assert!(machine_complaints("java-shim/pom.xml", line).is_empty(), "{line}");
        }
    }
}
