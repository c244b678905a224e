"""How each agent is run without a terminal, and what it calls its tools."""
import json
import os
import re
import signal
import subprocess
from pathlib import Path

from provider import Answer

# An agent is a large program, and machines of CI are busy.
PATIENCE = 300


class Agent:
    """One installed agent with a home of its own."""
    environment = {}
    #: Whether a follow-up in a new process is known to be of the same session.
    keeps_session = True
    #: What runs it: nothing, or a command ahead of its own.
    through = ()

    def __init__(self, installed, home, url):
        self.program = Path(installed, "node_modules/.bin", self.name)
        self.home, self.url, self.project = Path(home), url, None
        self.set_up()

    def write(self, path, text):
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def set_up(self):
        """Configuration that no variable can say."""

    def enter(self, name):
        """A new folder to work in."""
        self.project = self.home / "projects" / name
        self.project.mkdir(parents=True)
        subprocess.run(["git", "init", "-q"], cwd=self.project, check=True)

    def report(self, text):
        """How a sub-agent ends its task."""
        return Answer(text)

    def wait_for(self, history):
        """The call that waits for a sub-agent which was started, where starting it does not."""

    def ask(self, prompt, follow_up=False):
        """What it prints. A hung agent is ended with all that it started."""
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        environment = {**kept, "HOME": str(self.home), "TERM": "dumb", **self.variables()}
        command = [*self.through, self.program, *self.arguments(prompt, follow_up)]
        process = subprocess.Popen(
            command, cwd=self.project, env=environment, text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        try:
            said, complaints = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            said, complaints = process.communicate()
            raise AssertionError(f"no end after {PATIENCE} s: {said[-500:]} {complaints[-500:]}") from None
        if process.returncode:
            raise AssertionError(f"exit code {process.returncode}: {said[-500:]} {complaints[-1500:]}")
        return said


class ClaudeCode(Agent):
    name, dialect, shell, forbidden = "claude", "anthropic", "Bash", "Write"

    def variables(self):
        return {
            "ANTHROPIC_BASE_URL": self.url, "ANTHROPIC_API_KEY": "sk-ant-api-fake",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        }

    def arguments(self, prompt, follow_up):
        return ["-p", *(["-c"] if follow_up else []), "--allowedTools", "Bash,Agent,Write", "--", prompt]

    def run_shell(self, command):
        return "Bash", {"command": command, "description": "Runs it"}

    def delegate(self, task):
        wanted = {"description": "A task", "prompt": task, "subagent_type": "general-purpose"}
        return "Agent", {**wanted, "run_in_background": False}

    def call_forbidden(self):
        return "Write", {"file_path": str(self.project / "new.txt"), "content": "no"}


class Codex(Agent):
    name, dialect, shell, forbidden = "codex", "responses", "exec_command", "view_image"

    def set_up(self):
        # An unknown model has its tools in the request; those of the built-in ones are elsewhere.
        self.write(".codex/config.toml", f'openai_base_url = "{self.url}/v1"\nmodel = "scripted"\n')

    def variables(self):
        return {"CODEX_API_KEY": "sk-fake"}

    def arguments(self, prompt, follow_up):
        options = ["--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox"]
        return ["exec", *options, *(["resume", "--last"] if follow_up else []), prompt]

    def run_shell(self, command):
        return "exec_command", {"cmd": command}

    def delegate(self, task):
        return "multi_agent_v1.spawn_agent", {"message": task}

    def wait_for(self, history):
        started = re.search(r'agent_id[\\": ]+([0-9a-f-]{36})', history)
        return ("multi_agent_v1.wait_agent", {"targets": [started[1]]}) if started else None

    def call_forbidden(self):
        return "view_image", {"path": str(self.project / "new.png")}


class Opencode(Agent):
    name, dialect, shell, forbidden = "opencode", "anthropic", "bash", "webfetch"

    def set_up(self):
        options = {"options": {"baseURL": f"{self.url}/v1", "apiKey": "sk-fake"}}
        settings = {"provider": {"anthropic": options}, "autoupdate": False, "share": "disabled"}
        self.write(".config/opencode/opencode.json", json.dumps(settings))

    def variables(self):
        return {"OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    def arguments(self, prompt, follow_up):
        return ["run", *(["-c"] if follow_up else []), "--model", "anthropic/claude-sonnet-4-5", prompt]

    def run_shell(self, command):
        return "bash", {"command": command}

    def delegate(self, task):
        return "task", {"description": "A task", "prompt": task, "subagent_type": "general"}

    def call_forbidden(self):
        return "webfetch", {"url": "http://127.0.0.1:1/", "format": "text"}


class GeminiCli(Agent):
    name, dialect, shell, forbidden = "gemini", "gemini", "run_shell_command", "web_fetch"
    # It sends no id, and a resumed history is not the one that was sent before.
    keeps_session = False

    def set_up(self):
        settings = {
            "security": {"auth": {"selectedType": "gemini-api-key"}},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
            "general": {"disableAutoUpdate": True},
        }
        self.write(".gemini/settings.json", json.dumps(settings))

    def variables(self):
        return {"GOOGLE_GEMINI_BASE_URL": self.url, "GEMINI_API_KEY": "fake", "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def arguments(self, prompt, follow_up):
        return [*(["--resume", "latest"] if follow_up else []), "--yolo", "-p", prompt]

    def run_shell(self, command):
        return "run_shell_command", {"command": command}

    def delegate(self, task):
        return "invoke_agent", {"agent_name": "generalist", "prompt": task}

    def report(self, text):
        return Answer(call=("complete_task", {"result": {"response": text}}))

    def call_forbidden(self):
        return "web_fetch", {"prompt": "http://127.0.0.1:1/"}


ALL = {kind.name: kind for kind in (ClaudeCode, Codex, Opencode, GeminiCli)}
