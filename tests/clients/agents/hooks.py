"""Hooks of every kind, all on at once. Each leaves its event as a file, so that a scenario sees what was asked how often."""
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

# Removed from every request: for each agent one that it has.
FORBIDDEN = ["Write", "view_image", "webfetch", "web_fetch"]

PERSISTENT, AFTER = "PERSISTENT-AT-START", "PERSISTENT-AFTER-TURN"
NOTES, HINT, SERVICE, SCRIPT = "FROM-A-FILE", "FROM-A-COMMAND", "FROM-A-SERVICE", "FROM-A-CLAUDE-CODE-SCRIPT"
POLICY, PER_MODEL, RESULT, CHECK = "FROM-A-RULE", "FROM-A-MODEL-RULE", "BESIDE-THE-RESULT", "Now the CHECK, please."
#: What stands behind every prompt of a main agent.
EPHEMERAL = (NOTES, HINT, SERVICE)

CONFIG = """
listen: 127.0.0.1:0
admin: {{ listen: 127.0.0.1:0 }}
upstreams:
  - {{ name: anthropic, dialect: anthropic, base_url: '{provider}' }}
  - {{ name: openai, dialect: openai, base_url: '{provider}' }}
  - {{ name: gemini, dialect: gemini, base_url: '{provider}' }}
hooks:
  - {{ name: state, on: session.start, run: {{ command: [sh, hook.sh], env: {{ ANSWER: {start} }} }} }}
  - {{ name: notes, on: prompt.submit, run: {{ file: notes.md }} }}
  - {{ name: hint, on: prompt.submit, run: {{ command: [sh, hook.sh], env: {{ ANSWER: {hint} }} }} }}
  - {{ name: service, on: prompt.submit, run: {{ http: {{ url: '{service}' }} }} }}
  - {{ name: recall, run: {{ knowledge: {{ max_entries: 1 }} }} }}
  - {{ name: scripts, run: {{ claude_code: {{ settings: settings.json }} }} }}
  - {{ name: policy, on: model.context, run: {{ edits: [{{ op: system.append, text: {policy} }}] }} }}
  - {{ name: tools, on: model.context, run: {{ edits: [{{ op: tools.remove, names: [{forbidden}] }}] }} }}
  - {{ name: per-model, run: {{ model_context: {{ families: {{}}, default: {{ system: {per_model} }} }} }} }}
  - {{ name: calls, on: tool.call, run: {{ worker: [python3, worker.py] }} }}
  - {{ name: results, on: tool.result, run: {{ worker: [python3, worker.py], env: {{ ANSWER: '{result}' }} }} }}
  - {{ name: check, on: session.stopping, when: prompt.text.contains("thorough"), run: {{ command: [sh, check.sh] }} }}
  - name: done
    slot: state
    on: session.stop
    run: {{ command: [sh, hook.sh], env: {{ ANSWER: '{after}' }} }}
  - {{ name: failed, on: [session.fail, session.end], run: {{ command: [sh, hook.sh] }} }}
"""
#: A user's own configuration, for runs.
OWN = f"""
hooks:
  - {{ name: state, on: session.start, run: {{ text: {PERSISTENT} }} }}
  - {{ name: done, slot: state, on: session.stop, run: {{ command: [echo, '{json.dumps({"context": AFTER})}'] }} }}
"""
HOOK = 'file=$(mktemp events/XXXXXXXX) && cat > "$file" && mv "$file" "$file.json"; echo "$ANSWER"'
SCRIPTED = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": f"echo {SCRIPT}"}]}]}}
CONTINUE = f"""grep -q '"continuing":false' && echo '{{"continue":true,"message":"{CHECK}"}}'; exit 0"""
WORKER = """
import json, os, sys
answer = os.environ.get("ANSWER", "")
for line in sys.stdin:
    event = json.loads(line)
    name = f"events/{event['event_id']}-{event['hook']}"
    with open(name, "w") as file:
        file.write(line)
    os.rename(name, name + ".json")
    print(answer, flush=True)
"""


def files(provider, service):
    """The gateway's folder."""
    config = CONFIG.format(
        provider=provider, service=service, start=PERSISTENT, hint=HINT, policy=POLICY, per_model=PER_MODEL,
        forbidden=", ".join(FORBIDDEN), result=json.dumps({"context": RESULT}), after=json.dumps({"context": AFTER}),
    )
    return {
        "hookgate.yaml": config, "notes.md": NOTES, "hook.sh": HOOK, "check.sh": CONTINUE, "worker.py": WORKER,
        "settings.json": json.dumps(SCRIPTED),
    }


class Events:
    """What the hooks were asked, read from their files."""

    def __init__(self, folder):
        self.folder = Path(folder, "events")
        self.folder.mkdir()

    def clear(self):
        for file in self.folder.iterdir():
            file.unlink(missing_ok=True)

    def of(self, hook, event):
        found = [json.loads(file.read_text()) for file in sorted(self.folder.glob("*.json"))]
        return [asked for asked in found if (asked["hook"], asked["event"]) == (hook, event)]

    def wait(self, hook, event, seconds=60):
        """The first of these; a stop runs when its answer was delivered, so it may come after the agent's end."""
        deadline = time.monotonic() + seconds
        while not (found := self.of(hook, event)):
            if time.monotonic() > deadline:
                raise AssertionError(f"no {event} of {hook}")
            time.sleep(0.05)
        return found[0]


class Service(ThreadingHTTPServer):
    """The service of the http hook."""
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answering)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Answering(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        body = json.dumps({"context": SERVICE}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass
