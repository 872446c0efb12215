//! Measurements of synthetic images against public digests and second calculations; hostile images; the command.

mod command;
mod hostile;
mod image;
mod kernel;
mod second_opinion;
mod snp;
mod tdx;
