//! A chain in the order in which evidence brings it: no search, every link is asked.

use siegel_ident::Timestamp;

use super::Certificate;

/// Whether `authorities`, root first, lead to `leaf`: names, signatures, windows at `now`, rights and path lengths.
/// The root itself must have been recognised before. Returns the end of the earliest window.
pub(crate) fn verify_path(
    authorities: &[Certificate],
    leaf: &Certificate,
    now: Timestamp,
) -> Result<Timestamp, String> {
    let root = authorities.first().ok_or("the chain is empty")?;
    let (mut issuer, mut valid_until) = (root, root.window().until);
    // The root is held against itself: its name and key are its issuer's.
    for certificate in authorities.iter().chain([leaf]) {
        certificate.verify_issued_by(issuer)?;
        certificate.check_valid(now)?;
        valid_until = valid_until.min(certificate.window().until);
        issuer = certificate;
    }
    for (above, authority) in authorities.iter().enumerate() {
        authority.check_path_len(authorities.len() - above - 1)?;
    }
    leaf.check_signer()?;
    Ok(valid_until)
}

#[cfg(test)]
mod tests;
