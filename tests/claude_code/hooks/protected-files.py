"""Files that nobody edits by hand."""
import json
import sys

path = json.load(sys.stdin)["tool_input"].get("file_path", "")
if any(part in path for part in (".env", "package-lock.json", ".git/")):
    said = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": f"{path} is protected.",
    }
    print(json.dumps({"hookSpecificOutput": said}))
