import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { packageRoot } from '../../package-root.ts';
import { UsageError } from '../errors/usage-error.ts';
import { readPlan } from './plan-file.ts';

const read = (text: string) => readPlan({ name: 'plan.yaml', bytes: Readable.from([text]) });

/** Every whole plan of the documentation. */
const EXAMPLES = readdirSync(join(packageRoot(), 'docs'))
  .filter((name) => name.endsWith('.md'))
  .flatMap((name) =>
    [
      ...readFileSync(join(packageRoot(), 'docs', name), 'utf8').matchAll(
        /^```yaml\n(plan_id: (\S+)[\s\S]*?)^```/gm,
      ),
    ].map(([, text = '', id = '']) => ({ name, id, text })),
  );

describe('a plan of the documentation', () => {
  it.each(EXAMPLES)('$name: $id', async ({ id, text }) => {
    expect((await read(text)).plan.planId).toBe(id);
  });

  it('is there', () => expect(EXAMPLES.length).toBeGreaterThan(1));
});

it('has attributes of any name, as texts, numbers and truth values', async () => {
  const { plan } = await read(
    'plan_id: p\nsteps:\n  - { name: s, bios_settings: { attributes: { A: On, B: 240, C: true } } }\n',
  );
  expect(plan.steps[0]?.kind).toMatchObject({
    case: 'biosSettings',
    value: { attributes: { A: 'On', B: 240, C: true } },
  });
  const refused = await read(
    'plan_id: p\nsteps:\n  - { name: s, bios_settings: { attributes: [A] } }\n',
  ).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(UsageError);
  expect([(refused as UsageError).message, ...(refused as UsageError).details].join(' ')).toContain(
    'bios_settings.attributes must have a value for each name',
  );
});
