"""The official SDKs through a real gateway, against a scripted provider: python3 tests/sdk/run.py [HOOKGATE_BINARY]

Needs `pip install -r tests/sdk/requirements.txt`, no key and no network. Prints one line per check, exits with 1 when one
fails.
"""
import contextlib
import os
import re
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

from conversations import ALL, RESULT, SYSTEM, TOOL
from provider import Answer, Provider

BINARY = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).parents[2] / "target/debug/hookgate"

# `dead-*` are upstreams that nobody listens at: port 1 is privileged and unused.
CONFIG = """
listen: 127.0.0.1:0
admin: {{ listen: 127.0.0.1:0 }}
upstreams:
  - {{ name: anthropic, dialect: anthropic, base_url: '{provider}' }}
  - {{ name: openai, dialect: openai, base_url: '{provider}' }}
  - {{ name: gemini, dialect: gemini, base_url: '{provider}' }}
  - {{ name: dead-anthropic, dialect: anthropic, base_url: 'http://127.0.0.1:1', prefix: /dead-anthropic }}
  - {{ name: dead-openai, dialect: openai, base_url: 'http://127.0.0.1:1', prefix: /dead-openai }}
  - {{ name: dead-gemini, dialect: gemini, base_url: 'http://127.0.0.1:1', prefix: /dead-gemini }}
injection: {{ layout: {layout} }}
hooks:
  - {{ name: state, on: session.start, run: {{ text: PERSISTENT-1 }} }}
  - {{ name: hint, on: prompt.submit, run: {{ command: [sh, hint.sh] }} }}
  - name: guard
    on: prompt.submit
    when: prompt.text.contains("FORBIDDEN")
    run: {{ command: [echo, '{{"block": {{"reason": "The guard says no."}}}}'] }}
  - {{ name: check, on: session.stopping, when: prompt.text.contains("thorough"), run: {{ command: [sh, check.sh] }} }}
  - {{ name: done, slot: state, on: session.stop, run: {{ command: [sh, done.sh] }} }}
"""
HINT = """sed -n 's/.*"prompt":{"text":"\\([a-z]*\\).*/EPHEMERAL-\\1/p'"""
DONE = """sed -n 's/.*"turn":\\([0-9][0-9]*\\).*/{"context":"PERSISTENT-AFTER-TURN-\\1"}/p'"""
CHECK = """grep -q '"continuing":false' && echo '{"continue":true,"message":"Now the CHECK, please."}'"""


def script(request):
    """Calls the tool where the newest message says so, answers its result, and is cut off where asked to."""
    newest = str(request.history[-1])
    if "CHECK" in newest:
        return Answer(call=(TOOL, {"suite": "all"})) if "with a tool" in request.text else Answer("Checked twice.")
    if "thorough" in newest:
        return Answer("Done for now.")
    if "cutoff" in newest:
        return Answer("This answer never comes to its end.", cut=True)
    if RESULT in newest:
        return Answer("The tool was run.")
    return Answer(call=(TOOL, {"suite": "all"})) if "first" in newest else Answer("Nothing more to do.")


