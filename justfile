# The read-only gate: what .ci/run checks.
verify:
    bash .ci/run

# Formats and applies the lints' own suggestions.
fix:
    cargo fmt --all
    cargo clippy --workspace --all-targets --locked --fix --allow-dirty --allow-staged
