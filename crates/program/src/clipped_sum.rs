//! The clipped sum of model updates: specification, and what a unit's examples contribute.

use serde::{Deserialize, Serialize};
use siegel_dp::lattice::Lattice;
use siegel_ident::secret::wipe;
use siegel_ident::{NanoRho, json};
use siegel_tensor::{Examples, Model, Scratch, Sgd, train};

use crate::alphabet::Alphabet;
use crate::bundle::{is_file_name, is_name};
use crate::{Bundle, ProgramError};

const DOCUMENT: &str = "clipped-sum specification";
const SCHEMA: &str = "siegel/clipped-sum/v1";
const MICRO: f64 = 1e6;

/// Most characters or rows of one user.
pub const MAX_ITEMS: u32 = 65_536;
/// Most passes of a leaf over a user's examples.
pub const MAX_EPOCHS: u32 = 64;
/// Most examples of one gradient.
pub const MAX_BATCH: u32 = 4096;
/// Most work of one leaf: epochs × items × parameters.
pub const MAX_WORK: u64 = 1 << 40;

/// One DP sum of model updates: each unit trains the model on its own examples, its update is
/// clipped to L2 norm `clip`, placed on a lattice (`siegel_dp::lattice`) and added exactly; then
/// discrete Gaussian noise on every parameter. Public, and part of the plan.
///
/// Reals stand as integers, in millionths: canonical JSON has one spelling for those only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClippedSumSpec {
    schema: String,
    /// Column of the record: text for a text model, else numbers.
    pub column: String,
    /// Asset of the bundle with the characters of a text model; null for others.
    #[serde(deserialize_with = "json::present")]
    pub alphabet: Option<String>,
    /// What is trained.
    pub model: Model,
    /// Most characters or rows of one unit that count.
    pub max_items_per_user: u32,
    /// Passes over a unit's examples.
    pub epochs: u32,
    /// Examples of one gradient.
    pub batch: u32,
    /// Rate of local SGD, in millionths.
    pub rate_micro: u64,
    /// Largest L2 norm of an update, in millionths.
    pub clip_micro: u64,
    /// S: the largest norm of a placed update, in lattice units; the sum's L2 sensitivity.
    pub scale: u64,
    /// What it costs.
    pub rho_nano: NanoRho,
}

/// What a program says about a clipped sum; the rest of the specification follows from the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClippedSumTerms<'a> {
    /// See [`ClippedSumSpec`], as all of these.
    pub column: &'a str,
    /// Asset with the characters of a text model.
    pub alphabet: Option<&'a str>,
    /// What is trained.
    pub model: Model,
    /// Most characters or rows of one unit.
    pub max_items_per_user: u32,
    /// Passes.
    pub epochs: u32,
    /// Examples of one gradient.
    pub batch: u32,
    /// Millionths.
    pub rate_micro: u64,
    /// Millionths.
    pub clip_micro: u64,
    /// S.
    pub scale: u64,
    /// Cost.
    pub rho: NanoRho,
}

impl ClippedSumSpec {
    /// A specification over what the bundle carries.
    pub fn new(bundle: &Bundle, terms: ClippedSumTerms<'_>) -> Result<Self, ProgramError> {
        let spec = Self {
            schema: SCHEMA.into(),
            column: terms.column.into(),
            alphabet: terms.alphabet.map(str::to_owned),
            model: terms.model,
            max_items_per_user: terms.max_items_per_user,
            epochs: terms.epochs,
            batch: terms.batch,
            rate_micro: terms.rate_micro,
            clip_micro: terms.clip_micro,
            scale: terms.scale,
            rho_nano: terms.rho,
        };
        spec.check()?;
        spec.characters(bundle)?;
        Ok(spec)
    }

    /// Number of parameters.
    pub fn dimension(&self) -> usize {
        self.model.dimension()
    }

