# Once per session; what it prints is the slot's text and stays with the session.
echo "Open tasks: 5"
