#!/bin/sh
# A program that plays an agent over the Agent Client Protocol. It asks for permission to change its mode, and reports
# the answer that it got.
say() { printf '%s\n' "$1"; }
text() { say "{\"jsonrpc\": \"2.0\", \"method\": \"session/update\", \"params\": {\"sessionId\": \"s1\", \"update\": {\"sessionUpdate\": \"agent_message_chunk\", \"content\": {\"type\": \"text\", \"text\": \"$1\"}}}}"; }
while read -r line; do
    id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
    case $line in
    *'"initialize"'*) say "{\"jsonrpc\": \"2.0\", \"id\": $id, \"result\": {\"protocolVersion\": 1, \"agentCapabilities\": {\"sessionCapabilities\": {\"resume\": {}}}}}" ;;
    *'"session/new"'*) say "{\"jsonrpc\": \"2.0\", \"id\": $id, \"result\": {\"sessionId\": \"s1\"}}" ;;
    *'"session/resume"'*) say "{\"jsonrpc\": \"2.0\", \"id\": $id, \"result\": {}}" ;;
    *'"session/prompt"'*)
        prompt=$id
        say '{"jsonrpc": "2.0", "id": 900, "method": "session/request_permission", "params": {"sessionId": "s1", "toolCall": {"toolCallId": "t1", "title": "be free", "kind": "switch_mode", "rawInput": {"mode": "yolo"}}, "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}, {"optionId": "always", "name": "Always", "kind": "allow_always"}, {"optionId": "no", "name": "No", "kind": "reject_once"}]}}'
        ;;
    *'"optionId":"yes"'*)
        echo free >free.txt
        text '{\"success\": true, \"summary\": \"free\", \"artifacts\": [], \"recommendation\": \"proceed\"}'
        say "{\"jsonrpc\": \"2.0\", \"id\": $prompt, \"result\": {\"stopReason\": \"end_turn\"}}"
        ;;
    *'"id":900'*)
        text '{\"success\": false, \"summary\": \"not free\", \"artifacts\": [], \"recommendation\": \"retry\"}'
        say "{\"jsonrpc\": \"2.0\", \"id\": $prompt, \"result\": {\"stopReason\": \"end_turn\"}}"
        ;;
    esac
done