    /// Squared L2 sensitivity under zero-out, in lattice units: S².
    pub fn sensitivity_sq(&self) -> u64 {
        self.scale.saturating_mul(self.scale)
    }

    /// What one lattice unit of the sum is worth.
    pub fn unit(&self) -> Result<f64, ProgramError> {
        Ok(self.lattice()?.unit(self.clip()))
    }

    /// The sum of this many contributions fits (`siegel_dp::lattice`); checked before a run is
    /// registered, and again by a worker.
    pub fn check_contributors(&self, contributors: u64) -> Result<(), ProgramError> {
        let fits = self.lattice()?.check_contributors(contributors);
        fits.map_err(|e| ProgramError::invalid(DOCUMENT, e.to_string()))
    }

    fn lattice(&self) -> Result<Lattice, ProgramError> {
        Lattice::new(self.scale, self.dimension())
            .map_err(|e| ProgramError::invalid(DOCUMENT, format!("scale: {e}")))
    }

    fn clip(&self) -> f64 {
        self.clip_micro as f64 / MICRO
    }

    /// The alphabet, if this is a text model; refuses one of another size than the model's.
    fn characters(&self, bundle: &Bundle) -> Result<Option<Alphabet>, ProgramError> {
        let Some(asset) = &self.alphabet else {
            return Ok(None);
        };
        let alphabet = Alphabet::parse(bundle.asset(asset)?)?;
        match &self.model {
            Model::NextChar(model) if model.alphabet == alphabet.symbols() => Ok(Some(alphabet)),
            _ => Err(ProgramError::invalid(
                DOCUMENT,
                "alphabet: not of the model's size",
            )),
        }
    }

    pub(crate) fn check(&self) -> Result<(), ProgramError> {
        let fail = |what: &str| Err(ProgramError::invalid(DOCUMENT, what));
        if self.schema != SCHEMA {
            return Err(ProgramError::Schema {
                document: DOCUMENT,
                expected: SCHEMA,
            });
        }
        if !is_name(&self.column) {
            return fail("column: expected 1 to 64 of a-z, 0-9, -");
        }
        match (&self.model, &self.alphabet) {
            (Model::NextChar(_), Some(asset)) if is_file_name(asset) => {}
            (Model::NextChar(_), _) => return fail("alphabet: expected the name of an asset"),
            (_, Some(_)) => return fail("alphabet: only a text model has one"),
            (_, None) => {}
        }
        let model = |e: siegel_tensor::TensorError| ProgramError::invalid(DOCUMENT, e.to_string());
        self.model.check().map_err(model)?;
        let within = |value: u64, most: u64| (1..=most).contains(&value);
        if !within(self.max_items_per_user.into(), MAX_ITEMS.into()) {
            return fail("max_items_per_user: expected 1 to 65,536");
        }
        if !within(self.epochs.into(), MAX_EPOCHS.into()) {
            return fail("epochs: expected 1 to 64");
        }
        if !within(self.batch.into(), MAX_BATCH.into()) {
            return fail("batch: expected 1 to 4,096");
        }
        if !within(self.rate_micro, 1_000_000_000) || !within(self.clip_micro, 1_000_000_000) {
            return fail("rate and clip: expected more than 0 and at most 1,000");
        }
        if self.work() > MAX_WORK {
            return fail("epochs × items × parameters: more than 2^40");
        }
        if !within(self.rho_nano.0, (1 << 53) - 1) {
            return fail("rho_nano: expected 1 to 2^53 - 1");
        }
        self.lattice().map(drop)
    }

    fn work(&self) -> u64 {
        let items = u64::from(self.max_items_per_user) * u64::from(self.epochs);
        items.saturating_mul(self.dimension() as u64)
    }
}

/// A specification with all that a unit's contribution depends on.
pub struct ClippedSum<'a> {
    spec: &'a ClippedSumSpec,
    lattice: Lattice,
    alphabet: Option<Alphabet>,
    params: Vec<f32>,
    sgd: Sgd,
}

