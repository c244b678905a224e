"""Keeps keys out of prompts."""
import json
import re
import sys

prompt = json.load(sys.stdin).get("prompt", "")
for name, pattern in [("an AWS key", r"AKIA[0-9A-Z]{16}"), ("a private key", r"-----BEGIN [A-Z ]*PRIVATE KEY")]:
    if re.search(pattern, prompt):
        print(json.dumps({"decision": "block", "reason": f"The prompt holds {name}; take it out and ask again."}))
        break
