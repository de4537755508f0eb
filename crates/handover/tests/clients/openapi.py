"""Gives the OpenAPI document of a running server to a validator that others wrote.

usage: python openapi.py HANDOVER
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import urllib.request
from pathlib import Path

from openapi_spec_validator import OpenAPIV31SpecValidator


def fetch(program, folder):
    env = os.environ | {"HANDOVER_STORE": f"{folder}/handover.db"}
    server = subprocess.Popen([program, "serve", "--port", "0"], cwd=folder, env=env, stdout=subprocess.PIPE, text=True)
    try:
        said = [server.stdout.readline().strip() for _ in range(4)]
        address = said[0].removeprefix("listening on ")
        token = Path(said[3].removeprefix("token").strip()).read_text().strip()
        request = urllib.request.Request(f"{address}/api/v1/openapi.json", headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return json.load(answer)
    finally:
        server.send_signal(signal.SIGTERM)
        server.wait(20)


with tempfile.TemporaryDirectory(prefix="handover-client-") as place:
    document = fetch(os.path.abspath(sys.argv[1]), place)
problems = list(OpenAPIV31SpecValidator(document).iter_errors())
for problem in problems[:20]:
    print(f"openapi.json: {'/'.join(map(str, problem.absolute_path))}: {problem.message}"[:500], file=sys.stderr)
print(f"OpenAPI validator: {len(document['paths'])} paths, {len(problems)} problems")
sys.exit(1 if problems else 0)
