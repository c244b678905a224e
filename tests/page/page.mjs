// What a person does on the admin page, with a scripted agent that talks through the gateway meanwhile.
import assert from 'node:assert/strict';
import { mkdir } from 'node:fs/promises';
import { cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { chromium } from 'playwright-core';
import { TOKEN, agent, gateway, provider, until } from './world.mjs';

const [binary, shots] = process.argv.slice(2);
const DESK = { width: 1400, height: 900 };
const PHONE = { width: 390, height: 844 };
const MAX_FIRST_VIEW = 200_000; // bytes
const MANY = 1000; // requests of one session
const MAX_OPENING = 1000; // ms until they are shown
const OPENINGS = 5;

const HOOKS = `
hooks:
  - { name: house-rules, on: session.start, run: { text: "Write a test for every fix.\\nKeep functions short." } }
  - { name: notes, on: prompt.submit, run: { command: [echo, 'The release is on Friday.'] } }
  - name: no-shell
    on: model.context
    run: { edits: [{ op: tools.remove, names: [Bash] }, { op: system.append, text: Shell access is disabled here. }] }
  - { name: tickets, on: prompt.submit, mode: audit, run: { command: [echo, 'Ticket 7 is open.'] } }
  - { name: metrics, on: prompt.submit, when: 'prompt.text.contains("deploy")', run: { command: ['false'] } }
  - name: learn
    on: session.stop
    when: turn.text.contains("answer 1.") || turn.text.contains("answer 2.")
    run: { command: [echo, '{"propose":[{"title":"Use make test","body":"Run the tests with make test.\\nNever skip them.","kind":"rule"}]}'] }
`;
const config = (inspect) => `inspect: ${inspect}\n${HOOKS}`;

await mkdir(shots, { recursive: true });
const upstream = await provider();
const gate = await gateway(binary, upstream.url, config('{ requests_per_session: 1000 }'));
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
const context = await browser.newContext({ viewport: DESK, colorScheme: 'light', timezoneId: 'UTC', locale: 'en-GB' });
const page = await context.newPage();
page.setDefaultTimeout(15_000);
const [foreign, complaints] = [[], []];
const bodies = [];
page.on('request', (request) => {
  const url = new URL(request.url());
  if (url.origin !== gate.url && url.protocol !== 'data:') foreign.push(request.url());
});
page.on('response', (response) => {
  if (!response.url().includes('/v1/')) bodies.push(response.body().catch(() => ''));
});
page.on('console', (message) => {
  // A refused token is told by the browser, too.
  if (['error', 'warning'].includes(message.type()) && !message.text().includes('401')) complaints.push(message.text());
});
page.on('pageerror', (error) => complaints.push(String(error)));

const shot = (name) => page.screenshot({ path: join(shots, `${name}.png`) });
const sees = (text, within = page) => within.getByText(text).first().waitFor();
const timeline = page.getByRole('region', { name: 'Timeline' });
const rows = timeline.locator('.summary');
const step = async (what, work) => {
  const begun = Date.now();
  await work();
  console.log(`ok  ${what}  (${Date.now() - begun} ms)`);
};

try {
  const worker = agent(gate.base, 'fix-checkout');

  await step('the page asks for the token, and refuses another', async () => {
    await page.goto(gate.url);
    await page.getByLabel('Admin token').fill('wrong');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').filter({ hasText: "This is not the gateway's admin token." }).waitFor();
    await shot('login');
    await page.getByLabel('Admin token').fill(TOKEN);
    await page.keyboard.press('Enter');
    await sees('No session yet');
    await sees('live');
    assert.equal(bodies.length, 3, 'the page, its script and its style');
    const loaded = (await Promise.all(bodies)).reduce((sum, body) => sum + body.length, 0);
    assert.ok(loaded < MAX_FIRST_VIEW, `the first view takes ${loaded} bytes`);
    console.log(`    first view ${loaded} bytes`);
  });

  await step('an address with the token opens it, and keeps it to itself', async () => {
    const other = await browser.newPage();
    await other.goto(`${gate.url}/#token=${TOKEN}`);
    await sees('No session yet', other);
    assert.equal(new URL(other.url()).hash, '#/sessions');
    await other.close();
  });

  await step('a request of an agent arrives while the page is open', async () => {
    await worker.say('Why does the checkout fail?');
    await page.getByRole('link', { name: /fix-checkout/ }).click();
    await rows.first().waitFor();
    assert.equal(await rows.count(), 1);
    await worker.say('Please run the tests.');
    await until('three requests', async () => (await rows.count()) === 3);
    await sees('tool step', timeline);
  });

  await step('the keyboard opens what hooks changed', async () => {
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('Enter');
    const diff = page.getByRole('group', { name: 'What hooks placed and changed' });
    await diff.waitFor();
    const added = await diff.locator('.added').allTextContents();
    assert.ok(added.some((line) => line.includes('Write a test for every fix.')), added.join('\n'));
    assert.ok(added.some((line) => line.includes('The release is on Friday.')), added.join('\n'));
    assert.ok((await diff.locator('.removed').allTextContents()).some((line) => line.includes('Bash')));
    assert.ok(!(await page.content()).includes('Why does the checkout fail'), 'without bodies nothing that people said is there');
    await shot('request');
  });

  await step('context is edited, and stands in the next request', async () => {
    await page.getByRole('button', { name: 'Edit house-rules' }).click();
    await page.getByLabel('Text of house-rules').fill('Write two tests for every fix.');
    await page.getByRole('button', { name: 'Save' }).click();
    await sees('by admin');
    await worker.say('Anything else?');
    assert.ok(upstream.received.at(-1).includes('Write two tests for every fix.'));
  });

  await step('a message is sent, and seen delivered', async () => {
    await page.getByLabel('Message to the agent').fill('The owner says: leave the prices alone.');
    await page.getByRole('button', { name: 'Send' }).click();
    const messages = page.getByRole('region', { name: 'Messages' });
    await messages.locator('.badge', { hasText: 'queued' }).waitFor();
    await worker.say('Then finish.');
    await messages.locator('.badge', { hasText: 'delivered' }).waitFor();
    assert.ok(upstream.received.at(-1).includes('leave the prices alone'));
    await timeline.locator('.chip', { hasText: '1 message' }).waitFor();
    await shot('session');
  });

  await step('a failing hook is seen in the pipeline', async () => {
    await worker.say('Now deploy it.');
    await timeline.locator('.chip.bad', { hasText: 'metrics' }).waitFor();
    await page.getByRole('link', { name: 'Pipeline' }).click();
    const row = page.getByRole('row').filter({ hasText: 'metrics' });
    await row.locator('.badge.bad', { hasText: '1' }).waitFor();
    await page.getByRole('button', { name: /no-shell/ }).click();
    await sees('"tools.remove"');
    await shot('pipeline');
  });

  await step('a proposal is approved, and another shown beside what it supersedes', async () => {
    await page.getByRole('link', { name: /Proposals/ }).click();
    await page.getByRole('article', { name: 'Use make test' }).getByRole('button', { name: 'Approve' }).click();
    await sees('Nothing waits for a review.');
    const ask = (target, body) =>
      fetch(gate.url + target, { method: body ? 'POST' : 'GET', headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }, body: body && JSON.stringify(body) }).then((answer) => answer.json());
    const [approved] = (await ask('/v1/proposals?status=approved')).items;
    await ask('/v1/proposals', { title: 'Use make check', body: 'Run the tests with make check.\nNever skip them.', kind: 'rule', supersedes: approved.id });
    const diff = page.getByRole('group', { name: 'Difference to what it supersedes' });
    await diff.waitFor();
    assert.equal(await diff.locator('.removed').count(), 1);
    assert.equal(await diff.locator('.added').count(), 1);
    await shot('proposals');
    await agent(gate.base, 'next-session').say('Hello');
    assert.ok(upstream.received.at(-1).includes('Run the tests with make test.'));
  });

  await step('a refused reload is seen, and one that takes effect', async () => {
    await page.getByRole('link', { name: 'Gateway' }).click();
    await gate.write(`${config('{ bodies: maybe }')}`);
    await sees('reload refused');
    await sees('inspect.bodies');
    await shot('gateway');
    await gate.write(config('{ requests_per_session: 1000, bodies: true }'));
    await sees('version 2');
    await sees('A later one has taken effect.');
  });

  await step('with bodies the difference is that of the bodies', async () => {
    await agent(gate.base, 'next-session').say('Hello again');
    await page.getByRole('link', { name: 'Sessions' }).click();
    await page.getByRole('link', { name: /next-session/ }).click();
    await rows.first().click();
    const diff = page.getByRole('group', { name: 'What hooks changed of the body' });
    await diff.waitFor();
    assert.ok((await diff.locator('.added').allTextContents()).some((line) => line.includes('Shell access is disabled here.')));
    await shot('bodies');
  });

  await step('dark, and on a phone, nothing is cut off', async () => {
    await page.emulateMedia({ colorScheme: 'dark' });
    await page.getByRole('link', { name: /fix-checkout/ }).click();
    await rows.nth(1).waitFor();
    await shot('session-dark');
    await page.setViewportSize(PHONE);
    const fits = async (what) => {
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(width <= PHONE.width, `${what} is ${width} px wide`);
    };
    await fits('the timeline');
    await shot('phone-session-dark');
    await page.emulateMedia({ colorScheme: 'light' });
    await rows.last().click();
    await page.locator('.detail .diff').waitFor();
    await fits('a request');
    await page.locator('.detail').scrollIntoViewIfNeeded();
    await shot('phone-request');
    await page.getByRole('tab', { name: 'Messages' }).click();
    await fits('messages');
    await shot('phone-messages');
    await page.getByRole('tab', { name: 'Context' }).click();
    await fits('context');
    await page.getByRole('link', { name: 'Back to all sessions' }).click();
    await fits('the sessions');
    await shot('phone-sessions');
    for (const name of [/Proposals/, 'Pipeline', 'Gateway']) {
      await page.getByRole('link', { name }).first().click();
      await page.locator('main h1').waitFor();
      await fits(String(name));
      await shot(`phone-${String(name).replaceAll('/', '').toLowerCase()}`);
    }
    await page.setViewportSize(DESK);
  });

  await step(`a session of ${MANY} requests opens in less than a second`, async () => {
    await gate.write(config('{ requests_per_session: 1000 }'));
    await sees('version 3');
    const one = async (count) => {
      for (let index = 0; index < count; index++) await agent(gate.base, 'long').say(`Question ${index} of ${count}`);
    };
    await Promise.all(Array.from({ length: 8 }, () => one(MANY / 8)));
    await page.getByRole('link', { name: 'Sessions' }).click();
    const took = [];
    // The best of a few, on a machine of its own: what else it does is not the page's.
    for (let round = 0; round < OPENINGS; round++) {
      await page.getByRole('link', { name: /next-session/ }).click();
      await sees('2 requests', timeline);
      const begun = Date.now();
      await page.getByRole('link', { name: /^long/ }).click();
      await sees(`${MANY.toLocaleString('en')} requests`, timeline);
      await rows.first().waitFor();
      took.push(Date.now() - begun);
    }
    console.log(`    ${MANY} requests shown after ${took.join(', ')} ms`);
    await until('all rows', async () => (await rows.count()) === MANY);
    const shared = Math.max(1, loadavg()[0] / cpus().length);
    assert.ok(Math.min(...took) < MAX_OPENING * shared, `${took} ms on a machine shared by ${shared}`);
  });

  await step('nothing is told to a tab that nobody sees', async () => {
    const show = (hidden) =>
      page.evaluate((hidden) => {
        Object.defineProperty(document, 'hidden', { value: hidden, configurable: true });
        document.dispatchEvent(new Event('visibilitychange'));
      }, hidden);
    await show(true);
    await sees('connecting');
    await agent(gate.base, 'meanwhile').say('Hello');
    await show(false);
    await sees('live');
    await page.getByRole('link', { name: /meanwhile/ }).waitFor();
  });

  await step('an address that was cut, and signing out', async () => {
    await page.goto(`${gate.url}/#/sessions/%E0%A4`);
    await page.getByRole('link', { name: /^long/ }).waitFor();
    await page.evaluate(() => sessionStorage.setItem('hookgate.review', 'a token of reviews'));
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Admin token').waitFor();
    assert.equal(await page.evaluate(() => sessionStorage.length), 0, 'no token is left behind');
  });

  await step('nothing came from elsewhere, and the browser has no complaint', async () => {
    assert.deepEqual(foreign, []);
    assert.deepEqual(complaints, []);
  });
} catch (error) {
  await shot('failure');
  console.error(complaints.join('\n'));
  throw error;
} finally {
  await browser.close();
  await gate.stop();
  upstream.close();
}
console.log(`screenshots: ${shots}`);
