// What page.test.mjs runs on: Chromium, a server with scripted answers, and a
// page that may speak with nobody else.
import assert from 'node:assert/strict';
import {spawn} from 'node:child_process';
import {existsSync} from 'node:fs';
import {createInterface} from 'node:readline';

const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser',
                  '/usr/bin/google-chrome'];

// Exit code 77 is a skipped test.
function skip(why) {
  console.log(`skipped: ${why}`);
  process.exit(77);
}

export async function launchBrowser() {
  const path = process.env.CHROMIUM ?? CHROMIUM.find(existsSync);
  if (!path) skip('there is no Chromium (Debian package chromium; or set ' +
                  'CHROMIUM to its path)');
  let playwright;
  try {
    playwright = await import('playwright-core');
  } catch {
    skip('playwright-core is not there; run npm ci in test/browser');
  }
  return playwright.chromium.launch({
    executablePath: path,
    // Containers run as root, without the privileges that its sandbox needs.
    args: process.getuid() === 0 ? ['--no-sandbox'] : [],
  });
}

// {url, stop()}
export async function startServer(program, ...args) {
  const server = spawn(program, args, {stdio: ['pipe', 'pipe', 'inherit']});
  const lines = createInterface(server.stdout)[Symbol.asyncIterator]();
  const {value: port} = await lines.next();
  assert.match(port ?? '', /^\d+$/, `${program} does not listen`);
  return {url: `http://127.0.0.1:${port}/`, stop: () => server.stdin.end()};
}

// A page of a browser without a past. `faults` are what it complains about, and
// requests that leave the server; `bodies` are its chat requests.
export async function openPage(browser, url, options = {}) {
  const context = await browser.newContext(
      {viewport: {width: 900, height: 700}, ...options});
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  page.faults = [];
  page.bodies = [];
  page.on('pageerror', (error) => page.faults.push(String(error)));
  page.on('console', (message) => {
    // Of refusals, which tests ask for, Chromium itself writes a line.
    const refused = /^Failed to load resource.* status of [45]/;
    if (message.type() === 'error' && !refused.test(message.text())) {
      page.faults.push(message.text());
    }
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(url)) page.faults.push(request.url());
    if (request.method() === 'POST') page.bodies.push(request.postDataJSON());
  });
  await page.goto(url);
  return page;
}

export async function say(page, text) {
  await page.fill('#input', text);
  await page.press('#input', 'Enter');
}

export async function answered(page, count = 1) {
  await page.waitForFunction(
      (n) => document.querySelectorAll('.assistant').length === n &&
          document.getElementById('stop').hidden, count);
}
