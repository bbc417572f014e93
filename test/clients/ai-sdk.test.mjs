// Vercel's AI SDK (`ai`, `@ai-sdk/openai-compatible`): texts, tools, objects, aborts, errors.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import {
  APICallError, Output, generateObject, generateText, jsonSchema, stepCountIs, streamObject, streamText, tool,
} from "ai";
import { z } from "zod";
import { CAPITAL, STORY, TOOLS, WEATHER, WEATHER_ANSWER, WEATHER_QUESTION } from "./nano.mjs";
import { Server } from "./server.mjs";

const KEY = "sk-two";
let server, model;

const provider = (apiKey) =>
  createOpenAICompatible({
    name: "glm",
    baseURL: server.baseURL,
    apiKey,
    includeUsage: true,
    supportsStructuredOutputs: true,
  });

before(async () => {
  server = await Server.start({ options: ["--served-name", "nano", "--parallel", "4"], key: KEY });
  model = provider(KEY)("nano");
});
after(() => server.stop());

const greedy = (prompt, fields = {}) => ({ model, prompt, temperature: 0, maxRetries: 0, ...fields });

test("generates a text, with its reasoning and usage", async () => {
  const { text, reasoningText, finishReason, usage, response } = await generateText(greedy(CAPITAL.question));
  assert.deepEqual({ text, reasoningText, finishReason },
    { text: CAPITAL.answer, reasoningText: CAPITAL.reasoning, finishReason: "stop" });
  assert.equal(usage.totalTokens, usage.inputTokens + usage.outputTokens);
  assert.ok(usage.outputTokenDetails.reasoningTokens > 1);
  assert.match(response.id, /^chatcmpl-/);
  assert.equal(response.modelId, "nano");
});

test("streams the same: reasoning, then text, then usage", async () => {
  const whole = await generateText(greedy(CAPITAL.question));
  const stream = streamText(greedy(CAPITAL.question));
  const kinds = [];
  for await (const { type } of stream.fullStream) if (kinds.at(-1) !== type) kinds.push(type);
  assert.deepEqual(kinds.filter((kind) => kind.endsWith("delta")), ["reasoning-delta", "text-delta"]);
  assert.ok(!kinds.includes("error"));
  assert.equal(await stream.text, CAPITAL.answer);
  assert.equal(await stream.reasoningText, CAPITAL.reasoning);
  assert.equal(await stream.finishReason, "stop");
  const usage = await stream.usage;
  assert.deepEqual([usage.inputTokens, usage.outputTokens], [whole.usage.inputTokens, whole.usage.outputTokens]);
});

test("passes on seed, stop, the limit and reasoning effort", async () => {
  const told = async (fields) => generateText(greedy(STORY, fields));
  assert.equal((await told({ temperature: 1, seed: 7 })).text, (await told({ temperature: 1, seed: 7 })).text);
  const story = (await told({})).text;
  assert.equal((await told({ stopSequences: [" river"] })).text, story.slice(0, story.indexOf(" river")));
  const { finishReason, usage } = await told({ maxOutputTokens: 9 });
  assert.deepEqual([finishReason, usage.outputTokens], ["length", 9]);
  const low = await told({ providerOptions: { glm: { reasoningEffort: "low" } }, maxOutputTokens: 9 });
  assert.notEqual(low.usage.inputTokens, usage.inputTokens);
});

test("a conversation goes on where it ended", async () => {
  const messages = [{ role: "user", content: CAPITAL.question }];
  const first = await generateText(greedy(undefined, { messages }));
  messages.push(...first.response.messages, { role: "user", content: "What is the capital of Japan?" });
  const second = await generateText(greedy(undefined, { messages }));
  assert.equal(second.text, "The capital of Japan is Tokyo.");
  // Reasoning and text came back as they were said.
  assert.equal(second.usage.inputTokenDetails.cacheReadTokens, first.usage.totalTokens);
});

function weatherTools(asked) {
  const { get_weather, add } = TOOLS;
  return {
    get_weather: tool({
      description: get_weather.description,
      inputSchema: jsonSchema(get_weather.parameters),
      execute: async (input) => {
        asked.push(input);
        return WEATHER;
      },
    }),
    add: tool({ description: add.description, inputSchema: jsonSchema(add.parameters), execute: async () => 0 }),
  };
}

test("goes the way of a tool call to the answer", async () => {
  const asked = [];
  const { steps, text } = await generateText(
    greedy(WEATHER_QUESTION, { tools: weatherTools(asked), stopWhen: stepCountIs(3) }));
  assert.deepEqual(steps.map(({ finishReason }) => finishReason), ["tool-calls", "stop"]);
  assert.deepEqual(steps[0].toolCalls.map(({ toolName, input }) => ({ toolName, input })),
    [{ toolName: "get_weather", input: { city: "Seattle" } }]);
  assert.deepEqual(asked, [{ city: "Seattle" }]);
  assert.equal(text, WEATHER_ANSWER);
});

