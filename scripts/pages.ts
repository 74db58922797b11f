/**
 * Writes the generated pages of docs/ from the tables in the code, so that a page can't say anything else than the code
 * does. With --check nothing is written, and a page that differs is an error.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { packageRoot } from '../src/package-root.ts';
import { cliPage } from './cli-page.ts';
import { errorPage } from './error-page.ts';
import { failurePage } from './failure-page.ts';
import { grpcReference } from './grpc-reference.ts';
import { lifecyclePages } from './lifecycle-pages.ts';
import { openApiDocument } from './openapi.ts';
import { restPage } from './rest-page.ts';
import { settingsTable } from './settings-page.ts';
import { workflowPage } from './workflow-page.ts';

/** Every file in them is generated, so that one without a source is removed. */
const GENERATED_FOLDERS = ['docs/lifecycles', 'docs/reference'];

/** Pages that are written by hand, but for a table between `<!-- generated: begin -->` and `<!-- generated: end -->`. */
const GENERATED_TABLES = { 'docs/settings.md': settingsTable } satisfies Record<string, () => string>;

/** The text of every page, by its path. */
export async function generatedPages(): Promise<Map<string, string>> {
  return new Map([
    ...Object.entries(GENERATED_TABLES).map(([path, made]) => [path, withTable(path, made())] as const),
    ...lifecyclePages(),
    ...grpcReference(),
    ['docs/cli.md', await cliPage()],
    ['docs/workflows.md', workflowPage()],
    ['docs/rest-api.md', restPage()],
    ['docs/openapi.json', openApiDocument()],
    ['docs/errors.md', errorPage()],
    ['docs/failures.md', failurePage()],
  ]);
}

function withTable(path: string, made: string): string {
  const text = read(packageRoot(), path) ?? '';
  const [before, , after] = text.split(/<!-- generated: (?:begin|end) -->/);
  if (before === undefined || after === undefined)
    throw new Error(`${path} has no markers of a generated table`);
  return `${before}<!-- generated: begin -->\n\n${made}\n\n<!-- generated: end -->${after}`;
}

/** Pages that are missing, that differ, or that nothing generates any more. */
export async function stalePages(root: string): Promise<string[]> {
  const pages = await generatedPages();
  const differing = [...pages].filter(([path, text]) => read(root, path) !== text).map(([path]) => path);
  const leftOver = GENERATED_FOLDERS.flatMap((folder) => filesIn(root, folder)).filter(
    (path) => !pages.has(path),
  );
  return [...differing, ...leftOver];
}

function filesIn(root: string, folder: string): string[] {
  return existsSync(join(root, folder))
    ? readdirSync(join(root, folder)).map((name) => `${folder}/${name}`)
    : [];
}

function read(root: string, path: string): string | null {
  const file = join(root, path);
  return existsSync(file) ? readFileSync(file, 'utf8') : null;
}

async function run(args: readonly string[]): Promise<number> {
  const root = packageRoot();
  const stale = await stalePages(root);
  if (args.includes('--check')) {
    for (const path of stale) console.error(`${path} differs from what the code gives`);
    if (stale.length > 0) console.error('Write the pages again: npm run docs');
    return stale.length === 0 ? 0 : 1;
  }
  const pages = await generatedPages();
  for (const path of stale) {
    const text = pages.get(path);
    mkdirSync(dirname(join(root, path)), { recursive: true });
    if (text === undefined) rmSync(join(root, path));
    else writeFileSync(join(root, path), text);
    console.log(path);
  }
  return 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  process.exitCode = await run(process.argv.slice(2));
