/**
 * Amounts are texts, because they may be percentages: in JSON people write the plain ones as numbers, as in YAML. Before a message
 * of rollouts is decoded, a number in the place of a text becomes that text.
 */
import { type DescMessage, type DescMethod, ScalarType } from '@bufbuild/protobuf';

const FILE = 'baremetal/fleet/v1/rollout_service';

export function takesNumberTexts({ input }: DescMethod): boolean {
  return input.file.name === FILE;
}

/** The same bytes where they are no JSON object: the decoder refuses them in its own words. */
export function withNumberTexts(desc: DescMessage, bytes: Uint8Array): Uint8Array {
  let written: unknown;
  try {
    written = JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch (error) {
    if (error instanceof SyntaxError) return bytes;
    throw error;
  }
  return Buffer.from(JSON.stringify(numbersAsTexts(desc, written)));
}

/** Of a parsed text. */
export function numbersAsTexts(desc: DescMessage, written: unknown): unknown {
  if (typeof written !== 'object' || written === null || Array.isArray(written)) return written;
  return Object.fromEntries(
    Object.entries(written).map(([key, value]) => {
      const field = desc.fields.find(({ name, jsonName }) => key === name || key === jsonName);
      const convert = field === undefined ? null : converterOf(field);
      if (convert === null) return [key, value];
      return [key, Array.isArray(value) ? value.map(convert) : convert(value)];
    }),
  );
}

function converterOf(field: DescMessage['fields'][number]): ((value: unknown) => unknown) | null {
  if (field.message && !field.message.typeName.startsWith('google.')) {
    const { message } = field;
    return (value) => numbersAsTexts(message, value);
  }
  if (field.scalar !== ScalarType.STRING) return null;
  return (value) => (typeof value === 'number' ? String(value) : value);
}
