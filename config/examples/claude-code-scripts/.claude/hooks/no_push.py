"""PreToolUse: people push, agents don't."""
import json
import sys

event = json.load(sys.stdin)
if "git push" in event["tool_input"].get("command", ""):
    decision = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "Commit, and leave the push to a person.",
    }
    print(json.dumps({"hookSpecificOutput": decision}))
