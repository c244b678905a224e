//! Which upstream a request is for. Pure.
//!
//! In this order: a prefix (`/NAME` of an upstream, or its own), a path that only one provider has, and for paths that
//! several have (`/v1/models`, `/v1/files`, `/v1/batches`, anything new below `/v1/`) the headers that only one
//! provider's clients send.
use super::path::has_dot_segment;
use crate::config::{Provider, Upstream};
use http::{HeaderMap, Method};

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Route {
    /// Index into the configured upstreams.
    pub upstream: usize,
    /// What that upstream speaks.
    pub provider: Provider,
    /// Bytes at the start of the path that are the gateway's own and not sent up.
    pub prefix: usize,
}

/// Why a request goes nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RouteError {
    /// A dot segment in some spelling.
    #[error("the path has a dot segment")]
    InvalidPath,
    /// No prefix and no provider's path.
    #[error("no upstream has this path")]
    NoRoute,
}

/// The routes of one configuration.
#[derive(Debug)]
pub struct Router {
    /// Longest prefix first, so that `/local/beta` comes before `/local`.
    prefixes: Vec<(String, usize, Provider)>,
    defaults: Vec<(Provider, usize)>,
}

impl Router {
    /// The routes to these upstreams. Without a prefix a provider's requests go to the upstream that has the built-in
    /// name, else to the first that speaks its dialect.
    pub fn new(upstreams: &[Upstream]) -> Self {
        let mut prefixes = vec![];
        for (index, upstream) in upstreams.iter().enumerate() {
            prefixes.push((format!("/{}", upstream.name), index, upstream.provider));
            prefixes.extend(upstream.prefix.clone().map(|prefix| (prefix, index, upstream.provider)));
        }
        prefixes.sort_by_key(|(prefix, ..)| std::cmp::Reverse(prefix.len()));
        let defaults = [Provider::Anthropic, Provider::OpenAi, Provider::Gemini]
            .into_iter()
            .filter_map(|provider| Some((provider, default_upstream(provider, upstreams)?)))
            .collect();
        Self { prefixes, defaults }
    }

    /// The route of a request; `path` without a session prefix, `query` without `?`.
    ///
    /// # Errors
    /// [`RouteError`]
    pub fn route(
        &self,
        method: &Method,
        path: &str,
        query: Option<&str>,
        headers: &HeaderMap,
    ) -> Result<Route, RouteError> {
        if has_dot_segment(path) {
            return Err(RouteError::InvalidPath);
        }
        if let Some(route) = self.by_prefix(path) {
            return Ok(route);
        }
        let provider = by_path(method, path)
            .or_else(|| path.starts_with("/v1/").then(|| by_headers(query, headers)))
            .ok_or(RouteError::NoRoute)?;
        let (_, upstream) = self.defaults.iter().find(|(known, _)| *known == provider).ok_or(RouteError::NoRoute)?;
        Ok(Route { upstream: *upstream, provider, prefix: 0 })
    }

    fn by_prefix(&self, path: &str) -> Option<Route> {
        self.prefixes.iter().find_map(|(prefix, upstream, provider)| {
            let rest = path.strip_prefix(prefix.as_str())?;
            let whole_segment = rest.is_empty() || rest.starts_with('/');
            whole_segment.then_some(Route { upstream: *upstream, provider: *provider, prefix: prefix.len() })
        })
    }
}

fn default_upstream(provider: Provider, upstreams: &[Upstream]) -> Option<usize> {
    let built_in = match provider {
        Provider::Anthropic => "anthropic",
        Provider::OpenAi => "openai",
        Provider::Gemini => "gemini",
    };
    upstreams
        .iter()
        .position(|upstream| upstream.provider == provider && upstream.name == built_in)
        .or_else(|| upstreams.iter().position(|upstream| upstream.provider == provider))
}

/// First segments, behind an optional `v1`, that only one provider has.
const ANTHROPIC_PATHS: [&str; 2] = ["messages", "complete"];
const OPENAI_PATHS: [&str; 8] =
    ["chat", "responses", "conversations", "completions", "embeddings", "images", "audio", "moderations"];
/// Gemini's API versions, and the two folders that stand before them.
const GEMINI_VERSIONS: [&str; 3] = ["v1beta", "v1alpha", "v1internal"];
const GEMINI_FOLDERS: [&str; 2] = ["upload", "download"];

/// Claude Code opens its connection with a HEAD on this path.
const CLAUDE_CODE_HELLO: &str = "/api/hello";

fn by_path(method: &Method, path: &str) -> Option<Provider> {
    let mut segments = path.split('/').skip(1);
    let first = segments.next()?;
    let (version, resource) = match first {
        "v1" => (Some(first), segments.next()?),
        _ if GEMINI_FOLDERS.contains(&first) => (segments.next(), ""),
        _ if GEMINI_VERSIONS.contains(&first) => (Some(first), ""),
        _ => (None, first),
    };
    if version.is_some_and(|version| GEMINI_VERSIONS.contains(&version)) || has_method_suffix(method, path) {
        Some(Provider::Gemini)
    } else if ANTHROPIC_PATHS.contains(&resource) || path == CLAUDE_CODE_HELLO {
        Some(Provider::Anthropic)
    } else if OPENAI_PATHS.contains(&resource) {
        Some(Provider::OpenAi)
    } else {
        None
    }
}

/// Gemini's `/v1/models/X:generateContent`. OpenAI's fine-tuned models have colons in their names too, but nothing is
/// posted to them.
fn has_method_suffix(method: &Method, path: &str) -> bool {
    let Some((before, verb)) = path.rsplit_once(':') else { return false };
    *method == Method::POST
        && before.starts_with("/v1/")
        && !verb.is_empty()
        && verb.bytes().all(|byte| byte.is_ascii_alphabetic())
}

