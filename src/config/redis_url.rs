//! Where a Redis or Valkey server is, or the nodes of a cluster.
//!
//! ```text
//! redis://[USER][:PASSWORD@]HOST[:PORT][/DB]           rediss:// the same with TLS
//! redis+cluster://[USER][:PASSWORD@]HOST[:PORT],...    rediss+cluster:// the same with TLS
//! ```
use std::fmt;

/// What stands for a password.
const MASK: &str = "***";
/// What a cluster's scheme ends with.
const CLUSTER: &str = "+cluster";

/// A checked URL. It never prints its password.
#[derive(Clone, PartialEq, Eq)]
pub struct RedisUrl {
    /// `redis` or `rediss`.
    scheme: String,
    is_cluster: bool,
    user: String,
    password: Option<String>,
    hosts: Vec<String>,
    db: Option<u32>,
}

impl RedisUrl {
    /// Reads a URL; `None` if it is none.
    pub fn parse(text: &str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        let (scheme, is_cluster) = scheme.strip_suffix(CLUSTER).map_or((scheme, false), |scheme| (scheme, true));
        if !matches!(scheme, "redis" | "rediss") || rest.contains(['?', '#']) || rest.contains(char::is_whitespace) {
            return None;
        }
        let (login, place) = rest.rsplit_once('@').unwrap_or(("", rest));
        let (user, password) =
            login.split_once(':').map_or((login, None), |(user, word)| (user, Some(word.to_owned())));
        let (hosts, db) = place.split_once('/').unwrap_or((place, ""));
        let hosts: Vec<String> = hosts.split(',').map(str::to_owned).collect();
        let db = if db.is_empty() { None } else { Some(db.parse().ok()?) };
        // A cluster has one database.
        if hosts.iter().any(|host| !is_host(host)) || (hosts.len() > 1 && !is_cluster) || (is_cluster && db.is_some()) {
            return None;
        }
        Some(Self { scheme: scheme.to_owned(), is_cluster, user: user.to_owned(), password, hosts, db })
    }

    /// Whether it names nodes of a cluster.
    pub fn is_cluster(&self) -> bool {
        self.is_cluster
    }

    /// One URL for each node, passwords included.
    pub fn nodes(&self) -> Vec<String> {
        let login = self.login(self.password.as_deref());
        let db = self.db.map(|db| format!("/{db}")).unwrap_or_default();
        self.hosts.iter().map(|host| format!("{}://{login}{host}{db}", self.scheme)).collect()
    }

    /// As written, but for the password.
    pub fn masked(&self) -> String {
        let cluster = if self.is_cluster { CLUSTER } else { "" };
        let login = self.login(self.password.as_ref().map(|_| MASK));
        let db = self.db.map(|db| format!("/{db}")).unwrap_or_default();
        format!("{}{cluster}://{login}{}{db}", self.scheme, self.hosts.join(","))
    }

    fn login(&self, password: Option<&str>) -> String {
        match password {
            Some(password) => format!("{}:{password}@", self.user),
            None if self.user.is_empty() => String::new(),
            None => format!("{}@", self.user),
        }
    }
}

impl fmt::Debug for RedisUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.masked())
    }
}

fn is_host(text: &str) -> bool {
    let authority = text.parse::<http::uri::Authority>();
    authority.is_ok_and(|authority| {
        let port = text.len() == authority.host().len() || authority.port_u16().is_some();
        !authority.host().is_empty() && port
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_nodes_and_hides_its_password() {
        for (text, nodes, masked) in [
            ("redis://h", vec!["redis://h"], "redis://h"),
            ("rediss://h:1/3", vec!["rediss://h:1/3"], "rediss://h:1/3"),
            ("redis://:p@h", vec!["redis://:p@h"], "redis://:***@h"),
            ("redis://u:p%40@[::1]:2", vec!["redis://u:p%40@[::1]:2"], "redis://u:***@[::1]:2"),
            (
                "rediss+cluster://u:p@a:1,b:2",
                vec!["rediss://u:p@a:1", "rediss://u:p@b:2"],
                "rediss+cluster://u:***@a:1,b:2",
            ),
        ] {
            let url = RedisUrl::parse(text).expect(text);
            assert_eq!(url.nodes(), nodes);
            assert_eq!((url.masked().as_str(), format!("{url:?}").as_str()), (masked, masked));
            assert_eq!(url.is_cluster(), text.contains("+cluster"));
        }
    }

    #[test]
    fn what_is_none_is_refused() {
        for text in [
            "",
            "h",
            "http://h",
            "redis://",
            "redis://h:x",
            "redis://h/x",
            "redis://h?a=b",
            "redis://a,b",
            "redis://h:",
            "redis+cluster://a,",
            "redis+cluster://a/1",
            "redis://a b",
            "redis+unix:///x",
        ] {
            assert_eq!(RedisUrl::parse(text), None, "{text}");
        }
    }
}
