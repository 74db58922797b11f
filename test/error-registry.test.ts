/**
 * The tables of errors and the code that raises them, compared both ways: what is raised has a row, and what has a row is
 * raised. The compiler holds the first half wherever a reason is a literal; a cast or a string from elsewhere is found here.
 */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FAILURE_CODES, FAILURE_GROUPS, FAILURES } from '../src/domain/error/failure-code.ts';
import type { FailureRow } from '../src/domain/error/failures/advice.ts';
import { FIX_NAMES } from '../src/domain/error/fix-commands.ts';
import { REASON_GROUPS, REASONS } from '../src/domain/error/reason.ts';
import { CLIENT_REASONS } from '../src/domain/error/reasons/client-reasons.ts';
import type { ReasonRow } from '../src/domain/error/reasons/reason-row.ts';
import { packageRoot } from '../src/package-root.ts';
import { SETTINGS } from '../src/server/settings/settings.ts';
import { UNREADABLE_REQUESTS } from '../src/surfaces/bad-body.ts';
import { AGENT_ERRORS } from '../src/surfaces/rest/agent-errors.ts';

const TABLES = /^src\/domain\/error\/(reasons|failures)\/|^src\/gen\/|\.(test|fixture)\.ts$/;
const sources = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'src'], {
  cwd: packageRoot(),
  encoding: 'utf8',
})
  .split('\n')
  .filter((file) => file.endsWith('.ts') && !TABLES.test(file))
  .map((file) => ({ file, text: readFileSync(join(packageRoot(), file), 'utf8') }));
const everything = sources.map(({ text }) => text).join('\n');

function found(pattern: RegExp, text = everything): Set<string> {
  return new Set([...text.matchAll(pattern)].map(([, code = '']) => code));
}

it('rows name only settings that exist', () => {
  const named = found(/\b(INGOT_[A-Z_]+)/g, JSON.stringify([REASONS, FAILURES, CLIENT_REASONS]));
  const settings = new Set(Object.values(SETTINGS).map(({ variable }) => variable as string));
  const ofClients = ['INGOT_SERVER', 'INGOT_TOKEN', 'INGOT_HTTP_URL', 'INGOT_CA_FILE'];
  expect([...named].filter((name) => !settings.has(name) && !ofClients.includes(name))).toEqual([]);
});

describe('reasons', () => {
  /** A Fault takes a literal, or a variable whose literals are in the same file. */
  const raising = sources.filter(({ text }) => text.includes('new Fault('));
  const raised = found(/new Fault\(\s*'(\w+)'/g);
  const preconditions = found(/unmetPrecondition\(\s*'(\w+)'/g);

  it('are raised in more than one place, so that this test reads the right files', () => {
    expect(raised.size).toBeGreaterThan(40);
    expect(preconditions.size).toBeGreaterThan(2);
  });

  it('have a row', () => {
    const without = [...raised].filter((reason) => !Object.hasOwn(REASONS, reason));
    expect(without).toEqual([]);
    const known = { ...FAILURES, ...REASONS };
    expect([...preconditions].filter((reason) => !Object.hasOwn(known, reason))).toEqual([]);
  });

  it.each(Object.keys(REASONS))('%s is raised', (reason) => {
    const isNamed = raising.some(({ text }) => text.includes(`'${reason}'`));
    expect(raised.has(reason) || isNamed).toBe(true);
  });

  it.each(Object.entries(REASONS as Record<string, ReasonRow>).filter(([, row]) => row.alsoPrecondition))(
    '%s is raised as a precondition, too',
    (reason) => {
      expect(preconditions).toContain(reason);
    },
  );

  it.each(Object.keys(CLIENT_REASONS))('%s is a reason of the command line', (reason) => {
    const cli = sources.filter(({ file }) => file.startsWith('src/cli/'));
    expect(cli.some(({ text }) => text.includes(`'${reason}'`))).toBe(true);
  });

  it('are in one group each', () => {
    const grouped = Object.values(REASON_GROUPS).flatMap((group) => Object.keys(group));
    expect(grouped.toSorted()).toEqual(Object.keys(REASONS).toSorted());
  });
});

describe('failure codes', () => {
  it('have a row', () => {
    const written = found(/\bclass: '\w+',\s*code: '(\w+)'/g);
    expect(written.size).toBeGreaterThan(40);
    expect([...written].filter((code) => !Object.hasOwn(FAILURES, code))).toEqual([]);
  });

  it.each(FAILURE_CODES)('%s is what a step fails with', (code) => {
    const steps = sources.filter(({ file }) => !file.startsWith('src/domain/error/'));
    expect(steps.some(({ text }) => text.includes(`'${code}'`))).toBe(true);
  });

  it('are in one group each', () => {
    const grouped = Object.values(FAILURE_GROUPS).flatMap((group) => Object.keys(group));
    expect(grouped.toSorted()).toEqual([...FAILURE_CODES].toSorted());
  });
});

describe('the codes of REST', () => {
  it.each(Object.keys(AGENT_ERRORS))('AGENT_ERRORS.%s is answered to agents', (name) => {
    expect(everything).toMatch(new RegExp(`AGENT_ERRORS\\.${name}\\b`));
  });

  it.each(Object.keys(UNREADABLE_REQUESTS).filter((code) => !code.startsWith('FST_ERR_')))(
    '%s is what the HTTP server refuses',
    (code) => expect(everything).toMatch(new RegExp(`refusal\\('${code}'\\)`)),
  );

  it('have a text for every refusal of our own', () => {
    for (const code of found(/refusal\('([A-Z_\d]+)'\)/g)) expect(UNREADABLE_REQUESTS).toHaveProperty(code);
  });
});

describe('rows', () => {
  const rows: [string, ReasonRow | FailureRow][] = [
    ...Object.entries(REASONS),
    ...Object.entries(FAILURES),
    ...Object.entries(CLIENT_REASONS),
  ];

  it.each(rows)('%s says what happened and what to do, with ASCII apostrophes', (_code, row) => {
    const texts = 'cause' in row ? [row.message, row.cause, row.fix] : [row.whatHappened, row.check];
    for (const text of texts) {
      expect(text).not.toBe('');
      expect(text).not.toMatch(/[‘’.]$|[‘’]/);
    }
  });

  it.each(rows.filter(([, { commands }]) => commands))('%s has commands whose values exist', (_code, row) => {
    const names = (row.commands ?? []).flatMap((command) => [...found(/\{(\w+)\}/g, command)]);
    const metadata = found(/\b(\w+)(?=[:,} ])/g, [...everything.matchAll(/metadata: \{[^}]*\}/g)].join('\n'));
    for (const name of names) expect(Object.hasOwn(FIX_NAMES, name) || metadata.has(name)).toBe(true);
  });
});