fn by_headers(query: Option<&str>, headers: &HeaderMap) -> Provider {
    let has = |name: &str| headers.contains_key(name);
    let keyed = query.is_some_and(|query| query.split('&').any(|parameter| parameter.starts_with("key=")));
    if has("anthropic-version") || has("anthropic-beta") || has("x-api-key") {
        Provider::Anthropic
    } else if has("x-goog-api-key") || keyed {
        Provider::Gemini
    } else {
        Provider::OpenAi
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::{HeaderName, HeaderValue};
    use std::time::Duration;

    fn upstream(name: &str, provider: Provider, prefix: Option<&str>) -> Upstream {
        Upstream {
            name: name.into(),
            provider,
            base_url: "http://h".parse().unwrap(),
            prefix: prefix.map(Into::into),
            headers: vec![],
            api_key: None,
            connect_timeout: Duration::ZERO,
            idle_timeout: Duration::ZERO,
            cached: true,
        }
    }

    fn router() -> Router {
        Router::new(&[
            upstream("mock", Provider::Anthropic, None),
            upstream("anthropic", Provider::Anthropic, None),
            upstream("openai", Provider::OpenAi, None),
            upstream("gemini", Provider::Gemini, None),
            upstream("local", Provider::OpenAi, Some("/l/o")),
            upstream("lab", Provider::Gemini, Some("/l")),
        ])
    }

    fn route(method: &str, target: &str, header: &str) -> Result<(usize, usize), RouteError> {
        let (path, query) = target.split_once('?').map_or((target, None), |(path, query)| (path, Some(query)));
        let mut headers = HeaderMap::new();
        if !header.is_empty() {
            headers.insert(HeaderName::from_bytes(header.as_bytes()).unwrap(), HeaderValue::from_static("x"));
        }
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        router().route(&method, path, query, &headers).map(|route| (route.upstream, route.prefix))
    }

    #[test]
    fn the_path_or_the_headers_say_which_provider() {
        const ANTHROPIC: usize = 1;
        const OPENAI: usize = 2;
        const GEMINI: usize = 3;
        for (method, target, header, upstream) in [
            ("POST", "/v1/messages?beta=true", "", ANTHROPIC),
            ("POST", "/v1/messages/count_tokens", "authorization", ANTHROPIC),
            ("POST", "/v1/messages/batches", "", ANTHROPIC),
            ("POST", "/messages", "", ANTHROPIC),
            ("HEAD", "/api/hello", "", ANTHROPIC),
            ("POST", "/v1/chat/completions", "x-api-key", OPENAI),
            ("POST", "/chat/completions", "", OPENAI),
            ("GET", "/v1/responses/resp_1", "", OPENAI),
            ("POST", "/responses", "", OPENAI),
            ("POST", "/v1/embeddings", "", OPENAI),
            ("POST", "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", "", GEMINI),
            ("POST", "/v1/models/m:generateContent", "", GEMINI),
            ("POST", "/upload/v1beta/files", "", GEMINI),
            ("GET", "/v1beta/models", "", GEMINI),
            ("GET", "/v1/models", "authorization", OPENAI),
            ("GET", "/v1/models", "", OPENAI),
            ("GET", "/v1/models", "x-api-key", ANTHROPIC),
            ("GET", "/v1/models/x", "anthropic-version", ANTHROPIC),
            ("GET", "/v1/models", "x-goog-api-key", GEMINI),
            ("GET", "/v1/models?key=k", "", GEMINI),
            ("GET", "/v1/models/ft:gpt-4o:acme", "", OPENAI),
            ("POST", "/v1/files", "anthropic-version", ANTHROPIC),
            ("POST", "/v1/files", "authorization", OPENAI),
            ("POST", "/v1/batches", "", OPENAI),
            ("POST", "/v1/something/new", "anthropic-beta", ANTHROPIC),
            ("POST", "/v1/something/new", "", OPENAI),
        ] {
            assert_eq!(route(method, target, header), Ok((upstream, 0)), "{method} {target} {header}");
        }
    }

    #[test]
    fn a_prefix_goes_before_the_path_and_the_longest_wins() {
        for (target, upstream, prefix) in [
            ("/mock/v1/messages", 0, "/mock"),
            ("/openai/v1/messages", 2, "/openai"),
            ("/local/v1/chat/completions", 4, "/local"),
            ("/l/o/v1/chat/completions", 4, "/l/o"),
            ("/l/x", 5, "/l"),
            ("/l/ox", 5, "/l"),
            ("/anthropic", 1, "/anthropic"),
            ("/gemini/", 3, "/gemini"),
        ] {
            assert_eq!(route("POST", target, ""), Ok((upstream, prefix.len())), "{target}");
        }
    }

    #[test]
    fn what_nobody_has_goes_nowhere() {
        for target in ["/", "", "*", "/x", "/mocked/v1/x", "/v2/messages", "/v1", "//v1/messages", "/upload/x", "/api"]
        {
            assert_eq!(route("POST", target, ""), Err(RouteError::NoRoute), "{target}");
        }
        assert_eq!(route("POST", "/mock/../x", ""), Err(RouteError::InvalidPath));
    }
    proptest::proptest! {
        #[test]
        fn a_prefix_always_ends_within_the_path(path in "(/[a-z.%:]{0,6}){0,4}") {
            if let Ok((_, prefix)) = route("POST", &path, "") {
                proptest::prop_assert!(path.get(prefix..).is_some());
            }
        }
    }
}
