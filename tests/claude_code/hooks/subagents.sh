#!/bin/sh
# Which sub-agents there were.
python3 -c 'import json, sys; e = json.load(sys.stdin); print(e["hook_event_name"], e["session_id"], e["agent_id"], e["agent_type"], e.get("last_assistant_message"))' \
    >> "$CLAUDE_PROJECT_DIR/subagents"
