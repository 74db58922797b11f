/**
 * Reads a YAML node as the JSON of a protobuf message, as people write it: a number where a text is meant, `2h` and `20` alike,
 * hyphens in names, a step by its name alone. What can't be meant is reported at its line, an unknown field with the known one
 * that is most like it.
 */
import {
  type DescField,
  type DescMessage,
  type JsonObject,
  type JsonValue,
  ScalarType,
} from '@bufbuild/protobuf';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import { type Document, isAlias, isMap, isScalar, isSeq, type Node, type Scalar } from 'yaml';
import { nearest } from '../../domain/nearest.ts';

type Report = (node: Node, problem: string) => void;

/** The whole of a scalar as it was written: the image 24.10 is not the number 24.1. */
function textOf({ value, source }: Scalar): string {
  return typeof value === 'string' ? value : (source ?? String(value));
}

interface ScalarReader {
  readonly read: (scalar: Scalar) => JsonValue | undefined;
  readonly words: string;
}

const NUMBER = /^-?\d+(\.\d+)?$/;

/** The scalar types that rollouts use; undefined is a value that can't be meant. */
const SCALARS: Partial<Record<ScalarType, ScalarReader>> = {
  [ScalarType.STRING]: { read: textOf, words: 'a text' },
  [ScalarType.BOOL]: {
    read: (scalar) => ({ true: true, false: false })[textOf(scalar).toLowerCase()],
    words: 'true or false',
  },
  [ScalarType.INT32]: {
    read: (scalar) => {
      const [, digits] = /^(-?\d+) ?%?$/.exec(textOf(scalar).trim()) ?? [];
      return digits !== undefined && Math.abs(Number(digits)) < 2 ** 31 ? Number(digits) : undefined;
    },
    words: 'a whole number',
  },
  [ScalarType.DOUBLE]: {
    read: (scalar) => (NUMBER.test(textOf(scalar)) ? Number(textOf(scalar)) : undefined),
    words: 'a number',
  },
};

/** A step is written as `enter-maintenance`, a field as `max_parallel`. */
const shownName = ({ name, jsonName }: DescField): string => (jsonName.includes('-') ? jsonName : name);

export class MessageReader {
  readonly #document: Document;
  readonly #report: Report;

  constructor(document: Document, report: Report) {
    this.#document = document;
    this.#report = report;
  }

  /** The fields of the message that a map sets; of a message that is one of several, its name alone will do. */
  message(desc: DescMessage, written: unknown, path: string): JsonObject {
    const node = this.resolve(written);
    const isChoice = desc.oneofs.length > 0;
    if (isChoice && isScalar(node) && typeof node.value === 'string') {
      const field = this.#known(desc, node, node.value, path);
      return field === undefined ? {} : { [field.jsonName]: {} };
    }
    if (!isMap(node)) {
      this.#report(node, `${path || 'a rollout'} must have fields: ${namesOf(desc)}`);
      return {};
    }
    const json: JsonObject = {};
    for (const { key, value } of node.items) {
      const keyNode = key as Node;
      const name = isScalar(keyNode) ? String(keyNode.value) : '?';
      const fieldPath = path === '' ? name : `${path}.${name}`;
      const field = this.#known(desc, keyNode, name, fieldPath);
      if (field === undefined) continue;
      const other = Object.keys(json).find(
        (taken) => taken === field.jsonName || (isChoice && field.oneof !== undefined),
      );
      if (other !== undefined) {
        this.#report(keyNode, `${fieldPath}: ${other} is set already, and only one of them may be`);
        continue;
      }
      Object.assign(json, this.#field(field, value ?? keyNode, fieldPath, value === null));
    }
    return json;
  }

  resolve(written: unknown): Node {
    return (isAlias(written) ? (written.resolve(this.#document) ?? written) : written) as Node;
  }

  #known(desc: DescMessage, node: Node, name: string, path: string): DescField | undefined {
    const plain = name.replaceAll('-', '_');
    const field = desc.fields.find((known) => known.name === plain || known.jsonName === name);
    if (field === undefined) {
      const meant = nearest(name, desc.fields.map(shownName));
      const question = meant === null ? '' : `; did you mean ${meant}?`;
      this.#report(node, `${path}: unknown field${question} The fields are ${namesOf(desc)}`);
    }
    return field;
  }

  #field(field: DescField, written: unknown, path: string, isBare: boolean): JsonObject {
    const node = this.resolve(written);
    const isEmpty = isBare || (isScalar(node) && node.value === null);
    // `- reboot:` is a step without parameters; any other empty value is an absent field.
    if (isEmpty)
      return field.fieldKind === 'message' && field.oneof !== undefined ? { [field.jsonName]: {} } : {};
    const value = this.#value(field, node, path);
    return value === undefined ? {} : { [field.jsonName]: value };
  }

  #value(field: DescField, node: Node, path: string): JsonValue | undefined {
    switch (field.fieldKind) {
      case 'message':
        return field.message.typeName === TimestampSchema.typeName
          ? this.#instant(node, path)
          : this.message(field.message, node, path);
      case 'scalar':
        return this.#scalar(field.scalar, node, path);
      case 'list':
        return this.#list(field, node, path);
      case 'map':
      case 'enum':
        throw new Error(`no rollout has a field such as ${path}`);
    }
  }

  #list(field: DescField & { fieldKind: 'list' }, node: Node, path: string): JsonValue {
    // `waves: 1, 10%, rest` is a text for YAML.
    if (field.listKind === 'scalar' && isScalar(node))
      return textOf(node)
        .split(',')
        .map((item) => item.trim());
    if (!isSeq(node)) {
      this.#report(node, `${path} must be a list`);
      return [];
    }
    return node.items.flatMap((item, i): JsonValue[] => {
      const place = `${path}[${i}]`;
      if (field.listKind === 'message') return [this.message(field.message, item, place)];
      if (field.listKind !== 'scalar') return [];
      const read = this.#scalar(field.scalar, this.resolve(item), place);
      return read === undefined ? [] : [read];
    });
  }

  #scalar(type: ScalarType, node: Node, path: string): JsonValue | undefined {
    const reader = SCALARS[type];
    const read = isScalar(node) ? reader?.read(node) : undefined;
    if (read === undefined) this.#report(node, `${path} must be ${reader?.words ?? 'another value'}`);
    return read;
  }

  #instant(node: Node, path: string): JsonValue | undefined {
    const at = isScalar(node) ? instantOf(textOf(node)) : undefined;
    if (at === undefined) this.#report(node, `${path} must be a time such as 2026-11-01T12:00:00Z`);
    return at;
  }
}

/** As protobuf's JSON has it; undefined for what is no time. A date alone is its start in UTC. */
export function instantOf(text: string): string | undefined {
  const isWritten = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2}))?$/.test(text);
  const at = isWritten ? Date.parse(text.replace(' ', 'T')) : Number.NaN;
  return Number.isNaN(at) ? undefined : new Date(at).toISOString();
}

function namesOf(desc: DescMessage): string {
  return desc.fields.map(shownName).join(', ');
}
