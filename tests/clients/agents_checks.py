"""Agents through a real gateway with hooks of every kind on; run.py installs them and starts this:
agents_checks.py HOOKGATE INSTALLED [NAME...] [--scenario=NAME...]

Each scenario checks what the provider received, what the agent printed and what the hooks were asked.
"""
import os
import sys
import tempfile
import threading
import time
import traceback

from agents import clients, hooks
from gateway import gateway
from provider import Answer, Provider

OUTPUT = "OUTPUT-42"
# What Gemini CLI's router is told; to others it is a title.
ASIDE = '{"complexity_reasoning": "simple", "complexity_score": 5, "reasoning": "simple", "model_choice": "flash"}'


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def once(text, words, where):
    expect(text.count(words) == 1, f"{words} stands {text.count(words)} times in {where}")


class Stage:
    """One agent in front of a gateway, and what both of them did in the scenario under way."""

    def __init__(self, agent, running, provider, events):
        self.agent, self.gateway, self.provider, self.events = agent, running, provider, events

    def begin(self, scenario, script):
        """A new folder, hence a new session; `script` answers turns, side requests are answered here."""
        self.agent.enter(scenario)
        self.events.clear()
        self.continue_with(script)

    def continue_with(self, script):
        self.provider.requests.clear()
        self.provider.script = lambda request: script(request) if self.is_turn(request) else Answer(ASIDE)

    def is_turn(self, request):
        return self.agent.shell in request.tools

    def turns(self, about=""):
        """The bodies of the requests of turns in which these words stand, as texts."""
        return [request.text for request in list(self.provider.requests) if self.is_turn(request) and about in request.text]

    def prompts(self):
        """The prompts that main agents' hooks were given."""
        return [asked["prompt"]["text"] for asked in self.events.of("hint", "prompt.submit")]


def text_turn(stage):
    stage.begin("text", lambda _: Answer("Good morning to you."))
    said = stage.agent.ask("Say good morning")
    expect("Good morning to you." in said, f"it printed {said!r}")
    (body,) = stage.turns()
    for words in (hooks.PERSISTENT, hooks.SCRIPT, hooks.POLICY, hooks.PER_MODEL, *hooks.EPHEMERAL):
        once(body, words, "the request")
    prompts = stage.prompts()
    expect(len(prompts) == 1 and "Say good morning" in prompts[0], f"the hook was given {prompts}")
    stop = stage.events.wait("done", "session.stop")
    expect(stop["turn"]["text"] == "Good morning to you.", f"the stop hook was given {stop['turn']}")


def tool_turn(stage):
    def script(request):
        return Answer("The tool said 42.") if OUTPUT in request.text else Answer(call=stage.agent.run_shell("printf OUTPUT-%d 42"))

    stage.begin("tool", script)
    said = stage.agent.ask("Run the tool")
    expect("The tool said 42." in said, f"it printed {said!r}")
    asked, step = stage.turns()
    once(step, hooks.RESULT, "the step")
    for words in (hooks.PERSISTENT, *hooks.EPHEMERAL):
        once(asked, words, "the first request")
        once(step, words, "the step")
    for hook, event in (("calls", "tool.call"), ("results", "tool.result")):
        events = stage.events.of(hook, event)
        expect([one["tool"]["name"] for one in events] == [stage.agent.shell], f"{event} was given {events}")
    stop = stage.events.wait("done", "session.stop")
    expect(len(stage.prompts()) == 1, "a step is no prompt")

    stage.continue_with(lambda _: Answer("Nothing more to do."))
    said = stage.agent.ask("And what else?", follow_up=True)
    expect("Nothing more to do." in said, f"the follow-up printed {said!r}")
    body = stage.turns()[-1]
    expect("Run the tool" in body and OUTPUT in body, "the follow-up has the history")
    if stage.agent.keeps_session:
        once(body, hooks.AFTER, "the follow-up")
        once(body, hooks.PERSISTENT, "the follow-up")
        once(body, hooks.RESULT, "the follow-up")
        prompts = stage.events.of("hint", "prompt.submit")
        sessions = {one["session"]["id"] for one in (stop, *prompts)}
        expect(len(sessions) == 1, f"one session: {sessions}")
        turns = sorted(one["session"]["turn"] for one in prompts)
        expect(turns == [1, 2], f"two turns: {turns}")


