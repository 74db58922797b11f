// Builds the web console into dist/console, and lays a compressed copy beside each file, so that the server has
// nothing to compress. Fails when what a browser must fetch first is larger than it may be.
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'vite';

const root = fileURLToPath(new URL('..', import.meta.url));
const out = join(root, 'dist/console');
const firstLoadLimit = 250_000;
const compressible = new Set(['.js', '.css', '.html', '.svg', '.json']);

await build({
  root: join(root, 'console'),
  configFile: join(root, 'console/vite.config.ts'),
  logLevel: 'warn',
});

inlineFirstStyles();
listKeptFiles();

for (const name of readdirSync(out, { recursive: true })) {
  const file = join(out, name);
  if (!statSync(file).isFile() || !compressible.has(extname(file))) continue;
  const text = readFileSync(file);
  writeFileSync(`${file}.gz`, gzipSync(text, { level: 9 }));
  writeFileSync(`${file}.br`, brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } }));
}

const html = readFileSync(join(out, 'index.html'), 'utf8');
const first = ['index.html', ...[...html.matchAll(/(?:src|href)="\/([^"]+)"/g)].map(([, name]) => name)];
// The style sheet names the fonts, and the first page needs both.
first.push(
  ...readdirSync(join(out, 'assets'))
    .filter((name) => name.endsWith('.woff2'))
    .map((name) => `assets/${name}`),
);
const bytes = first.reduce((sum, name) => sum + sizeOf(name), 0);
if (bytes > firstLoadLimit) {
  console.error(`ingot: the console's first load is ${bytes} bytes compressed, more than ${firstLoadLimit}`);
  process.exit(1);
}
console.error(`ingot: the console's first load is ${(bytes / 1000).toFixed(0)} kB compressed`);

/** The frame is painted when index.html has come: a style sheet of its own would be one more round trip. */
function inlineFirstStyles() {
  const page = join(out, 'index.html');
  const html = readFileSync(page, 'utf8');
  const [link, name] = /<link rel="stylesheet" crossorigin href="\/([^"]+)">/.exec(html) ?? [];
  if (!link) throw new Error('index.html names no style sheet');
  const styles = readFileSync(join(out, name), 'utf8').trim();
  if (styles.includes('</style')) throw new Error(`${name} would end the element that it is put into`);
  writeFileSync(
    page,
    html.replace(link, () => `<style>${styles}</style>`),
  );
  rmSync(join(out, name));
  // Scripts that import the first one name its styles among what must be loaded before them: the script itself stands in for them.
  const [, script] = /<script type="module" crossorigin src="\/([^"]+)">/.exec(html) ?? [];
  if (!script) throw new Error('index.html names no script');
  for (const file of readdirSync(join(out, 'assets')).filter((each) => each.endsWith('.js'))) {
    const path = join(out, 'assets', file);
    const text = readFileSync(path, 'utf8');
    if (text.includes(name)) writeFileSync(path, text.replaceAll(`"${name}"`, `"${script}"`));
  }
}

/** What the service worker keeps. The digest changes its text with every build, which is how a browser sees that it is new. */
function listKeptFiles() {
  const worker = join(out, 'service-worker.js');
  const files = readdirSync(out, { recursive: true })
    .filter((name) => statSync(join(out, name)).isFile() && name !== 'service-worker.js')
    .sort();
  const digest = createHash('sha256');
  for (const name of files) digest.update(name).update(readFileSync(join(out, name)));
  const list = JSON.stringify(files.map((name) => `/${name}`));
  const text = readFileSync(worker, 'utf8');
  const listed = text.replace('const FILES = [];', `const FILES = ${list}; // ${digest.digest('hex')}`);
  if (listed === text) throw new Error('service-worker.js has no list of files to fill in');
  writeFileSync(worker, listed);
}

function sizeOf(name) {
  const file = join(out, name);
  return statSync(compressible.has(extname(file)) ? `${file}.gz` : file).size;
}
