//! The layout of the keys. Version 1:
//!
//! ```text
//! format                                     "1"; its absence in a store that is not new says that the store is damaged
//! 1/m/secret                                 32 random bytes
//! 1/r/ID <0> TENANT <0> AGENT                the session's record
//! 1/d/ID <0> TENANT <0> AGENT <0> ...        whatever else belongs to the session: conversations, ledger entries
//! 1/p/ID <0> TENANT <0> AGENT <0> EVENT_ID   a stop that was not run yet
//! 1/a/ID <0> TENANT <0> AGENT                the time of the last request, where several gateways share the store
//! 1/k/TENANT <0> ENTRY                       a proposal, or knowledge; an empty tenant is everybody
//! 1/b/ID <0> TENANT <0> AGENT                the session's mailbox
//! ```
//!
//! Ids are printable ASCII, so a zero byte ends them and no id can reach into another's range. The id stands ahead of
//! the tenant, because the admin API finds sessions by id alone; records stand apart from the rest, so that a listing does
//! not read ledgers; and mailboxes apart from both, because all of them are read at start, and there may be some without a
//! record. Another layout gets another first number.
use crate::session::record::{SessionKey, Tenant};

/// The format that this version writes.
pub const FORMAT: &str = "1";
/// Where [`FORMAT`] stands.
pub const FORMAT_KEY: &[u8] = b"format";
/// Where [`super::secret`] stands.
pub const SECRET: &[u8] = b"1/m/secret";
/// All records.
pub const RECORDS: &[u8] = b"1/r/";
/// All pending stops.
pub const PENDING: &[u8] = b"1/p/";
/// All proposals and all knowledge that the store keeps.
pub const KNOWLEDGE: &[u8] = b"1/k/";
/// All last requests.
pub const ACTIVE: &[u8] = b"1/a/";
/// All mailboxes.
pub const MAILBOXES: &[u8] = b"1/b/";
const DATA: &[u8] = b"1/d/";
const END: u8 = 0;

/// Where the record of `key` stands.
pub fn record(key: &SessionKey) -> Vec<u8> {
    session(RECORDS, key)
}

/// The prefix of all records with this session id.
pub fn records_of(id: &str) -> Vec<u8> {
    let mut out = [RECORDS, id.as_bytes()].concat();
    out.push(END);
    out
}

/// The session whose record stands at `key`; `None` if none can.
pub fn session_of(key: &[u8]) -> Option<SessionKey> {
    read(key.strip_prefix(RECORDS)?)
}

/// Where the mailbox of `key` stands.
pub fn mailbox(key: &SessionKey) -> Vec<u8> {
    session(MAILBOXES, key)
}

/// The session whose mailbox stands at `key`; `None` if none can.
pub fn mailbox_of(key: &[u8]) -> Option<SessionKey> {
    read(key.strip_prefix(MAILBOXES)?)
}

fn read(key: &[u8]) -> Option<SessionKey> {
    let text = std::str::from_utf8(key).ok()?;
    let mut parts = text.split(char::from(END)).map(str::to_owned);
    let (id, tenant, agent) = (parts.next()?, parts.next()?, parts.next()?);
    parts.next().is_none().then_some(SessionKey { tenant: Tenant(tenant), id, agent })
}

/// The prefix of everything that belongs to `key` beside its record.
pub fn data(key: &SessionKey) -> Vec<u8> {
    let mut out = session(DATA, key);
    out.push(END);
    out
}

/// What a key of [`data`] is called within its session; `None` if it is none.
pub fn data_name(key: &[u8]) -> Option<&[u8]> {
    let mut parts = key.strip_prefix(DATA)?.splitn(4, |byte| *byte == END);
    parts.nth(3)
}

/// Where a pending stop stands.
pub fn pending(key: &SessionKey, event_id: &str) -> Vec<u8> {
    [&pending_of(key), event_id.as_bytes()].concat()
}

/// The prefix of all pending stops of a session.
pub fn pending_of(key: &SessionKey) -> Vec<u8> {
    let mut out = session(PENDING, key);
    out.push(END);
    out
}

/// Where the time of a session's last request stands.
pub fn active(key: &SessionKey) -> Vec<u8> {
    session(ACTIVE, key)
}

/// Where an entry of knowledge stands; `None`: it is everybody's.
pub fn knowledge(tenant: Option<&Tenant>, id: &str) -> Vec<u8> {
    let tenant = tenant.map_or("", |tenant| &tenant.0);
    [KNOWLEDGE, tenant.as_bytes(), &[END], id.as_bytes()].concat()
}

/// The id of the entry of knowledge that stands at `key`; `None` if none can.
pub fn knowledge_id(key: &[u8]) -> Option<&str> {
    let mut parts = std::str::from_utf8(key.strip_prefix(KNOWLEDGE)?).ok()?.split(char::from(END));
    let (_, id) = (parts.next()?, parts.next()?);
    parts.next().is_none().then_some(id)
}

fn session(space: &[u8], key: &SessionKey) -> Vec<u8> {
    [space, key.id.as_bytes(), &[END], key.tenant.0.as_bytes(), &[END], key.agent.as_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(id: &str, tenant: &str, agent: &str) -> SessionKey {
        SessionKey { tenant: Tenant(tenant.into()), id: id.into(), agent: agent.into() }
    }

    #[test]
    fn a_record_key_reads_back() {
        let k = key("a/b c", "t_1", "main");
        assert_eq!(session_of(&record(&k)), Some(k));
    }

    #[test]
    fn no_id_reaches_into_another_range() {
        assert!(!record(&key("s10", "t", "main")).starts_with(&records_of("s1")));
        assert!(!data(&key("s", "t", "main2")).starts_with(&data(&key("s", "t", "main"))));
    }

    #[test]
    fn an_entry_of_knowledge_has_its_id_in_its_key() {
        for tenant in [None, Some(Tenant("t".into()))] {
            assert_eq!(knowledge_id(&knowledge(tenant.as_ref(), "01J")), Some("01J"));
        }
        assert_eq!(knowledge_id(b"1/b/s\0t"), None);
    }

    #[test]
    fn foreign_keys_are_no_sessions() {
        for bad in [&b"1/r/a"[..], b"1/r/a\0b", b"1/r/a\0b\0c\0d", b"1/d/a\0b\0c", b"1/r/\xff\0b\0c"] {
            assert_eq!(session_of(bad), None, "{bad:?}");
        }
    }
}