/// Buffers of one thread: client values pass through them, so they are zeroised.
pub(crate) struct Buffers {
    scratch: Scratch,
    update: Vec<f32>,
    placed: Vec<i64>,
}

impl<'a> ClippedSum<'a> {
    /// Joins a specification with its bundle and the broadcast parameters: `f32` little-endian, one
    /// for each parameter of the model.
    pub fn new(
        spec: &'a ClippedSumSpec,
        bundle: &Bundle,
        state: &[u8],
    ) -> Result<Self, ProgramError> {
        let (fours, rest) = state.as_chunks::<4>();
        let (expected, found) = (spec.dimension() * 4, state.len());
        if !rest.is_empty() || found != expected {
            return Err(ProgramError::StateLength { found, expected });
        }
        let params = fours.iter().map(|four| f32::from_le_bytes(*four));
        Ok(Self {
            spec,
            lattice: spec.lattice()?,
            alphabet: spec.characters(bundle)?,
            params: params.collect(),
            sgd: Sgd {
                epochs: spec.epochs,
                batch: spec.batch,
                rate: (spec.rate_micro as f64 / MICRO) as f32,
            },
        })
    }

    /// The specification.
    pub fn spec(&self) -> &'a ClippedSumSpec {
        self.spec
    }

    pub(crate) fn is_text(&self) -> bool {
        self.alphabet.is_some()
    }

    /// Bytes of one item, at most: a character, or a row.
    pub(crate) fn item_bytes(&self) -> usize {
        match &self.spec.model {
            Model::NextChar(_) => 4,
            Model::Classifier(model) => (model.features as usize + 1) * 4,
        }
    }

    pub(crate) fn buffers(&self) -> Buffers {
        Buffers {
            scratch: Scratch::default(),
            update: vec![0.0; self.spec.dimension()],
            placed: vec![0; self.spec.dimension()],
        }
    }

    /// Trains on one unit's text, clips, places, and adds.
    pub(crate) fn add_text(
        &self,
        text: &str,
        buffers: &mut Buffers,
        sums: &mut [i64],
    ) -> Result<(), ProgramError> {
        let Some(alphabet) = &self.alphabet else {
            return Ok(());
        };
        let symbols = alphabet.encode(text, self.spec.max_items_per_user as usize);
        self.add(&Examples::Symbols(&symbols), buffers, sums)
    }

    /// Trains on one unit's rows, clips, places, and adds.
    pub(crate) fn add_rows(
        &self,
        rows: &[f32],
        buffers: &mut Buffers,
        sums: &mut [i64],
    ) -> Result<(), ProgramError> {
        let most = self.item_bytes() / 4 * self.spec.max_items_per_user as usize;
        self.add(
            &Examples::Rows(rows.get(..most).unwrap_or(rows)),
            buffers,
            sums,
        )
    }

    /// Whatever goes wrong inside, the unit contributes zero and nobody is told (I12). A leaf that
    /// returns anything at all is bounded by the clip (I5). Only a sum that does not fit is an error,
    /// and the registration has excluded that.
    fn add(
        &self,
        examples: &Examples<'_>,
        buffers: &mut Buffers,
        sums: &mut [i64],
    ) -> Result<(), ProgramError> {
        let Buffers {
            scratch,
            update,
            placed,
        } = buffers;
        let trained = train(
            &self.spec.model,
            &self.params,
            examples,
            &self.sgd,
            scratch,
            update,
        );
        if trained.is_err() || !self.lattice.place(update, self.spec.clip(), placed) {
            return Ok(());
        }
        for (sum, q) in sums.iter_mut().zip(placed.iter()) {
            *sum = sum.checked_add(*q).ok_or(ProgramError::Overflow)?;
        }
        Ok(())
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        wipe(&mut self.update);
        wipe(&mut self.placed);
    }
}
