# Once per prompt; what it prints is for this turn only.
echo "Changed files: parser.rs"
