//! Whether every entry of a store can be read, and is what it should be.
use crate::bus;
use crate::knowledge;
use crate::session::conversation::Conversation;
use crate::session::conversations::{Kind, NodeOwner, kind};
use crate::session::ledger;
use crate::session::record::SessionRecord;
use crate::session::store::dump::{self, DumpError, Sum};
use crate::session::store::{SECRET_LEN, Store, keys};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fmt;

/// Findings that are listed; all are counted.
const LISTED: usize = 100;

/// What was found.
pub(super) struct Verified {
    sum: Sum,
    counts: BTreeMap<&'static str, usize>,
    findings: usize,
    listed: Vec<String>,
    /// The export that it should be.
    expected: Option<Sum>,
}

/// Reads everything.
pub(super) async fn verify(store: &dyn Store, expected: Option<&Sum>) -> Result<Verified, DumpError> {
    let (mut counts, mut findings, mut listed) = (BTreeMap::new(), 0, Vec::new());
    let sum = dump::walk(store, |(key, value)| {
        let (name, fault) = look(key, value);
        *counts.entry(name).or_default() += 1;
        if let Some(fault) = fault {
            findings += 1;
            if listed.len() < LISTED {
                listed.push(format!("{}: {fault}", String::from_utf8_lossy(key).replace('\0', "/").escape_debug()));
            }
        }
        Ok(())
    });
    let sum = sum.await?;
    Ok(Verified { sum, counts, findings, listed, expected: expected.cloned() })
}

/// What an entry is, and what is wrong with it.
fn look(key: &[u8], value: &[u8]) -> (&'static str, Option<String>) {
    match key {
        _ if key.starts_with(keys::RECORDS) => {
            let wrong_place = |record: SessionRecord| keys::record(&record.key) != key;
            let fault = match SessionRecord::decode(value) {
                Ok(record) => wrong_place(record).then(|| "another session's record".to_owned()),
                Err(error) => Some(error.to_string()),
            };
            ("sessions", fault)
        }
        _ if key.starts_with(keys::MAILBOXES) => ("mailboxes", bus::unreadable(value)),
        _ if key.starts_with(keys::KNOWLEDGE) => ("knowledge", unreadable::<knowledge::Entry>(value)),
        _ if key.starts_with(keys::PENDING) => {
            let json = value.iter().position(|byte| *byte == b'{').unwrap_or_default();
            ("pending stops", unreadable::<Value>(&value[json..]))
        }
        _ if key.starts_with(keys::ACTIVE) => ("last requests", unreadable::<i64>(value)),
        keys::SECRET => ("secret", (value.len() != SECRET_LEN).then(|| "it has a wrong length".to_owned())),
        _ => match kind(key) {
            Some(Kind::Conversation) => ("conversations", unreadable::<Conversation>(value)),
            Some(Kind::Ledger) => ("ledger entries", unreadable::<ledger::Entry>(value)),
            Some(Kind::Node) => ("nodes", unreadable::<NodeOwner>(value)),
            Some(Kind::Place | Kind::Successor) => ("other", None),
            None => ("other", Some("this version knows no such key".to_owned())),
        },
    }
}

fn unreadable<T: DeserializeOwned>(value: &[u8]) -> Option<String> {
    serde_json::from_slice::<T>(value).err().map(|error| error.to_string())
}

impl Verified {
    fn is_as_expected(&self) -> bool {
        self.expected.as_ref().is_none_or(|expected| *expected == self.sum)
    }

    pub(super) fn is_fine(&self) -> bool {
        self.findings == 0 && self.is_as_expected()
    }

    pub(super) fn json(&self) -> Value {
        json!({
            "ok": self.is_fine(),
            "entries": self.sum.entries,
            "digest": self.sum.digest,
            "counts": self.counts,
            "findings": self.findings,
            "listed": self.listed,
            "as_exported": self.expected.as_ref().map(|_| self.is_as_expected()),
        })
    }
}

impl fmt::Display for Verified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in &self.listed {
            writeln!(f, "{line}")?;
        }
        if self.findings > self.listed.len() {
            writeln!(f, "... {} more", self.findings - self.listed.len())?;
        }
        for (name, count) in &self.counts {
            writeln!(f, "{count:>8}  {name}")?;
        }
        write!(f, "{:>8}  entries, digest {}", self.sum.entries, self.sum.digest)?;
        match self.expected {
            Some(_) if self.is_as_expected() => write!(f, "\nexactly what was exported"),
            Some(_) => write!(f, "\nNOT what was exported"),
            None => Ok(()),
        }
    }
}
