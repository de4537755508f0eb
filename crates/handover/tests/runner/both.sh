#!/bin/sh
# An agent that works when it gets a task, and reviews when it gets a request.
read -r line
case $line in
'{"protocol_version":"1.2"'*) printf '%s\n' "$line" | "$(dirname "$0")/reviewer.sh" ;;
*) printf '%s\n' "$line" | "$(dirname "$0")/agent.sh" ;;
esac
