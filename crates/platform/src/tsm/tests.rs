mod fake;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fake::{Kernel, ReportFile};

use super::*;

const DATA: [u8; 64] = *b"0123456789abcdef0123456789ABCDEF0123456789abcdef0123456789ABCDEF";

fn left_behind(root: &Path) -> usize {
    fs::read_dir(root).unwrap().count()
}

/// The error of a quote; the entries are gone all the same.
fn refused(kernel: Kernel) -> TsmError {
    let (tsm, _, root) = kernel.boot();
    let error = tsm.quote_blocking(DATA).unwrap_err();
    assert_eq!(left_behind(root.path()), 0, "after {error}");
    error
}

// Catches report data that does not arrive as it is, a wrong kind, lost certificates, an entry left
// behind after success.
#[tokio::test]
async fn an_snp_guest_quotes() {
    let (tsm, kernel, root) = Kernel::default().boot();
    let quote = tsm.quote(DATA).await.unwrap();
    assert_eq!(quote.provider, Provider::SevSnp);
    assert_eq!(quote.report, [&b"report over "[..], &DATA].concat());
    assert_eq!(quote.auxiliary, b"certificates");
    assert_eq!(kernel.entries_made(), 1);
    assert_eq!(left_behind(root.path()), 0);
}

// Catches a driver without certificates taken for a failure.
#[tokio::test]
async fn a_tdx_guest_quotes_without_auxiliary_data() {
    let (tsm, _, root) = Kernel {
        provider: b"tdx_guest\n",
        auxiliary: None,
        ..Kernel::default()
    }
    .boot();
    let quote = tsm.quote(DATA).await.unwrap();
    assert_eq!(quote.provider, Provider::Tdx);
    assert_eq!(quote.report, [&b"report over "[..], &DATA].concat());
    assert_eq!(quote.auxiliary, b"");
    assert_eq!(left_behind(root.path()), 0);
}

// Catches an entry name that another process can foresee, or that repeats.
#[test]
fn each_quote_has_an_entry_of_its_own() {
    let names: BTreeSet<_> = (0..64).map(|_| fresh_name().unwrap()).collect();
    assert_eq!(names.len(), 64);
    for name in names {
        let digits = name.strip_prefix("siegel-").unwrap();
        assert!(digits.len() == 32 && digits.bytes().all(|b| b.is_ascii_hexdigit()));
    }
}

// Catches a report over somebody else's data, certificates of another report, and a write that the
// kernel dropped: each shows in the generation only.
#[test]
fn a_disturbed_quote_is_thrown_away_and_done_again() {
    for before in ["outblob", "auxblob"] {
        for times in 1..ATTEMPTS {
            let disturbed = (times, before);
            let (tsm, kernel, root) = Kernel {
                disturbed,
                ..Kernel::default()
            }
            .boot();
            assert!(tsm.quote_blocking(DATA).is_ok());
            assert_eq!(kernel.entries_made(), times + 1);
            assert_eq!(left_behind(root.path()), 0);
        }
    }
    let (tsm, kernel, _root) = Kernel {
        lost_writes: 1,
        ..Kernel::default()
    }
    .boot();
    assert!(tsm.quote_blocking(DATA).is_ok());
    assert_eq!(kernel.entries_made(), 2);
}

