//! What a measurement hands back, and how it is printed.

use comfy_table::{CellAlignment, Table, presets};
use serde_json::{Map, Value};

use crate::failure::Failure;
use crate::machine::Machine;

/// The result of one measurement.
pub struct Report {
    /// Its key in the JSON object: the name of the subcommand.
    pub name: &'static str,
    /// The figures, in the form that DESIGN fixes for this measurement.
    pub figures: Value,
    /// What was compared with what, and why that is fair.
    pub notes: Vec<String>,
    /// The same figures for people: heads, then rows.
    pub heads: Vec<String>,
    /// One cell per head.
    pub rows: Vec<Vec<String>>,
}

impl Report {
    /// Prints it: one JSON object, or a table with its notes.
    pub fn print(self, machine: &Machine, json: bool) -> Result<(), Failure> {
        if json {
            println!("{}", self.object(machine)?);
        } else {
            self.table(machine);
        }
        Ok(())
    }

    fn object(self, machine: &Machine) -> Result<Value, Failure> {
        let machine_facts = serde_json::to_value(machine)
            .map_err(|why| Failure::failed("json", self.name, why, "report this"))?;
        let mut object = Map::new();
        object.insert(self.name.to_owned(), self.figures);
        object.insert("machine".to_owned(), machine_facts);
        object.insert("notes".to_owned(), self.notes.into());
        object.insert("warnings".to_owned(), machine.warnings().into());
        Ok(Value::Object(object))
    }

    fn table(self, machine: &Machine) {
        let mut table = Table::new();
        table.load_preset(presets::NOTHING).set_header(&self.heads);
        table.add_rows(&self.rows);
        for column in table.column_iter_mut().skip(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        println!("{table}");
        println!();
        println!(
            "{} · {} cores · {} build{}",
            machine.cpu,
            machine.cores,
            machine.profile,
            if machine.built_for_x86_64_v3 {
                ", x86-64-v3"
            } else {
                ""
            }
        );
        for note in &self.notes {
            println!("{note}");
        }
    }
}
