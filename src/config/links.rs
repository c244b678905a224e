//! What a path stands on: the file, and every symbolic link on the way to it.
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// Links on one way; more are a circle (Linux gives up at 40 as well).
const MAX_LINKS: usize = 40;

/// Every path whose replacement changes what `path` reads, each without links in its folder: the links on the way (a mounted
/// Kubernetes configmap is swapped by replacing one), and the file, or what is missing of it.
pub fn links(path: &Path) -> Vec<PathBuf> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut todo = steps(&path);
    let (mut at, mut found) = (PathBuf::from("/"), Vec::new());
    while let Some(step) = todo.pop() {
        if step == ".." {
            at.pop();
            continue;
        }
        at.push(step);
        match std::fs::read_link(&at) {
            Ok(target) if found.len() < MAX_LINKS => {
                found.push(at.clone());
                if target.is_absolute() {
                    at = PathBuf::from("/");
                } else {
                    at.pop();
                }
                todo.extend(steps(&target));
            }
            _ if todo.is_empty() || !at.exists() => break,
            _ => {}
        }
    }
    found.push(at);
    found
}

/// The names in a path, the last one first.
fn steps(path: &Path) -> Vec<OsString> {
    let name = |component: Component<'_>| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    };
    path.components().rev().filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_configmap_stands_on_the_link_that_is_swapped() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir(root.join("..2024")).unwrap();
        fs::write(root.join("..2024/hookgate.yaml"), "").unwrap();
        symlink("..2024", root.join("..data")).unwrap();
        symlink("..data/hookgate.yaml", root.join("hookgate.yaml")).unwrap();
        let expected = ["hookgate.yaml", "..data", "..2024/hookgate.yaml"].map(|name| root.join(name));
        assert_eq!(links(&root.join("hookgate.yaml")), expected);

        symlink(&root, root.join("..2024/up")).unwrap();
        let expected = ["..data", "..2024/up", "hookgate.yaml", "..data", "..2024/hookgate.yaml"].map(|n| root.join(n));
        assert_eq!(links(&root.join("..data/up/hookgate.yaml")), expected);
    }

    #[test]
    fn what_is_missing_is_waited_for_where_it_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        assert_eq!(links(&root.join("a/b/c.yaml")), [root.join("a")]);
        symlink("circle", root.join("circle")).unwrap();
        assert!(links(&root.join("circle")).len() <= MAX_LINKS + 1);
    }
}
