//! `listen` and `tls`.
use super::Base;
use crate::config::listeners::{Identity, Listen, Tls};
use crate::config::reader::{At, Reader};
use crate::config::written as from;
use std::path::PathBuf;

/// A relative path starts where all do.
pub(super) fn at(listen: &Listen, base: &Base) -> Listen {
    match listen {
        Listen::Unix(path) => Listen::Unix(base.join(&path.display().to_string())),
        Listen::Tcp(addr) => Listen::Tcp(*addr),
    }
}

/// `None` when the files are no certificate with its key.
pub(super) fn tls(from: &from::Tls, base: &Base, reader: &mut Reader<'_>) -> Option<Tls> {
    let (cert_path, cert) = read(&from.cert, base, reader)?;
    let (key_path, key) = read(&from.key, base, reader)?;
    match Identity::of(&cert, &key) {
        Ok(identity) => Some(Tls { cert: cert_path, key: key_path, identity }),
        Err(what) => {
            let at = if what.starts_with("tls.key") { &from.key } else { &from.cert };
            reader.refuse_at(at, what);
            None
        }
    }
}

fn read(file: &At<String>, base: &Base, reader: &mut Reader<'_>) -> Option<(PathBuf, String)> {
    let path = base.join(&file.value);
    match reader.file(&path) {
        Ok(text) => Some((path, text)),
        Err(error) => {
            reader.refuse_at(file, format!("{}: {error}", path.display()));
            None
        }
    }
}
