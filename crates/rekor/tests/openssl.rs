//! The time stamp authority's tokens in OpenSSL, where it is installed. A binary of its own: the other
//! tests lock folders, and a process that is being started holds such a lock for a moment.

use std::process::Command;

use siegel_rekor::TimestampAuthority;

/// Catches: a token that only our own readers take, such as one without its certificate's hash.
#[test]
fn openssl_verifies_the_token() {
    if Command::new("openssl").arg("version").output().is_err() {
        eprintln!("openssl is not installed: this second opinion is left out");
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let openssl = |arguments: &[&str]| {
        let output = Command::new("openssl").args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).into_owned();
        (output.status.success(), said)
    };
    let authority = TimestampAuthority::generate("log.example.test").unwrap();
    std::fs::write(path("chain.pem"), authority.chain_pem()).unwrap();
    std::fs::write(path("data"), "signature bytes").unwrap();
    std::fs::write(path("other"), "other bytes").unwrap();
    for (hash, certificate) in [("-sha256", true), ("-sha512", true), ("-sha384", false)] {
        let (data, request) = (path("data"), path("request.tsq"));
        let mut ask = vec!["ts", "-query", "-data", &data, hash, "-out", &request];
        if certificate {
            ask.push("-cert");
        }
        assert!(openssl(&ask).0);
        let reply = authority.answer(&std::fs::read(&request).unwrap()).unwrap();
        std::fs::write(path("reply.tsr"), &reply).unwrap();
        let (chain, reply) = (path("chain.pem"), path("reply.tsr"));
        let verify = |what: &str, file: &str| {
            let mut arguments = vec!["ts", "-verify", what, file, "-in", &reply];
            arguments.extend(["-CAfile", &chain, "-untrusted", &chain]);
            openssl(&arguments)
        };
        let (good, said) = verify("-queryfile", &request);
        assert!(good, "{hash}: {said}");
        let (good, said) = verify("-data", &data);
        assert!(good, "{hash}: {said}");
        assert!(!verify("-data", &path("other")).0, "{hash}");
    }
}
