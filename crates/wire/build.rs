//! Generates the messages from `proto/` with protox: no protoc on the machine.
fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = std::path::Path::new("../../proto");
    let files: Vec<_> = ["link", "depot", "kms", "root", "worker", "launcher"]
        .iter()
        .map(|name| root.join(format!("siegel/v1/{name}.proto")))
        .collect();
    println!("cargo:rerun-if-changed=../../proto");
    let descriptors = protox::compile(&files, [root])?;
    let rpc = std::env::var_os("CARGO_FEATURE_RPC").is_some();
    tonic_prost_build::configure()
        .build_client(rpc)
        .build_server(rpc)
        .compile_fds(descriptors)?;
    Ok(())
}
