/**
 * The template of `-o jsonpath`: paths and texts in braces, such as {.machine_id}{"\t"}{.status.phase}, and texts between them as they
 * are. It is for each item of a list, a line each. A template that names .items is for the whole list, as kubectl has it, with
 * {range .items[*]}…{end} for each item.
 */
import type { JsonValue } from '@bufbuild/protobuf';
import { UsageError } from '../errors/usage-error.ts';
import { type JsonPath, parsePath, valuesAt, valueText } from './json-path.ts';
import { plainText } from './plain-text.ts';

type Node =
  | { readonly text: string }
  | { readonly path: JsonPath }
  | { readonly range: JsonPath; readonly nodes: readonly Node[] };

export interface JsonTemplate {
  readonly isForWholeList: boolean;
  readonly write: (value: JsonValue) => string;
}

const OPTION = '-o jsonpath';

export function jsonTemplate(text: string): JsonTemplate {
  const template = text.includes('{') ? text : `{${text}}`;
  const pieces = [...template.matchAll(/\{((?:"[^"]*"|'[^']*'|[^}"'])*)\}|([^{]+)/g)];
  if (pieces.map(([piece]) => piece).join('') !== template)
    throw new UsageError(`${OPTION}: ${text} has a { without its }`);
  const nodes = nodesOf(pieces.values(), 'text');
  return {
    isForWholeList: /\{\s*(?:range\s+)?\$?\.items\b/.test(template),
    write: (value) => written(nodes, value),
  };
}

function nodesOf(pieces: Iterator<RegExpExecArray>, within: 'text' | 'range'): Node[] {
  const nodes: Node[] = [];
  for (;;) {
    const { done, value: piece } = pieces.next();
    if (done) {
      if (within === 'range') throw new UsageError(`${OPTION}: {range} has no {end}`);
      return nodes;
    }
    const [, inBraces, literal = ''] = piece;
    const inside = inBraces?.trim();
    if (inside === undefined) nodes.push({ text: literal });
    else if (/^["']/.test(inside)) nodes.push({ text: constant(inside) });
    else if (inside.startsWith('range '))
      nodes.push({ range: parsePath(inside.slice(6), OPTION), nodes: nodesOf(pieces, 'range') });
    else if (inside !== 'end') nodes.push({ path: parsePath(inside, OPTION) });
    else if (within === 'range') return nodes;
    else throw new UsageError(`${OPTION}: {end} has no {range}`);
  }
}

function written(nodes: readonly Node[], value: JsonValue): string {
  return nodes
    .map((node) => {
      if ('text' in node) return node.text;
      if ('path' in node) return valuesAt(value, node.path).map(valueText).map(plainText).join(' ');
      return valuesAt(value, node.range)
        .map((each) => written(node.nodes, each))
        .join('');
    })
    .join('');
}

/** With the escapes of JSON. */
function constant(quoted: string): string {
  try {
    return String(JSON.parse(quoted.startsWith("'") ? `"${quoted.slice(1, -1)}"` : quoted));
  } catch {
    throw new UsageError(`${OPTION}: ${quoted} is not a text in quotes`);
  }
}
