//! The metrics recorder, and its text for Prometheus.
use super::names;
use metrics_exporter_prometheus::{BuildError, Matcher, PrometheusBuilder, PrometheusHandle};
use std::sync::OnceLock;

/// Bounds of latency histograms in seconds: from a local upstream's answer to a long reasoning pause.
const SECONDS: [f64; 10] = [0.005, 0.025, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0, 60.0, 300.0];

/// Bounds for what is quick unless something is wrong: a rule without code takes microseconds, a disk milliseconds.
const SHORT_SECONDS: [f64; 12] = [5e-5, 1e-4, 2.5e-4, 5e-4, 1e-3, 2.5e-3, 5e-3, 0.025, 0.1, 0.5, 2.5, 10.0];
/// What they are for.
const SHORT: [&str; 3] = [names::OVERHEAD_SECONDS, names::HOOK_SECONDS, names::STORE_SECONDS];

/// One recorder per process: the `metrics` facade has a single global one.
static HANDLE: OnceLock<Option<PrometheusHandle>> = OnceLock::new();

/// Reads the process's metrics.
#[derive(Debug, Clone)]
pub struct Exporter(Option<PrometheusHandle>);

/// Installs the recorder at the first call; every call returns the same exporter. When somebody else has installed a
/// recorder before, that is logged and the exporter stays empty: metrics never stop a gateway.
pub fn install() -> Exporter {
    Exporter(HANDLE.get_or_init(try_install).clone())
}

fn try_install() -> Option<PrometheusHandle> {
    let installed = builder()
        .and_then(PrometheusBuilder::install_recorder)
        .inspect_err(|error| tracing::warn!(%error, "no metrics"))
        .ok();
    if installed.is_some() {
        names::describe();
    }
    installed
}

fn builder() -> Result<PrometheusBuilder, BuildError> {
    let builder = PrometheusBuilder::new().set_buckets(&SECONDS)?;
    let short = |builder: PrometheusBuilder, name: &&str| {
        builder.set_buckets_for_metric(Matcher::Full((*name).to_owned()), &SHORT_SECONDS)
    };
    SHORT.iter().try_fold(builder, short)
}

impl Exporter {
    /// The metrics in the Prometheus text format.
    pub fn render(&self) -> String {
        self.0.as_ref().map(PrometheusHandle::render).unwrap_or_default()
    }

    /// Empties histogram buffers into their buckets: to be called now and then, else they grow while nobody scrapes.
    pub fn upkeep(&self) {
        if let Some(handle) = &self.0 {
            handle.run_upkeep();
        }
    }
}
