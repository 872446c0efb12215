//! One call of one driver function, in a fresh module and within bounds.

use siegel_ident::Step;
use siegel_program::{Kind, Released};
use starlark::environment::Module;
use starlark::eval::Evaluator;
use starlark::values::dict::AllocDict;
use starlark::values::{Heap, Value};

use crate::machine::Machine;
use crate::values::{Clients, ReleaseValue};
use crate::{Driver, DriverError, Public, State, intrinsics};

/// Most function calls and loop rounds of one call of the driver.
pub const MAX_TICKS: u64 = 2_000_000;
/// Largest Starlark heap, in bytes. Checked between operations, not at each allocation: one
/// operation such as `"x" * 10**9` can still exceed it.
pub const MAX_HEAP: usize = 64 << 20;
/// Deepest nesting of calls.
pub const MAX_CALL_DEPTH: usize = 64;

impl Driver {
    pub(crate) fn call_init(
        &self,
        public: &Public,
        machine: &Machine<'_>,
    ) -> Result<State, DriverError> {
        self.call(
            "init",
            machine,
            |heap| vec![public_dict(public, heap)],
            State::read,
        )
    }

    pub(crate) fn call_step(
        &self,
        state: &State,
        n: Step,
        machine: &Machine<'_>,
    ) -> Result<State, DriverError> {
        self.call(
            "step",
            machine,
            |heap| step_args(state, n, machine, heap),
            State::read,
        )
    }

    /// Calls `finish` or `snapshot`.
    pub(crate) fn call_release(
        &self,
        function: &'static str,
        state: &State,
        machine: &Machine<'_>,
    ) -> Result<Released, DriverError> {
        let read = |value: Value<'_>| {
            if Clients::from_value(value).is_some() {
                let (kind, attempt) = (Kind::Client, "a release");
                return Err(DriverError::Kind {
                    kind,
                    attempt,
                    line: None,
                });
            }
            let released = ReleaseValue::from_value(value).and_then(|v| v.released.as_deref());
            released.cloned().ok_or_else(|| {
                let what = format!("{function}() must return a table() or tensors()");
                DriverError::Form { line: None, what }
            })
        };
        self.call(
            function,
            machine,
            |heap| vec![state.alloc(heap, &machine.wire)],
            read,
        )
    }

    /// Evaluates the text anew (module variables carry nothing from call to call) and calls one
    /// function. `read` looks at the result before its heap goes.
    fn call<R>(
        &self,
        function: &'static str,
        machine: &Machine<'_>,
        args: impl for<'v> FnOnce(Heap<'v>) -> Vec<Value<'v>>,
        read: impl for<'v> FnOnce(Value<'v>) -> Result<R, DriverError>,
    ) -> Result<R, DriverError> {
        Module::with_temp_heap(|module| {
            let mut eval = Evaluator::new(&module);
            eval.extra = Some(machine);
            let failed = |e: &starlark::Error| {
                let error = DriverError::from_starlark(function, e, machine.dry);
                machine.take_fault(error.line()).unwrap_or(error)
            };
            let limit = |e: starlark::Error| failed(&e);
            bounds(&mut eval).map_err(limit)?;
            eval.eval_module(self.ast.clone(), &intrinsics::globals())
                .map_err(|e| failed(&e))?;
            let callee = module.get(function).ok_or_else(|| DriverError::Form {
                line: None,
                what: format!("no function {function}(); expected init, step and finish"),
            })?;
            let args = args(module.heap());
            let result = eval
                .eval_function(callee, &args, &[])
                .map_err(|e| failed(&e))?;
            let read = read(result);
            // A wire may have tripped without an error; then the result counts for nothing.
            machine.take_fault(None).map_or(read, Err)
        })
    }
}

fn bounds(eval: &mut Evaluator<'_, '_, '_>) -> starlark::Result<()> {
    let set = [
        eval.set_max_tick_count(MAX_TICKS),
        eval.set_max_heap_size(MAX_HEAP),
        eval.set_max_callstack_size(MAX_CALL_DEPTH),
    ];
    set.into_iter()
        .collect::<Result<(), _>>()
        .map_err(starlark::Error::new_other)
}

fn step_args<'v>(state: &State, n: Step, machine: &Machine<'_>, heap: Heap<'v>) -> Vec<Value<'v>> {
    let clients = heap.alloc(Clients {
        wire: machine.wire.clone(),
    });
    vec![state.alloc(heap, &machine.wire), heap.alloc(n.0), clients]
}

fn public_dict<'v>(public: &Public, heap: Heap<'v>) -> Value<'v> {
    let params = public
        .params
        .iter()
        .map(|(name, value)| (name.as_str(), heap.alloc(*value)));
    let params = heap.alloc(AllocDict(params));
    heap.alloc(AllocDict([
        ("blobs", heap.alloc(public.blob_count)),
        ("rounds", heap.alloc(public.rounds())),
        ("params", params),
    ]))
}
