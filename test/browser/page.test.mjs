// The chat page in Chromium, against scripted answers (page_server.cc).
//
//   node page.test.mjs --server build/tests/page_server [--screenshots FOLDER]
import assert from 'node:assert/strict';
import {mkdirSync} from 'node:fs';
import {join} from 'node:path';
import {parseArgs} from 'node:util';

import {answered, launchBrowser, openPage, say, startServer} from './setup.mjs';

const {values: options} = parseArgs({
  options: {server: {type: 'string'}, screenshots: {type: 'string'}},
});
const TOOLS = ['weather', 'now'].map((name) => ({
  type: 'function',
  function: {name, parameters: {type: 'object', properties: {}}},
}));
const tests = {};

async function screenshot(page, name) {
  if (!options.screenshots) return;
  mkdirSync(options.screenshots, {recursive: true});
  await page.screenshot({path: join(options.screenshots, `${name}.png`)});
}

async function setTools(page, tools) {
  await page.click('#settings > summary');
  await page.fill('#tools', JSON.stringify(tools));
}

tests['streams reasoning and content, and counts'] = async ({browser, url}) => {
  const page = await openPage(browser, url);
  await page.waitForSelector('#state[data-state="ok"]');
  await page.waitForFunction(() => document.title === 'GLM-5.3-Flash');
  await say(page, 'Greet me.');
  await page.waitForFunction(
      () => /^Thinking · ~\d+ tokens$/.test(
          document.querySelector('.reasoning summary')?.textContent));
  assert.equal(await page.isVisible('.reasoning .text'), false);
  await answered(page);
  const summary = await page.textContent('.reasoning summary');
  assert.match(summary, /^Thought · \d+ tokens$/);
  await page.click('.reasoning summary');
  assert.match(await page.innerText('.reasoning .text'),
               /Grüße, 你好 and 🙂 are several bytes a letter/);
  assert.equal(await page.innerText('.content h3'), 'Greetings');
  assert.equal(await page.innerText('.content strong'), 'small');
  assert.equal(await page.innerText('.content p code >> nth=0'), 'greet()');
  assert.equal(await page.innerText('.language'), 'python');
  const code = await page.textContent('.content pre');
  assert.match(code, /^GREETINGS = {"de": "Grüße", "zh": "你好"/);
  assert.match(code, /\n {4}print\(.*🙂.*flush=True\)$/);
  assert.match(await page.textContent('#facts'),
               /^[\d.]+ tokens\/s · \d+ tokens · prompt \d+ tokens, [67]\d% cached · first after [\d.]+ s$/);
  assert.equal(await page.textContent('#announcement'), 'Answer complete');
  await screenshot(page, 'answer-light');
  return page;
};

tests['sends the history with its reasoning, and the settings'] =
    async ({browser, url}) => {
  const page = await openPage(browser, url);
  await page.click('#settings > summary');
  await page.selectOption('#effort', 'low');
  await page.fill('#temperature', '0.5');
  await page.fill('#max-tokens', '1000');
  await page.fill('#system', 'Be brief.');
  await screenshot(page, 'settings');
  await say(page, 'Greet me.');
  await answered(page, 1);
  await say(page, 'Again.');
  await answered(page, 2);
  const [first, second] = page.bodies;
  assert.deepEqual(first, {
    messages: [{role: 'system', content: 'Be brief.'},
               {role: 'user', content: 'Greet me.'}],
    reasoning_effort: 'low', temperature: 0.5, max_tokens: 1000,
    stream: true, stream_options: {include_usage: true},
  });
  assert.deepEqual(second.messages.map(({role}) => role),
                   ['system', 'user', 'assistant', 'user']);
  assert.match(second.messages[2].reasoning_content, /^The user asks/);
  assert.match(second.messages[2].content, /^## Greetings/);
  await page.click('#new-chat');
  assert.equal(await page.isVisible('#empty'), true);
  await say(page, 'Greet me.');
  await answered(page, 1);
  assert.equal(page.bodies[2].messages.length, 2);
  return page;
};

tests['shows markup of the model as text'] = async ({browser, url}) => {
  const page = await openPage(browser, url);
  await say(page, 'Markup, please.');
  await answered(page);
  assert.match(await page.innerText('.content p'), /^<img src=x onerror=/);
  assert.equal(
      await page.locator('main').locator('img, script, a, b').count(), 0);
  assert.equal(await page.evaluate(() => window.broken), undefined);
  return page;
};

tests['shows calls, and sends their results'] = async ({browser, url}) => {
  const page = await openPage(browser, url);
  await setTools(page, TOOLS);
  await say(page, 'Weather?');
  await answered(page, 1);
  assert.deepEqual(await page.locator('.call h3').allInnerTexts(),
                   ['Calls weather', 'Calls now']);
  assert.deepEqual(
      await page.locator('.call pre').allTextContents(),
      ['{\n  "city": "Tromsø",\n  "days": [\n    1,\n    2\n  ]\n}', '{}']);
  await page.locator('.call textarea').nth(0).fill('-12 degrees');
  await page.locator('.call textarea').nth(1).fill('noon');
  await screenshot(page, 'calls');
  await page.click('text=Send results');
  await answered(page, 2);
  assert.equal(await page.innerText('.content strong'), 'cold');
  const sent = page.bodies[1].messages;
  assert.deepEqual(sent.map(({role}) => role),
                   ['user', 'assistant', 'tool', 'tool']);
  assert.equal(sent[1].tool_calls[0].function.name, 'weather');
  assert.equal(sent[2].tool_call_id, sent[1].tool_calls[0].id);
  assert.equal(sent[2].content, '-12 degrees');
  assert.equal(await page.isVisible('.call textarea'), false);
  return page;
};

tests['stops, and the server does too'] = async ({browser, url}) => {
  const page = await openPage(browser, url);
  for (const [way, count] of [['button', 1], ['Escape', 2]]) {
    const cancelled = await metric(url, 'glm_sequences_cancelled_total');
    await say(page, 'Endless.');
    await page.waitForFunction(
        (n) => document.querySelectorAll('.assistant').length === n &&
            /on and on/.test([...document.querySelectorAll('.assistant')]
                .at(-1).textContent), count);
    assert.equal(await page.isVisible('#send'), false);
    way === 'button' ? await page.click('#stop')
                     : await page.keyboard.press('Escape');
    await answered(page, count);
    assert.equal(await page.locator('.note').last().innerText(), 'stopped');
    while (await metric(url, 'glm_sequences_cancelled_total') === cancelled) {
      await page.waitForTimeout(10);
    }
  }
  await say(page, 'Greet me.');
  await answered(page, 3);
  return page;
};

tests['tells errors, and tries again'] = async ({browser, url}) => {
  const page = await openPage(browser, url);
  await say(page, 'Fail.');
  await answered(page);
  assert.match(await page.innerText('.error'), /a step failed internal_error$/);
  await screenshot(page, 'error');
  await page.click('text=Try again');
  await page.waitForFunction(
      () => document.querySelector('.error') &&
          document.getElementById('stop').hidden);
  assert.equal(await page.locator('.assistant').count(), 1);
  assert.deepEqual(page.bodies[0], page.bodies[1]);
  await page.click('#new-chat');
  await setTools(page, [{type: 'function', function: {name: 'no blanks!'}}]);
  await say(page, 'Greet me.');
  await answered(page);
  assert.match(await page.innerText('.error'),
               /tools\[0\]\.function\.name must be .* invalid_value, 400$/);
  // What is no JSON is not even sent.
  await page.click('#settings > summary');
  await page.fill('#tools', '{');
  await say(page, 'Greet me.');
  assert.equal(await page.inputValue('#input'), 'Greet me.');
  assert.equal(page.bodies.length, 3);
  return page;
};

tests['asks for a key, and keeps it in the tab alone'] = async ({browser}) => {
  const server = await startServer(options.server, '--key', 'secret');
  const page = await openPage(browser, server.url);
  await page.waitForSelector('#key-form:not([hidden])');
  await say(page, 'Greet me.');
  await answered(page);
  assert.match(await page.innerText('.error'), /invalid_api_key, 401$/);
  await page.fill('#key', 'wrong');
  await page.press('#key', 'Enter');
  await page.waitForFunction(
      () => !document.getElementById('key-form').hidden &&
          document.querySelectorAll('.error').length === 1 &&
          document.getElementById('stop').hidden);
  await screenshot(page, 'key');
  await page.fill('#key', 'secret');
  await page.press('#key', 'Enter');
  await page.waitForSelector('.content h3');
  await answered(page);
  assert.equal(await page.isVisible('#key-form'), false);
  assert.equal(await page.evaluate(() => localStorage.length), 0);
  assert.equal(await page.evaluate(() => document.cookie), '');
  await page.reload();
  await page.waitForFunction(() => document.title === 'GLM-5.3-Flash');
  server.stop();
  return page;
};

tests['says that the server loads, or has gone'] = async ({browser}) => {
  const server = await startServer(options.server, '--loading');
  const page = await openPage(browser, server.url);
  await page.waitForFunction(
      () => document.getElementById('state').textContent === 'loading');
  await say(page, 'Greet me.');
  await answered(page);
  assert.match(await page.innerText('.error'), /being loaded.* loading, 503$/);
  server.stop();
  await page.waitForFunction(
      () => document.getElementById('state').dataset.state === 'bad');
  page.faults = [];  // that the connection was refused
  await page.close();
  return null;
};

tests['fits a narrow and dark screen'] = async ({browser, url}) => {
  const page = await openPage(browser, url, {
    viewport: {width: 360, height: 640}, colorScheme: 'dark',
  });
  await page.fill('#input', 'Greet me\nin a line that is far too long for so ' +
                  'narrow a screen/' + 'and-a-word-'.repeat(12));
  await page.press('#input', 'Shift+Enter');
  assert.equal(page.bodies.length, 0);
  await page.press('#input', 'Enter');
  await answered(page);
  await screenshot(page, 'narrow-dark');
  const [wide, seen] = await page.evaluate(
      () => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= seen, `the page is ${wide} wide`);
  const main = await page.$eval('main', (e) => [e.scrollWidth, e.clientWidth]);
  assert.ok(main[0] <= main[1], `the chat is ${main[0]} wide`);
  assert.ok(await page.$eval('.content pre',
                             (e) => e.scrollWidth > e.clientWidth));
  // It has followed the answer to its end.
  assert.ok(await page.$eval(
      'main', (e) => e.scrollHeight - e.scrollTop - e.clientHeight < 2));
  return page;
};

async function metric(url, name) {
  const text = await (await fetch(`${url}metrics`)).text();
  return Number(text.match(new RegExp(`^${name} (.*)$`, 'm'))[1]);
}

const browser = await launchBrowser();
const server = await startServer(options.server);
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    const page = await test({browser, url: server.url});
    assert.deepEqual(page?.faults ?? [], []);
    console.log(`ok      ${name}`);
  } catch (error) {
    ++failed;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
}
server.stop();
await browser.close();
process.exit(failed ? 1 : 0);
