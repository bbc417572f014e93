// The `openai` package: the way of a tool call from the question to the answer that uses its result.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import OpenAI from "openai";
import { TOOLS, WEATHER, WEATHER_ANSWER, WEATHER_QUESTION } from "./nano.mjs";
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

test("does not call with tool_choice none, and says that it cannot be forced", async () => {
  const { message } = (await chat([question], { tool_choice: "none", max_tokens: 60 })).choices[0];
  assert.equal(message.tool_calls, undefined);
  const forced = { type: "function", function: { name: "get_weather" } };
  for (const tool_choice of ["required", forced]) {
    await assert.rejects(chat([question], { tool_choice }), {
      constructor: OpenAI.BadRequestError,
      code: "unsupported_value",
      param: "tool_choice",
    });
  }
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
