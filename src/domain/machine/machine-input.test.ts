import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  checkImageRef,
  checkLabels,
  checkMachineId,
  checkOperationId,
  checkRequestId,
  checkText,
} from './machine-input.ts';
import { faultOf, refused, UNPRINTABLE } from './refused.fixture.ts';

const codeUnit = fc.oneof(
  { weight: 3, arbitrary: fc.integer({ min: 0x20, max: 0x7e }) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 0xffff }) },
);

describe.each([
  ['machine_id', checkMachineId],
  ['operation_id', checkOperationId],
] as const)('%s', (field, check) => {
  it.each(['a', '7', 'm-1', 'rack_7.node-42', 'A'.repeat(128)])('takes %s', (id) =>
    expect(check(id)).toBe(id),
  );

  it.each(['-a', 'a-', '.a', 'a.', 'a b', 'a/b', 'ä', '../etc', 'A'.repeat(129), 'a\n', ...UNPRINTABLE])(
    'refuses %j',
    (id) => void refused(() => check(id), field),
  );

  it('is required', () => expect(refused(() => check(''), field).reason).toBe('MISSING_FIELD'));

  it('may be part of a message and is then named by its path', () => {
    refused(() => check('a b', 'machine.machine_id'), 'machine.machine_id');
  });
});

describe('request_id', () => {
  it.each(['1', 'req-42', '7c9e6679-7425-40de-944b-e07fc1f90ae7', '{"a":1}', '~'.repeat(128)])(
    'takes %s',
    (id) => {
      expect(checkRequestId(id)).toBe(id);
    },
  );

  it.each(['a b', ' ', 'é', '~'.repeat(129), 'a\n', ...UNPRINTABLE])('refuses %j', (id) => {
    refused(() => checkRequestId(id), 'request_id');
  });

  it('is required', () =>
    expect(refused(() => checkRequestId(''), 'request_id').reason).toBe('MISSING_FIELD'));
});

describe('image_ref', () => {
  it.each(['', 'ubuntu-2204', 'registry.example:5000/os/debian:12@sha256:abc', 'a'.repeat(255)])(
    'takes %j',
    (image) => {
      expect(checkImageRef(image)).toBe(image);
    },
  );

  it.each(['-rf', 'a b', 'ubuntu;reboot', '$(reboot)', 'ü', 'a'.repeat(256), ...UNPRINTABLE])(
    'refuses %j',
    (image) => {
      refused(() => checkImageRef(image), 'image_ref');
    },
  );
});

describe('text for people', () => {
  it.each(['', 'a reason', 'señor 🚀', 'x'.repeat(20)])('takes %j', (text) => {
    expect(checkText(text, 'reason', 20)).toBe(text);
  });

  it('refuses more than its length', () => {
    expect(refused(() => checkText('x'.repeat(21), 'reason', 20), 'reason').message).toMatch(/at most 20/);
  });

  it.each(UNPRINTABLE)('refuses %j anywhere in it', (character) => {
    refused(() => checkText(`a${character}b`, 'reason', 20), 'reason');
  });

  it('takes exactly what has no control character, no line separator and no half of a pair', () => {
    fc.assert(
      fc.property(fc.array(codeUnit, { maxLength: 8 }), (units) => {
        const text = String.fromCharCode(...units);
        const unprintable = [...text].some((character) => {
          const code = character.codePointAt(0) ?? 0;
          const control = code < 0x20 || (code >= 0x7f && code <= 0x9f);
          return control || code === 0x2028 || code === 0x2029 || (code >= 0xd800 && code <= 0xdfff);
        });
        if (unprintable) refused(() => checkText(text, 'reason', 40), 'reason');
        else checkText(text, 'reason', 40);
      }),
    );
  });
});

describe('labels', () => {
  it.each([
    [{}],
    [{ rack: 'r42' }],
    [{ 'fake/step-ms': '20', 'example.com/a_b': '' }],
    [{ ['k'.repeat(253)]: 'v'.repeat(4096) }],
    [{ note: 'ünïcödé 🚀' }],
  ])('takes %o', (labels) => expect(checkLabels(labels)).toBe(labels));

  it.each(['', '-a', 'a-', '/a', 'a b', 'a=b', 'ä', '__proto__', 'k'.repeat(254)])(
    'refuses the name %j',
    (key) => {
      refused(() => checkLabels(JSON.parse(`{${JSON.stringify(key)}:""}`)), `labels.${key.slice(0, 80)}`);
    },
  );

  it.each(UNPRINTABLE)('refuses %j in a name and shows it escaped', (character) => {
    const key = `a${character}b`;
    expect(faultOf(() => checkLabels({ [key]: '' })).metadata.field).toMatch(/^labels\."a.*b"$/s);
  });

  it.each(UNPRINTABLE)('refuses %j in a value', (character) => {
    refused(() => checkLabels({ rack: `a${character}b` }), 'labels.rack');
  });

  it('refuses a value over 4096 characters', () => {
    refused(() => checkLabels({ rack: 'v'.repeat(4097) }), 'labels.rack');
  });

  it('counts the bytes of all names and values, not their characters', () => {
    const labels = (last: string) =>
      Object.fromEntries(
        Array.from({ length: 16 }, (_, index) => [`k${index + 10}`, index < 15 ? 'é'.repeat(2100) : last]),
      );
    const spare = 64 * 1024 - 15 * (3 + 4200) - 3;
    checkLabels(labels('v'.repeat(spare)));
    expect(refused(() => checkLabels(labels('v'.repeat(spare + 1))), 'labels').message).toBe(
      'labels: are 65537 bytes in total; at most 65536 are kept',
    );
  });
});
