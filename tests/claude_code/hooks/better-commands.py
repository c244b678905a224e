"""Refuses commands that there is something better for."""
import json
import re
import sys

RULES = [(r"^grep\b(?!.*\|)", "Use rg instead of grep."), (r"\brm\s+-rf\s+/", "Do not delete from the root.")]

event = json.load(sys.stdin)
if event.get("tool_name") != "Bash":
    sys.exit(0)
command = event.get("tool_input", {}).get("command", "")
issues = [message for pattern, message in RULES if re.search(pattern, command)]
if issues:
    print("\n".join(issues), file=sys.stderr)
    sys.exit(2)
