#!/usr/bin/env python3
"""Proposes what the answer asks to remember."""
import json
import sys

text = json.load(sys.stdin)["turn"]["text"]
found = [line.removeprefix("Remember:").strip() for line in text.splitlines() if line.startswith("Remember:")]
if found:
    print(json.dumps({"propose": [{"title": line[:80], "body": line, "kind": "fact"} for line in found if line]}))
