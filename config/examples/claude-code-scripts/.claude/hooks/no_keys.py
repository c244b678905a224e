"""UserPromptSubmit: a prompt with a key in it does not leave the machine."""
import json
import re
import sys

if re.search(r"sk-[A-Za-z0-9]{16,}", json.load(sys.stdin)["prompt"]):
    print("There is a key in this prompt. Take it out and ask again.", file=sys.stderr)
    sys.exit(2)
