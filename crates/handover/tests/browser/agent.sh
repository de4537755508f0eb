#!/bin/sh
# A program that is started like Claude Code and prints its stream of events. The goal of its task says which work it
# does. It saves each message that it gets in the folder SIM.
resume=new
for word; do
    [ "$before" != --resume ] || resume=$word
    before=$word
done
echo "$resume" >>"$SIM/starts"
number=$(wc -l <"$SIM/starts")
message=$SIM/message.$number
cat >"$message"
conversation=$resume
[ "$resume" != new ] || conversation=c-$number

event() { printf '%s\n' "$1"; }
say() { event "{\"type\":\"assistant\",\"session_id\":\"$conversation\",\"message\":{\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}}"; }
tool() { # arguments: number, name, input, whether it failed, result
    event "{\"type\":\"assistant\",\"session_id\":\"$conversation\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"t$1\",\"name\":\"$2\",\"input\":$3}]}}"
    event "{\"type\":\"user\",\"session_id\":\"$conversation\",\"message\":{\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t$1\",\"is_error\":$4,\"content\":\"$5\"}]}}"
}
end() { # arguments: success, summary, recommendation, cost
    event "{\"type\":\"result\",\"subtype\":\"success\",\"is_error\":false,\"session_id\":\"$conversation\",\"total_cost_usd\":$4,\"usage\":{\"input_tokens\":1200,\"output_tokens\":340},\"result\":\"{\\\"success\\\": $1, \\\"summary\\\": \\\"$2\\\", \\\"artifacts\\\": [], \\\"notes\\\": [], \\\"recommendation\\\": \\\"$3\\\"}\"}"
    exit 0
}

event "{\"type\":\"system\",\"subtype\":\"init\",\"session_id\":\"$conversation\",\"mcp_servers\":[{\"name\":\"handover\",\"status\":\"connected\"}]}"
case $(cat "$message") in
*'"goal":"Fix login'*)
    say "The form loses the address that the visitor came from."
    tool 1 Read '{"file_path":"src/login.js"}' false "24 lines"
    if [ "$resume" = new ]; then
        sed -i "s|res.redirect('/')|res.redirect(safe(next) ? next : '/')|" src/login.js
        printf '\nfunction safe(path) {\n  return path.startsWith("/");\n}\n' >>src/login.js
        printf 'keeps the address\n' >test/login.txt
        tool 2 Edit '{"file_path":"src/login.js","old_string":"a","new_string":"b"}' false "The file was updated."
        tool 3 Bash '{"command":"sh test.sh"}' false "all tests passed"
    else
        sed -i "s|safe(|isLocalPath(|g" src/login.js
        tool 2 Edit '{"file_path":"src/login.js","old_string":"safe","new_string":"isLocalPath"}' false "The file was updated."
    fi
    end true "Keeps ?next= through the form and refuses addresses of other hosts." proceed 0.42
    ;;
*'"goal":"Sign-up email'*)
    printf 'export const subject = "Welcome to the shop";\n' >src/email.js
    end true "Writes the welcome mail." proceed 0.18
    ;;
*'"goal":"Add health endpoint'*)
    if [ "$resume" = new ]; then
        say "I need to know where the service listens."
        end false "Which port should the service use?" escalate 0.09
    fi
    printf 'export const port = 8080;\n' >src/health.js
    end true "Answers GET /health." proceed 0.11
    ;;
*'"goal":"Cart totals'*)
    printf 'export const total = 12.3;\n' >src/cart.js
    tool 1 Bash '{"command":"sh test.sh"}' true "expected 12.30, got 12.3"
    end true "The rounding test contradicts the spec in docs/money.md." proceed 0.55
    ;;
*'"goal":"Tidy imports'*)
    end true "All done, everything works." proceed 0.05
    ;;
*'"goal":"Paginate orders'*)
    say "Orders come in pages of 50."
    event "{\"type\":\"assistant\",\"session_id\":\"$conversation\",\"message\":{\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Edit\",\"input\":{\"file_path\":\"src/api.js\",\"old_string\":\"a\",\"new_string\":\"b\"}}]}}"
    touch "$SIM/begun"
    until [ -e "$SIM/go" ] || [ ! -e "$SIM" ]; do sleep 0.05; done
    printf 'export const page = 50;\n' >src/api.js
    end true "Orders come in pages." proceed 0.31
    ;;
*'"goal":"Hostile'*)
    # The test wrote the words of this agent, as a part of a JSON text.
    printf 'x\n' >"hostile-$number.txt"
    end "$(cat "$SIM/hostile.success")" "$(cat "$SIM/hostile.words")" "$(cat "$SIM/hostile.recommendation")" 0.01
    ;;
*)
    printf 'made in turn %s\n' "$number" >"made-$number.txt"
    end true "Made it in turn $number." proceed 0.02
    ;;
esac