def sub_agent(stage):
    def script(request):
        if "Delegate it" not in request.text:
            return stage.agent.report("The part is done.")
        if "SUBTASK" not in request.text:
            return Answer(call=stage.agent.delegate("SUBTASK: do the part"))
        wait = stage.agent.wait_for(request.text)
        return Answer(call=wait) if wait and "The part is done." not in request.text else Answer("All of it is done.")

    stage.begin("delegate", script)
    said = stage.agent.ask("Delegate it")
    expect("All of it is done." in said, f"it printed {said!r}")
    (body,) = [text for text in stage.turns("SUBTASK") if "Delegate it" not in text]
    once(body, hooks.PERSISTENT, "the sub-agent's request")
    once(body, hooks.POLICY, "the sub-agent's request")
    starts = stage.events.of("state", "session.start")
    whose = {(one["session"]["id"], one["session"]["agent"]) for one in starts}
    expect(len(starts) == len(whose) == 2, f"two agents, each started once: {[one['session'] for one in starts]}")


def error_and_retry(stage):
    failed = []

    def script(_):
        failed.append(True)
        return Answer(status=529 if stage.agent.dialect == "anthropic" else 503) if len(failed) == 1 else Answer("After all.")

    stage.begin("error", script)
    said = stage.agent.ask("Try hard")
    expect("After all." in said, f"it printed {said!r}")
    first, second = stage.turns()
    for words in (hooks.PERSISTENT, *hooks.EPHEMERAL):
        once(first, words, "the first try")
        once(second, words, "the second try")
    expect(len(stage.prompts()) == 1, f"a retry is no prompt: {stage.prompts()}")
    stage.events.wait("done", "session.stop")


def message(stage):
    def script(request):
        wait = "touch begun; while [ ! -e go ]; do sleep 0.1; done; printf OUTPUT-%d 42"
        return Answer("I have read it.") if OUTPUT in request.text else Answer(call=stage.agent.run_shell(wait))

    stage.begin("message", script)
    said = []
    asking = threading.Thread(target=lambda: said.append(stage.agent.ask("Run something long")))
    asking.start()
    try:
        begun = stage.agent.project / "begun"
        while asking.is_alive() and not begun.exists():
            time.sleep(0.05)
        session = stage.events.wait("hint", "prompt.submit")["session"]
        stage.gateway.command("send", "--session", session["id"], "--kind", "correction", "Use BCRYPT.")
    finally:
        (stage.agent.project / "go").touch()
        asking.join()
    expect(said and "I have read it." in said[0], f"it printed {said}")
    asked, step = stage.turns()
    expect("BCRYPT" not in asked, "it came later")
    once(step, "Use BCRYPT.", "the step")
    expect("[session-bus] correction" in step, "it says what it is")


def continued(stage):
    def script(request):
        return Answer("Checked twice.") if hooks.CHECK in request.text else Answer("Done for now.")

    stage.begin("continued", script)
    said = stage.agent.ask("Be thorough")
    expect("Checked twice." in said, f"it printed {said!r}")
    first, second = stage.turns()
    expect(hooks.CHECK not in first, "the first answer came first")
    once(second, hooks.CHECK, "the second request")
    expect(second.find("Done for now.") < second.find(hooks.CHECK), "behind the answer")
    stop = stage.events.wait("done", "session.stop")
    told = (stop["turn"]["text"], stop["turn"]["legs"])
    expect("Done for now." in told[0] and "Checked twice." in told[0] and told[1] == 2, f"one turn of two: {told}")

    stage.continue_with(lambda _: Answer("Nothing more to do."))
    stage.agent.ask("And now?", follow_up=True)
    if stage.agent.keeps_session:
        body = stage.turns()[-1]
        places = [body.find(words) for words in ("Done for now.", hooks.CHECK, "Checked twice.", "And now?")]
        expect(places == sorted(places) and places[0] > 0, f"answer, message, answer: {places}")


