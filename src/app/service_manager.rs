//! What systemd is told of a unit with `Type=notify` or `notify-reload`; nothing where it did not ask (no `NOTIFY_SOCKET`).
use sd_notify::{NotifyState, notify};

/// Both listeners take connections, under the configuration that is in effect.
pub(super) fn ready() {
    tell(&[NotifyState::Ready]);
}

/// Another configuration is being read; [`ready`] follows, whether or not it could be used.
pub(super) fn reloading() {
    // Without the time `notify-reload` could not tell this reload from an earlier one.
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => tracing::warn!(%error, "no monotonic clock: systemd is not told of the reload"),
    }
}

/// It drains.
pub(super) fn stopping() {
    tell(&[NotifyState::Stopping]);
}

fn tell(states: &[NotifyState]) {
    if let Err(error) = notify(states) {
        tracing::warn!(%error, "systemd can't be told");
    }
}
