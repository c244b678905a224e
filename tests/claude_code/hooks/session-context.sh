#!/bin/sh
# What the agent should know before it begins: where the work stands.
cat > /dev/null
cd "$CLAUDE_PROJECT_DIR" || exit 0
echo "State of the repository:"
git status --short --branch 2> /dev/null
[ -f TODO.md ] && head -n 20 TODO.md
exit 0