def removed_tool(stage):
    def script(request):
        refused = "not available" in str(request.history[-1]) or "not available" in str(request.history[-2:])
        return Answer("I did without it.") if refused else Answer(call=stage.agent.call_forbidden())

    stage.begin("removed", script)
    said = stage.agent.ask("Use the other tool")
    expect("I did without it." in said, f"it printed {said!r}")
    bodies = [request for request in stage.provider.requests if stage.is_turn(request)]
    expect(len(bodies) == 2, f"the model was told at once: {len(bodies)} requests")
    for request in bodies:
        expect(stage.agent.forbidden not in request.tools, f"it was removed: {request.tools}")
    expect(stage.events.of("calls", "tool.call") == [], "nobody was asked about a call that is refused")


def run_command(stage):
    """Two runs of a gateway that is there for the agent alone, which is itself set up to go to the provider."""
    stage.begin("run", lambda _: Answer("Good morning to you."))
    said = stage.agent.ask("Say good morning")
    expect("Good morning to you." in said, f"it printed {said!r}")
    (body,) = stage.turns()
    once(body, hooks.PERSISTENT, "the request")
    stage.continue_with(lambda _: Answer("Nothing more to do."))
    said = stage.agent.ask("And what else?", follow_up=True)
    expect("Nothing more to do." in said, f"the follow-up printed {said!r}")
    if stage.agent.keeps_session:
        once(stage.turns()[-1], hooks.AFTER, "the follow-up")


#: Without a gateway beside it.
RUN = "hookgate run"

SCENARIOS = {
    "text": text_turn, "tool, follow-up": tool_turn, "sub-agent": sub_agent, "error, retry": error_and_retry,
    "message": message, "continued": continued, "removed tool": removed_tool, RUN: run_command,
}


def check(stage, name):
    """One line; whether it went well."""
    begun = time.monotonic()
    try:
        SCENARIOS[name](stage)
        print(f"ok    {stage.agent.name:9} {name} ({time.monotonic() - begun:.0f} s)", flush=True)
        return True
    except Exception as error:  # a scenario must not keep others from being tried
        print(f"FAIL  {stage.agent.name:9} {name}: {type(error).__name__}: {error}", flush=True)
        traceback.print_exc()
        return False


def all_of(binary, installed, kind, names):
    """Every scenario of one agent, with a gateway of its own; what came of each."""
    provider, service = Provider(lambda _: Answer(ASIDE)), hooks.Service()
    with gateway(binary, hooks.files(provider.url, service.url)) as running, tempfile.TemporaryDirectory() as home:
        events = hooks.Events(running.folder)
        stage = Stage(kind(installed, home, running.url), running, provider, events)
        yield from (check(stage, name) for name in names if name != RUN)
    if RUN in names:
        with tempfile.TemporaryDirectory() as home:
            agent = kind(installed, home, provider.url)
            agent.write(".config/hookgate/hookgate.yaml", hooks.OWN)
            agent.through = [os.path.abspath(binary), "run", "--"]
            yield check(Stage(agent, None, provider, hooks.Events(home)), RUN)
    provider.close()
    service.shutdown()


def main():
    binary, installed, *rest = sys.argv[1:]
    names = [argument.removeprefix("--scenario=") for argument in rest if argument.startswith("--scenario=")]
    agents = [argument for argument in rest if not argument.startswith("--")]
    results = []
    for name in agents or clients.ALL:
        results += all_of(binary, installed, clients.ALL[name], names or SCENARIOS)
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
