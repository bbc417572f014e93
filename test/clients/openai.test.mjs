// The `openai` package: models, chats whole and streamed, and what steers them.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import OpenAI from "openai";
import { zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";
import { CAPITAL, STORY } from "./nano.mjs";
import { Server } from "./server.mjs";

let server, client, model;

before(async () => {
  server = await Server.start({ options: ["--parallel", "4"] });
  client = new OpenAI({ baseURL: server.baseURL, apiKey: "none", maxRetries: 0 });
  model = (await client.models.list()).data[0].id;
});
after(() => server.stop());

const ask = (content, fields = {}) =>
  client.chat.completions.create({ model, messages: [{ role: "user", content }], temperature: 0, ...fields });

// The streamed answer's pieces put together.
async function joined(stream) {
  const all = { reasoning: "", content: "", usage: [], finish: [], logprobs: [] };
  for await (const chunk of stream) {
    if (chunk.usage) all.usage.push({ usage: chunk.usage, choices: chunk.choices.length });
    for (const { delta, finish_reason: finish, logprobs } of chunk.choices) {
      all.reasoning += delta.reasoning_content ?? "";
      all.content += delta.content ?? "";
      all.logprobs.push(...(logprobs?.content ?? []));
      if (finish) all.finish.push(finish);
    }
  }
  return all;
}

test("lists its model, and finds it by name", async () => {
  const page = await client.models.list();
  assert.equal(page.data.length, 1);
  assert.deepEqual(await client.models.retrieve(model), page.data[0]);
  await assert.rejects(client.models.retrieve("no/such model"), { status: 404, code: "model_not_found" });
});

test("answers a chat, with its reasoning, the same each time", async () => {
  const [first, second] = [await ask(CAPITAL.question), await ask(CAPITAL.question)];
  const { message, finish_reason } = first.choices[0];
  assert.equal(message.content, CAPITAL.answer);
  assert.equal(message.reasoning_content, CAPITAL.reasoning);
  assert.equal(finish_reason, "stop");
  assert.deepEqual(second.choices, first.choices);
  assert.ok(first.usage.completion_tokens_details.reasoning_tokens > 1);
  assert.equal(first.usage.total_tokens, first.usage.prompt_tokens + first.usage.completion_tokens);
});

test("streams the same answer, and its usage in a last chunk", async () => {
  const fields = { logprobs: true, top_logprobs: 2 };
  const whole = await ask(CAPITAL.question, fields);
  const stream = await ask(CAPITAL.question, { ...fields, stream: true, stream_options: { include_usage: true } });
  const { content, reasoning, finish, usage, logprobs } = await joined(stream);
  assert.equal(content, whole.choices[0].message.content);
  assert.equal(reasoning, whole.choices[0].message.reasoning_content);
  assert.deepEqual(finish, ["stop"]);
  assert.equal(usage.length, 1);
  assert.equal(usage[0].choices, 0);
  assert.equal(usage[0].usage.total_tokens, whole.usage.total_tokens);
  assert.deepEqual(logprobs, whole.choices[0].logprobs.content);
  assert.equal((await joined(await ask(CAPITAL.question, { stream: true }))).usage.length, 0);
});

test("the stream helper collects the answer", async () => {
  const stream = client.chat.completions.stream({
    model,
    messages: [{ role: "user", content: CAPITAL.question }],
    temperature: 0,
    stream_options: { include_usage: true },
  });
  let content = "";
  stream.on("content", (delta) => (content += delta));
  const completion = await stream.finalChatCompletion();
  assert.equal(content, CAPITAL.answer);
  assert.equal(completion.choices[0].message.content, CAPITAL.answer);
  assert.equal((await stream.totalUsage()).total_tokens, completion.usage.total_tokens);
});

test("keeps to a seed", async () => {
  const told = async (seed) => (await ask(STORY, { seed, temperature: 1 })).choices[0].message.content;
  assert.equal(await told(7), await told(7));
  const others = await Promise.all([8, 9, 10, 11].map(told));
  assert.ok(new Set(others).size > 1, `seeds change nothing: ${others[0]}`);
});

test("stops at a string", async () => {
  const story = (await ask(STORY)).choices[0].message.content;
  const { message, finish_reason } = (await ask(STORY, { stop: [" river", "nowhere"] })).choices[0];
  assert.equal(message.content, story.slice(0, story.indexOf(" river")));
  assert.equal(finish_reason, "stop");
  const stream = await joined(await ask(STORY, { stop: " river", stream: true }));
  assert.equal(stream.content, message.content);
});

test("gives n choices, of seeds one after the other", async () => {
  const fields = { temperature: 1, seed: 20 };
  const both = await ask(STORY, { ...fields, n: 2 });
  assert.deepEqual(both.choices.map((choice) => choice.index), [0, 1]);
  const alone = await ask(STORY, { ...fields, seed: 21 });
  assert.equal(both.choices[1].message.content, alone.choices[0].message.content);
});

test("tells logprobs of each token", async () => {
  const answer = await ask(CAPITAL.question, { logprobs: true, top_logprobs: 3 });
  const { content } = answer.choices[0].logprobs;
  assert.equal(content.length, answer.usage.completion_tokens);
  for (const { token, logprob, bytes, top_logprobs } of content) {
    assert.equal(Buffer.from(bytes).toString(), token);
    assert.equal(top_logprobs.length, 3);
    assert.deepEqual([top_logprobs[0].token, top_logprobs[0].logprob], [token, logprob]);
    assert.ok(logprob <= 0 && top_logprobs[1].logprob <= logprob);
  }
  assert.ok(content.map(({ token }) => token).join("").includes(CAPITAL.answer));
});

test("ends at max_tokens, and at max_completion_tokens", async () => {
  for (const name of ["max_tokens", "max_completion_tokens"]) {
    const answer = await ask(STORY, { [name]: 9 });
    assert.equal(answer.choices[0].finish_reason, "length");
    assert.equal(answer.usage.completion_tokens, 9);
  }
});

const Weather = z.object({
  city: z.enum(["Seattle", "Oslo"]),
  temp_c: z.number().int(),
  sky: z.array(z.enum(["sunny", "rainy"])).max(3),
  warm: z.boolean(),
});

test("answers as a zod schema wants it", async () => {
  const request = {
    model,
    messages: [{ role: "user", content: "What is the weather in Seattle?" }],
    temperature: 0,
    response_format: zodResponseFormat(Weather, "weather"),
  };
  const { message } = (await client.chat.completions.parse(request)).choices[0];
  assert.deepEqual(message.parsed, Weather.strict().parse(JSON.parse(message.content)));
  const streamed = await client.chat.completions.stream(request).finalChatCompletion();
  assert.deepEqual(streamed.choices[0].message.parsed, message.parsed);
});

// nano may go on in a string for ever; on some of these it does not.
test("answers with some JSON object", async () => {
  const fields = { response_format: { type: "json_object" }, max_tokens: 200 };
  const questions = ["What is 17 + 25?", "What time is it in Paris?", "Count from 1 to 5."];
  const choices = await Promise.all(questions.map(async (question) => (await ask(question, fields)).choices[0]));
  const ended = choices.filter(({ finish_reason }) => finish_reason === "stop");
  assert.notEqual(ended.length, 0, JSON.stringify(choices));
  for (const { message } of ended) assert.match(JSON.stringify(JSON.parse(message.content)), /^\{/);
});

test("completes a text", async () => {
  const prompt = "Once upon a time there was a";
  const answer = await client.completions.create({ model, prompt, temperature: 0, max_tokens: 12 });
  assert.match(answer.choices[0].text, /^ duck named Tina\./);
  let text = "";
  const stream = await client.completions.create({ model, prompt, temperature: 0, max_tokens: 12, stream: true });
  for await (const chunk of stream) text += chunk.choices[0]?.text ?? "";
  assert.equal(text, answer.choices[0].text);
});