test("goes it streamed, the call in pieces", async () => {
  const asked = [];
  const stream = streamText(greedy(WEATHER_QUESTION, { tools: weatherTools(asked), stopWhen: stepCountIs(3) }));
  let input = "";
  for await (const part of stream.fullStream) {
    assert.notEqual(part.type, "error", `${part.error}`);
    if (part.type === "tool-input-delta") input += part.delta;
  }
  assert.deepEqual(JSON.parse(input), { city: "Seattle" });
  assert.deepEqual(asked, [{ city: "Seattle" }]);
  assert.equal(await stream.text, WEATHER_ANSWER);
});

test("takes tools whose inputs are zod schemas", async () => {
  const get_weather = tool({
    description: TOOLS.get_weather.description,
    inputSchema: z.object({ city: z.string().describe("Where"), days: z.number().int().min(1).default(1) }),
    execute: async () => WEATHER,
  });
  const fields = { tools: { get_weather }, stopWhen: stepCountIs(2), maxOutputTokens: 100 };
  const { steps } = await generateText(greedy(WEATHER_QUESTION, fields));
  // What nano makes of a schema that it never saw is its own affair; a call that comes is one.
  for (const { toolName, invalid } of steps[0].toolCalls) assert.deepEqual([toolName, invalid ?? false], ["get_weather", false]);
  const none = await generateText(greedy(WEATHER_QUESTION, { ...fields, toolChoice: "none" }));
  assert.deepEqual(none.toolCalls, []);
});

test("calls where toolChoice wants it: any tool, or a named one", async () => {
  const called = async (toolChoice) => {
    const fields = { tools: weatherTools([]), toolChoice, stopWhen: stepCountIs(1) };
    const { toolCalls, finishReason } = await generateText(greedy(CAPITAL.question, fields));
    assert.equal(finishReason, "tool-calls");
    for (const { invalid } of toolCalls) assert.ok(!invalid);
    const streamed = streamText(greedy(CAPITAL.question, fields));
    assert.deepEqual((await streamed.toolCalls).map(({ toolName, input }) => ({ toolName, input })),
      toolCalls.map(({ toolName, input }) => ({ toolName, input })));
    return toolCalls;
  };
  assert.ok((await called("required")).length >= 1);
  const [call, ...others] = await called({ type: "tool", toolName: "add" });
  assert.deepEqual(others, []);
  assert.equal(call.toolName, "add");
  assert.ok(Number.isInteger(call.input.a) && Number.isInteger(call.input.b));
});

const Weather = z.object({
  city: z.enum(["Seattle", "Oslo"]),
  temp_c: z.number().int(),
  sky: z.array(z.enum(["sunny", "rainy"])).max(3),
  warm: z.boolean(),
});

test("generates objects by schema, whole and streamed", async () => {
  const { object } = await generateObject(greedy(WEATHER_QUESTION, { schema: Weather }));
  assert.deepEqual(object, Weather.strict().parse(object));
  const { output } = await generateText(greedy(WEATHER_QUESTION, { output: Output.object({ schema: Weather }) }));
  assert.deepEqual(output, object);
  const stream = streamObject(greedy(WEATHER_QUESTION, { schema: Weather }));
  let last;
  for await (const partial of stream.partialObjectStream) last = partial;
  assert.deepEqual(last, object);
  assert.deepEqual(await stream.object, object);
});

test("an abort ends the answer in the server", async () => {
  const control = new AbortController();
  const endless = { abortSignal: control.signal, providerOptions: { glm: { ignore_eos: true } } };
  const whole = assert.rejects(generateText(greedy(STORY, endless)), { name: "AbortError" });
  const stream = streamText(greedy(STORY, endless));
  const kinds = new Set();
  for await (const { type } of stream.fullStream) {
    kinds.add(type);
    if (type === "text-delta" && !control.signal.aborted) {
      await server.until(async () => (await server.metric("glm_requests_running")) === 2);
      control.abort();
    }
  }
  assert.ok(kinds.has("abort") && !kinds.has("finish"), [...kinds].join());
  await whole;
  await server.until(async () => (await server.metric("glm_requests_running")) === 0);
  await server.until(async () => (await server.metric("glm_requests_total", 'outcome="aborted"')) === 2);
});

test("refusals are APICallErrors, with the server's words", async () => {
  const refused = async (fields, status, code) => {
    const right = (error) => {
      assert.ok(APICallError.isInstance(error), `${error}`);
      assert.deepEqual([error.statusCode, error.data.error.code, error.isRetryable], [status, code, false]);
      assert.equal(error.message, error.data.error.message);
      return true;
    };
    await assert.rejects(generateText(greedy("Hi", fields)), right);
    let streamed;
    await streamText(greedy("Hi", { ...fields, onError: ({ error }) => (streamed = error) })).consumeStream();
    right(streamed);
  };
  await refused({ prompt: "word ".repeat(5000) }, 400, "context_length_exceeded");
  await refused({ model: provider(KEY)("gpt-4o") }, 404, "model_not_found");
  await refused({ temperature: 3 }, 400, "invalid_value");
  await refused({ tools: weatherTools([]), toolChoice: { type: "tool", toolName: "other" } }, 400, "invalid_value");
  await refused({ model: provider("sk-wrong")("nano") }, 401, "invalid_api_key");
  await refused({ model: provider(undefined)("nano") }, 401, "invalid_api_key");
});
