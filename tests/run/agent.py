#!/usr/bin/env python3
"""An agent that does one turn against whatever base URL it was given, and leaves what it saw in seen.json.

DO: what it does besides; PROMPT: what it asks; EXIT: its exit code.
"""
import json
import os
import sys
import urllib.request

def requests(prompt):
    """A path and a body, by dialect."""
    said = [{"role": "user", "content": prompt}]
    return {
        "anthropic": ("/v1/messages", {"model": "m", "max_tokens": 9, "messages": said}),
        "openai": ("/chat/completions", {"model": "m", "messages": said}),
        "gemini": ("/v1beta/models/m:generateContent", {"contents": [{"role": "user", "parts": [{"text": prompt}]}]}),
    }


def base_url():
    """The dialect and the base URL, as this agent would find them."""
    name, env = os.path.basename(sys.argv[0]), os.environ
    if name == "codex":
        return "openai", json.loads(sys.argv[sys.argv.index("-c") + 1].split("=", 1)[1])
    if name == "opencode":
        settings = json.loads(env["OPENCODE_CONFIG_CONTENT"])["provider"]["anthropic"]["options"]
        return "anthropic", settings["baseURL"].removesuffix("/v1")
    if name == "gemini":
        return "gemini", env["GOOGLE_GEMINI_BASE_URL"]
    return ("openai", env["OPENAI_API_BASE"]) if name == "aider" else ("anthropic", env["ANTHROPIC_BASE_URL"])


def ask(prompt=os.environ.get("PROMPT", "hello")):
    dialect, url = base_url()
    path, body = requests(prompt)[dialect]
    headers = {"content-type": "application/json", "x-api-key": "sk-fake"}
    if os.path.basename(sys.argv[0]) == "claude":
        headers["x-claude-code-session-id"] = "claude-1"
        headers |= dict(line.split(": ", 1) for line in os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").split("\n") if line)
    request = urllib.request.Request(url + path, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request) as answer:
        answer.read()
        return url, answer.headers.get("x-hookgate-session")


if "DO" in os.environ:
    exec(os.environ["DO"])
url, session = ask()
with open("seen.json", "w") as file:
    json.dump({"argv": sys.argv[1:], "env": dict(os.environ), "url": url, "session": session}, file)
print("the agent's own words")
sys.exit(int(os.environ.get("EXIT", "0")))
