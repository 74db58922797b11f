/**
 * Reads a file that describes one message, as YAML or JSON (which is YAML too). A mistake in its syntax is reported with file
 * and line; `placeOf` finds the line of a field that the server rejects.
 */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { type Document, LineCounter, type Node, parseDocument } from 'yaml';
import { CallError } from '../connection/call-error.ts';
import { status } from '../connection/status.ts';
import { UsageError } from '../errors/usage-error.ts';

const LARGEST_MIB = 8;

export interface FileSource {
  /** The path as typed, for messages. */
  readonly name: string;
  readonly bytes: Readable;
}

export interface FileKind {
  /** What the file describes, such as `a plan`. */
  readonly noun: string;
  readonly largestMiB?: number;
}

export interface YamlFile {
  readonly name: string;
  readonly document: Document;
  readonly root: Node;
  /** `plan.yaml:7` for a node. */
  readonly at: (node: Node | undefined) => string;
}

export function fileSource(name: string, path: string, stdin: Readable): FileSource {
  return name === '-' ? { name: 'stdin', bytes: stdin } : { name, bytes: createReadStream(path) };
}

export async function readYaml(source: FileSource, kind: FileKind): Promise<YamlFile> {
  const { name } = source;
  const text = await readText(source, kind);
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, stringKeys: true });
  const at = (offset: number): string => `${name}:${lines.linePos(offset).line}`;
  // One syntax error causes others after it: report the first.
  const [syntaxError] = [...document.errors, ...document.warnings];
  if (syntaxError !== undefined) {
    const words =
      syntaxError.code === 'MULTIPLE_DOCS'
        ? `a second YAML document starts here; a file holds one ${kind.noun.replace(/^an? /, '')}`
        : syntaxError.message;
    throw new UsageError(`${at(syntaxError.pos[0])}: ${words}`);
  }
  if (document.contents === null) throw new UsageError(`${name}: is empty`);
  return { name, document, root: document.contents, at: (node) => at(node?.range?.[0] ?? 0) };
}

async function readText({ name, bytes }: FileSource, { noun, largestMiB }: FileKind): Promise<string> {
  const largest = largestMiB ?? LARGEST_MIB;
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of bytes) {
      chunks.push(Buffer.from(chunk));
      size += chunk.length;
      if (size > largest * 1024 * 1024) break;
    }
  } catch (error) {
    throw new UsageError(`can't read ${name}: ${error instanceof Error ? error.message : error}`);
  }
  if (size > largest * 1024 * 1024)
    throw new UsageError(`${name}: larger than ${largest} MiB, the limit for ${noun}`);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch {
    throw new UsageError(`${name}: is not UTF-8 text`);
  }
}

/** All mistakes in the structure of a file, at once. */
export function mistakes(name: string, problems: readonly string[]): UsageError {
  const [only, ...others] = problems;
  return others.length === 0
    ? new UsageError(only ?? name)
    : new UsageError(`${name}: ${problems.length} mistakes`, problems);
}

/** Adds the line of the file to each field that the server rejects; `root` is the request's field that has the message. */
export function withPlaces(error: unknown, file: YamlFile, root: string): unknown {
  if (!(error instanceof CallError) || error.code !== status.INVALID_ARGUMENT) return error;
  const { code, message, reason, metadata, violations } = error;
  const [first, ...others] = violations;
  if (first === undefined) return error;
  const placeOf = (path: string): string => file.at(nodeAt(file.document, path, root));
  return new CallError({
    code,
    message: `${placeOf(first.subject)}: ${message}`,
    reason,
    metadata,
    violations: others.map(({ subject, description }) => ({
      subject: `${placeOf(subject)}: ${subject}`,
      description,
    })),
  });
}

/** The node of plan.steps[1].name, or of its closest parent. */
function nodeAt(document: Document, path: string, root: string): Node | undefined {
  const keys = [...path.matchAll(/[^.[\]]+/g)].map(([key]) => (/^\d+$/.test(key) ? Number(key) : key));
  if (keys[0] === root) keys.shift();
  for (; keys.length > 0; keys.pop()) {
    const node = document.getIn(keys, true);
    if (node !== undefined) return node as Node;
  }
  return document.contents ?? undefined;
}
