"""Runs the command that it is given. If that fails, the model is told the end of its output."""
import json
import subprocess
import sys

TOLD = 4000  # characters: a test runner says last what matters most

command = sys.argv[1:]
run = subprocess.run(
    command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
)
if run.returncode != 0:
    message = f"`{' '.join(command)}` fails with exit status {run.returncode}. Fix that before you finish.\n\n{run.stdout[-TOLD:]}"
    json.dump({"continue": True, "message": message}, sys.stdout)
