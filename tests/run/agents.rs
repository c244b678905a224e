//! What an agent is given, and where its requests go.
use crate::stage::Stage;

const RULES: &str = "hooks: [{ name: rules, on: session.start, run: { text: THE-RULES } }]";

#[tokio::test]
async fn every_agent_reaches_its_provider_through_the_gateway_and_the_terminal_is_its_own() {
    for agent in ["claude", "codex", "opencode", "gemini", "aider", "program"] {
        let stage = Stage::set().await;
        let provider = stage.provider.addr();
        // What Codex and opencode have in files of their user's.
        let (codex, opencode) = (stage.home().join(".codex"), stage.home().join(".config/opencode"));
        std::fs::create_dir_all(&codex).unwrap();
        std::fs::create_dir_all(&opencode).unwrap();
        std::fs::write(codex.join("config.toml"), format!("openai_base_url = 'http://{provider}/v1'\n")).unwrap();
        let settings = format!(r#"{{"provider":{{"anthropic":{{"options":{{"baseURL":"http://{provider}/v1"}}}}}}}}"#);
        std::fs::write(opencode.join("opencode.json"), settings).unwrap();
        stage.own(RULES);

        let ran = stage.hookgate(&["run", "--", agent, "first", "-c"], &[("EXIT", "7")]).await;
        assert_eq!((ran.code, ran.stdout.as_str()), (Some(7), "the agent's own words\n"), "{agent}: {}", ran.stderr);
        let [said] = ran.stderr.lines().collect::<Vec<_>>()[..] else { panic!("{agent}: {}", ran.stderr) };
        assert!(said.starts_with("hookgate: http://127.0.0.1:") && said.contains("/#token="), "{said}");
        let bodies = stage.bodies();
        assert!(bodies.len() == 1 && bodies[0].contains("THE-RULES"), "{agent}: {bodies:?}");

        let seen = stage.seen().unwrap();
        let arguments: Vec<_> = seen["argv"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
        assert_eq!(arguments[arguments.len() - 2..], ["first", "-c"], "its own arguments are as they were");
        assert_eq!(arguments.len(), if agent == "codex" { 4 } else { 2 }, "{arguments:?}");
        assert_eq!(seen["env"]["ANTHROPIC_API_KEY"], "sk-fake", "keys are left as they are");
        let token = said.rsplit('=').next().unwrap();
        assert!(!seen["env"].to_string().contains(token), "the agent has no token for the admin API");
    }
}

#[tokio::test]
async fn an_agent_that_sends_no_id_has_a_session_of_its_own_in_each_run_or_the_one_that_is_named() {
    let stage = Stage::set().await;
    stage.own(RULES);
    let mut sessions = Vec::new();
    for named in [&[][..], &[], &["--session", "my session"]] {
        let arguments: Vec<&str> = ["run"].iter().chain(named).chain(&["--", "gemini"]).copied().collect();
        stage.hookgate(&arguments, &[]).await.ok();
        sessions.push(stage.seen().unwrap()["session"].as_str().unwrap().to_owned());
    }
    assert!(sessions[0].starts_with("run-") && sessions[1].starts_with("run-") && sessions[0] != sessions[1]);
    assert_eq!(sessions[2], "my session");
}

#[tokio::test]
async fn an_agent_that_names_its_sessions_keeps_its_ids_unless_one_is_named() {
    let stage = Stage::set().await;
    stage.own(RULES);
    stage.hookgate(&["run", "--", "claude"], &[]).await.ok();
    let seen = stage.seen().unwrap();
    assert!(seen["session"] == "claude-1" && !seen["url"].as_str().unwrap().contains("/s/"), "{seen}");
    stage.hookgate(&["run", "--session", "mine", "--", "claude"], &[]).await.ok();
    assert_eq!(stage.seen().unwrap()["session"], "mine");

    let refused = stage.hookgate(&["run", "--session", "mine", "--", "codex"], &[]).await;
    assert!(refused.code == Some(2) && refused.stderr.contains("names its sessions itself"), "{}", refused.stderr);
    let refused = stage.hookgate(&["run", "--session", "a\tb", "--", "gemini"], &[]).await;
    assert_eq!(refused.code, Some(2));
}

#[tokio::test]
async fn what_the_configuration_says_of_upstreams_wins_and_the_user_is_told() {
    let stage = Stage::set().await;
    let provider = stage.provider.addr();
    stage.own(&format!("upstreams: [{{ name: anthropic, dialect: anthropic, base_url: 'http://{provider}' }}]"));
    let ran = stage.hookgate(&["run", "--", "claude"], &[("ANTHROPIC_BASE_URL", "http://127.0.0.1:1/company")]).await;
    let told = ran.ok().stderr.contains("not to http://127.0.0.1:1/company");
    assert!(told && stage.bodies().len() == 1, "{}", ran.stderr);
}

#[tokio::test]
async fn a_base_url_that_can_not_be_used_keeps_the_agent_from_going_elsewhere() {
    let stage = Stage::set().await;
    let ran = stage.hookgate(&["run", "--", "claude"], &[("ANTHROPIC_BASE_URL", "http://me:secret@a.test")]).await;
    assert!(ran.code == Some(1) && ran.stderr.contains("ANTHROPIC_BASE_URL: "), "{}", ran.stderr);
    assert!(!ran.stderr.contains("secret") && stage.seen().is_none(), "{}", ran.stderr);
}

#[tokio::test]
async fn a_server_whose_paths_have_no_version_is_reached_as_before() {
    let stage = Stage::set().await;
    let url = format!("http://{}/api/paas/v4", stage.provider.addr());
    stage.hookgate(&["run", "--", "aider"], &[("OPENAI_API_BASE", &url)]).await.ok();
    assert_eq!(stage.provider.request().target(), "/api/paas/v4/chat/completions");
}
