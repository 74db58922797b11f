/** Compares a YAML document with the protobuf message that it describes. */
import { type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf';
import { StructSchema } from '@bufbuild/protobuf/wkt';
import { type Document, isAlias, isMap, isScalar, isSeq, type Node } from 'yaml';

interface ScalarShape {
  readonly is: (value: unknown) => boolean;
  readonly words: string;
}

/** The scalar types that plans use. */
const SCALARS: Partial<Record<ScalarType, ScalarShape>> = {
  [ScalarType.STRING]: { is: (value) => typeof value === 'string', words: 'text; put it in quotes' },
  [ScalarType.BOOL]: { is: (value) => typeof value === 'boolean', words: 'true or false' },
  [ScalarType.INT32]: { is: isInt32, words: 'a whole number' },
};

function isInt32(value: unknown): boolean {
  return typeof value === 'number' && (value | 0) === value;
}

export class ShapeCheck {
  readonly #document: Document;
  readonly #report: (node: Node, problem: string) => void;

  constructor(document: Document, report: (node: Node, problem: string) => void) {
    this.#document = document;
    this.#report = report;
  }

  message(desc: DescMessage, written: unknown, path: string): void {
    const node = this.#resolve(written);
    if (!isMap(node)) {
      this.#report(node, `${path || 'a plan'} must have fields: ${namesOf(desc)}`);
      return;
    }
    const taken = new Map<string, string>();
    for (const { key, value } of node.items) {
      const keyNode = key as Node;
      const name = isScalar(keyNode) ? String(keyNode.value) : '?';
      const fieldPath = path === '' ? name : `${path}.${name}`;
      const field = desc.fields.find((known) => known.name === name || known.jsonName === name);
      if (field === undefined) {
        this.#report(keyNode, `${fieldPath}: unknown field; the fields are ${namesOf(desc)}`);
        continue;
      }
      // Only one field of a oneof may be set: a step has one kind.
      const place = field.oneof === undefined ? field.name : `one of ${field.oneof.name}`;
      const other = taken.get(place);
      taken.set(place, name);
      if (other === undefined) this.#field(field, value ?? keyNode, fieldPath);
      else this.#report(keyNode, `${fieldPath}: ${other} is set already, and only one of them may be`);
    }
  }

  #field(field: DescField, written: unknown, path: string): void {
    const node = this.#resolve(written);
    const isNull = isScalar(node) && node.value === null;
    // An empty value is an absent field, as in protobuf's JSON; but `reboot:` was meant to be one.
    if (isNull && field.fieldKind === 'message')
      this.#report(node, `${path} is empty; write {} for its defaults`);
    if (isNull) return;
    if (field.fieldKind === 'message' && field.message.typeName === StructSchema.typeName)
      this.#free(node, path);
    else if (field.fieldKind === 'message') this.message(field.message, node, path);
    else if (field.fieldKind === 'list' && field.listKind === 'message')
      this.#list(field.message, node, path);
    else if (field.fieldKind === 'scalar') this.#scalar(field.scalar, node, path);
  }

  /** Fields of any name, such as the attributes of a BIOS. The server checks what they are. */
  #free(node: Node, path: string): void {
    if (!isMap(node)) this.#report(node, `${path} must have a value for each name, such as { Name: Value }`);
  }

  #list(desc: DescMessage, node: Node, path: string): void {
    if (!isSeq(node)) this.#report(node, `${path} must be a list`);
    else for (const [i, item] of node.items.entries()) this.message(desc, item, `${path}[${i}]`);
  }

  #scalar(type: ScalarType, node: Node, path: string): void {
    const shape = SCALARS[type];
    if (shape !== undefined && !(isScalar(node) && shape.is(node.value)))
      this.#report(node, `${path} must be ${shape.words}`);
  }

  #resolve(written: unknown): Node {
    return (isAlias(written) ? (written.resolve(this.#document) ?? written) : written) as Node;
  }
}

function namesOf(desc: DescMessage): string {
  return desc.fields.map(({ name }) => name).join(', ');
}
