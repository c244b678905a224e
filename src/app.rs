//! The only place that sees every room.
