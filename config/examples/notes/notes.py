"""session.start prints the notes; session.stop notes the first line of the answer, and replaces what the session holds."""
import fcntl
import json
import os
import sys

KEPT = 20  # lines: what is worth a place in every prompt

event = json.load(sys.stdin)
with open(os.environ["NOTES_FILE"], "a+", encoding="utf-8") as file:
    fcntl.flock(file, fcntl.LOCK_EX)  # several sessions may end a turn at once
    file.seek(0)
    notes = file.read().splitlines()
    if event["event"] == "session.stop" and event["turn"]["text"].strip():
        notes.append(event["turn"]["text"].strip().splitlines()[0][:200])
        file.truncate(0)
        file.write("\n".join(notes[-KEPT:]) + "\n")

if notes:
    json.dump({"context": "Noted so far:\n" + "\n".join(notes[-KEPT:])}, sys.stdout)
