// What a chat looks like: one article for each turn.
import {render} from './markdown.js';

function make(tag, className, text = '') {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return element;
}

function article(kind, title) {
  const element = make('article', kind);
  element.append(make('h2', 'hidden', title));
  return element;
}

export function userArticle(text, title = 'You') {
  const element = article('user', title);
  element.append(make('div', 'text', text));
  return element;
}

const JSON_TOKEN = /"(?:[^"\\]|\\.)*"?|[{}[\],:]|[^\s{}[\],:"]+/gs;

// JSON, which may still lack its end, with a line for each member. Not parsed,
// so that long numbers keep their digits.
export function prettyJson(json) {
  let out = '';
  let depth = 0;
  let last = '';
  const line = () => `\n${'  '.repeat(Math.max(0, depth))}`;
  for (const [token] of json.matchAll(JSON_TOKEN)) {
    if (token === '{' || token === '[') {
      ++depth;
      out += token + line();
    } else if (token === '}' || token === ']') {
      --depth;
      const empty = last === '{' || last === '[';
      out = empty ? out.trimEnd() + token : out + line() + token;
    } else if (token === ',') {
      out += token + line();
    } else {
      out += token === ':' ? ': ' : token;
    }
    last = token;
  }
  return out.trimEnd();
}

// One call: its name, its arguments, and room for what it gives.
class CallView {
  constructor(number) {
    this.element = make('section', 'call');
    const head = make('h3', '', 'Calls ');
    this.name = make('code', '');
    head.append(this.name);
    this.pre = make('pre', '');
    this.pre.tabIndex = 0;
    this.result = make('textarea', 'code');
    this.result.rows = 2;
    this.label = make('label', '', `Result of call ${number}`);
    this.label.append(this.result);
    this.label.hidden = true;
    this.element.append(head, this.pre, this.label);
  }

  update(call) {
    this.name.textContent = call.name;
    this.pre.textContent = prettyJson(call.arguments);
  }
}

export class AnswerView {
  constructor() {
    this.element = article('assistant', 'Answer');
    this.reasoning = make('details', 'reasoning');
    this.reasoning.hidden = true;
    this.summary = make('summary', '', 'Thinking');
    this.thoughts = document.createTextNode('');
    const text = make('div', 'text');
    text.append(this.thoughts);
    this.reasoning.append(this.summary, text);
    this.content = make('div', 'content');
    this.wait = make('p', 'wait', '…');
    this.calls = [];
    this.end = make('div', 'end');
    this.element.append(this.reasoning, this.content, this.wait, this.end);
  }

  update(answer, done = false) {
    const {reasoning, content, calls, usage} = answer;
    this.wait.hidden = done || reasoning || content || calls.length;
    if (reasoning) {
      this.reasoning.hidden = false;
      this.thoughts.appendData(reasoning.slice(this.thoughts.length));
      const count = usage?.completion_tokens_details?.reasoning_tokens;
      const over = done || content || calls.length;
      this.summary.textContent = `${over ? 'Thought' : 'Thinking'} · ` +
          `${count ?? `~${answer.reasoningPieces}`} tokens`;
    }
    render(this.content, content);
    calls.forEach((call, i) => {
      if (!this.calls[i]) {
        this.calls[i] = new CallView(i + 1);
        this.end.before(this.calls[i].element);
      }
      this.calls[i].update(call);
    });
  }

  note(text) {
    this.end.append(make('p', 'note', text));
  }

  button(text, action) {
    const button = make('button', 'once', text);
    button.type = 'button';
    button.addEventListener('click', action);
    this.end.append(button);
  }

  showError(error, retry) {
    const box = make('p', 'error', error.message);
    box.setAttribute('role', 'alert');
    const code = error.status ? `${error.code}, ${error.status}` : error.code;
    box.append(' ', make('code', '', code));
    this.end.append(box);
    this.button('Try again', retry);
  }

  // Lets the reader answer the calls: `send` gets a text for each.
  askForResults(send) {
    for (const call of this.calls) call.label.hidden = false;
    this.button('Send results',
                () => send(this.calls.map(({result}) => result.value)));
  }

  // What was offered counts no more: the chat has gone on.
  settle() {
    for (const button of this.end.querySelectorAll('.once')) button.remove();
    for (const call of this.calls) call.label.hidden = true;
  }
}
