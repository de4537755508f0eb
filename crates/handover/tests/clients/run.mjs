// Plays the test transcripts through the MCP client of the TypeScript SDK, over standard input and output. The client
// first asks for the list of tools. So the client itself checks every reply against the tool's output schema.
//
// usage: node run.mjs HANDOVER SCRIPTS [NAME…]

import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, basename, join } from 'node:path';

const folder = process.env.HANDOVER_CLIENTS;
const sdk = (part) => import(join(folder, 'node_modules/@modelcontextprotocol/sdk/dist/esm/client', part));
const { Client } = await sdk('index.js');
const { StdioClientTransport } = await sdk('stdio.js');

const DOOR = 'stdio';
const [program, scripts, ...only] = process.argv.slice(2);

// --- the scripts ---------------------------------------------------------------------------------------------------------------

function readScript(path) {
    const worlds = [];
    let line = 1;
    for (const paragraph of readFileSync(path, 'utf8').split(/\n\s*\n/)) {
        const lines = paragraph.split('\n').filter((text) => text.trim() !== '');
        if (lines[0]?.startsWith('## ')) {
            worlds.push({ title: lines[0].slice(3), except: lines.filter(isExcept), steps: [] });
        } else if (worlds.length > 0 && lines.length > 0) {
            worlds.at(-1).steps.push({ line, ...readStep(lines) });
        }
        line += paragraph.split('\n').length + 1;
    }
    return worlds;
}

const isExcept = (line) => /^\s*(not|only) [a-z, ]+: /.test(line);

function readStep(lines) {
    const at = lines.findIndex((line) => line.startsWith('=> '));
    const asked = (at < 0 ? lines : lines.slice(0, at)).filter((line) => !line.startsWith('#'));
    const answer = at < 0 ? undefined : lines.slice(at).join('\n').slice(3);
    const isWord = (line) => isExcept(line) || /^\s*(save|times) /.test(line);
    const words = asked.filter(isWord).map((line) => line.trim());
    const call = asked.filter((line) => !isWord(line)).join('\n');
    const [, who, tool, rest] = /^(\S*)\s*(\S*)\s*([^]*)$/.exec(call);
    const saves = words.flatMap((word) => {
        const found = /^save (\$\S+) = (.*)$/.exec(word);
        return found ? [{ name: found[1], path: found[2] }] : [];
    });
    const times = words.map((word) => /^times (\d+)$/.exec(word)?.[1]).find(Boolean);
    const refused = answer?.startsWith('refused ');
    const value = answer === undefined ? undefined : JSON.parse(refused ? answer.slice(8) : answer);
    return { who, tool, rest, saves, times: Number(times ?? 1), answer: answer && { refused, value } };
}

function leavesOut(except) {
    return except.some((line) => {
        const [, word, doors] = /^\s*(not|only) ([a-z, ]+): /.exec(line);
        return doors.split(', ').includes(DOOR) === (word === 'not');
    });
}

// --- names ---------------------------------------------------------------------------------------------------------------------

const isTime = (number) => number >= 1_577_000_000_000 && number < 4_000_000_000_000;
const ID = /\b(wf|tk|ag|cp|ws|rp|tmpl|msg|thr|ses|tok|ap)_(?!000000000000|0123456789ab)[0-9a-z]{12}\b/g;
const RFC_3339 = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z/g;
const REMOVED = /refs\/handover\/removed\/\d{13}-[0-9a-f]{12}\//g;
// Replaces a time of this test run by `<time>`. Keeps a time that a transcript gives, because it does not change.
const coverTime = (text) => (Math.abs(Date.parse(text) - Date.now()) < 86_400_000 ? '<time>' : text);

function coverText(names, text) {
    const known = [...names].sort(([, one], [, other]) => other.length - one.length);
    for (const [name, value] of known) {
        text = value.length >= 12 ? text.replaceAll(value, name) : text === value ? name : text;
    }
    return text
        .replace(ID, '<$1>')
        .replace(RFC_3339, coverTime)
        .replace(/\ba[0-9a-f]{16}\b/g, '<alias>');
}

