mod binder;
mod edit;
mod edit_law;
mod joiner;
mod legs;
mod lower;
mod reader;
mod results;
mod servers;
mod view;
mod writer;

/// Where Messages bodies go.
const PATH: &str = "/v1/messages";
