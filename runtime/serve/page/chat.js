// The chat: what has been said, what is asked for next, and the controls.
import {ApiError, ask, facts, isEmpty, newAnswer} from './answer.js';
import {AnswerView, userArticle} from './messages.js';
import {apiKey, showKeyForm, watchServer} from './server.js';

const at = (id) => document.getElementById(id);
const form = at('settings-form');
const input = at('input');
const scroll = at('scroll');

// {role: 'user', text}, {role: 'tool', id, text}, {role: 'assistant', answer}
let turns = [];
let running = null;  // AbortController of the answer under way

// A call that was cut has no arguments that could be sent back.
function isWhole(call) {
  try {
    return JSON.parse(call.arguments || '{}') !== null;
  } catch {
    return false;
  }
}

function messageOf({role, text, id, answer}) {
  if (role === 'tool') return {role, tool_call_id: id, content: text};
  if (role === 'user') return {role, content: text};
  const message = {role, content: answer.content};
  if (answer.reasoning) message.reasoning_content = answer.reasoning;
  const calls = answer.calls.filter(isWhole);
  if (calls.length) {
    message.tool_calls = calls.map((call) => ({
      id: call.id,
      type: 'function',
      function: {name: call.name, arguments: call.arguments},
    }));
  }
  return message;
}

function requestBody() {
  const body = {
    messages: turns
        .filter(({answer}) => !answer || !isEmpty(answer))
        .map(messageOf),
    reasoning_effort: at('effort').value,
  };
  const system = at('system').value.trim();
  if (system) body.messages.unshift({role: 'system', content: system});
  const number = (id) => at(id).value === '' ? undefined : +at(id).value;
  body.temperature = number('temperature');
  body.max_tokens = number('max-tokens');
  if (at('tools').value.trim()) body.tools = JSON.parse(at('tools').value);
  return body;
}

function checkTools() {
  let problem = '';
  try {
    const tools = JSON.parse(at('tools').value.trim() || '[]');
    if (!Array.isArray(tools)) problem = 'This must be a JSON list: [...]';
  } catch (error) {
    problem = `This is not JSON: ${error.message}`;
  }
  at('tools').setCustomValidity(problem);
}

// Whether the settings can be sent; shows what cannot.
function settingsAreGood() {
  if (form.checkValidity()) return true;
  at('settings').open = true;
  form.reportValidity();
  return false;
}

function setBusy(busy) {
  at('send').hidden = busy;
  at('stop').hidden = !busy;
  at('messages').setAttribute('aria-busy', busy);
  if (busy) at('announcement').textContent = 'Answering';
}

// Changes the chat, and stays at its end where the reader was there.
function withScroll(change) {
  const room = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight;
  change();
  if (room < 40) scroll.scrollTop = scroll.scrollHeight;
}

function add(turn, article) {
  turns.push(turn);
  at('empty').hidden = true;
  at('messages').append(article);
  scroll.scrollTop = scroll.scrollHeight;
}

// At most one update a frame, however many events come.
function painter(view, answer) {
  let frame = 0;
  const paint = () => {
    frame = 0;
    withScroll(() => {
      view.update(answer);
      at('facts').textContent = facts(answer);
    });
  };
  return {
    soon: () => { frame ||= requestAnimationFrame(paint); },
    cancel: () => cancelAnimationFrame(frame),
  };
}

function tryAgain(turn, view) {
  if (running || turns.at(-1) !== turn || !settingsAreGood()) return;
  turns.pop();
  view.element.remove();
  input.focus();
  generate();
}

function sendResults(answer, results) {
  if (running || !settingsAreGood()) return;
  results.forEach((text, i) => {
    const call = answer.calls[i];
    add({role: 'tool', id: call.id, text},
        userArticle(text, `Result of ${call.name}`));
  });
  input.focus();
  generate();
}

// How the answer ended, in its view.
function conclude(turn, view, error) {
  const {answer} = turn;
  let end = 'Answer complete';
  if (error?.name === 'AbortError') {
    end = 'Stopped';
    view.note('stopped');
  } else if (error) {
    end = '';
    const retry = () => tryAgain(turn, view);
    view.showError(error, retry);
    if (error.status === 401) showKeyForm(retry);
  } else if (answer.finish === 'length') {
    view.note('ended at the limit of tokens');
  } else if (answer.calls.length) {
    view.askForResults((results) => sendResults(answer, results));
  } else if (isEmpty(answer)) {
    view.note('an empty answer');
  }
  at('announcement').textContent = end;
}

async function generate() {
  for (const {view} of turns) view?.settle();
  const body = requestBody();
  const view = new AnswerView();
  const answer = newAnswer();
  const turn = {role: 'assistant', answer, view};
  add(turn, view.element);
  const controller = new AbortController();
  running = controller;
  setBusy(true);
  at('facts').textContent = '';
  const paint = painter(view, answer);
  let failure = null;
  try {
    await ask(body, apiKey(), controller.signal, answer, paint.soon);
  } catch (error) {
    failure = error;
  }
  paint.cancel();
  if (running !== controller) return;  // the chat is another one now
  running = null;
  setBusy(false);
  withScroll(() => {
    view.update(answer, /*done=*/true);
    conclude(turn, view, failure);
    at('facts').textContent = facts(answer);
  });
  if (failure instanceof ApiError) watchServer();
}

function send() {
  const text = input.value.trim();
  if (!text || running || !settingsAreGood()) return;
  input.value = '';
  fitInput();
  at('settings').open = false;
  add({role: 'user', text}, userArticle(text));
  generate();
}

function stop() {
  running?.abort();
}

function newChat() {
  stop();
  running = null;
  turns = [];
  setBusy(false);
  at('messages').replaceChildren();
  at('empty').hidden = false;
  at('facts').textContent = at('announcement').textContent = '';
  input.focus();
}

function fitInput() {
  input.style.height = 'auto';
  input.style.height = `${Math.min(input.scrollHeight + 2, 240)}px`;
}

at('composer').addEventListener('submit', (event) => {
  event.preventDefault();
  send();
});
form.addEventListener('submit', (event) => event.preventDefault());
input.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  send();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !event.isComposing) stop();
});
input.addEventListener('input', fitInput);
at('tools').addEventListener('input', checkTools);
at('stop').addEventListener('click', () => {
  stop();
  input.focus();
});
at('new-chat').addEventListener('click', newChat);
watchServer();
