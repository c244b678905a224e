//! Several HTTP clients for one upstream.
//!
//! HTTP/2 puts all requests to a host on one connection, and a server need not allow more than 100 streams on it (RFC
//! 9113, section 6.5.2). A further request would wait, with streamed answers for minutes, until another session's is
//! over. So an upstream has lanes, each with connections of its own, and a lane is used when those before it are full.
//! With HTTP/1.1 this changes nothing but which pool keeps a connection.
use super::connect::{self, Client, Tls};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Requests in flight on one lane: what every HTTP/2 server is advised to allow.
const LANE_SIZE: usize = 100;

/// Enough for the default of `limits.concurrent_requests` (4096), and more; beyond, lanes are shared evenly.
const LANES: usize = 64;

/// The lanes of one upstream.
#[derive(Debug)]
pub(super) struct Lanes(Vec<Lane>);

#[derive(Debug)]
struct Lane {
    client: Client,
    in_flight: Arc<AtomicUsize>,
}

/// A request's place on its lane; to be kept until the answer's last byte.
#[derive(Debug)]
pub struct LanePlace(Arc<AtomicUsize>);

impl Drop for LanePlace {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Lanes {
    pub(super) fn new(tls: &Tls, connect_timeout: Duration) -> Self {
        let connector = connect::connector(tls, connect_timeout);
        let lane = |_| Lane { client: connect::client(connector.clone()), in_flight: Arc::default() };
        Self((0..LANES).map(lane).collect())
    }

    /// The first lane with room, else the emptiest. Two requests that choose at once may overfill a lane by one; that is
    /// a short wait at worst.
    pub(super) fn enter(&self) -> Option<(&Client, LanePlace)> {
        let load = |lane: &&Lane| lane.in_flight.load(Ordering::Relaxed);
        let lane = self.0.iter().find(|lane| load(lane) < LANE_SIZE).or_else(|| self.0.iter().min_by_key(load))?;
        lane.in_flight.fetch_add(1, Ordering::Relaxed);
        Some((&lane.client, LanePlace(Arc::clone(&lane.in_flight))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_lane_is_used_when_those_before_it_are_full() {
        let lanes = Lanes::new(&Tls::new().unwrap(), Duration::from_secs(1));
        let loads = || -> Vec<usize> { lanes.0.iter().map(|lane| lane.in_flight.load(Ordering::Relaxed)).collect() };
        let mut places: Vec<LanePlace> = (0..LANE_SIZE + 2).filter_map(|_| Some(lanes.enter()?.1)).collect();
        assert_eq!(loads()[..3], [LANE_SIZE, 2, 0]);
        places.swap_remove(0);
        places.extend(lanes.enter().map(|(_, place)| place));
        assert_eq!(loads()[..3], [LANE_SIZE, 2, 0]);
        places.extend((0..LANE_SIZE * LANES).filter_map(|_| Some(lanes.enter()?.1)));
        assert!(loads().iter().all(|load| *load > LANE_SIZE));
        drop(places);
        assert!(loads().iter().all(|load| *load == 0));
    }
}
