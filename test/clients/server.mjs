// A `glmrun serve` of one test file: started on a free port, asked for its metrics, stopped by SIGTERM.
// The program and its plan: GLMRUN and GLM_PLAN of the environment (run.sh).
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";

const START_LIMIT_MS = 60_000;
const WAIT_LIMIT_MS = 20_000;

export class Server {
  #child;
  #log = "";
  #signalled = false;
  #key = "";

  // Resolves when /ready is 200. `options` go to glmrun; with a `key` it wants that.
  static async start({ options = [], key = "" } = {}) {
    const server = new Server();
    server.#key = key;
    await server.#start(options);
    return server;
  }

  async #start(options) {
    const { GLMRUN: program, GLM_PLAN: plan } = process.env;
    assert.ok(program && plan, "GLMRUN and GLM_PLAN name the program and the plan; run run.sh");
    const child = spawn(program, ["serve", plan, "--device", "host", "--port", "0", ...options], {
      env: { ...process.env, ...(this.#key && { GLM_API_KEY: this.#key }) },
      stdio: ["ignore", "inherit", "pipe"],
    });
    this.#child = child;
    process.once("exit", () => child.kill("SIGKILL"));
    child.stderr.setEncoding("utf8").on("data", (text) => (this.#log += text));
    const address = () => this.#log.match(/listening at (http:\/\/[^\s,]+)/)?.[1];
    await this.until(() => address() !== undefined, START_LIMIT_MS);
    this.url = address();
    this.baseURL = `${this.url}/v1`;
    await this.until(async () => (await fetch(`${this.url}/ready`)).ok, START_LIMIT_MS);
  }

  // Waits for `condition`; fails with the server's log when that takes too long, or the server has ended.
  async until(condition, limit = WAIT_LIMIT_MS) {
    for (const begin = Date.now(); !(await condition()); await sleep(10)) {
      assert.equal(this.#child.exitCode, null, `glmrun has ended:\n${this.#log}`);
      assert.ok(Date.now() - begin < limit, `waited ${limit} ms for ${condition}:\n${this.#log}`);
    }
  }

  // The sum of a metric's values with this label, `outcome="aborted"` for example.
  async metric(name, label = "") {
    const headers = this.#key ? { Authorization: `Bearer ${this.#key}` } : {};
    const lines = (await (await fetch(`${this.url}/metrics`, { headers })).text()).split("\n");
    const values = lines.filter((line) => /^\w+/.exec(line)?.[0] === name && line.includes(label));
    return values.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0);
  }

  // SIGTERM, once: a second one would not be orderly.
  signal() {
    if (!this.#signalled) this.#child.kill("SIGTERM");
    this.#signalled = true;
  }

  // An orderly end: exit code 0 within 5 s.
  async stop() {
    const child = this.#child;
    const begin = Date.now();
    if (child.exitCode === null && child.signalCode === null) {
      const ended = once(child, "exit");
      this.signal();
      await Promise.race([ended, sleep(10_000, undefined, { ref: false })]);
    }
    assert.equal(child.exitCode, 0, `exit code ${child.exitCode}, signal ${child.signalCode}:\n${this.#log}`);
    assert.ok(Date.now() - begin < 5000, "the end took 5 s or more");
  }
}
