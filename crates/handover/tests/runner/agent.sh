#!/bin/sh
# A program that plays an agent. The description of its task says what it does: one word for each turn (run of this
# program). The last word is for all further turns. The script counts the turns in the folder SIM and not in the
# worktree, because the next attempt (claim of the task) may get another worktree.
read -r envelope
field() { printf '%s' "$envelope" | sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }
task=$(field task_id)
goal=$(field goal)
turns=$task
# An agent that evaluates an output gets the field `evaluate` instead of a goal. Its turns are counted separately.
[ -n "$goal" ] || { goal=$(field evaluate) && turns=$task.judge; }
count=$(cat "$SIM/$turns" 2>/dev/null || echo 0)
count=$((count + 1))
echo "$count" >"$SIM/$turns"
word=$(printf '%s' "$goal" | awk -v n="$count" '{ print $(n > NF ? NF : n) }')
printf '%s\n' "$envelope" >"$SIM/$turns.$count.envelope"
cp "$HANDOVER_PROMPT" "$SIM/$turns.$count.prompt" 2>/dev/null
[ -z "$HANDOVER_INPUT" ] || cp "$HANDOVER_INPUT" "$SIM/$turns.$count.input" 2>/dev/null

envelope() { # arguments: success summary artifacts recommendation
    printf '{"success": %s, "summary": "%s", "artifacts": [%s], "notes": ["output_ref: out/%s.txt"], "recommendation": "%s"}\n' \
        "$1" "$2" "$3" "$task" "$4"
}
artifact() { printf '{"path": "%s", "operation": "%s", "content": "%s"}' "$1" "$2" "$3"; }
finished() { envelope true "done in turn $count" "$(artifact "out/$task.txt" create "made by $task in turn $count")" proceed; }
handoff() { # arguments: status, further members, next action, impacts, gaps
    # Change a file before reporting that the task is finished, as a real agent does.
    [ "$1" != COMPLETE ] || { mkdir -p out && echo "made by $task in turn $count" >"out/$task.txt"; }
    agent=$(sed -n 's/.*"agent_id":"\([^"]*\)".*/\1/p' "$HANDOVER_INPUT")
    printf '```agent_contract_handoff\n{"agent_status": {"plan_status": "%s", "agent_id": "%s", "pending_steps": [], "next_action": "%s"}, "evidence_report": {"patterns_checked": [], "files_checked": [], "commands_run": [], "key_outputs": ["made it"], "verbatim_outputs": [], "cross_layer_impacts": [%s], "open_gaps": [%s], "verification": {"result": "pass"}}%s}\n```\n' \
        "$1" "$agent" "${3:-go on}" "$4" "$5" "$2"
}
# Runs a command of `handover` as an agent does, and saves its answer.
tool() { printf '%s => %s\n' "$*" "$("$HANDOVER" "$@" --json 2>&1 </dev/null | tr '\n' ' ')" >>"$SIM/$task.said"; }
# Prints the MCP message that calls a tool. All messages go to `handover mcp` over one pipe, which is closed at the end.
call() { # arguments: the tool's name, the tool's arguments
    calls=$((calls + 1))
    printf '{"jsonrpc": "2.0", "id": %s, "method": "tools/call", "params": {"name": "%s", "arguments": %s}}\n' "$calls" "$1" "$2"
}
hello() {
    printf '{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}}}\n'
    printf '{"jsonrpc": "2.0", "method": "notifications/initialized"}\n'
}

case $word in
finished) finished ;;
late) sleep 1 && finished ;;
soon) sleep 0.2 && finished ;;
# Writes a file, then waits until the test creates the file `go`, or until the test's folder is gone.
waits) echo "half done" >half.txt && echo >"$SIM/$task.begun" && until [ -e "$SIM/go" ] || [ ! -e "$SIM" ]; do sleep 0.05; done && finished ;;
# Records its folder and the files in `cache`, which git ignores. Then leaves a file in `cache` for the next task.
warm) { pwd; ls cache 2>/dev/null || :; } >"$SIM/$task.found" && mkdir -p cache && echo >cache/warm && finished ;;
right) envelope true "done in turn $count" "$(artifact "out/$task.txt" create right)" proceed ;;
bad) echo '{"success": true}' ;;
half) printf '```agent_contract_handoff\n{"agent_status": {"plan' ;;
nonsense) head -c 4000 /dev/urandom ;;
nothing) ;;
twice) finished && envelope true "said twice" "" proceed && finished ;;
dies) kill -KILL $$ ;;
# Kills its parent, the turn host (the process that starts and ends this program).
dies-with-host) kill -KILL "$PPID" && sleep 1000 ;;
# Kills the turn host and the runner, and leaves a child in a new session. The next runner can find this child only by
# its environment.
hides) setsid sleep 1000 >/dev/null 2>&1 & kill -KILL "$PPID" "$(cat "$SIM/runner")" && sleep 1000 ;;
kills-runner) kill -KILL "$(cat "$SIM/runner")" && sleep 1000 ;;
exits) echo 'out of paper' >&2 && exit 3 ;;
never) sleep 1000 ;;
stubborn) trap '' TERM && while :; do sleep 1; done ;;
child) setsid sleep 1000 >/dev/null 2>&1 & finished ;;
clinging) sleep 1000 & finished ;;
flood) yes ;;
goes-on) envelope false "not yet" "" retry ;;
asks) envelope false "which port?" "" escalate ;;
answered) finished ;;
exists) envelope true "again" "$(artifact README.md create x)" proceed ;;
outside) envelope true "out" "$(artifact ../escaped.txt create x)" proceed ;;
updates) envelope true "mended" "$(artifact README.md update "changed by $task")" proceed ;;
writes) echo "by hand, $task" >"left-$task.txt" && envelope true "wrote a file" "" proceed ;;
# Changes the script that checks its output, so that the check passes.
cheats) printf 'exit 0\n' >ci/check.sh && finished ;;
honest) git checkout --quiet HEAD~1 -- ci/check.sh && mkdir -p out && echo right >"out/$task.txt" && envelope true "put back" "" proceed ;;
# Tries to change Handover's state folder: writes a file there, or names such a file as an artifact of its output.
state) mkdir -p .handover/state && echo mine >.handover/state/token && git add --force .handover/state && finished ;;
state-artifact) envelope true "a token" "$(artifact .handover/./State/token create mine)" proceed ;;
wrong) envelope true "wrong output" "$(artifact "out/$task.txt" create wrong)" proceed ;;
updates-wrong) envelope true "still wrong" "$(artifact "out/$task.txt" update "still wrong")" proceed ;;
mends) envelope true "right output" "$(artifact "out/$task.txt" update right)" proceed ;;
# Answers the findings of a review: all of them in notes, only one of them, or with the command `handover review
# answer`.
answers | answers-one)
    more=', "feedback finding-0002 rejected: not: here"'
    [ "$word" = answers ] || more=
    printf '{"success": true, "summary": "done in turn %s", "artifacts": [%s], "notes": ["output_ref: out/%s.txt", "feedback finding-0001 accepted: made it better"%s], "recommendation": "proceed"}\n' \
        "$count" "$(artifact "out/$task.txt" create "made by $task in turn $count")" "$task" "$more"
    ;;
