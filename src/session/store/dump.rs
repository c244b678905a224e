//! All that a store holds as JSON lines, to move it from one home to another.
//!
//! ```text
//! {"hookgate_store":1,"format":"1"}
//! {"key":"1/r/s1\u0000t\u0000main","value":"..."}      in the order of the keys; what is no UTF-8 as key_hex, value_hex
//! {"entries":2,"digest":"..."}                          of all keys and values: a file that was cut off or changed is none
//! ```
use super::keys::{FORMAT, FORMAT_KEY};
use super::{Pair, Store, StoreError};
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::io::{self, BufRead, Write};

/// Version of the lines.
const VERSION: u32 = 1;
/// Entries that are read or written at once.
const PAGE: usize = 256;

/// Why something can't be moved.
#[derive(Debug, thiserror::Error)]
pub enum DumpError {
    /// The store.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The file.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Not an export, or not a whole one.
    #[error("line {line}: {what}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What is wrong.
        what: String,
    },
    /// Importing into it would mix two states.
    #[error("the store is not empty: import into an empty one")]
    NotEmpty,
}

/// How much was moved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    /// Keys.
    pub entries: usize,
    /// Of all of them.
    pub digest: String,
}

#[derive(Serialize, Deserialize)]
struct Head {
    hookgate_store: u32,
    format: String,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    key_hex: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    value_hex: Option<String>,
}

/// The digest of what has passed.
#[derive(Default)]
struct Tally {
    entries: usize,
    hasher: blake3::Hasher,
}

impl Tally {
    fn add(&mut self, (key, value): &Pair) {
        self.entries += 1;
        for part in [key.as_slice(), value] {
            self.hasher.update(&(part.len() as u64).to_le_bytes());
            self.hasher.update(part);
        }
    }

    fn sum(&self) -> Sum {
        Sum { entries: self.entries, digest: self.hasher.finalize().to_hex().to_string() }
    }
}

/// Calls `each` with every entry, in the order of the keys.
///
/// # Errors
/// [`DumpError::Store`], and what `each` returns.
pub async fn walk(store: &dyn Store, mut each: impl FnMut(&Pair) -> Result<(), DumpError>) -> Result<Sum, DumpError> {
    let mut tally = Tally::default();
    let mut after = None;
    loop {
        let page = store.scan(b"", after.take(), PAGE).await?;
        for pair in page.iter().filter(|(key, _)| key != FORMAT_KEY) {
            tally.add(pair);
            each(pair)?;
        }
        match page.last() {
            Some((key, _)) if page.len() == PAGE => after = Some(key.clone()),
            _ => return Ok(tally.sum()),
        }
    }
}

/// Writes all that `store` holds. Nobody else may write there meanwhile, or the file is of no one moment.
///
/// # Errors
/// [`DumpError`]
pub async fn export(store: &dyn Store, mut out: impl Write) -> Result<Sum, DumpError> {
    write(&mut out, &Head { hookgate_store: VERSION, format: FORMAT.to_owned() })?;
    let sum = walk(store, |pair| write(&mut out, &line(pair))).await?;
    write(&mut out, &sum)?;
    out.flush()?;
    Ok(sum)
}

/// Reads an export whole, and calls `each` with every entry.
///
/// # Errors
/// [`DumpError::Line`] when it is none or not whole; some entries have been handed out then.
pub fn read(input: impl BufRead, mut each: impl FnMut(Pair) -> Result<(), DumpError>) -> Result<Sum, DumpError> {
    let fault = |line: usize, what: &str| DumpError::Line { line, what: what.to_owned() };
    let mut tally = Tally::default();
    let mut sum: Option<Sum> = None;
    for (number, text) in (1..).zip(input.lines()) {
        let text = text?;
        if number == 1 {
            let head: Head = serde_json::from_str(&text).map_err(|_| fault(1, "this is no export of a store"))?;
            if head.hookgate_store > VERSION || head.format != FORMAT {
                return Err(fault(1, "this is an export of another version of hookgate"));
            }
        } else if sum.is_some() {
            return Err(fault(number, "something follows the end"));
        } else if let Ok(end) = serde_json::from_str(&text) {
            sum = Some(end);
        } else {
            let entry = serde_json::from_str(&text).ok().and_then(pair);
            let entry = entry.ok_or_else(|| fault(number, "this is no entry"))?;
            tally.add(&entry);
            each(entry)?;
        }
    }
    match sum {
        Some(sum) if sum == tally.sum() => Ok(sum),
        Some(_) => Err(fault(tally.entries + 2, "the entries are not those that were exported")),
        None => Err(fault(tally.entries + 2, "the end is missing: the file was cut off")),
    }
}

