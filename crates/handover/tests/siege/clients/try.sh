#!/bin/sh
# Prints the environment variables that an agent client's shell tool adds for the programs that it starts, and the
# answers of `handover` to some commands there. A transcript in this folder is the output of this script. To make one,
# let the client's model run the script with its shell tool, in a repository, with these variables in the environment:
# HANDOVER (the program), MARKS (src/below/marks.txt) and BASE (a file with the names of the variables with which the
# client was started).
printf 'environment: '
env | grep -E '^[A-Za-z_][A-Za-z0-9_]*=' | cut -d= -f1 | sort -u | grep -vxFf "$BASE" | tr '\n' ' '
echo
unmark=$(sed 's/^/-u /' "$MARKS" | tr '\n' ' ')
for words in "approval approve ap_000000000000" "trust" "token create p --scope person" "token create p" "run --once"; do
    for how in plain pty unmarked unmarked-pty; do
        # The variables have no quotes, because the shell must split their values into words.
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
