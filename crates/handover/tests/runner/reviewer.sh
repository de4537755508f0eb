#!/bin/sh
# A program that plays a reviewer: it reads a request of the feedback protocol and prints an answer. WORDS says what it
# does: one word for each start, and the last word for all further starts. The script counts its starts in the folder
# SIM.
read -r request
count=$(cat "$SIM/$NAME.count" 2>/dev/null || echo 0)
count=$((count + 1))
# Replace the file with the count in one step, so that the test never reads an empty file.
echo "$count" >"$SIM/$NAME.count.new" && mv "$SIM/$NAME.count.new" "$SIM/$NAME.count"
word=$(printf '%s' "$WORDS" | awk -v n="$count" '{ print $(n > NF ? NF : n) }')
printf '%s\n' "$request" >"$SIM/$NAME.$count.request"
pwd >>"$SIM/$NAME.rooms"
cp "$HANDOVER_PROMPT" "$SIM/$NAME.$count.prompt"
iteration=$(printf '%s' "$request" | sed -n 's/^{"protocol_version":"1.2","iteration":\([0-9]*\).*/\1/p')
decided=$(printf '%s' "$request" | sed -n 's/.*"applied_feedback"//p' | grep -o '"id":"[^"]*"' | cut -d'"' -f4)
given=" $(tr '\n' ' ' <"$SIM/$NAME.given" 2>/dev/null) "

ack() { # arguments: the status of known findings, the status of unknown findings, further items
    case $request in *'"applied_feedback"'*) ;; *) return ;; esac
    items=
    for id in $decided; do
        case $given in *" $id "*) status=$1 ;; *) status=$2 ;; esac
        items="$items${items:+,}{\"id\":\"$id\",\"processing_status\":\"$status\"}"
    done
    printf ',"applied_feedback_ack":{"items":[%s]}' "$items$3"
}
area() {
    echo "$1" >>"$SIM/$NAME.given"
    printf '{"id":"%s","aspect":"the text","description":"it could be better","recommendation":"make it better"}' "$1"
}
answer() { # arguments: areas, acknowledgement, iteration, further members
    printf '{"protocol_version":"1.2","iteration":%s,"status":"success","feedback":{"confidence":{"level":"high","justification":"I looked."},"positive_points":[],"areas_for_improvement":[%s],"general_summary":"It was looked at."}%s%s}\n' \
        "${3:-$iteration}" "$1" "$2" "$4"
}
right() { ack acknowledged unknown_id; }

case $word in
nothing) answer "" "$(right)" ;;
finds) answer "$(area finding-0001)" "$(right)" ;;
finds-two) answer "$(area finding-0001),$(area finding-0002)" "$(right)" ;;
slow) sleep 0.5 && answer "" "$(right)" ;;
fenced) printf 'I looked.\n```json\n' && answer "" "$(right)" && printf '```\nThat is all.\n' ;;
texts) echo 'First I thought.' && answer "" "$(right)" && echo 'Then I thought again:' && answer "" "$(right)" ;;
stream)
    text=$(answer "" "$(right)" | sed 's/\\/\\\\/g; s/"/\\"/g')
    printf '{"type":"step_start","timestamp":1,"sessionID":"x","part":{}}\n{"type":"text","timestamp":2,"sessionID":"x","part":{"text":"%s"}}\n' "$text"
    ;;
error) printf '{"protocol_version":"1.2","iteration":%s,"status":"error","error":{"code":"TOO_TIRED","message":"not today"}}\n' "$iteration" ;;
dies) kill -KILL $$ ;;
exits) echo 'out of paper' >&2 && exit 3 ;;
silent) ;;
never) sleep 1000 ;;
child) setsid sleep 1000 >/dev/null 2>&1 & sleep 1000 ;;
nonsense) echo 'I like it.' ;;
half) answer "" "" | head -c 60 ;;
late) answer "" "$(right)" 7 ;;
wrong-ack) answer "" "$(ack unknown_id acknowledged)" ;;
no-ack) answer "" "" ;;
more-ack) answer "" "$(ack acknowledged unknown_id ',{"id":"nobody-asked","processing_status":"acknowledged"}')" ;;
twice) answer "$(area finding-0003),$(area finding-0003)" "$(right)" ;;
bad-id) answer "$(area X)" "$(right)" ;;
session) answer "" "$(right)" "" ',"sessionID":"ses_000000000000"' ;;
long-line) head -c 2000000 /dev/zero | tr '\0' x ;;
bytes) answer "" "$(right)" | tr '.' '\377' ;;
flood) yes ;;
kills-runner) kill -KILL "$(cat "$SIM/runner")" && sleep 1000 ;;
asks-back)
    "$HANDOVER" review ask --agent "$NAME" /etc/hostname >"$SIM/$NAME.said" 2>&1
    "$HANDOVER" task list --json >>"$SIM/$NAME.said" 2>&1
    "$HANDOVER" workflow create mine --json >>"$SIM/$NAME.said" 2>&1
    answer "" "$(right)"
    ;;
*) echo "no such word: $word" >&2 && exit 64 ;;
esac
