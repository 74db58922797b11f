/**
 * The words of the house (docs/glossary.md): a reader must never stop at one. Words that used to be here and say too
 * little, with the one to use instead. Values that clients or databases know are exempt, each for its reason.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../src/package-root.ts';

const INSTEAD_OF: Readonly<Record<string, string>> = {
  'nobody|somebody|whoever|everybody|anybody': 'the operator, the caller, another replica, no one',
  'told|hears?|heard|speaks?|spoke|spoken': 'reported, notified, received, responds',
  'begun|anew|amiss|lately|unbegun': 'started, again, wrong, recently',
  'mend|mends|mended|poke|pokes|poked': 'fix, wake',
  'surrounded|adrift|dwell|dwells|stubborn': 'see the glossary',
  'dear(?:er|est)?|upon|for ever': 'costly, on, forever',
  '(?:\\w+_)?LOOK_MS|lookCommand|lookedAt': 'poll, probe',
  'in turns': 'alternately, round robin, in slices',
  'that (?:is|are) none(?! of)': 'invalid, unknown, not a …',
  'documents? [1-5]': 'a page of docs/',
  '\\w*wish(?:es|ed)?(?:_\\w+)?': 'request',
};

/** Places where such a word is a value or a name of something else. */
const EXEMPT: readonly (readonly [file: RegExp, text: RegExp])[] = [
  // The API's value for "no one must act".
  [/./, /['"`]nobody['"`]|the value nobody|nobody \(it resolves|\bNOBODY\b/],
  // The account of the operating system.
  [
    /embedded\/(?:account|dedicated-account|adopt-cluster|who-may-connect|upgrade)|0001-embedded-postgresql|docs\/(?:security|operating)/,
    /nobody/,
  ],
  // Keys of memos in stored steps.
  [/./, /\b(memo|context)\.[\w.]*begun|\bbegun\??:|`begun`|\{ begun/],
];

const root = packageRoot();
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], {
  cwd: root,
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => /^(src|console|docs|scripts|bench|test)\/|^[A-Z]+\.md$/.test(file))
  .filter((file) => /\.(tsx?|mjs|md|sh|css|proto)$/.test(file))
  // A migration that was released never changes; this file names the words itself.
  .filter((file) => !/^src\/gen\/|migrations\/|^test\/words\.test\.ts$|^CHANGELOG\.md$/.test(file))
  .filter((file) => existsSync(join(root, file)));

function findings(pattern: RegExp): string[] {
  return files.flatMap((file) =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .map((line, index) => ({ line, place: `${file}:${index + 1}` }))
      .filter(({ line }) => pattern.test(line))
      .filter(({ line }) => !EXEMPT.some(([where, text]) => where.test(file) && text.test(line)))
      .map(({ line, place }) => `${place}: ${line.trim()}`),
  );
}

it.each(Object.entries(INSTEAD_OF))('no one writes %s: use %s', (words) => {
  expect(findings(new RegExp(`\\b(?:${words})\\b`, 'i'))).toEqual([]);
});

it('texts of the product have ASCII apostrophes', () => {
  const production = /^(src|console|scripts)\/(?!.*\.(test|fixture)\.ts)/;
  expect(findings(/\u2019/).filter((finding) => production.test(finding))).toEqual([]);
});
