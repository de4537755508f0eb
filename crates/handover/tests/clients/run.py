"""Plays the transcripts through the Python client, over stdio, in the newest era that both sides speak. The client lists the tools
first, so it holds every reply to the tool's output schema by itself.

usage: python run.py HANDOVER SCRIPTS [NAME...]
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import anyio
from mcp import StdioServerParameters
from mcp.client.client import Client

DOOR = "stdio"
PROGRAM, SCRIPTS, *ONLY = sys.argv[1:]

# --- the scripts -----------------------------------------------------------------------------------------------------

EXCEPT = re.compile(r"^\s*(not|only) ([a-z, ]+): ")


def read_script(path):
    worlds, line = [], 1
    for paragraph in re.split(r"\n\s*\n", path.read_text()):
        lines = [text for text in paragraph.split("\n") if text.strip()]
        if lines and lines[0].startswith("## "):
            worlds.append({"except": [text for text in lines if EXCEPT.match(text)], "steps": []})
        elif worlds and lines:
            worlds[-1]["steps"].append(read_step(lines) | {"line": line})
        line += paragraph.count("\n") + 2
    return worlds


def read_step(lines):
    at = next((index for index, text in enumerate(lines) if text.startswith("=> ")), len(lines))
    asked = [text for text in lines[:at] if not text.startswith("#")]
    answer = "\n".join(lines[at:])[3:]
    is_word = lambda text: EXCEPT.match(text) or re.match(r"^\s*(save|times) ", text)
    words = [text.strip() for text in asked if is_word(text)]
    call = "\n".join(text for text in asked if not is_word(text))
    who, tool, rest = re.match(r"^(\S*)\s*(\S*)\s*(.*)$", call, re.DOTALL).groups()
    saves = [found.groups() for word in words if (found := re.match(r"^save (\$\S+) = (.*)$", word))]
    times = [int(found[1]) for word in words if (found := re.match(r"^times (\d+)$", word))]
    refused = answer.startswith("refused ")
    value = json.loads(answer.removeprefix("refused ")) if answer else None
    return {"who": who, "tool": tool, "rest": rest, "saves": saves, "times": (times or [1])[0], "refused": refused, "value": value}


def leaves_out(lines):
    found = [EXCEPT.match(line).groups() for line in lines]
    return any((DOOR in doors.split(", ")) == (word == "not") for word, doors in found)


# --- names -----------------------------------------------------------------------------------------------------------

ID = re.compile(r"\b(wf|tk|ag|cp|ws|rp|tmpl|msg|thr|ses|tok|ap)_(?!000000000000|0123456789ab)[0-9a-z]{12}\b")
RFC_3339 = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
REMOVED = re.compile(r"refs/handover/removed/\d{13}-[0-9a-f]{12}/")


def is_time(number):
    return 1_577_000_000_000 <= number < 4_000_000_000_000


def cover_time(found):
    """A time of this run is covered; a time that a script gives stays."""
    moment = datetime.fromisoformat(found[0].replace("Z", "+00:00"))
    return "<time>" if abs(moment - datetime.now(timezone.utc)) < timedelta(days=1) else found[0]


def cover_text(names, text):
    for name, value in sorted(names.items(), key=lambda pair: -len(pair[1])):
        text = text.replace(value, name) if len(value) >= 12 else name if text == value else text
    text = ID.sub(r"<\1>", text)
    text = RFC_3339.sub(cover_time, text)
    return re.sub(r"\ba[0-9a-f]{16}\b", "<alias>", text)


def cover(names, value):
    if isinstance(value, str):
        return cover_text(names, value)
    if isinstance(value, int) and not isinstance(value, bool):
        return "<time>" if is_time(value) else value
    if isinstance(value, list):
        return [cover(names, item) for item in value]
    if isinstance(value, dict):
        return {cover_text(names, name): cover(names, item) for name, item in value.items()}
    return value


def cover_reply(names, tool, value):
    covered = cover(names, value)
    holder = covered.get("context") or {} if tool in ("task_next", "task_wait") else covered
    if tool in ("task_next", "task_wait", "task_load_context", "workflow_get_summary") and "token_estimate" in holder:
        holder["token_estimate"] = "<token_estimate>"
    if tool in ("task_next", "task_wait") and isinstance(covered.get("cursor"), str):
        covered["cursor"] = "<cursor>"
    if tool == "workspace_update" and covered.get("branch_restore"):
        covered["branch_restore"] = REMOVED.sub("refs/handover/removed/<time>-<commit>/", covered["branch_restore"])
    return covered


def fill(names, text):
    for name, value in sorted(names.items(), key=lambda pair: -len(pair[0])):
        text = text.replace(name, value)
    return text


# --- playing ---------------------------------------------------------------------------------------------------------


def git(place, *words):
    roles = [f"GIT_{role}_{part}" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")]
    env = os.environ | {"GIT_CONFIG_GLOBAL": "/dev/null"} | dict.fromkeys(roles, "t")
    return subprocess.run(["git", *words], cwd=place, env=env, check=True, capture_output=True, text=True).stdout.strip()


def make_repository(place):
    path = place / "repo"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    (path / "README.md").write_text("A project.\n")
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", "start")
    return str(path)


# No caller over MCP has a person's rights, and only a client that the project's settings list is a coordinator. So a
# program that calls Handover as a library does the steps of both.
BESIDE = ("person", "coordinator")


def beside(place, who, tool, arguments):
    words = [Path(PROGRAM).parent / "examples/desk_step", str(place), who, tool]
    env = {"PATH": os.environ["PATH"]}
    ran = subprocess.run(words, input=arguments, env=env, check=True, capture_output=True, text=True)
    (kind, value), = json.loads(ran.stdout).items()
    return value, kind == "refused"


class Connection:
    """A client in a task of its own, because its scopes must be left where they were entered."""

    def __init__(self, place, who):
        env = {"PATH": os.environ["PATH"], "XDG_DATA_HOME": str(place), "HANDOVER_STORE": str(place / "state/handover.db")}
        args = ["mcp", "--tools", "full"]
        self.server = StdioServerParameters(command=PROGRAM, args=args, env=env, cwd=place)
        self.ending, self.ended = anyio.Event(), anyio.Event()

    async def run(self, *, task_status):
        async with Client(self.server) as self.client:
            tools = (await self.client.list_tools()).tools
            assert all(tool.output_schema for tool in tools), "a tool has no output schema"
            task_status.started()
            await self.ending.wait()
        self.ended.set()

    async def close(self):
        self.ending.set()
        await self.ended.wait()


class Stage:
    def __init__(self, place, tasks):
        self.place, self.tasks, self.names, self.connections = place, tasks, {"$folder": str(place)}, {}

    async def play(self, step):
        await anyio.sleep(0.002)
        names, who, tool = self.names, step["who"], step["tool"]
        if who == "file":
            path = Path(fill(names, tool))
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(fill(names, step["rest"]))
        elif who == "trust":
            folder = fill(names, tool)
            env = {"PATH": os.environ["PATH"], "XDG_DATA_HOME": folder}
            words = [PROGRAM, "trust", "--json"]
            offered = subprocess.run(words, cwd=folder, env=env, check=True, capture_output=True, text=True).stdout
            words = [PROGRAM, "trust", "--sha256", json.loads(offered)["sha256"]]
            subprocess.run(words, cwd=folder, env=env, check=True, capture_output=True)
        elif who == "git":
            said = git(fill(names, tool), *fill(names, step["rest"]).split())
            names.update({name: said for name, _ in step["saves"]})
        elif who == "close":
            await self.connections.pop(tool).close()
        elif who:
            await self.call(step)

    async def call(self, step):
        names, who, tool = self.names, step["who"], step["tool"]
        if who in BESIDE:
            for number in range(1, step["times"] + 1):
                arguments = fill(names, step["rest"].strip() or "{}").replace("%n%", str(number))
                value, refused = beside(self.place, who, tool, arguments)
            return self.judge(step, value, refused)
        if who not in self.connections:
            self.connections[who] = Connection(self.place, who)
            await self.tasks.start(self.connections[who].run)
        for number in range(1, step["times"] + 1):
            arguments = json.loads(fill(names, step["rest"].strip() or "{}").replace("%n%", str(number)))
            result = await self.connections[who].client.call_tool(tool, arguments)
        assert len(result.content) == 1, "more than one block"
        value, refused = json.loads(result.content[0].text), bool(result.is_error)
        assert result.structured_content == (None if refused else value), "the text is not the structured content"
        self.judge(step, value, refused)

    def judge(self, step, value, refused):
        names, tool = self.names, step["tool"]
        for name, path in step["saves"]:
            part = value
            for key in path.split("."):
                part = part[int(key)] if isinstance(part, list) else part[key]
            names[name] = part if isinstance(part, str) else json.dumps(part)
        shown = cover(names, value) if refused else cover_reply(names, tool, value)
        wanted = (step["refused"], step["value"])
        assert (refused, shown) == wanted, f"\nexpected {json.dumps(step['value'])}\nfound    {json.dumps(shown)}"


async def play_world(name, world, problems):
    with tempfile.TemporaryDirectory(prefix="handover-client-") as folder:
        place = Path(folder).resolve()
        (place / "state").mkdir()
        async with anyio.create_task_group() as tasks:
            stage = Stage(place, tasks)
            if any("$repo" in f"{step['tool']} {step['rest']}" for step in world["steps"]):
                stage.names["$repo"] = make_repository(place)
            for step in world["steps"]:
                try:
                    await stage.play(step)
                except Exception as error:
                    problems.append(f"{name}:{step['line']} {step['who']} {step['tool']}: {type(error).__name__} {error}")
                    break
            for connection in stage.connections.values():
                await connection.close()


def main():
    began = time.monotonic()
    problems, worlds, steps = [], 0, 0
    for path in sorted(Path(SCRIPTS).glob("*.txt")):
        if path.name == "README.txt" or (ONLY and path.stem not in ONLY):
            continue
        for world in read_script(path):
            if leaves_out(world["except"]):
                continue
            anyio.run(play_world, path.name, world, problems)
            worlds, steps = worlds + 1, steps + len(world["steps"])
    for problem in problems:
        print(problem, file=sys.stderr)
    print(f"Python client: {worlds} worlds, {steps} steps, {time.monotonic() - began:.1f} s")
    sys.exit(1 if problems else 0)


main()
