"""The official SDKs through a real gateway; run.py installs them and starts this: sdk_checks.py HOOKGATE INSTALLED"""
import sys
import traceback

from gateway import gateway
from provider import Answer, Provider
from sdk import javascript, python
from sdk.python import RESULT, SYSTEM, TOOL

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


CHECKS = {"turns": turns, "continued": continued, "continued with a tool": continued_with_a_tool, "blocked": blocked}
LANGUAGES = {"python": python.ALL, "javascript": javascript.ALL}


def check(name, work):
    """One line; whether it went well."""
    try:
        work()
        print(f"ok    {name}", flush=True)
        return True
    except Exception as error:  # an SDK that fails to parse raises what it likes
        print(f"FAIL  {name}: {type(error).__name__}: {error}", flush=True)
        traceback.print_exc()
        return False


def converse(provider, url, layout, kind, streamed, what):
    session = f"{what.replace(' ', '-')}-{kind.__module__}-{kind.__name__}-{streamed}"
    CHECKS[what](provider, kind(url, session, streamed), layout)


def all_of(provider, url, layout):
    """Every check of every SDK; what came of each."""
    for language, kinds in LANGUAGES.items():
        for name, kind in kinds.items():
            for streamed in (False, True):
                line = f"{layout:7} {language:10} {name:9} {'streamed' if streamed else 'whole':8}"
                for what in CHECKS:
                    yield check(f"{line} {what}", lambda: converse(provider, url, layout, kind, streamed, what))
                yield check(f"{line} errors", lambda: errors(url, kind, streamed))


def main():
    binary, installed = sys.argv[1:]
    javascript.Node.start(installed)
    provider, results = Provider(script), []
    for layout in ("system", "stable"):
        config = CONFIG.format(provider=provider.url, layout=layout)
        files = {"hookgate.yaml": config, "hint.sh": HINT, "done.sh": DONE, "check.sh": CHECK}
        with gateway(binary, files) as running:
            results += all_of(provider, running.url, layout)
    provider.close()
    print(f"{results.count(True)} passed, {results.count(False)} failed")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
