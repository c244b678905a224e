# Once per completed turn, when its answer was delivered; `context` replaces the slot's text.
event=$(cat)
printf '%s\n' "$event" >> stops.jsonl
turn=$(printf '%s' "$event" | sed -n 's/.*"turn":\([0-9][0-9]*\).*/\1/p')
printf '{"context":"Open tasks: %s"}\n' $((5 - turn))
