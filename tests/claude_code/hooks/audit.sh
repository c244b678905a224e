#!/bin/sh
# Everything that happened, a line each.
mkdir -p "$CLAUDE_PROJECT_DIR/.claude/logs"
line=$(cat)
printf '%s\n' "$line" >> "$CLAUDE_PROJECT_DIR/.claude/logs/audit.jsonl"
