#!/bin/bash
# A program that misbehaves in the way its first argument names.
case "$1" in
    say) echo "out $2"; echo "err $2" >&2 ;;
    exit) exit "$2" ;;
    die) kill "-$2" $$ ;;
    surroundings) env | sort; pwd; cat ;;
    work) exec sleep 1000 ;;
    flood) while :; do echo 0123456789012345678901234567890123456789; done ;;
    stubborn) trap '' TERM HUP INT; echo ready; while :; do sleep 1; done ;;
    polite) trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done ;;
    # Leaves something behind that holds the pipes, or that hides.
    leave) sleep 1000 & echo left ;;
    linger) (sleep 0.2; echo late) & echo left ;;
    daemon) (setsid sleep 1000 </dev/null >/dev/null 2>&1 &); echo left ;;
    anonymous) (env -i setsid sleep "1000.${HANDOVER_TURN##*_}" </dev/null >/dev/null 2>&1 &); echo left ;;
    # A family: other groups, other sessions, orphans, one that ignores everything polite, one without our mark.
    family)
        set -m
        sleep 1000 & (sleep 1000 &) ; (setsid sleep 1000 &) ; (env -i setsid sleep "1000.${HANDOVER_TURN##*_}" &)
        (setsid bash -c 'trap "" TERM HUP INT; (setsid sleep 1000 &); sleep 1000; sleep 1000' &)
        echo ready; wait; sleep 1000 ;;
    # Each generation starts the next in a session of its own and ends.
    comet) echo ready; (setsid "$0" comet-tail </dev/null >/dev/null 2>&1 &); sleep 1000 ;;
    comet-tail) setsid "$0" comet-tail & exit 0 ;;
    # Each generation starts two, up to a depth.
    spread) if [ "$2" -gt 0 ]; then "$0" spread $(($2 - 1)) & "$0" spread $(($2 - 1)) & fi; sleep 1000 ;;
    chain) if [ "$2" -gt 0 ]; then setsid "$0" chain $(($2 - 1)); else echo ready; sleep 1000; fi; true ;;
    silent) exec sleep 1000 </dev/null >/dev/null 2>&1 ;;
    *) exit 64 ;;
esac
