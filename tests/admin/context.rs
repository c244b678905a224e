//! Persistent context by hand.
use crate::rig::{QUIET, Rig};

const SLOT: &str = "/v1/sessions/s1/agents/main/context/notes";

#[tokio::test]
async fn what_is_set_is_in_the_next_request() {
    let rig = Rig::start(QUIET).await;
    rig.say("s1", "main", "k", "Hi").await;
    assert!(!rig.received().contains("Use tabs."));
    let (status, session) = rig.admin("PUT", SLOT, r#"{"text":"Use tabs."}"#).await;
    assert_eq!(status, 200);
    assert_eq!(session["slots"]["notes"]["text"], "Use tabs.");
    assert_eq!(session["slots"]["notes"]["by"], "admin");

    rig.say("s1", "main", "k", "And now?").await;
    assert!(rig.received().contains("Use tabs."), "{}", rig.received());
    rig.say("s1", "qa", "k", "Hi").await;
    assert!(!rig.received().contains("Use tabs."), "another agent's is its own");
}

#[tokio::test]
async fn what_is_cleared_is_gone() {
    let rig = Rig::start(QUIET).await;
    rig.say("s1", "main", "k", "Hi").await;
    rig.admin("PUT", SLOT, r#"{"text":"Use tabs."}"#).await;
    assert_eq!(rig.admin("DELETE", SLOT, "").await.0, 204);
    assert_eq!(rig.refused("DELETE", SLOT, "").await, (404, "no_slot".into()));
    rig.say("s1", "main", "k", "And now?").await;
    assert!(!rig.received().contains("Use tabs."));
}

#[tokio::test]
async fn slots_are_bounded() {
    let rig = Rig::start(QUIET).await;
    rig.say("s1", "main", "k", "Hi").await;
    let put = async |n: usize| rig.refused("PUT", &format!("{SLOT}{n}"), r#"{"text":"x"}"#).await;
    for n in 0..64 {
        assert_eq!(put(n).await.0, 200);
    }
    assert_eq!(put(64).await, (409, "too_many_slots".into()));
    assert_eq!(put(63).await.0, 200, "one that is there may change");
}

#[tokio::test]
async fn a_session_is_not_made_by_hand() {
    let rig = Rig::start(QUIET).await;
    assert_eq!(rig.refused("PUT", SLOT, r#"{"text":"x"}"#).await, (404, "no_session".into()));
    rig.say("s1", "main", "k", "Hi").await;
    let other = "/v1/sessions/s1/agents/qa/context/notes";
    assert_eq!(rig.refused("PUT", other, r#"{"text":"x"}"#).await, (404, "no_session".into()));
}
