//! A log in which every event is one line: what clients, hooks and file names say can't look like an event of its own.
use std::io::{self, Write};

/// Writes each call's bytes as one line.
#[derive(Debug)]
pub(super) struct OneLine<W>(pub(super) W);

impl<W: Write> Write for OneLine<W> {
    /// `event`: all of one event, as the formatter hands it over.
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        let breaks = |byte: &u8| matches!(byte, b'\n' | b'\r');
        let line = event.strip_suffix(b"\n").unwrap_or(event);
        if line.iter().any(breaks) {
            let mut escaped = Vec::with_capacity(event.len() + 1);
            for byte in line {
                match byte {
                    b'\n' => escaped.extend_from_slice(b"\\n"),
                    b'\r' => escaped.extend_from_slice(b"\\r"),
                    byte => escaped.push(*byte),
                }
            }
            escaped.extend_from_slice(event.get(line.len()..).unwrap_or_default());
            self.0.write_all(&escaped)?;
        } else {
            self.0.write_all(event)?;
        }
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_one_line_whatever_is_said_in_it() {
        for (event, line) in [
            ("INFO a\n", "INFO a\n"),
            ("INFO file=x\nINFO forged\r\n\n", "INFO file=x\\nINFO forged\\r\\n\n"),
            ("INFO cut", "INFO cut"),
            ("", ""),
        ] {
            let mut written = Vec::new();
            OneLine(&mut written).write_all(event.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), line);
        }
    }
}
