"""The SDKs of JavaScript, in the words of python.py: every step returns (text, calls)."""
import itertools
import json
import subprocess
from pathlib import Path

from . import python

SCRIPT = Path(__file__).parent / "conversation.mjs"


class Refused(Exception):
    """The SDK's exception for a 400."""


class Cut(Exception):
    """What breaks a stream off: with a status where its error event has one."""


class Failed(Cut):
    """The exception for a 5xx."""


class Node:
    """The process that holds all conversations: to start one takes longer than they do."""
    process = None

    @classmethod
    def start(cls, modules):
        cls.process = subprocess.Popen(["node", SCRIPT, modules], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    @classmethod
    def write(cls, line):
        cls.process.stdin.write(json.dumps(line) + "\n")
        cls.process.stdin.flush()

    @classmethod
    def read(cls):
        return json.loads(cls.process.stdout.readline() or '{"error": {"message": "node has ended"}}')


class JavaScript:
    Refused, Failed, Cut = Refused, Failed, Cut
    # Google's has no type of its own: the body is the message.
    error_type = staticmethod(lambda error: error.args[0].get("type") or error.args[0]["message"])
    opened = itertools.count()

    def __init__(self, url, session, streamed):
        self.on = next(JavaScript.opened)
        Node.write({"on": self.on, "open": {"kind": self.kind, "url": url, "session": session, "streamed": streamed}})

    def say(self, text):
        return self.step(say=text)

    def answer_call(self, call):
        return self.step(result=python.RESULT, call=call)

    def step(self, **step):
        Node.write({"on": self.on, **step})
        answer = Node.read()
        if "error" not in answer:
            return answer["text"], list(range(answer["calls"]))
        status = answer["error"].get("status") or 0
        raise (Refused if 400 <= status < 500 else Failed if status >= 500 else Cut)(answer["error"])


def of(kind):
    """The same conversation as `python.ALL[kind]`."""
    return type(kind, (JavaScript,), {"kind": kind, "upstream": python.ALL[kind].upstream})


ALL = {kind: of(kind) for kind in python.ALL}
