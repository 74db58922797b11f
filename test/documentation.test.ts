/**
 * Links in the documentation lead somewhere: to a file of the repository, and to a heading of it where they name one. The map
 * names every folder.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../src/package-root.ts';

const root = packageRoot();
const pages = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((page) => page !== '' && existsSync(join(root, page)));

const LINK = /\]\(([^)\s]+)\)/g;

/** As GitHub makes the anchor of a heading: lower case, no punctuation, hyphens for spaces. */
function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

function anchorsOf(page: string): Set<string> {
  const text = readFileSync(page, 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
  return new Set([...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading)));
}

function brokenLinks(page: string): string[] {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/^```[\s\S]*?^```/gm, '');
  return [...text.matchAll(LINK)]
    .map(([, link = '']) => link)
    .filter((link) => !/^[a-z]+:/.test(link))
    .filter((link) => {
      const [path = '', anchor] = link.split('#');
      const target = path === '' ? join(root, page) : join(root, dirname(page), path);
      if (!existsSync(target)) return true;
      return anchor !== undefined && target.endsWith('.md') && !anchorsOf(target).has(anchor);
    });
}

describe('Links of the documentation', () => {
  it.each(pages)('%s has no broken link', (page) => {
    expect(brokenLinks(page)).toEqual([]);
  });

  it.each(pages.filter((page) => !/CHANGELOG|decisions/.test(page)))(
    '%s names only files that are there',
    (page) => {
      const text = readFileSync(join(root, page), 'utf8');
      const named = [...text.matchAll(/`((?:src|test|console|proto|scripts|bench|docs)\/[\w./-]+)`/g)];
      expect(named.map(([, path = '']) => path).filter((path) => !existsSync(join(root, path)))).toEqual([]);
    },
  );

  it.each(['docs', 'docs/decisions'])('%s/README.md lists every page beside it', (folder) => {
    const index = readFileSync(join(root, folder, 'README.md'), 'utf8');
    const unlisted = pages
      .filter((page) => dirname(page) === folder && !page.endsWith('/README.md'))
      .filter((page) => !index.includes(`](${page.slice(folder.length + 1)})`));
    expect(unlisted).toEqual([]);
  });
});

/** Folders whose own folders are nouns of the map. */
const MAPPED = [
  ...[
    'src',
    'test',
    'src/domain',
    'src/store',
    'src/operations',
    'src/steps',
    'src/providers',
    'src/surfaces',
  ],
  ...['src/server', 'src/reconcilers', 'src/agent', 'src/redfish'],
];

describe('ARCHITECTURE.md', () => {
  it.each(MAPPED)('names every folder of %s', (parent) => {
    const map = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8');
    const folders = readdirSync(join(root, parent), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => name);
    const isNamed = (name: string) => map.includes(`\`${name}/\``) || map.includes(`\`${parent}/${name}/\``);
    expect(folders.filter((name) => !isNamed(name))).toEqual([]);
  });
});
