#!/bin/sh
# A program that plays an agent which may not publish by itself. In the first turn of the task "Publish the fix" it asks
# for an approval. In every other turn it finishes its task.
read -r envelope
agent=$(sed -n 's/.*"agent_id":"\([^"]*\)".*/\1/p' "$HANDOVER_INPUT")
case $envelope in
*'"goal":"Publish the fix'*) count=$(($(cat "$SIM/asked" 2>/dev/null || echo 0) + 1)) && echo "$count" >"$SIM/asked" ;;
*) count=other ;;
esac
printf '%s\n' "$envelope" >"$SIM/asked.$count"
status=COMPLETE
more=', "user_facing_summary": "The fix is published."'
if [ "$count" = 1 ]; then
    status=APPROVAL_REQUEST
    more=", \"approval_request\": {\"operation\": \"publish the fix\", \"exact_content\": \"$(cat "$SIM/exact" 2>/dev/null || printf 'git push origin main')\", \"scope\": \"the branch main of origin\", \"risk_level\": \"HIGH\", \"rollback\": \"git push origin +4f2c1aa:main\", \"verification\": \"CI runs\"}"
else
    printf 'published\n' >"published-$count.txt"
fi
printf '```agent_contract_handoff\n{"agent_status": {"plan_status": "%s", "agent_id": "%s", "pending_steps": [], "next_action": "Publish the fix so that CI can run."}, "evidence_report": {"patterns_checked": [], "files_checked": [], "commands_run": [], "key_outputs": ["made it"], "verbatim_outputs": [], "cross_layer_impacts": [], "open_gaps": [], "verification": {"result": "pass"}}%s}\n```\n' \
    "$status" "$agent" "$more"
