"""Counts what the assistant said, from the transcript."""
import json
import os
import sys

event = json.load(sys.stdin)
with open(event["transcript_path"], encoding="utf-8") as transcript:
    lines = [json.loads(line) for line in transcript]
said = [line for line in lines if line["type"] == "assistant" and line["message"]["content"][0]["type"] == "text"]
asked = [line for line in lines if line["type"] == "user"]
with open(os.path.join(os.environ["CLAUDE_PROJECT_DIR"], "counts"), "a", encoding="utf-8") as counts:
    print(len(asked), len(said), said[-1]["message"]["content"][0]["text"], file=counts)
