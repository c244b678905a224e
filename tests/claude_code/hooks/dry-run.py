"""Deployments are tried out first."""
import json
import sys

event = json.load(sys.stdin)
changed = dict(event["tool_input"], command=event["tool_input"]["command"] + " --dry-run")
said = {"hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": changed}
print(json.dumps({"hookSpecificOutput": said, "suppressOutput": True}))
