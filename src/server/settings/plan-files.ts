/** Plans from a directory: all files are read and checked before any is stored, so a wrong one stops the start. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Document, isNode, LineCounter, parseDocument } from 'yaml';
import { Fault } from '../../domain/error/fault.ts';
import type { Plan } from '../../domain/operation/plan.ts';
import { fieldPath, planSchema } from '../../operations/plans/plan-input.ts';
import { createPlans } from '../../operations/plans/plans.ts';
import { IN_OUR_WORDS } from '../../operations/problem-text.ts';
import type { Database } from '../../store/database/database.ts';
import { SETTINGS, SettingError } from './settings.ts';

export interface PlanFile {
  readonly file: string;
  /** The line of its plan_id. */
  readonly line: number;
  readonly plan: Plan;
}

function problem(file: string, text: string): SettingError {
  return new SettingError(SETTINGS.plansDir.variable, `${file}: ${text}`);
}

/** Reports a file or directory that can't be read with the system's error code. */
function reading<T>(path: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw problem(path, `can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
  }
}

export function readPlanFiles(directory: string | null): PlanFile[] {
  if (directory === null) return [];
  const names = reading(directory, () => readdirSync(directory))
    .filter((name) => /\.(ya?ml|json)$/.test(name))
    .sort();
  const plans = names.map((name) => readPlanFile(join(directory, name)));
  for (const [index, { file, line, plan }] of plans.entries()) {
    const duplicate = plans.slice(0, index).find((other) => other.plan.planId === plan.planId);
    if (duplicate) throw problem(file, `line ${line}: plan_id ${plan.planId} is in ${duplicate.file} too`);
  }
  return plans;
}

function readPlanFile(file: string): PlanFile {
  const lines = new LineCounter();
  const document = parseDocument(
    reading(file, () => readFileSync(file, 'utf8')),
    { lineCounter: lines, prettyErrors: false },
  );
  const [syntax] = document.errors;
  if (syntax) throw problem(file, `line ${lines.linePos(syntax.pos[0]).line}: ${syntax.message}`);
  const parsed = planSchema.safeParse(contentOf(document, file), IN_OUR_WORDS);
  if (parsed.success) return { file, line: lineOf(document, lines, ['plan_id']), plan: parsed.data };
  const [issue] = parsed.error.issues;
  const path = issue?.path ?? [];
  const line = lineOf(document, lines, path);
  throw problem(file, `line ${line}: ${fieldPath(path) || 'the plan'}: ${issue?.message ?? 'is not valid'}`);
}

/** Only this detects an alias without an anchor, or one that expands without a limit. */
function contentOf(document: Document.Parsed, file: string): unknown {
  try {
    return document.toJS();
  } catch (error) {
    throw problem(file, `line 1: ${(error as Error).message}`);
  }
}

/** The line of the deepest part of the path that is in the file: a missing field has no line. */
function lineOf(document: Document.Parsed, lines: LineCounter, path: readonly PropertyKey[]): number {
  for (let depth = path.length; depth >= 0; depth -= 1) {
    const node = document.getIn(path.slice(0, depth), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}

/** All of them or none. */
export async function storePlanFiles(database: Database, files: readonly PlanFile[]): Promise<void> {
  const plans = files.map(({ plan }) => plan);
  try {
    await createPlans(database, plans, {
      actor: { kind: 'system', id: 'plans directory' },
      scope: null,
    });
  } catch (error) {
    const wrong = error instanceof Fault && files.find(({ plan }) => plan.planId === error.metadata.plan_id);
    if (!wrong) throw error;
    throw problem(wrong.file, `line ${wrong.line}: ${(error as Fault).message}`);
  }
}