function cover(names, value) {
    if (typeof value === 'string') return coverText(names, value);
    if (typeof value === 'number') return Number.isInteger(value) && isTime(value) ? '<time>' : value;
    if (Array.isArray(value)) return value.map((item) => cover(names, item));
    if (value === null || typeof value !== 'object') return value;
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [coverText(names, name), cover(names, item)]));
}

function coverReply(names, tool, value) {
    const covered = cover(names, value);
    const waits = ['task_next', 'task_wait'].includes(tool);
    const holder = waits ? covered.context : ['task_load_context', 'workflow_get_summary'].includes(tool) ? covered : null;
    if (holder && 'token_estimate' in holder) holder.token_estimate = '<token_estimate>';
    if (waits && covered.cursor) covered.cursor = '<cursor>';
    if (tool === 'workspace_update' && covered.branch_restore) {
        covered.branch_restore = covered.branch_restore.replace(REMOVED, 'refs/handover/removed/<time>-<commit>/');
    }
    return covered;
}

function fill(names, text) {
    const known = [...names].sort(([one], [other]) => other.length - one.length);
    return known.reduce((filled, [name, value]) => filled.replaceAll(name, value), text);
}

// --- playing -------------------------------------------------------------------------------------------------------------------

function git(place, ...words) {
    const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null' };
    for (const role of ['AUTHOR', 'COMMITTER']) {
        env[`GIT_${role}_NAME`] = 't';
        env[`GIT_${role}_EMAIL`] = 't@t';
    }
    return execFileSync('git', words, { cwd: place, env, encoding: 'utf8' }).trim();
}

function makeRepository(place) {
    const path = join(place, 'repo');
    mkdirSync(path);
    git(path, 'init', '-q', '-b', 'main');
    writeFileSync(join(path, 'README.md'), 'A project.\n');
    git(path, 'add', '-A');
    git(path, 'commit', '-q', '-m', 'start');
    return path;
}

async function connect(place, who) {
    const client = new Client({ name: 'transcript', version: '1' });
    const env = { PATH: process.env.PATH, XDG_DATA_HOME: place, HANDOVER_STORE: join(place, 'state/handover.db') };
    const args = ['mcp', '--tools', 'full'];
    await client.connect(new StdioClientTransport({ command: program, args, env, cwd: place }));
    const { tools } = await client.listTools();
    if (!tools.every((tool) => tool.outputSchema)) throw new Error('a tool has no output schema');
    return client;
}

// No caller over MCP has a person's rights, and only a client that the project's settings list is a coordinator. So the
// program `desk_step`, which calls Handover as a library, does the steps of both.
const isBeside = (who) => ['person', 'coordinator'].includes(who);

function beside(place, who, tool, input) {
    const step = join(dirname(program), 'examples/desk_step');
    const said = execFileSync(step, [place, who, tool], { env: { PATH: process.env.PATH }, encoding: 'utf8', input });
    const [[kind, value]] = Object.entries(JSON.parse(said));
    return { refused: kind === 'refused', value };
}

async function call(place, client, step, names, number) {
    const filled = fill(names, step.rest.trim() || '{}').replaceAll('%n%', String(number));
    if (isBeside(step.who)) return beside(place, step.who, step.tool, filled);
    const result = await client.callTool({ name: step.tool, arguments: JSON.parse(filled) });
    if (result.content.length !== 1) throw new Error('more than one block');
    const value = JSON.parse(result.content[0].text);
    const refused = result.isError === true;
    const same = refused ? result.structuredContent === undefined : equal(result.structuredContent, value);
    if (!same) throw new Error('the text is not the structured content');
    return { refused, value };
}

const sorted = (value) =>
    value !== null && typeof value === 'object' && !Array.isArray(value)
        ? Object.fromEntries(Object.keys(value).sort().map((name) => [name, sorted(value[name])]))
        : Array.isArray(value) ? value.map(sorted) : value;
