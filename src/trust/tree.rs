//! Which files came along with what is worked on.
use crate::config::links::links;
use std::path::{Path, PathBuf};

/// What makes a folder a repository: a folder, or in worktrees and submodules a file.
const REPOSITORY: &str = ".git";

/// The working tree: the folder that is worked in, and every repository around it. All paths are without links.
#[derive(Debug, Clone)]
pub struct Tree {
    cwd: PathBuf,
    /// The repositories around `cwd`, innermost first.
    repositories: Vec<PathBuf>,
    /// The user's own place for configurations: a repository around it (dotfiles) is the user's as well.
    own: Option<PathBuf>,
    /// Whether what lies in `cwd` counts as the tree's where no repository is around it.
    is_strict: bool,
}

impl Tree {
    /// The tree around `cwd`; `own`: hookgate's folder among the user's configurations.
    pub fn around(cwd: &Path, own: Option<&Path>) -> Self {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let cwd = real(cwd);
        let repositories =
            cwd.ancestors().filter(|folder| folder.join(REPOSITORY).exists()).map(PathBuf::from).collect();
        // Who works in there works on it as on anything else.
        let own = own.map(real).filter(|own| !cwd.starts_with(own));
        Self { cwd, repositories, own, is_strict: true }
    }

    /// For a configuration that its user has named: nobody else's are the files of a folder that is no repository, while what
    /// came along in one would be the same whoever names it.
    #[must_use]
    pub fn where_named(self) -> Self {
        Self { is_strict: false, ..self }
    }

    /// The folder of the project: the innermost repository, else where the work is done.
    pub fn project(&self) -> &Path {
        self.repositories.first().unwrap_or(&self.cwd)
    }

    /// From where the work is done up to the project's folder.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.cwd.ancestors().take_while(|folder| folder.starts_with(self.project()))
    }

    /// Whether what `path` reads is the tree's to decide: it lies in there, or a link on the way to it does.
    pub fn holds(&self, path: &Path) -> bool {
        links(path).iter().any(|step| {
            let roots = self.is_strict.then_some(&self.cwd).into_iter().chain(&self.repositories);
            let is_own = self.own.as_ref().is_some_and(|own| step.starts_with(own));
            !is_own && roots.into_iter().any(|root| step.starts_with(root))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn what_lies_in_the_tree_or_is_reached_through_it_is_the_trees() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for made in ["repo/.git", "repo/sub", "repo/inner/deep", "home/.config/hookgate", "elsewhere"] {
            fs::create_dir_all(root.join(made)).unwrap();
        }
        fs::write(root.join("repo/inner/.git"), "gitdir: ../.git/modules/inner").unwrap();
        for file in ["elsewhere/a.yaml", "repo/a.yaml", "home/.config/hookgate/hookgate.yaml"] {
            fs::write(root.join(file), "").unwrap();
        }
        symlink(root.join("elsewhere/a.yaml"), root.join("repo/out.yaml")).unwrap();
        symlink(root.join("repo/a.yaml"), root.join("elsewhere/in.yaml")).unwrap();
        symlink(root.join("repo"), root.join("elsewhere/repo")).unwrap();
        let holds = |cwd: &str, path: &str| Tree::around(&root.join(cwd), None).holds(&root.join(path));
        for (cwd, path, expected) in [
            ("repo/sub", "repo/a.yaml", true),
            ("repo/sub", "repo/gone.yaml", true),
            ("repo/sub", "elsewhere/a.yaml", false),
            ("repo/sub", "repo/sub/../../elsewhere/a.yaml", false),
            // Links out of the tree are the tree's, links into it lead there.
            ("repo/sub", "repo/out.yaml", true),
            ("repo/sub", "elsewhere/in.yaml", true),
            ("repo/sub", "elsewhere/repo/a.yaml", true),
            ("elsewhere/repo", "repo/a.yaml", true),
            // The repository around a submodule came from somewhere, too.
            ("repo/inner/deep", "repo/a.yaml", true),
            ("elsewhere", "elsewhere/a.yaml", true),
            ("elsewhere", "repo/a.yaml", false),
            ("home", "home/.config/hookgate/hookgate.yaml", true),
        ] {
            assert_eq!(holds(cwd, path), expected, "{path} from {cwd}");
            let named = Tree::around(&root.join(cwd), None).where_named().holds(&root.join(path));
            assert_eq!(named, expected && !["elsewhere", "home"].contains(&cwd), "{path} from {cwd}, named");
        }
        let own = root.join("home/.config/hookgate");
        let at_home = |cwd: &str| Tree::around(&root.join(cwd), Some(&own)).holds(&own.join("hookgate.yaml"));
        assert!(!at_home("home"), "the user's own place is not the tree's");
        assert!(at_home("home/.config/hookgate"));
    }

    #[test]
    fn a_project_ends_at_its_repository() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("repo/.git")).unwrap();
        fs::create_dir_all(root.join("repo/a/b")).unwrap();
        fs::create_dir_all(root.join("plain/a")).unwrap();
        let folders = |cwd: &str| Tree::around(&root.join(cwd), None).folders().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(folders("repo/a/b"), ["repo/a/b", "repo/a", "repo"].map(|name| root.join(name)));
        assert_eq!(folders("plain/a"), [root.join("plain/a")]);
    }
}
