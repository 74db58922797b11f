/**
 * `npm test` has compiled the sources before the tests start: what is under test is then imported from `dist`, as in
 * operation, by Node itself. A worker that has vite transform and link the server's modules pays four times as much for them.
 */
import { dirname, relative, resolve } from 'node:path';
import type { Plugin } from 'vitest/config';

const root = resolve(import.meta.dirname, '../..');
const NOT_COMPILED = /\.(test|fixture)\.ts$/;

/** What vitest leaves to Node. */
export const COMPILED_SOURCES = /\/dist\/src\//;

export function compiledSources(): Plugin {
  return {
    name: 'compiled-sources',
    enforce: 'pre',
    resolveId(source, importer) {
      if (!source.startsWith('.') || importer === undefined || !source.endsWith('.ts')) return null;
      const file = relative(root, resolve(dirname(importer), source));
      if (!file.startsWith('src/') || NOT_COMPILED.test(file)) return null;
      return resolve(root, 'dist', file.replace(/\.ts$/, '.js'));
    },
  };
}
