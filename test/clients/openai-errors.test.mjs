// The `openai` package: errors as its classes, keys, aborts, and the end of the server inside of a stream.
import assert from "node:assert/strict";
import { test } from "node:test";
import OpenAI from "openai";
import { CAPITAL, STORY } from "./nano.mjs";
import { Server } from "./server.mjs";

async function serving(options, body) {
  const server = await Server.start(options);
  try {
    await body(server, new OpenAI({ baseURL: server.baseURL, apiKey: "none", maxRetries: 0 }));
  } finally {
    await server.stop();
  }
}

const chat = (content, fields = {}) => ({
  model: "nano",
  messages: [{ role: "user", content }],
  temperature: 0,
  ...fields,
});
// Goes on until the context is full: some seconds.
const endless = chat(STORY, { ignore_eos: true });
const NAMED = { options: ["--served-name", "nano", "--parallel", "4"] };

test("refusals are the client's error classes, with code and param", () =>
  serving(NAMED, async (server, client) => {
    const refused = async (request, type, status, code, param) => {
      for (const stream of [false, true]) {
        await assert.rejects(client.chat.completions.create({ ...request, stream }), (error) => {
          assert.ok(error instanceof OpenAI.APIError && error instanceof type, `${error}`);
          assert.deepEqual([error.status, error.code, error.param], [status, code, param]);
          assert.equal(error.type, "invalid_request_error");
          return true;
        });
      }
    };
    const { BadRequestError, NotFoundError } = OpenAI;
    await refused(chat("word ".repeat(5000)), BadRequestError, 400, "context_length_exceeded", "messages");
    await refused(chat("Hi", { model: "gpt-4o" }), NotFoundError, 404, "model_not_found", "model");
    await refused(chat("Hi", { temperature: 3 }), BadRequestError, 400, "invalid_value", "temperature");
    await refused(chat("Hi", { max_tokens: "9" }), BadRequestError, 400, "invalid_type", "max_tokens");
    await refused(chat("Hi", { logit_bias: { 5: 1 } }), BadRequestError, 400, "unsupported_parameter", "logit_bias");
    await refused(chat("Hi", { messages: undefined }), BadRequestError, 400, "missing_required_parameter", "messages");
    await refused(chat([{ type: "image_url", image_url: { url: "data:image/png;base64,AA" } }]), BadRequestError, 400,
      "unsupported_value", "messages[0].content[0]");
    await assert.rejects(client.embeddings.create({ model: "nano", input: "Hi" }), { status: 404, code: "not_found" });
    assert.equal((await client.chat.completions.create(chat(CAPITAL.question))).choices[0].message.content, CAPITAL.answer);
  }));

test("a server with a key wants it", () =>
  serving({ ...NAMED, key: "sk-one" }, async (server, client) => {
    const wrong = (error) => {
      assert.ok(error instanceof OpenAI.AuthenticationError, `${error}`);
      assert.deepEqual([error.status, error.code], [401, "invalid_api_key"]);
      return true;
    };
    await assert.rejects(client.models.list(), wrong);
    await assert.rejects(client.chat.completions.create(chat("Hi")), wrong);
    const known = new OpenAI({ baseURL: server.baseURL, apiKey: "sk-one" });
    assert.equal((await known.models.list()).data[0].id, "nano");
    assert.equal((await known.chat.completions.create(chat(CAPITAL.question))).choices[0].message.content, CAPITAL.answer);
  }));

test("an abort ends the answer in the server", () =>
  serving(NAMED, async (server, client) => {
    const idle = async () => (await server.metric("glm_requests_running")) === 0;
    const aborted = () => server.metric("glm_requests_total", 'outcome="aborted"');

    const stream = await client.chat.completions.create({ ...endless, stream: true });
    let chunks = 0;
    for await (const chunk of stream) {
      assert.ok(chunk.choices.length);
      if (++chunks === 5) {
        assert.equal(await server.metric("glm_requests_running"), 1);
        stream.controller.abort();
      }
    }
    await server.until(idle);
    await server.until(async () => (await aborted()) === 1);

    const control = new AbortController();
    const whole = client.chat.completions.create({ ...endless, n: 2 }, { signal: control.signal });
    const ended = assert.rejects(whole, OpenAI.APIUserAbortError);
    await server.until(async () => (await server.metric("glm_requests_running")) === 2);
    control.abort();
    await ended;
    await server.until(idle);
    await server.until(async () => (await aborted()) === 2);
  }));

test("a full queue is a RateLimitError, and the client's own retries get through", () =>
  serving({ options: ["--served-name", "nano", "--parallel", "1", "--queue", "1"] }, async (server, client) => {
    const control = new AbortController();
    const under = [1, 2].map(() =>
      assert.rejects(client.chat.completions.create(endless, { signal: control.signal }), OpenAI.APIUserAbortError));
    await server.until(async () => (await server.metric("glm_requests_waiting")) === 1);
    await assert.rejects(client.chat.completions.create(chat("Hi")), {
      constructor: OpenAI.RateLimitError,
      status: 429,
      code: "queue_full",
    });
    const patient = client.chat.completions.create(chat(CAPITAL.question), { maxRetries: 5 });
    await server.until(async () => (await server.metric("glm_http_errors_total", 'code="queue_full"')) === 2);
    control.abort();
    await Promise.all(under);
    assert.equal((await patient).choices[0].message.content, CAPITAL.answer);
  }));

test("a stream that the server's end cuts is an error, not a short answer", () =>
  serving({ options: [...NAMED.options, "--drain-seconds", "0.2"] }, async (server, client) => {
    const stream = await client.chat.completions.create({ ...endless, stream: true });
    let chunks = 0;
    const read = async () => {
      for await (const chunk of stream) {
        assert.ok(chunk.choices.length);
        if (++chunks === 3) server.signal();
      }
    };
    await assert.rejects(read(), (error) => {
      assert.ok(error instanceof OpenAI.APIError, `${error}`);
      assert.equal(error.code, "draining");
      return true;
    });
  }));
