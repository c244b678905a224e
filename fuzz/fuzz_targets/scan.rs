//! A body is accepted exactly when serde_json accepts it, but for the documented differences.
#![no_main]
use bytes::Bytes;
use hookgate::json::{Doc, ScanError, raw};
use libfuzzer_sys::fuzz_target;
use serde_json::value::RawValue;

fuzz_target!(|body: &[u8]| {
    let theirs = serde_json::from_slice::<&RawValue>(body);
    match Doc::parse(Bytes::copy_from_slice(body)) {
        Ok(doc) => {
            assert!(theirs.is_ok());
            for member in doc.members() {
                let value = doc.text(member.value);
                assert_eq!(raw::kind(value), Some(member.kind));
                assert_eq!(raw::array(value).unwrap_or_default().len(), member.elements.len());
                let _ = (raw::object(value), raw::string(value), raw::pointer(value, "/0/a"));
            }
        }
        Err(ScanError::NotUtf8 { .. } | ScanError::NotJson { .. }) => assert!(theirs.is_err()),
        Err(_) => {}
    }
});