/// Writes what [`read`] has found whole, in batches.
///
/// # Errors
/// [`DumpError::NotEmpty`] when the store holds something.
pub async fn import(store: &dyn Store, entries: Vec<Pair>) -> Result<(), DumpError> {
    let held = store.scan(b"", None, 2).await?;
    if held.iter().any(|(key, _)| key != FORMAT_KEY) {
        return Err(DumpError::NotEmpty);
    }
    let mut left = entries.into_iter().map(|(key, value)| (key, Some(value))).peekable();
    while left.peek().is_some() {
        store.write(left.by_ref().take(PAGE).collect()).await?;
    }
    Ok(store.flush().await?)
}

fn write(out: &mut impl Write, line: &impl Serialize) -> Result<(), DumpError> {
    serde_json::to_writer(&mut *out, line).map_err(io::Error::from)?;
    Ok(out.write_all(b"\n")?)
}

fn line((key, value): &Pair) -> Line {
    let parts = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(hex(bytes))),
    };
    let ((key, key_hex), (value, value_hex)) = (parts(key), parts(value));
    Line { key, key_hex, value, value_hex }
}

fn pair(line: Line) -> Option<Pair> {
    let bytes = |text: Option<String>, hex: Option<String>| match (text, hex) {
        (Some(text), None) => Some(text.into_bytes()),
        (None, Some(hex)) => unhex(&hex),
        _ => None,
    };
    Some((bytes(line.key, line.key_hex)?, Bytes::from(bytes(line.value, line.value_hex)?)))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut out, byte| {
        // Writing to a string can't fail.
        let _ = write!(out, "{byte:02x}");
        out
    })
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let pairs = text.as_bytes().chunks(2);
    pairs.map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::MemoryStore;
    use super::*;

    async fn full() -> MemoryStore {
        let store = MemoryStore::new();
        let binary: Vec<u8> = (0..=255).collect();
        let mut batch = vec![
            (b"format".to_vec(), Some(Bytes::from_static(b"1"))),
            (b"1/r/s\0t\0main".to_vec(), Some(Bytes::from_static(b"{\"a\":\"\\u00fc\"}"))),
            (b"empty".to_vec(), Some(Bytes::new())),
            (binary.clone(), Some(binary.into())),
        ];
        batch.extend((0..2 * PAGE).map(|n| (format!("n/{n:04}").into_bytes(), Some(Bytes::from(n.to_string())))));
        store.write(batch).await.unwrap();
        store
    }

    fn entries(text: &[u8]) -> Result<Vec<Pair>, DumpError> {
        let mut all = Vec::new();
        read(text, |pair| {
            all.push(pair);
            Ok(())
        })?;
        Ok(all)
    }

    #[tokio::test]
    async fn what_is_exported_is_imported_byte_for_byte() {
        let (from, to) = (full().await, MemoryStore::new());
        let mut text = Vec::new();
        let sum = export(&from, &mut text).await.unwrap();
        assert_eq!(sum.entries, 3 + 2 * PAGE);
        import(&to, entries(&text).unwrap()).await.unwrap();
        assert_eq!(walk(&to, |_| Ok(())).await.unwrap(), sum);
        assert!(matches!(import(&to, Vec::new()).await, Err(DumpError::NotEmpty)));
    }

    #[tokio::test]
    async fn what_is_no_whole_export_is_refused() {
        let mut text = Vec::new();
        export(&full().await, &mut text).await.unwrap();
        let text = String::from_utf8(text).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let without = |gone: usize| {
            let left = lines.iter().enumerate().filter(|(n, _)| *n != gone).map(|(_, line)| format!("{line}\n"));
            left.collect::<String>()
        };
        for (bad, what) in [
            (String::new(), "cut off"),
            (without(0), "no export"),
            (without(3), "not those"),
            (without(lines.len() - 1), "cut off"),
            (text.replace("\"empty\"", "\"other\""), "not those"),
            (text.clone() + "{}\n", "follows the end"),
            (text.replacen("\"format\":\"1\"", "\"format\":\"2\"", 1), "another version"),
            (text.replace("key_hex", "kex"), "no entry"),
        ] {
            let error = entries(bad.as_bytes()).unwrap_err().to_string();
            assert!(error.contains(what), "{error}: {what}");
        }
    }
}
