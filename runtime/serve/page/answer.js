// One answer of /v1/chat/completions, put together as its events come.

export class ApiError extends Error {
  constructor(message, code, status) {
    super(message);
    this.code = code;
    this.status = status;  // 0: no answer, or a failure inside of one
  }
}

export function newAnswer() {
  return {
    reasoning: '',
    content: '',
    calls: [],  // {id, name, arguments}
    finish: null,
    usage: null,
    pieces: 0,  // events with text; close to the tokens
    reasoningPieces: 0,
    sentAt: 0,
    firstAt: 0,
    lastAt: 0,
  };
}

export function isEmpty(answer) {
  return !answer.reasoning && !answer.content && !answer.calls.length;
}

// The response of `path` with the key, where there is one. Throws ApiError for
// any status but 2xx.
export async function request(path, key, options = {}) {
  const headers = {...options.headers};
  if (key) headers.Authorization = `Bearer ${key}`;
  let response;
  try {
    response = await fetch(path, {...options, headers, cache: 'no-store'});
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError('the server cannot be reached', 'unreachable', 0);
  }
  if (response.ok) return response;
  let error = null;
  try {
    error = (await response.json()).error;
  } catch {
    // Something between here and the server has answered.
  }
  throw new ApiError(error?.message ?? 'the request was refused',
                     error?.code ?? 'http_error', response.status);
}

// The data of each server-sent event.
async function* events(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const {value, done} = await reader.read();
    if (done) return;
    const parts = (rest + value).split('\n\n');
    rest = parts.pop();
    for (const part of parts) {
      for (const line of part.split('\n')) {
        if (line.startsWith('data:')) yield line.slice(5).trim();
      }
    }
  }
}

function addCall(answer, piece) {
  const call = answer.calls[piece.index] ??=
      {id: '', name: '', arguments: ''};
  call.id ||= piece.id ?? '';
  call.name ||= piece.function?.name ?? '';
  call.arguments += piece.function?.arguments ?? '';
}

function addChunk(answer, chunk) {
  if (chunk.usage) answer.usage = chunk.usage;
  const choice = chunk.choices?.[0];
  if (!choice) return;
  const {reasoning_content: reasoning, content, tool_calls: calls} =
      choice.delta;
  if (reasoning || content || calls) {
    answer.lastAt = performance.now();
    answer.firstAt ||= answer.lastAt;
    ++answer.pieces;
  }
  if (reasoning) {
    answer.reasoning += reasoning;
    ++answer.reasoningPieces;
  }
  if (content) answer.content += content;
  for (const call of calls ?? []) addCall(answer, call);
  if (choice.finish_reason) answer.finish = choice.finish_reason;
}

// Asks, and calls `changed` whenever `answer` has. Throws ApiError, or
// AbortError once `signal` says so: closing the connection ends the answer on
// the server too.
export async function ask(body, key, signal, answer, changed) {
  answer.sentAt = performance.now();
  const response = await request('v1/chat/completions', key, {
    method: 'POST',
    headers: {'Content-Type': 'application/json'},
    body: JSON.stringify(
        {...body, stream: true, stream_options: {include_usage: true}}),
    signal,
  });
  try {
    for await (const data of events(response.body)) {
      if (data === '[DONE]') return;
      const chunk = JSON.parse(data);
      if (chunk.error) {
        throw new ApiError(chunk.error.message, chunk.error.code, 0);
      }
      addChunk(answer, chunk);
      changed();
    }
  } catch (error) {
    if (error instanceof ApiError || error.name === 'AbortError') throw error;
    throw new ApiError('the connection broke', 'connection', 0);
  }
  throw new ApiError('the connection ended before the answer did',
                     'connection', 0);
}

// What the answer cost, in words. With "~" where the server has not counted.
export function facts(answer) {
  const {usage} = answer;
  const tokens = usage?.completion_tokens ?? answer.pieces;
  const about = usage ? '' : '~';
  const parts = [];
  const seconds = (answer.lastAt - answer.firstAt) / 1000;
  if (tokens > 1 && seconds > 0) {
    parts.push(`${about}${((tokens - 1) / seconds).toFixed(1)} tokens/s`);
  }
  if (tokens > 0) parts.push(`${about}${tokens} tokens`);
  if (usage) {
    const cached = usage.prompt_tokens_details?.cached_tokens ?? 0;
    const share = Math.floor(100 * cached / Math.max(1, usage.prompt_tokens));
    parts.push(`prompt ${usage.prompt_tokens} tokens, ${share}% cached`);
  }
  if (answer.firstAt) {
    const wait = (answer.firstAt - answer.sentAt) / 1000;
    parts.push(`first after ${wait.toFixed(2)} s`);
  }
  return parts.join(' · ');
}
