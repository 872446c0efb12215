//! The source that is built, and how it differs from the stated one.

use siegel_endorse::Manifest;
use siegel_ident::Digest;
use siegel_recipe::{RECIPE_FILE, RecipeError, TreeState, of_commit, of_tree, tree_state};

use super::super::causes::{self, Cause};
use super::super::expected::Expected;
use super::super::worktree;
use super::{Options, disk};
use crate::failure::{Exit, Failure};

/// The source that is built here.
pub(super) struct Here {
    pub(super) manifest: Manifest,
    recipe: String,
    /// With `--here`: commit, and what that holds.
    commit: Option<(String, Manifest)>,
}

impl Here {
    pub(super) fn of(expected: &Expected, options: &Options) -> Result<Self, Failure> {
        let checkout = &options.checkout;
        if let Some(commit) = expected.build.commit.as_deref().filter(|_| !options.here) {
            worktree::require(checkout, commit)?;
            return Ok(Self {
                manifest: of_commit(checkout, commit).map_err(source_failure)?,
                recipe: worktree::show(checkout, commit, RECIPE_FILE)?,
                commit: None,
            });
        }
        let path = checkout.join(RECIPE_FILE);
        let recipe = std::fs::read_to_string(&path).map_err(|why| disk(&path, &why))?;
        let manifest = of_tree(checkout).map_err(source_failure)?;
        // Without git nothing is known of a commit, and nothing is said of one.
        let commit = match tree_state(checkout) {
            Ok(TreeState {
                commit: Some(commit),
                ..
            }) => of_commit(checkout, &commit)
                .ok()
                .map(|manifest| (commit, manifest)),
            _ => None,
        };
        Ok(Self {
            manifest,
            recipe,
            commit,
        })
    }

    pub(super) fn causes(&self, expected: &Expected) -> Vec<Cause> {
        let mut causes = match &expected.manifest {
            Some(stated) => causes::source(stated, &self.manifest),
            None => match self.manifest.digest() {
                Ok(digest) if digest != expected.build.source => vec![Cause::new(
                    "source-differs",
                    format!(
                        "source differs: {} as stated, {digest} here; which files cannot be said without \
                         the stated manifest",
                        expected.build.source
                    ),
                )],
                _ => Vec::new(),
            },
        };
        let here = Digest::of(self.recipe.as_bytes());
        match (&expected.recipe, expected.build.recipe) {
            (Some(stated), _) => causes.extend(causes::recipe(stated, &self.recipe)),
            // Withheld: what differs cannot be said, that it does can.
            (None, Some(stated)) if stated != here => causes.push(Cause::new(
                "recipe-differs",
                format!("recipe differs: {stated} as stated, {here} here; in what cannot be said without its text"),
            )),
            _ => {}
        }
        // A dirty tree whose source is the stated one all the same explains nothing.
        if let (Some((commit, of_commit)), false) = (&self.commit, causes.is_empty()) {
            causes.extend(causes::dirty_tree(commit, of_commit, &self.manifest));
        }
        causes
    }
}

fn source_failure(why: RecipeError) -> Failure {
    let exit = if why.machine_cannot() {
        Exit::MachineCannot
    } else {
        Exit::Failed
    };
    Failure::new(
        exit,
        "source",
        "source",
        why,
        "is this a whole checkout of Siegel?",
    )
}
