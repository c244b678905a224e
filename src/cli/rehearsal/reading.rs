//! A body in neutral words, whatever its dialect.
use crate::context::{AnswerForm, RequestView};
use crate::dialect::{self, DialectId, NeutralRequest, NoCache, Reading};
use crate::json::Doc;
use crate::sse::Framer;
use bytes::Bytes;
use http::Method;

/// What was read of a request.
pub(in crate::cli) struct Seen {
    /// Whose words they are.
    pub(in crate::cli) dialect: DialectId,
    /// Its parts.
    pub(in crate::cli) view: RequestView,
    /// Its words.
    pub(in crate::cli) request: NeutralRequest,
    /// Whether the instructions carry a cache marker.
    pub(in crate::cli) is_system_marked: bool,
}

/// Where a cache marker stands.
const MARKER: &str = "cache_control";

impl Seen {
    /// Reads the body of a request to `path`; `None` when it is none that hookgate looks into.
    pub(in crate::cli) fn of(path: &str, body: &Bytes) -> Option<Self> {
        let (path, query) = path.split_once('?').map_or((path, None), |(path, query)| (path, Some(query)));
        let endpoint = dialect::endpoint(&Method::POST, path, query)?;
        let dialect = dialect::of(endpoint.dialect);
        let doc = Doc::parse(body.clone()).ok()?;
        let view = dialect.view(&doc, &endpoint, &Reading { is_reminder: &|_| false, cache: &NoCache }).ok()?;
        let request = dialect.neutral(&doc, &view);
        let is_system_marked = doc.get("system").is_some_and(|system| doc.text(system.value).contains(MARKER));
        Some(Self { dialect: endpoint.dialect, view, request, is_system_marked })
    }

    /// The names of the tools.
    pub(in crate::cli) fn tools(&self) -> Vec<String> {
        self.request.tools.iter().map(|tool| tool.name.clone()).collect()
    }
}

/// The words of an answer to this request; of an error none.
pub(in crate::cli) fn words(dialect: DialectId, form: AnswerForm, body: &[u8]) -> String {
    let mut reader = dialect::of(dialect).reader(form);
    match form {
        AnswerForm::Sse => {
            let mut framer = Framer::new();
            framer.push(body, |frame| reader.event(frame.event, &frame.data));
            framer.finish(|frame| reader.event(frame.event, &frame.data));
        }
        AnswerForm::JsonArray => {
            let mut framer = crate::json::array_stream::ArrayFramer::new();
            framer.push(body, |element| reader.event(None, element));
            framer.finish(|element| reader.event(None, element));
        }
        AnswerForm::Json => reader.body(body),
    }
    reader.finish().text
}
