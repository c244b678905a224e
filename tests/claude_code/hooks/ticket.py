"""Says which ticket a prompt is about."""
import json
import re
import sys

event = json.load(sys.stdin)
ticket = re.search(r"\b[A-Z]+-\d+\b", event["prompt"])
if ticket:
    said = {"hookEventName": event["hook_event_name"], "additionalContext": f"Ticket {ticket.group()}: see docs/tickets."}
    print(json.dumps({"hookSpecificOutput": said}))
