// What is known of the server: its state, its model, and the key to it.
import {request} from './answer.js';

const KEY = 'glm-api-key';
const READY_MS = 10_000;  // between looks at the server
const SOON_MS = 2_000;    // while it is not ready

const at = (id) => document.getElementById(id);
let retryWithKey = null;

// Kept in this tab alone.
export const apiKey = () => sessionStorage.getItem(KEY) ?? '';

// Asks for a key; `retry` is called once there is one.
export function showKeyForm(retry = retryWithKey) {
  retryWithKey = retry;
  at('key-form').hidden = false;
  at('key').focus();
}

function useKey() {
  sessionStorage.setItem(KEY, at('key').value.trim());
  at('key').value = '';
  at('key-form').hidden = true;
  at('input').focus();
  showModel();
  retryWithKey?.();
}

async function showModel() {
  const key = apiKey();
  try {
    const models = await (await request('v1/models', key)).json();
    const name = models.data[0]?.id ?? 'glmrun';
    at('model').textContent = document.title = name;
  } catch (error) {
    if (error.status === 401 && key === apiKey()) showKeyForm();
  }
}

function showState(state, text) {
  const was = at('state').dataset.state;
  at('state').dataset.state = state;
  at('state').textContent = text;
  if (state === 'ok' && was !== 'ok') showModel();
}

let watch = 0;

// Shows the server's state, now and from time to time.
export async function watchServer() {
  clearTimeout(watch);
  let ready = false;
  try {
    const response = await fetch('ready', {cache: 'no-store'});
    const {status, message} = await response.json();
    ready = response.ok;
    showState(ready ? 'ok' : 'wait',
              ready ? 'ready' : message ? `${status}: ${message}` : status);
  } catch {
    showState('bad', 'not reachable');
  }
  clearTimeout(watch);
  watch = setTimeout(watchServer, ready ? READY_MS : SOON_MS);
}

at('key-form').addEventListener('submit', (event) => {
  event.preventDefault();
  useKey();
});
