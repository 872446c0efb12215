//! What no honest device would send: any record, sealed as a device seals.

use bytes::Bytes;
use siegel_client::{VerifiedPolicy, verify};
use siegel_fleet::clients;
use siegel_ident::BlobId;
use siegel_link::depot::ObjectKind;
use siegel_platform::rng::os_rng;
pub use siegel_program::record::Column;
use siegel_program::record::Record;
use siegel_seal::{KemPublic, seal_upload};

use crate::World;

impl World {
    /// The offer, as a device has verified it.
    pub async fn verified(&self) -> VerifiedPolicy {
        let (offer, _) = self.offer().await;
        let now = self.deployment.cluster.clock().now();
        verify(&self.clients().config, &offer.as_offer(), now).expect("a good offer")
    }
}

/// A record with one column, whatever the policy says, of the client with this name.
pub fn seal_raw(
    world: &World,
    verified: &VerifiedPolicy,
    name: &str,
    column: Column<'_>,
) -> Vec<u8> {
    seal_to(verified.key(), world, verified, name, column)
}

/// The same to any key.
pub fn seal_to(
    key: &KemPublic,
    world: &World,
    verified: &VerifiedPolicy,
    name: &str,
    column: Column<'_>,
) -> Vec<u8> {
    let cap = world.clients().config.device_cap;
    let device = clients::device(world.seed.as_ref(), name, cap);
    let record = Record {
        privacy_id: device.privacy_id(&world.policy.pipeline),
        columns: vec![column],
    };
    let record = record.encode().expect("a record");
    let mut blob = [0; 16];
    rand_core::Rng::fill_bytes(&mut os_rng(), &mut blob);
    let (blob, context) = (BlobId::from_bytes(blob), verified.upload_context());
    seal_upload(&mut os_rng(), key, &context, blob, &record).expect("sealed")
}

/// Stores an upload; it must be new.
pub async fn send(world: &World, upload: Vec<u8>) {
    let depot = world.deployment.operator.depot();
    let put = depot.put(ObjectKind::Upload, Bytes::from(upload)).await;
    assert!(!put.expect("an answer").duplicate);
}
