#!/bin/bash
# A test program. Its first argument names the way in which it misbehaves.
case "$1" in
    say) echo "out $2"; echo "err $2" >&2 ;;
    exit) exit "$2" ;;
    die) kill "-$2" $$ ;;
    surroundings) env | sort; pwd; cat ;;
    work) exec sleep 1000 ;;
    flood) while :; do echo 0123456789012345678901234567890123456789; done ;;
    stubborn) trap '' TERM HUP INT; echo ready; while :; do sleep 1; done ;;
    polite) trap 'echo bye; exit 0' TERM; echo ready; while :; do sleep 0.05; done ;;
    # The program ends and leaves a process behind. The process holds the program's pipes, or is hard to find: it has its
    # own session, and perhaps an empty environment.
    leave) sleep 1000 & echo left ;;
    linger) (sleep 0.2; echo late) & echo left ;;
    daemon) (setsid sleep 1000 </dev/null >/dev/null 2>&1 &); echo left ;;
    anonymous) (env -i setsid sleep "1000.${HANDOVER_TURN##*_}" </dev/null >/dev/null 2>&1 &); echo left ;;
    # The program starts processes in other groups and sessions, orphans, a process that ignores SIGTERM, SIGHUP and
    # SIGINT, and a process without HANDOVER_TURN in its environment.
    family)
        set -m
        sleep 1000 & (sleep 1000 &) ; (setsid sleep 1000 &) ; (env -i setsid sleep "1000.${HANDOVER_TURN##*_}" &)
        (setsid bash -c 'trap "" TERM HUP INT; (setsid sleep 1000 &); sleep 1000; sleep 1000' &)
        echo ready; wait; sleep 1000 ;;
    # Each process starts the next one in a new session and ends.
    comet) echo ready; (setsid "$0" comet-tail </dev/null >/dev/null 2>&1 &); sleep 1000 ;;
    comet-tail) setsid "$0" comet-tail & exit 0 ;;
    # Each process starts two more, up to the depth $2.
    spread) if [ "$2" -gt 0 ]; then "$0" spread $(($2 - 1)) & "$0" spread $(($2 - 1)) & fi; sleep 1000 ;;
    chain) if [ "$2" -gt 0 ]; then setsid "$0" chain $(($2 - 1)); else echo ready; sleep 1000; fi; true ;;
    silent) exec sleep 1000 </dev/null >/dev/null 2>&1 ;;
    *) exit 64 ;;
esac