@contextlib.contextmanager
def gateway(provider, layout):
    """The URL of a gateway with the hooks above."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "hookgate.yaml").write_text(CONFIG.format(provider=provider.url, layout=layout))
        Path(folder, "hint.sh").write_text(HINT)
        Path(folder, "done.sh").write_text(DONE)
        Path(folder, "check.sh").write_text(CHECK)
        command = [os.path.abspath(BINARY), "--log-format", "json", "serve", "--config", "hookgate.yaml"]
        process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True)
        try:
            listening = (re.search(r'"listening".*"addr":"([^"]+)"', line) for line in process.stderr)
            yield "http://" + next(found for found in listening if found)[1]
        finally:
            process.terminate()
            process.wait(10)


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def turns(provider, conversation, layout):
    """A turn with a tool call, then a second one."""
    before = len(provider.requests)
    _, (call,) = conversation.say("first")
    text, calls = conversation.answer_call(call)
    expect((text, calls) == ("The tool was run.", []), f"the tool turn ended with {text!r} {calls}")
    text, _ = conversation.say("second")
    expect(text == "Nothing more to do.", f"the second turn ended with {text!r}")

    asked, step, second = (request.text for request in provider.requests[before:])
    newest = str(provider.requests[-1].history[-1])
    for body in (asked, step):
        expect(body.count("PERSISTENT-1") == 1, "the persistent text stands once in each request of the first turn")
        expect(body.count("EPHEMERAL-first") == 1, "so does the text for its prompt")
    expect("PERSISTENT-AFTER-TURN-1" in second, "the second turn shows what the stop hook stored")
    expect("EPHEMERAL-second" in second and "EPHEMERAL-first" not in second, "each prompt has its own ephemeral text")
    expect(SYSTEM in second, "the client's own instruction stands")
    if layout == "system":
        expect("PERSISTENT-1" not in second, "layout system shows only the newest persistent text")
    else:
        expect("PERSISTENT-1" in second and "PERSISTENT-AFTER" in newest, "layout stable appends the update")


def continued(provider, conversation, _layout):
    """A hook sends the model back to work: one answer for the client, and for the model what it was told in between."""
    text, calls = conversation.say("be thorough")
    expect(words(text) == "Donefornow.Checkedtwice." and not calls, f"one answer of two: {text!r} {calls}")
    conversation.say("second")
    asked = words("".join(said(provider.requests[-1].history)))
    places = [asked.rfind(words(text)) for text in ("Done for now.", "the CHECK", "Checked twice.", "second")]
    expect(places == sorted(places) and places[0] > 0, f"answer, message, answer: {places} in {asked}")
    expect(asked.count("theCHECK") == 1, "the message stands once")


def continued_with_a_tool(provider, conversation, _layout):
    """The second answer calls a tool; its result goes on with the same turn."""
    text, calls = conversation.say("be thorough, with a tool")
    expect(words(text) == "Donefornow." and len(calls) == 1, f"text, then a call: {text!r} {calls}")
    text, _ = conversation.answer_call(calls[0])
    expect(text == "The tool was run.", f"the turn ended with {text!r}")
    asked = provider.requests[-1].text
    places = [asked.find(words) for words in ("Done for now.", "the CHECK", RESULT)]
    expect(places == sorted(places) and places[0] > 0, f"answer, message, result: {places} in {asked}")


def words(text):
    return "".join(text.split())


def said(history):
    """The texts of a history in any dialect, however they are cut."""
    if isinstance(history, str):
        return [history]
    values = history if isinstance(history, list) else [history.get(key) or [] for key in ("content", "parts", "text")]
    return [text for value in values for text in said(value)]


def blocked(provider, conversation, _layout):
    before = len(provider.requests)
    text, calls = conversation.say("FORBIDDEN")
    expect((text, calls) == ("The guard says no.", []), f"the reason is an ordinary answer, not {text!r}")
    expect(len(provider.requests) == before, "a blocked prompt does not go up")
    conversation.say("again")
    expect("FORBIDDEN" not in provider.requests[-1].text, "it does not go up later either")


def raised(kind, work):
    try:
        work()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


def errors(url, kind, streamed):
    """Errors of the gateway's own are the SDK's exceptions."""
    refused = raised(kind.Refused, lambda: kind(url, "not\tprintable", streamed).say("hello"))
    expect("session" in str(refused), f"the message says what is wrong: {refused}")
    expect(kind.error_type(refused), "it has the provider's error type")
    dead = f"{url}/dead-{kind.upstream}"
    raised(kind.Failed, lambda: kind(dead, "dead", streamed).say("hello"))
    if streamed:
        raised(kind.Cut, lambda: kind(url, "cut", streamed).say("cutoff"))


def main():
    failed = 0
    provider = Provider(script)
    for layout in ("system", "stable"):
        with gateway(provider, layout) as url:
            for name, kind in ALL.items():
                for streamed in (False, True):
                    form = "streamed" if streamed else "whole"
                    open_as = lambda what: kind(url, f"{what}-{name}-{form}", streamed)
                    checks = {
                        "turns": lambda: turns(provider, open_as("turns"), layout),
                        "continued": lambda: continued(provider, open_as("continued"), layout),
                        "continued with a tool": lambda: continued_with_a_tool(provider, open_as("tool"), layout),
                        "blocked": lambda: blocked(provider, open_as("blocked"), layout),
                        "errors": lambda: errors(url, kind, streamed),
                    }
                    for what, check in checks.items():
                        try:
                            check()
                            print(f"ok    {layout:7} {name:9} {form:8} {what}")
                        except Exception as error:  # an SDK that fails to parse raises what it likes
                            failed += 1
                            print(f"FAIL  {layout:7} {name:9} {form:8} {what}: {type(error).__name__}: {error}")
                            traceback.print_exc()
    provider.close()
    print(f"{failed} failed" if failed else "all passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
