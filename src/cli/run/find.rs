//! Which configuration a run has.
use crate::trust::Tree;
use std::path::{Path, PathBuf};

/// Where one is looked for in each folder of a working tree, from where the command runs up to the repository's.
const IN_TREE: [&str; 2] = ["hookgate.yaml", "config/hookgate.yaml"];
/// The user's, in the folder of their configurations.
const OWN: &str = "hookgate.yaml";
/// Everybody's.
const SYSTEM: &str = "/etc/hookgate/hookgate.yaml";

/// The first that exists of those of the working tree (unless it is not wanted), the user's and the system's. Links
/// that lead nowhere exist: they are mistakes to be told.
pub(super) fn find(tree: &Tree, own: Option<&Path>, wants_tree: bool) -> Option<PathBuf> {
    let of_tree = wants_tree.then(|| in_tree(tree)).flatten();
    let own = own.map(|folder| folder.join(OWN));
    of_tree.or_else(|| own.into_iter().chain([PathBuf::from(SYSTEM)]).find(|path| exists(path)))
}

/// That of the working tree.
pub(super) fn in_tree(tree: &Tree) -> Option<PathBuf> {
    tree.folders().flat_map(|folder| IN_TREE.map(|name| folder.join(name))).find(|path| exists(path))
}

fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn the_nearest_comes_first_and_the_users_own_last() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for made in ["repo/.git", "repo/config", "repo/a/config", "own"] {
            fs::create_dir_all(root.join(made)).unwrap();
        }
        let tree = Tree::around(&root.join("repo/a"), None);
        let found = |in_tree| find(&tree, Some(&root.join("own")), in_tree);
        let mut expected = Vec::new();
        for file in
            ["own/hookgate.yaml", "repo/config/hookgate.yaml", "repo/hookgate.yaml", "repo/a/config/hookgate.yaml"]
        {
            fs::write(root.join(file), "").unwrap();
            expected.push(root.join(file));
            assert_eq!(found(true).as_ref(), expected.last());
            assert_eq!(found(false), Some(root.join("own/hookgate.yaml")));
        }
    }
}
