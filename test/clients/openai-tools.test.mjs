// The `openai` package: the way of a tool call from the question to the answer that uses its result.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import OpenAI from "openai";
import { CAPITAL, TOOLS, WEATHER, WEATHER_ANSWER, WEATHER_QUESTION } from "./nano.mjs";
import { Server } from "./server.mjs";

let server, client, model;

before(async () => {
  server = await Server.start({ options: ["--parallel", "4"] });
  client = new OpenAI({ baseURL: server.baseURL, apiKey: "none", maxRetries: 0 });
  model = (await client.models.list()).data[0].id;
});
after(() => server.stop());

const tools = Object.entries(TOOLS).map(([name, tool]) => ({ type: "function", function: { name, ...tool } }));
const question = { role: "user", content: WEATHER_QUESTION };
const chat = (messages, fields = {}) =>
  client.chat.completions.create({ model, messages, tools, temperature: 0, ...fields });

test("calls a tool, and answers with its result", async () => {
  const first = (await chat([question])).choices[0];
  assert.equal(first.finish_reason, "tool_calls");
  assert.equal(first.message.content, null);
  assert.equal(first.message.reasoning_content, "I should call get_weather.");
  const [call, ...others] = first.message.tool_calls;
  assert.deepEqual(others, []);
  assert.match(call.id, /^call_\w+$/);
  assert.equal(call.type, "function");
  assert.equal(call.function.name, "get_weather");
  assert.deepEqual(JSON.parse(call.function.arguments), { city: "Seattle" });

  const result = { role: "tool", tool_call_id: call.id, content: JSON.stringify(WEATHER) };
  const second = await chat([question, first.message, result]);
  assert.equal(second.choices[0].message.content, WEATHER_ANSWER);
  assert.equal(second.choices[0].finish_reason, "stop");
  // The turn before is what the model said, token by token: its state was kept.
  assert.ok(second.usage.prompt_tokens_details.cached_tokens > 0);
});

test("types arguments as the schema says", async () => {
  const { message } = (await chat([{ role: "user", content: "Use the tool to add 123 and 456." }])).choices[0];
  const { name, arguments: text } = message.tool_calls[0].function;
  assert.equal(name, "add");
  const args = JSON.parse(text);
  assert.deepEqual(Object.keys(args), ["a", "b"]);
  // nano does not copy digits well, but digits they are.
  assert.ok(Number.isInteger(args.a) && Number.isInteger(args.b), text);
});

test("streams the same call", async () => {
  const whole = (await chat([question])).choices[0].message.tool_calls[0];
  const stream = await chat([question], { stream: true });
  const call = { arguments: "" };
  let finish;
  for await (const { choices } of stream) {
    for (const { index, id, type, function: f } of choices[0].delta.tool_calls ?? []) {
      assert.equal(index, 0);
      if (id) Object.assign(call, { id, type, name: f.name });
      call.arguments += f.arguments ?? "";
    }
    finish = choices[0].finish_reason ?? finish;
  }
  assert.equal(finish, "tool_calls");
  assert.match(call.id, /^call_\w+$/);
  assert.deepEqual({ ...call, id: "" }, { id: "", type: "function", ...whole.function });
});

for (const stream of [false, true]) {
  test(`runTools goes the whole way${stream ? ", streamed" : ""}`, async () => {
    const asked = [];
    const get_weather = (args) => {
      asked.push(args);
      return JSON.stringify(WEATHER);
    };
    const runnable = tools.map((tool) => ({
      type: "function",
      function: { ...tool.function, parse: JSON.parse, function: tool.function.name === "add" ? () => "0" : get_weather },
    }));
    const runner = client.chat.completions.runTools({ model, messages: [question], tools: runnable, temperature: 0, stream });
    assert.equal(await runner.finalContent(), WEATHER_ANSWER);
    assert.deepEqual(asked, [{ city: "Seattle" }]);
    assert.deepEqual(runner.messages.map(({ role }) => role), ["user", "assistant", "tool", "assistant"]);
  });
}

test("does not call with tool_choice none", async () => {
  const { message } = (await chat([question], { tool_choice: "none", max_tokens: 60 })).choices[0];
  assert.equal(message.tool_calls, undefined);
});

// It would not call of itself.
const capital = { role: "user", content: CAPITAL.question };
const strict = tools.map(({ type, function: f }) => ({ type, function: { ...f, strict: true } }));

