//! `hookgate mcp`: an agent's own way to the gateway.
use crate::rig::{QUIET, Rig};
use crate::support::config::ADMIN_TOKEN;
use crate::support::soon;
use serde_json::{Value, json};
use std::process::Stdio;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

/// A client of the protocol, as an agent starts one.
struct Agent {
    process: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    asked: u64,
}

impl Agent {
    async fn start(rig: &Rig, arguments: &[&str]) -> Self {
        let url = format!("http://{}", rig.gateway.admin_addr());
        let mut command = Command::new(env!("CARGO_BIN_EXE_hookgate"));
        command.arg("mcp").args(arguments).args(["--admin", &url, "--token", ADMIN_TOKEN]).env_clear();
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn().unwrap();
        let (input, output) = (process.stdin.take().unwrap(), BufReader::new(process.stdout.take().unwrap()).lines());
        let mut agent = Self { process, input, output, asked: 0 };
        let about = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let answer = agent.ask("initialize", about).await;
        assert_eq!(answer["result"]["serverInfo"]["name"], "hookgate", "{answer}");
        agent.say(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        agent
    }

    async fn say(&mut self, message: Value) {
        self.input.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.asked += 1;
        let id = self.asked;
        self.say(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params})).await;
        let line = soon(self.output.next_line()).await.unwrap().unwrap();
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// What a tool says, or why it does not.
    async fn call(&mut self, tool: &str, arguments: Value) -> Result<Value, String> {
        let answer = self.ask("tools/call", json!({"name": tool, "arguments": arguments})).await;
        let result = &answer["result"];
        match result["isError"].as_bool() {
            Some(true) => Err(result["content"][0]["text"].as_str().unwrap().to_owned()),
            _ => Ok(result["structuredContent"].clone()),
        }
    }
}

#[tokio::test]
async fn an_agent_finds_others_and_knowledge_and_proposes() {
    let rig = Rig::start(QUIET).await;
    rig.say("s1", "main", "k", "Hi").await;
    rig.say("s1", "qa", "k", "Hi").await;
    let mut agent = Agent::start(&rig, &["--session", "s1", "--agent", "qa"]).await;

    let tools = agent.ask("tools/list", json!({})).await;
    let names: Vec<_> = tools["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["list_agents", "send_message", "read_receipts", "find_knowledge", "propose_knowledge"]);
    assert!(!tools.to_string().contains("approve_"), "nothing here approves");

    let agents = agent.call("list_agents", json!({})).await.unwrap();
    let named: Vec<_> = agents["agents"].as_array().unwrap().iter().map(|agent| &agent["agent"]).collect();
    assert_eq!(named, ["main", "qa"]);

    let proposal = json!({"title": "Deploy with make release", "body": "Never by hand.", "kind": "rule"});
    let made = agent.call("propose_knowledge", proposal).await.unwrap();
    assert_eq!((&made["status"], &made["origin"]["agent"]), (&json!("pending"), &json!("qa")));
    assert!(made["tenant"].as_str().unwrap().starts_with("t_"), "it belongs to the session's tenant");
    let query = json!({"query": "how do I deploy a release"});
    assert_eq!(agent.call("find_knowledge", query.clone()).await.unwrap()["items"], json!([]));
    rig.admin("POST", &format!("/v1/proposals/{}/approve", made["id"].as_str().unwrap()), "").await;
    let found = agent.call("find_knowledge", query).await.unwrap();
    assert_eq!(found["items"][0]["title"], "Deploy with make release");

    let refusals = [
        ("propose_knowledge", json!({"title": "t"}), "400"),
        ("find_knowledge", json!({}), "query: missing"),
        ("list_agents", json!({"session": "gone"}), "there is no such session"),
    ];
    for (tool, arguments, words) in refusals {
        let refused = agent.call(tool, arguments).await.unwrap_err();
        assert!(refused.contains(words), "{tool}: {refused}");
    }
    let unknown = agent.ask("tools/call", json!({"name": "approve_knowledge", "arguments": {}})).await;
    assert!(unknown["error"]["message"].as_str().unwrap().contains("approve_knowledge"), "{unknown}");

    drop(agent.input);
    assert!(soon(agent.process.wait()).await.unwrap().success(), "it ends with its client");
}

#[tokio::test]
async fn a_server_without_a_session_has_one_named_with_every_call() {
    let rig = Rig::start(QUIET).await;
    rig.say("s1", "main", "k", "Hi").await;
    let mut agent = Agent::start(&rig, &[]).await;
    let refused = agent.call("list_agents", json!({})).await.unwrap_err();
    assert!(refused.contains("session: missing"), "{refused}");
    let agents = agent.call("list_agents", json!({"session": "s1"})).await.unwrap();
    assert_eq!(agents["agents"][0]["agent"], "main");
}

#[tokio::test]
async fn an_agent_writes_to_another_and_sees_that_it_was_read() {
    let rig = Rig::start(QUIET).await;
    rig.say("s1", "main", "k", "Hi").await;
    rig.say("s1", "qa", "k", "Hi").await;
    let mut agent = Agent::start(&rig, &["--session", "s1", "--agent", "qa"]).await;
    let message = json!({"agent": "main", "text": "All green.", "kind": "correction", "id": "m1"});
    let sent = agent.call("send_message", message.clone()).await.unwrap();
    assert_eq!((&sent["id"], &sent["state"]), (&json!("m1"), &json!("queued")), "{sent}");
    let receipts = json!({"agent": "main"});
    assert_eq!(agent.call("read_receipts", receipts.clone()).await.unwrap()["items"][0]["state"], "queued");
    rig.say("s1", "main", "k", "And?").await;
    assert!(rig.received().contains("[session-bus] correction from qa:\\nAll green."), "{}", rig.received());
    assert_eq!(agent.call("read_receipts", receipts).await.unwrap()["items"][0]["state"], "delivered");
    assert_eq!(agent.call("send_message", message).await.unwrap()["state"], "delivered", "the id decides");
    let long = json!({"agent": "main", "text": "x".repeat(2049)});
    assert!(agent.call("send_message", long).await.unwrap_err().contains("2048"));
}
