//! Durations and sizes as people write them.
use std::time::Duration;

/// Units of time in milliseconds, largest first.
const TIME: [(&str, u64); 5] = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

/// Units of size in bytes, largest first.
const SIZE: [(&str, u64); 7] = [
    ("GiB", 1 << 30),
    ("GB", 1_000_000_000),
    ("MiB", 1 << 20),
    ("MB", 1_000_000),
    ("KiB", 1 << 10),
    ("KB", 1_000),
    ("", 1),
];

/// Ten years: far beyond any use, and far from where adding to a clock overflows.
const MAX_MILLIS: u64 = 3_650 * 86_400_000;

/// 1 TiB: beyond the memory of any host that runs a gateway, and a count of permits that every semaphore can hold.
const MAX_BYTES: u64 = 1 << 40;

/// `500ms`, `5s`, `10m`, `2h`, `30d`. `None`: not one of these, zero, or longer than ten years.
pub fn parse_duration(text: &str) -> Option<Duration> {
    in_units(text, &TIME, MAX_MILLIS).map(Duration::from_millis)
}

/// `64MiB`, `10MB`, `512`. `None`: not one of these, zero, or more than 1 TiB.
pub(super) fn parse_size(text: &str) -> Option<usize> {
    in_units(
        text.strip_suffix('B').filter(|t| t.ends_with(|c: char| c.is_ascii_digit())).unwrap_or(text),
        &SIZE,
        MAX_BYTES,
    )
    .and_then(|bytes| usize::try_from(bytes).ok())
}

/// The shortest form that [`parse_duration`] reads as the same, to the millisecond.
pub(super) fn show_duration(duration: Duration) -> String {
    show(u64::try_from(duration.as_millis()).unwrap_or(MAX_MILLIS), &TIME)
}

/// A form that [`parse_size`] reads as the same.
pub(super) fn show_size(bytes: usize) -> String {
    show(bytes as u64, &SIZE)
}

fn in_units(text: &str, units: &[(&str, u64)], max: u64) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor).filter(|total| (1..=max).contains(total))
}

fn show(total: u64, units: &[(&str, u64)]) -> String {
    match units.iter().find(|(_, factor)| total.is_multiple_of(*factor) && total > 0) {
        Some((name, factor)) => format!("{}{name}", total / factor),
        None => total.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, millis) in [
            ("500ms", Some(500)),
            ("5s", Some(5_000)),
            ("10m", Some(600_000)),
            ("2h", Some(7_200_000)),
            ("30d", Some(2_592_000_000)),
            ("5 s", Some(5_000)),
            ("5", None),
            ("0s", None),
            ("-5s", None),
            ("1.5s", None),
            ("s", None),
            ("99999999999999999999s", None),
            ("4000d", None),
        ] {
            assert_eq!(parse_duration(text).map(|d| d.as_millis()), millis, "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("512", Some(512)),
            ("512B", Some(512)),
            ("1KiB", Some(1_024)),
            ("64MiB", Some(64 << 20)),
            ("10MB", Some(10_000_000)),
            ("1GiB", Some(1 << 30)),
            ("64mib", None),
            ("0", None),
            ("", None),
            ("B", None),
            ("9999999999GiB", None),
        ] {
            assert_eq!(parse_size(text), bytes, "{text}");
        }
    }

    proptest::proptest! {
        #[test]
        fn what_is_shown_is_read_as_the_same(n in 1u64..=MAX_BYTES) {
            proptest::prop_assert_eq!(parse_size(&show_size(n as usize)), Some(n as usize));
            let duration = Duration::from_millis(n.min(MAX_MILLIS));
            proptest::prop_assert_eq!(parse_duration(&show_duration(duration)), Some(duration));
        }
    }
}