const equal = (one, other) => JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));

async function playStep(stage, step) {
    const { names, clients, place } = stage;
    await new Promise((resume) => setTimeout(resume, 2));
    if (step.who === 'file') {
        const path = fill(names, step.tool);
        mkdirSync(dirname(path), { recursive: true });
        return writeFileSync(path, fill(names, step.rest));
    }
    if (step.who === 'trust') {
        const folder = fill(names, step.tool);
        const trust = (...words) => execFileSync(program, ['trust', ...words], {
            cwd: folder, env: { PATH: process.env.PATH, XDG_DATA_HOME: folder }, encoding: 'utf8',
        });
        return trust('--sha256', JSON.parse(trust('--json')).sha256);
    }
    if (step.who === 'git') {
        const said = git(fill(names, step.tool), ...fill(names, step.rest).split(/\s+/));
        return step.saves.forEach((save) => names.set(save.name, said));
    }
    if (step.who === 'close') {
        await clients.get(step.tool).close();
        return clients.delete(step.tool);
    }
    if (step.who === '') return undefined;
    if (!isBeside(step.who) && !clients.has(step.who)) clients.set(step.who, await connect(place, step.who));
    let found;
    for (let number = 1; number <= step.times; number += 1) {
        found = await call(place, clients.get(step.who), step, names, number);
    }
    for (const { name, path } of step.saves) {
        const value = path.split('.').reduce((part, key) => part?.[key], found.value);
        if (value === undefined) throw new Error(`no ${path} in ${JSON.stringify(found.value)}`);
        names.set(name, typeof value === 'string' ? value : JSON.stringify(value));
    }
    const shown = found.refused ? cover(names, found.value) : coverReply(names, step.tool, found.value);
    if (found.refused !== Boolean(step.answer?.refused) || !equal(shown, step.answer?.value)) {
        const wanted = JSON.stringify(step.answer?.value);
        throw new Error(`\nexpected ${wanted}\nfound    ${JSON.stringify(shown)}`);
    }
    return undefined;
}

async function playWorld(name, world) {
    const place = realpathSync(mkdtempSync(join(tmpdir(), 'handover-client-')));
    mkdirSync(join(place, 'state'));
    const stage = { place, names: new Map([['$folder', place]]), clients: new Map() };
    try {
        if (world.steps.some((step) => `${step.tool} ${step.rest}`.includes('$repo'))) {
            stage.names.set('$repo', makeRepository(place));
        }
        for (const step of world.steps) {
            try {
                await playStep(stage, step);
            } catch (error) {
                throw new Error(`${name}:${step.line} ${step.who} ${step.tool}: ${error.message}`);
            }
        }
    } finally {
        await Promise.all([...stage.clients.values()].map((client) => client.close()));
        rmSync(place, { recursive: true });
    }
}

const began = Date.now();
const names = readdirSync(scripts).filter((name) => name.endsWith('.txt') && name !== 'README.txt').sort();
const wanted = names.filter((name) => only.length === 0 || only.includes(basename(name, '.txt')));
const queue = wanted.flatMap((name) => readScript(join(scripts, name)).map((world) => ({ name, world })));
const todo = queue.filter(({ world }) => !leavesOut(world.except));
const [worlds, steps] = [todo.length, todo.reduce((sum, { world }) => sum + world.steps.length, 0)];
const problems = [];
const worker = async () => {
    for (let next = todo.shift(); next; next = todo.shift()) {
        await playWorld(next.name, next.world).catch((error) => problems.push(error.message));
    }
};
await Promise.all([worker(), worker(), worker()]);
problems.forEach((problem) => console.error(problem));
console.log(`TypeScript client: ${worlds} worlds, ${steps} steps, ${((Date.now() - began) / 1000).toFixed(1)} s`);
process.exit(problems.length > 0 ? 1 : 0);
