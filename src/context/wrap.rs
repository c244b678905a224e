//! See context/mod.rs.
