mod binder;
mod edit;
mod edit_law;
mod joiner;
mod legs;
mod lower;
mod reader;
mod restore;
mod results;
mod servers;
mod view;
mod writer;

/// Where generateContent bodies go.
const PATH: &str = "/v1beta/models/gemini-3:generateContent";
