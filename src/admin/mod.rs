//! See the map in lib.rs.
