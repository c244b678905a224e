//! What the store costs a request: a gateway on Redis beside one in memory, in turn.
use crate::replica::{Pair, Replica};
use crate::server::Server;
use serde_json::json;
use std::time::{Duration, Instant};

const REQUESTS: usize = 400;
/// What the first ones build up (connections, caches) is not the store's.
const WARM: usize = 50;

#[tokio::test(flavor = "multi_thread")]
#[ignore = "a measurement"]
async fn redis_adds_at_most_a_millisecond_at_the_median() {
    let Some(server) = Server::start("redis_adds_at_most_a_millisecond_at_the_median").await else { return };
    let redis = format!("store: {{ kind: redis, url: '{}' }}\n", server.url());
    let on_redis = Pair::with(server, &redis, "").await;
    let yaml = std::fs::read_to_string(&on_redis.config).unwrap();
    let medians = |kind: &str| {
        let config = on_redis.config.with_file_name(format!("{kind}.yaml"));
        std::fs::write(&config, yaml.replace(&redis, &format!("store: {{ kind: {kind} }}\n"))).unwrap();
        Replica::start(&config)
    };
    let (memory, sled) = (medians("memory"), medians("sled"));
    let mut times: [Vec<Duration>; 3] = Default::default();
    for n in 0..REQUESTS {
        let history = [json!({"role": "user", "content": format!("p{n}")})];
        for (times, replica) in times.iter_mut().zip([&memory, &sled, &on_redis.replicas[n % 2]]) {
            let begun = Instant::now();
            assert_eq!(replica.ask(&format!("s{n}"), &history).await.0, 200);
            if n >= WARM {
                times.push(begun.elapsed());
            }
        }
    }
    let [memory, sled, redis] = times.map(|mut times| {
        times.sort_unstable();
        times[times.len() / 2]
    });
    println!("p50 of a session's first turn: memory {memory:?}, sled {sled:?}, redis {redis:?}");
    assert!(redis.saturating_sub(memory) <= Duration::from_millis(1));
}
