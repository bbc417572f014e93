// The little of Markdown that answers need: fenced code, headings, paragraphs;
// inside of them code, strong and emphasised text. Whatever the model writes becomes text
// nodes, never markup, links or pictures.

const FENCE = /^\s*(`{3,}|~{3,})(.*)$/;
const HEADING = /^#{1,6}\s+(.*)$/;
const INLINE =
    /(?<!`)(`+)([^`](?:.*?[^`])?)\1(?!`)|\*\*(\S(?:.*?\S)?)\*\*|\*([^\s*](?:[^*]*[^\s*])?)\*/gs;

// {mark, language} of a line that opens or closes code.
function fenceOf(line) {
  const [, mark, info] = line.match(FENCE) ?? [];
  if (!mark || (mark[0] === '`' && info.includes('`'))) return null;
  return {mark, language: info.trim().split(/\s/)[0]};
}

// Blocks {kind: 'code' | 'heading' | 'text', text, language}.
export function parse(markdown) {
  const blocks = [];
  let fence = null;
  let open = null;  // the block that the next line goes on
  for (const line of markdown.split('\n')) {
    const found = fenceOf(line);
    if (fence) {
      if (found && !found.language && found.mark.startsWith(fence)) {
        fence = open = null;
      } else {
        open.lines.push(line);
      }
      continue;
    }
    const heading = line.match(HEADING);
    if (found) {
      fence = found.mark;
      open = {kind: 'code', language: found.language, lines: []};
      blocks.push(open);
    } else if (heading) {
      blocks.push({kind: 'heading', language: '', lines: [heading[1]]});
      open = null;
    } else if (!line.trim()) {
      open = null;
    } else if (open) {
      open.lines.push(line);
    } else {
      open = {kind: 'text', language: '', lines: [line]};
      blocks.push(open);
    }
  }
  return blocks.map(
      ({kind, language, lines}) => ({kind, language, text: lines.join('\n')}));
}

function appendInline(parent, text) {
  let at = 0;
  for (const match of text.matchAll(INLINE)) {
    parent.append(text.slice(at, match.index));
    const [whole, ticks, code, strong, em] = match;
    const element =
        document.createElement(ticks ? 'code' : strong ? 'strong' : 'em');
    element.textContent = code ?? strong ?? em;
    parent.append(element);
    at = match.index + whole.length;
  }
  parent.append(text.slice(at));
}

function elementOf({kind, language, text}) {
  if (kind === 'code') {
    const block = document.createElement('div');
    block.className = 'block';
    const code = document.createElement('code');
    code.textContent = text;
    const pre = document.createElement('pre');
    pre.tabIndex = 0;  // scrolls with the keyboard
    pre.append(code);
    if (language) {
      const name = document.createElement('div');
      name.className = 'language';
      name.textContent = language;
      block.append(name);
    }
    block.append(pre);
    return block;
  }
  const element = document.createElement(kind === 'heading' ? 'h3' : 'p');
  appendInline(element, text);
  return element;
}

// Makes `parent` show `markdown`; blocks that have not changed stay.
export function render(parent, markdown) {
  const blocks = parse(markdown);
  blocks.forEach((block, i) => {
    const key = JSON.stringify(block);
    const old = parent.children[i];
    if (old?.glmBlock === key) return;
    const element = elementOf(block);
    element.glmBlock = key;
    old ? old.replaceWith(element) : parent.append(element);
  });
  while (parent.children.length > blocks.length) parent.lastChild.remove();
}
