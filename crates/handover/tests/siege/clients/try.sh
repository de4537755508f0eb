#!/bin/sh
# Says what a client's shell tool gives its programs, and what our program answers there. Let the client's model call it with
# its own shell tool, in a repository, with HANDOVER (the program), MARKS (src/below/marks.txt) and BASE (a file with the names
# of the variables that the client itself was started with) in the environment. What it prints is the fixture beside it.
printf 'environment: '
env | grep -E '^[A-Za-z_][A-Za-z0-9_]*=' | cut -d= -f1 | sort -u | grep -vxFf "$BASE" | tr '\n' ' '
echo
unmark=$(sed 's/^/-u /' "$MARKS" | tr '\n' ' ')
for words in "approval approve ap_000000000000" "trust" "token create p --scope person" "token create p" "run --once"; do
    for how in plain pty unmarked unmarked-pty; do
        # The words are split on purpose.
        case $how in
            plain) out=$($HANDOVER $words </dev/null 2>&1) ;;
            pty) out=$(script -qec "$HANDOVER $words" /dev/null </dev/null 2>&1) ;;
            unmarked) out=$(env $unmark $HANDOVER $words </dev/null 2>&1) ;;
            unmarked-pty) out=$(env $unmark script -qec "$HANDOVER $words" /dev/null </dev/null 2>&1) ;;
        esac
        code=$?
        echo "$how: handover $words"
        printf '%s\n' "$out" | tr -d '\r' | sed 's/pid [0-9]*/pid N/'
        echo "exit $code"
    done
done
