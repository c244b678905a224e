"""Long output is cut to its ends."""
import json
import sys

event = json.load(sys.stdin)
lines = str(event["tool_response"]).splitlines()
if len(lines) > 20:
    text = "\n".join(lines[:3] + [f"... {len(lines) - 6} lines ..."] + lines[-3:])
    print(json.dumps({"hookSpecificOutput": {"hookEventName": "PostToolUse", "updatedToolOutput": text}}))
