// A scripted provider, a gateway in front of it, and an agent that speaks through it.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const TOKEN = 'admin-token-of-the-test';
const DEADLINE = 15_000; // ms that anything may take

/** Waits until `condition` gives something. */
export async function until(what, condition) {
  const end = Date.now() + DEADLINE;
  for (;;) {
    const found = await condition();
    if (found) return found;
    if (Date.now() > end) throw new Error(`not in time: ${what}`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** Answers every request with a text, or with a call of a tool where the prompt asks for one. */
export async function provider() {
  const received = [];
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    received.push(text);
    const body = JSON.parse(text);
    const last = JSON.stringify(body.messages.at(-1));
    const calls = last.includes('run the tests') && !last.includes('tool_result');
    const content = calls
      ? [{ type: 'text', text: 'Running them.' }, { type: 'tool_use', id: `toolu_${received.length}`, name: 'Run', input: { command: 'make test' } }]
      : [{ type: 'text', text: `All done, answer ${received.length}.` }];
    const size = Math.round(text.length / 4);
    const answer = {
      id: `msg_${received.length}`, type: 'message', role: 'assistant', model: body.model, content,
      stop_reason: calls ? 'tool_use' : 'end_turn', stop_sequence: null,
      usage: { input_tokens: Math.round(size / 5), cache_read_input_tokens: Math.round((size * 4) / 5), output_tokens: 42 },
    };
    response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { received, url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() };
}

/** A gateway; `config` is what its file says beside listeners, upstream and store. */
export async function gateway(binary, upstream, config) {
  const folder = await mkdtemp(join(tmpdir(), 'hookgate-page-'));
  const [port, admin] = [await freePort(), await freePort()];
  const file = join(folder, 'hookgate.yaml');
  const write = (config) =>
    writeFile(
      file,
      `listen: 127.0.0.1:${port}\nadmin: { listen: 127.0.0.1:${admin}, token: ${TOKEN} }\n` +
        `upstreams: [{ name: anthropic, dialect: anthropic, base_url: '${upstream}' }]\n` +
        `store: { kind: memory }\n${config}`,
    );
  await write(config);
  const child = spawn(binary, ['serve', '--config', file], { stdio: ['ignore', 'ignore', 'inherit'] });
  const url = `http://127.0.0.1:${admin}`;
  await until('the gateway is ready', () => fetch(`${url}/readyz`).then((answer) => answer.ok, () => false));
  return {
    url,
    base: `http://127.0.0.1:${port}`,
    write,
    async stop() {
      child.kill('SIGTERM');
      await once(child, 'exit');
      await rm(folder, { recursive: true });
    },
  };
}

/** An agent with a history of its own. */
export function agent(base, session, name = 'main') {
  const messages = [];
  const send = async (content) => {
    messages.push({ role: 'user', content });
    const tools = ['Read', 'Run', 'Bash'].map((name) => ({ name, description: `The tool ${name}.`, input_schema: { type: 'object' } }));
    const answer = await fetch(`${base}/v1/messages`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': 'key-of-the-agent',
        'x-hookgate-session': session, 'x-hookgate-agent': name, 'x-hookgate-project': 'shop',
      },
      body: JSON.stringify({ model: 'claude-haiku-4-5', max_tokens: 512, system: 'You are a careful agent.\nYou work on the shop.', tools, messages }),
    });
    const said = await answer.json();
    if (!answer.ok) throw new Error(JSON.stringify(said));
    messages.push({ role: 'assistant', content: said.content });
    return said;
  };
  return {
    /** A prompt; calls of tools are answered until the turn ends. */
    async say(text) {
      let said = await send(text);
      while (said.stop_reason === 'tool_use') {
        const call = said.content.find((block) => block.type === 'tool_use');
        said = await send([{ type: 'tool_result', tool_use_id: call.id, content: '12 passed' }]);
      }
      return said;
    },
  };
}