// Catches a loop without bound, and a quote that is handed out although it was disturbed.
#[test]
fn a_writer_that_does_not_stop_is_an_error() {
    for kernel in [
        Kernel {
            disturbed: (u32::MAX, "outblob"),
            ..Kernel::default()
        },
        Kernel {
            lost_writes: u32::MAX,
            ..Kernel::default()
        },
    ] {
        let (tsm, kernel, root) = kernel.boot();
        let error = tsm.quote_blocking(DATA).unwrap_err();
        assert!(
            matches!(
                error,
                TsmError::Conflict {
                    attempts: ATTEMPTS,
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(kernel.entries_made(), ATTEMPTS);
        assert_eq!(left_behind(root.path()), 0);
    }
}

// Catches a generation that is compared as a signed or short number, and one that is not read.
#[test]
fn generations_may_be_large_but_are_numbers() {
    let generation = "18446744073709551615\n";
    let (tsm, _, _root) = Kernel {
        generation,
        ..Kernel::default()
    }
    .boot();
    assert!(tsm.quote_blocking(DATA).is_ok());
    for generation in ["", "\n", "-1\n", "many\n"] {
        let error = refused(Kernel {
            generation,
            ..Kernel::default()
        });
        assert!(
            matches!(error, TsmError::Malformed { .. }),
            "{generation:?}: {error}"
        );
    }
}

// Catches evidence of a kind that no verifier here knows, passed on as one that it knows.
#[test]
fn an_unknown_provider_is_refused_by_name() {
    for (provider, shown) in [
        (&b"arm_cca_guest\n"[..], "arm_cca_guest"),
        (b"sev_guest2\n", "sev_guest2"),
        (b"sev_guest\n\n", "sev_guest\n"),
        (b"\n", ""),
        (b"\xff\n", "\u{fffd}"),
    ] {
        let error = refused(Kernel {
            provider,
            ..Kernel::default()
        });
        assert!(
            matches!(&error, TsmError::Provider { name } if name == shown),
            "{error}"
        );
    }
    let error = refused(Kernel {
        provider: &[b'x'; 65],
        ..Kernel::default()
    });
    assert!(
        matches!(error, TsmError::TooLarge { limit: 64, .. }),
        "{error}"
    );
}

// I14: catches a missing bound, and an empty or broken report handed out.
#[test]
fn reports_have_bounds() {
    let bare = |length| Kernel {
        report: vec![7; length],
        report_file: ReportFile::Bare,
        ..Kernel::default()
    };
    let error = refused(bare(0));
    assert!(matches!(error, TsmError::Empty { .. }), "{error}");
    for length in [MAX_BLOB + 1, 2 * MAX_BLOB] {
        let error = refused(bare(length));
        assert!(
            matches!(
                error,
                TsmError::TooLarge {
                    limit: MAX_BLOB,
                    ..
                }
            ),
            "{error}"
        );
    }
    let (tsm, _, _root) = bare(MAX_BLOB).boot();
    assert_eq!(tsm.quote_blocking(DATA).unwrap().report.len(), MAX_BLOB);
    let report_file = ReportFile::Unreadable;
    let error = refused(Kernel {
        report_file,
        ..Kernel::default()
    });
    let TsmError::Io {
        doing: "read",
        path,
        ..
    } = &error
    else {
        panic!("{error}");
    };
    assert!(path.ends_with("outblob"));
    let auxiliary = Some(vec![7; MAX_BLOB + 1]);
    let error = refused(Kernel {
        auxiliary,
        ..Kernel::default()
    });
    let TsmError::TooLarge { path, .. } = &error else {
        panic!("{error}");
    };
    assert!(path.ends_with("auxblob"));
}

// Catches a report over a part of the report data.
#[test]
fn a_short_write_is_an_error() {
    for takes in [0, 63] {
        let error = refused(Kernel {
            takes,
            ..Kernel::default()
        });
        assert!(
            matches!(error, TsmError::ShortWrite { written, .. } if written == takes),
            "{error}"
        );
    }
}

// Catches an entry of another process that is used, or removed.
#[test]
fn an_entry_of_somebody_else_is_left_alone() {
    let (tsm, kernel, root) = Kernel {
        squatter: true,
        ..Kernel::default()
    }
    .boot();
    let error = tsm.quote_blocking(DATA).unwrap_err();
    let TsmError::Exists { path } = &error else {
        panic!("{error}");
    };
    assert_eq!(fs::read(path.join("inblob")).unwrap(), b"theirs");
    assert_eq!(path.parent(), Some(root.path()));
    assert_eq!(kernel.entries_made(), 0);
}

// Catches a machine without the interface reported as a riddle; runs the production folder.
#[tokio::test]
async fn a_machine_without_configfs_tsm_is_told_so() {
    let nowhere = tempfile::tempdir().unwrap().path().join("report");
    let error = ConfigfsTsm::new(&nowhere).quote(DATA).await.unwrap_err();
    assert!(
        matches!(&error, TsmError::Absent { root } if *root == nowhere),
        "{error}"
    );
    let said = error.to_string();
    assert!(
        said.contains("no configfs-tsm") && said.contains("6.7"),
        "{said}"
    );
    assert!(said.contains(nowhere.to_str().unwrap()), "{said}");
}

// Catches a missing driver, or missing rights, reported as a missing kernel.
#[test]
fn a_refused_entry_says_why() {
    let no_entry = |errno: rustix::io::Errno| Kernel {
        no_entry: Some(errno.raw_os_error()),
        ..Kernel::default()
    };
    let error = refused(no_entry(rustix::io::Errno::NXIO));
    assert!(matches!(error, TsmError::NoDriver { .. }), "{error}");
    let error = refused(no_entry(rustix::io::Errno::ACCESS));
    assert!(
        matches!(
            error,
            TsmError::Io {
                doing: "make the entry",
                ..
            }
        ),
        "{error}"
    );
}

// Catches report data written into a file that the kernel did not make.
#[test]
fn a_plain_folder_is_no_interface() {
    let root = tempfile::tempdir().unwrap();
    let error = ConfigfsTsm::new(root.path())
        .quote_blocking(DATA)
        .unwrap_err();
    let TsmError::Io {
        doing: "read",
        path,
        ..
    } = &error
    else {
        panic!("{error}");
    };
    assert!(path.ends_with("provider"));
    assert!(Configfs.write(&root.path().join("inblob"), &DATA).is_err());
    assert_eq!(left_behind(root.path()), 0);
}

// Catches a good quote thrown away because the entry could not be removed.
#[test]
fn a_stuck_entry_does_not_cost_the_quote() {
    let (tsm, _, root) = Kernel {
        stuck: true,
        ..Kernel::default()
    }
    .boot();
    assert!(tsm.quote_blocking(DATA).is_ok());
    assert_eq!(left_behind(root.path()), 1);
}