answers-by-tool)
    tool review answer finding-0001 partial --reason "as far as it goes"
    tool review request "look at this" --provider critic
    finished
    ;;
poisons)
    printf '{"success": true, "summary": %s, "artifacts": [%s], "notes": %s, "recommendation": "proceed"}\n' \
        "$(cat "$SIM/poison.summary")" "$(artifact "out/$task.txt" create good)" "$(cat "$SIM/poison")"
    ;;
h-poisons) handoff COMPLETE ', "update_contracts": [{"contract": "stack", "payload": {"poison": '"$(cat "$SIM/poison")"'}}]' ;;
h-done) handoff COMPLETE ', "user_facing_summary": "handed over"' ;;
h-learns) handoff COMPLETE ', "update_contracts": [{"contract": "stack", "payload": {"languages": ["sh"]}}, {"contract": "secrets", "payload": {"x": 1}}]' '' '"the other layer"' ;;
h-asks) handoff NEEDS_INPUT '' 'which colour?' ;;
h-blocked) handoff BLOCKED '' 'x' '' '"the schema is missing"' ;;
h-approval) handoff APPROVAL_REQUEST ', "approval_request": {"operation": "drop the table", "exact_content": "DROP TABLE t", "scope": "db", "risk_level": "HIGH", "rollback": "restore", "verification": "count"}' 'may I?' ;;
h-forged) agent=a0123456789abcdef && handoff COMPLETE '' | sed "s/\"agent_id\": \"[^\"]*\"/\"agent_id\": \"$agent\"/" ;;
forges)
    other=$(cat "$SIM/other")
    free=$(cat "$SIM/free")
    tool task checkpoint "$task" progress "as somebody else" --agent-id "$other"
    tool task claim "$free"
    tool task claim "$free" "$other"
    tool task next "$other"
    tool task release "$task"
    tool task status "$task" completed --outcome "I say so"
    tool task status "$free" completed --outcome "I say so"
    tool approval approve ap_000000000000
    tool trust --sha256 0000
    tool agent unregister "$other"
    tool run --once
    {
        hello
        call agent_register '{"name": "me", "runtime": "exec"}'
        call task_claim "{\"task_id\": \"$free\"}"
        call task_claim "{\"task_id\": \"$free\", \"agent_id\": \"$other\"}"
        call task_next '{}'
        call task_release "{\"task_id\": \"$task\"}"
        call task_update_status "{\"id\": \"$task\", \"status\": \"completed\", \"outcome\": \"I say so\"}"
        call task_update_status "{\"id\": \"$free\", \"status\": \"completed\", \"outcome\": \"I say so\"}"
        call checkpoint_add "{\"task_id\": \"$task\", \"type\": \"progress\", \"summary\": \"as another\", \"agent_id\": \"$other\"}"
        call agent_unregister "{\"id\": \"$other\"}"
        call agent_unregister '{}'
        sleep 1
    } | "$HANDOVER" mcp >"$SIM/$task.mcp" 2>&1
    tool task checkpoint "$task" progress "still here"
    finished
    ;;
ends-claim)
    tool task status "$task" pending
    tool task status "$task" skipped --reason "not today"
    tool task status "$task" failed --error "no"
    tool task status "$task" paused
    tool task replan "$task" "better" '{"approach": "x", "steps": ["y"]}'
    tool task checkpoint "$task" progress "still here"
    finished
    ;;
judge-pass) envelope true "it is good" "" proceed ;;
judge-fail) envelope false "it is not good" "" retry ;;
judge-odd) envelope true "hm" "" retry ;;
*) echo "no such word: $word" >&2 && exit 64 ;;
esac
