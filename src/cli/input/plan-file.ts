/**
 * Reads a plan file, YAML or JSON (which is YAML too). All mistakes in its structure are reported at once, with file and
 * line. The server validates the content; `placeOf` finds the line of a field that it rejects.
 */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { fromJson, type JsonValue } from '@bufbuild/protobuf';
import { type Document, LineCounter, type Node, parseDocument } from 'yaml';
import { type Plan, PlanSchema } from '../../gen/baremetal/v1/plan_pb.ts';
import { UsageError } from '../errors/usage-error.ts';
import { ShapeCheck } from './plan-shape.ts';

const LARGEST_BYTES = 1024 * 1024;

export interface PlanSource {
  /** The path as typed, for messages. */
  readonly name: string;
  readonly bytes: Readable;
}

export interface PlanFile {
  readonly plan: Plan;
  /** `plan.yaml:7` for a path such as steps[1].name; the line of the closest parent if the field is absent. */
  readonly placeOf: (fieldPath: string) => string;
}

export function planSource(name: string, path: string, stdin: Readable): PlanSource {
  return name === '-' ? { name: 'stdin', bytes: stdin } : { name, bytes: createReadStream(path) };
}

export async function readPlan(source: PlanSource): Promise<PlanFile> {
  return parsePlan(source.name, await readText(source));
}

async function readText({ name, bytes }: PlanSource): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of bytes) {
      chunks.push(Buffer.from(chunk));
      size += chunk.length;
      if (size > LARGEST_BYTES) break;
    }
  } catch (error) {
    throw new UsageError(`can't read ${name}: ${error instanceof Error ? error.message : error}`);
  }
  if (size > LARGEST_BYTES) throw new UsageError(`${name}: larger than 1 MiB, the limit for a plan`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new UsageError(`${name}: is not UTF-8 text`);
  }
}

function parsePlan(name: string, text: string): PlanFile {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true });
  const at = (offset: number): string => `${name}:${lines.linePos(offset).line}`;
  // One syntax error causes others after it: report the first.
  const [syntaxError] = [...document.errors, ...document.warnings];
  if (syntaxError !== undefined)
    throw new UsageError(`${at(syntaxError.pos[0])}: ${SYNTAX[syntaxError.code] ?? syntaxError.message}`);
  if (document.contents === null) throw new UsageError(`${name}: is empty`);
  const problems: string[] = [];
  const check = new ShapeCheck(document, (node, problem) =>
    problems.push(`${at(node.range?.[0] ?? 0)}: ${problem}`),
  );
  check.message(PlanSchema, document.contents, '');
  if (problems.length > 0) throw wrong(name, problems);
  try {
    const plan = fromJson(PlanSchema, document.toJS() as JsonValue);
    return { plan, placeOf: (path) => at(nodeAt(document, path)?.range?.[0] ?? 0) };
  } catch (error) {
    throw new UsageError(`${name}: ${error instanceof Error ? error.message : error}`);
  }
}

const SYNTAX: Readonly<Record<string, string>> = {
  MULTIPLE_DOCS: 'a second YAML document starts here; a file holds one plan',
};

function wrong(name: string, problems: readonly string[]): UsageError {
  const [only, ...others] = problems;
  return others.length === 0
    ? new UsageError(only ?? name)
    : new UsageError(`${name}: ${problems.length} mistakes`, problems);
}

/** The node of plan.steps[1].name, or of its closest parent. */
function nodeAt(document: Document, path: string): Node | undefined {
  const keys = [...path.matchAll(/[^.[\]]+/g)].map(([key]) => (/^\d+$/.test(key) ? Number(key) : key));
  if (keys[0] === 'plan') keys.shift();
  for (; keys.length > 0; keys.pop()) {
    const node = document.getIn(keys, true);
    if (node !== undefined) return node as Node;
  }
  return document.contents ?? undefined;
}
