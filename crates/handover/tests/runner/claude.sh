#!/bin/sh
# A program that is started like Claude Code and prints its stream of events. It notes in the folder SIM how it was started:
# the conversation that it resumes (or "new") and its folder. What it does is said by the name of its task.
resume=new
for word; do
    [ "$before" != --resume ] || resume=$word
    before=$word
done
echo "$resume $PWD" >>"$SIM/starts"
number=$(wc -l <"$SIM/starts")
cat >"$SIM/message.$number"
conversation=$resume
[ "$resume" != new ] || conversation=c-$number

printf '{"type":"system","subtype":"init","session_id":"%s","mcp_servers":[{"name":"handover","status":"connected"}]}\n' "$conversation"
printf '{"type":"assistant","session_id":"%s","message":{"content":[{"type":"text","text":"thinking in turn %s"},{"type":"tool_use","name":"Bash"}]}}\n' \
    "$conversation" "$number"
say() { # success summary recommendation
    printf '{"type":"result","subtype":"success","is_error":false,"session_id":"%s","result":"{\\"success\\": %s, \\"summary\\": \\"%s\\", \\"artifacts\\": [], \\"notes\\": [], \\"recommendation\\": \\"%s\\"}"}\n' \
        "$conversation" "$1" "$2" "$3"
}

case $(cat "$SIM/message.$number") in
*'"goal":"port"'*) name=port ;;
*'"goal":"slow"'*) name=slow ;;
*) name=other ;;
esac
if [ "$name" = slow ]; then
    echo "begun" >&2
    touch "$SIM/begun"
    until [ -e "$SIM/go" ] || [ ! -e "$SIM" ]; do sleep 0.05; done
fi
if [ "$name" = port ] && [ ! -e "$SIM/asked" ]; then
    touch "$SIM/asked"
    echo half >half.txt
    say false 'Which port shall I use?' escalate
else
    echo "$number" >"made-$number.txt"
    say true "made it in turn $number" proceed
fi
