//! The PROXY protocol, versions 1 and 2: a proxy says whom it connects for, ahead of the connection's own bytes.
use bytes::{Buf as _, BytesMut};
use ppp::{HeaderResult, PartialResult as _, v1, v2};
use std::net::IpAddr;

/// Longest header that is waited for, in bytes. Version 1 has at most 107, version 2 with all that proxies add some hundred.
const MAX: usize = 2048;

/// How version 1 begins and ends, and its longest line.
const V1: &[u8] = b"PROXY ";
const LINE_END: &[u8] = b"\r\n";
const MAX_LINE: usize = 107;
/// How version 2 begins.
const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";

/// What is known of a header.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Said {
    /// All of it, and it is taken off. `None`: the proxy speaks for itself (a health check), or knows no address.
    Client(Option<IpAddr>),
    /// Not all of it is here.
    More,
    /// It is none.
    Nothing,
}

/// Takes the header off the front of `bytes`.
pub(super) fn take(bytes: &mut BytesMut) -> Said {
    if is_begun(bytes) {
        return Said::More;
    }
    let parsed = HeaderResult::parse(bytes);
    if parsed.is_incomplete() {
        return if bytes.len() < MAX { Said::More } else { Said::Nothing };
    }
    let (length, client) = match parsed {
        HeaderResult::V1(Ok(header)) => {
            let end = header.header.strip_suffix("\r\n").unwrap_or(&header.header).len() + LINE_END.len();
            (end, of_v1(&header.addresses))
        }
        HeaderResult::V2(Ok(header)) => (header.len(), of_v2(&header)),
        _ => return Said::Nothing,
    };
    if length > bytes.len() {
        return Said::More;
    }
    bytes.advance(length);
    Said::Client(client.map(|client| client.to_canonical()))
}

/// Whether more has to come before the parser can tell anything: it takes a part of a line for a wrong one.
fn is_begun(bytes: &[u8]) -> bool {
    let line_is_open =
        bytes.starts_with(V1) && bytes.len() < MAX_LINE && memchr::memmem::find(bytes, LINE_END).is_none();
    V1.starts_with(bytes) || V2.starts_with(bytes) || line_is_open
}

fn of_v1(addresses: &v1::Addresses) -> Option<IpAddr> {
    match addresses {
        v1::Addresses::Tcp4(tcp) => Some(tcp.source_address.into()),
        v1::Addresses::Tcp6(tcp) => Some(tcp.source_address.into()),
        v1::Addresses::Unknown => None,
    }
}

fn of_v2(header: &v2::Header<'_>) -> Option<IpAddr> {
    match header.addresses {
        _ if header.command == v2::Command::Local => None,
        v2::Addresses::IPv4(ip) => Some(ip.source_address.into()),
        v2::Addresses::IPv6(ip) => Some(ip.source_address.into()),
        v2::Addresses::Unspecified | v2::Addresses::Unix(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const V2_TCP: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x0a\0\0\x01\x7f\0\0\x01\x10\x00\x20\x00";
    const V2_LOCAL: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0";

    #[test]
    fn a_header_is_taken_off_once_it_is_whole_and_nothing_behind_it() {
        let table: [(&[u8], Option<&str>); 5] = [
            (b"PROXY TCP4 10.0.0.1 127.0.0.1 4096 8192\r\n", Some("10.0.0.1")),
            (b"PROXY TCP6 2001:db8::1 ::1 4096 8192\r\n", Some("2001:db8::1")),
            (b"PROXY UNKNOWN\r\n", None),
            (V2_TCP, Some("10.0.0.1")),
            (V2_LOCAL, None),
        ];
        for (header, client) in table {
            for cut in 1..header.len() {
                assert_eq!(take(&mut BytesMut::from(&header[..cut])), Said::More, "{header:?} {cut}");
            }
            let mut bytes = BytesMut::from(&[header, b"GET / HTTP/1.1\r\n"].concat()[..]);
            assert_eq!(take(&mut bytes), Said::Client(client.map(|client| client.parse().unwrap())), "{header:?}");
            assert_eq!(&bytes[..], b"GET / HTTP/1.1\r\n");
        }
    }

    #[test]
    fn what_is_no_header_is_told_at_once() {
        for text in ["GET / HTTP/1.1\r\n", "PROXY TCP4 here there 1 2\r\n", "\r\n\r\nX", "\u{16}\u{3}\u{1}"] {
            assert_eq!(take(&mut BytesMut::from(text)), Said::Nothing, "{text:?}");
        }
        let mut endless = BytesMut::from("PROXY ");
        endless.resize(MAX, b' ');
        assert_eq!(take(&mut endless), Said::Nothing);
    }
}