function rightCall({ type, function: { name, arguments: text } }) {
  assert.equal(type, "function");
  const types = { get_weather: { city: "string" }, add: { a: "number", b: "number" } }[name];
  const args = JSON.parse(text);
  assert.deepEqual(Object.keys(args).sort(), Object.keys(types).sort(), text);
  for (const key in types) assert.equal(typeof args[key], types[key], text);
}

test("calls with tool_choice required, whatever the question", async () => {
  assert.equal((await chat([capital])).choices[0].message.tool_calls, undefined);
  const { message, finish_reason } = (await chat([capital], { tool_choice: "required" })).choices[0];
  assert.equal(finish_reason, "tool_calls");
  assert.equal(message.content, null);
  assert.ok(message.tool_calls.length >= 1);
  message.tool_calls.forEach(rightCall);
  const fields = { tool_choice: "required", parallel_tool_calls: false };
  assert.equal((await chat([capital], fields)).choices[0].message.tool_calls.length, 1);
});

for (const name of ["get_weather", "add"]) {
  test(`calls ${name} where tool_choice names it, whole and streamed`, async () => {
    const fields = { tools: strict, tool_choice: { type: "function", function: { name } } };
    const { message, finish_reason } = (await chat([question], fields)).choices[0];
    assert.equal(finish_reason, "tool_calls");
    assert.equal(message.tool_calls.length, 1);
    assert.equal(message.tool_calls[0].function.name, name);
    rightCall(message.tool_calls[0]);
    const streamed = client.chat.completions.stream({
      model, messages: [question], temperature: 0, ...fields,
    });
    const [call] = (await streamed.finalMessage()).tool_calls;
    assert.deepEqual([call.function.name, call.function.arguments],
      [name, message.tool_calls[0].function.arguments]);
  });
}

test("refuses a name that is no tool, and a call without tools", async () => {
  const wrong = (param) => ({ constructor: OpenAI.BadRequestError, code: "invalid_value", param });
  const forced = { type: "function", function: { name: "other" } };
  await assert.rejects(chat([question], { tool_choice: forced }), wrong("tool_choice.function.name"));
  await assert.rejects(chat([question], { tools: undefined, tool_choice: "required" }), wrong("tool_choice"));
});

test("a result names its call", async () => {
  const { message } = (await chat([question])).choices[0];
  await assert.rejects(chat([question, message, { role: "tool", content: "{}" }]), {
    constructor: OpenAI.BadRequestError,
    code: "missing_required_parameter",
    param: "messages[2].tool_call_id",
  });
});

test("a schema of too much work for one token fails its request alone", async () => {
  // Read in hundreds of ways at once, each letter making others of them.
  const ways = ["a-m", "aeiou", "e-t", "acegikmoqsuwy", "nrst ", "o-z"].map((letters) => `.*[${letters}].{150}`);
  const schema = { type: "string", pattern: `^(${ways.join("|")})$` };
  const fields = {
    tools: undefined, temperature: 1, seed: 1,
    response_format: { type: "json_schema", json_schema: { name: "text", schema } },
  };
  const others = Promise.all([1, 2].map(() => chat([capital], { tools: undefined })));
  await assert.rejects(chat([capital], fields), {
    constructor: OpenAI.InternalServerError, status: 500, code: "schema_too_complex",
  });
  const stream = await chat([capital], { ...fields, stream: true });
  let chunks = 0;
  const read = async () => {
    for await (const { choices } of stream) chunks += choices.length;
  };
  await assert.rejects(read(), (error) => error instanceof OpenAI.APIError && error.code === "schema_too_complex");
  assert.ok(chunks > 10);
  for (const { choices } of await others) assert.equal(choices[0].message.content, CAPITAL.answer);
  assert.equal((await chat([capital], { tools: undefined })).choices[0].message.content, CAPITAL.answer);
});

test("takes a history with several calls and results", async () => {
  const call = (id, city) => ({ id, type: "function", function: { name: "get_weather", arguments: JSON.stringify({ city }) } });
  const result = (id) => ({ role: "tool", tool_call_id: id, content: JSON.stringify(WEATHER) });
  const answer = await chat(
    [
      { role: "developer", content: "Be short." },
      { role: "user", content: [{ type: "text", text: WEATHER_QUESTION }] },
      { role: "assistant", content: null, tool_calls: [call("a", "Seattle"), call("b", "Oslo")] },
      result("b"),
      result("a"),
    ],
    { max_tokens: 100 },
  );
  assert.ok(answer.choices[0].message.content.length > 0);
});
