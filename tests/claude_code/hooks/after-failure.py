"""A hint for a tool that failed."""
import json
import sys

event = json.load(sys.stdin)
hint = f"{event['tool_name']} failed with {event['error']!r}: read the error before you try again."
print(json.dumps({"hookSpecificOutput": {"hookEventName": "PostToolUseFailure", "additionalContext": hint}}))
