/** Plans from a directory: every file is read and checked before any is stored, so a wrong one stops the start. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isNode, LineCounter, parseDocument } from 'yaml';
import { Fault } from './domain/fault.ts';
import type { Plan } from './domain/plan.ts';
import { fieldPath, planSchema } from './operations/plan-input.ts';
import { createPlan } from './operations/plans.ts';
import { SETTINGS, SettingError } from './settings.ts';
import type { Database } from './store/database.ts';

export interface PlanFile {
  readonly file: string;
  readonly plan: Plan;
}

function problem(file: string, text: string): SettingError {
  return new SettingError(SETTINGS.plansDir.variable, `${file}: ${text}`);
}

export function readPlanFiles(directory: string | null): PlanFile[] {
  if (directory === null) return [];
  let names: string[];
  try {
    names = readdirSync(directory)
      .filter((name) => /\.(ya?ml|json)$/.test(name))
      .sort();
  } catch (error) {
    throw problem(directory, `can't be read (${(error as NodeJS.ErrnoException).code ?? 'unknown error'})`);
  }
  const plans = names.map((name) => readPlanFile(join(directory, name)));
  for (const [index, { file, plan }] of plans.entries()) {
    const twin = plans.slice(0, index).find((other) => other.plan.planId === plan.planId);
    if (twin) throw problem(file, `plan_id ${plan.planId} is in ${twin.file} too`);
  }
  return plans;
}

function readPlanFile(file: string): PlanFile {
  const lines = new LineCounter();
  const document = parseDocument(readFileSync(file, 'utf8'), { lineCounter: lines });
  const [syntax] = document.errors;
  if (syntax)
    throw problem(file, `line ${lines.linePos(syntax.pos[0]).line}: ${syntax.message.split('\n')[0]}`);
  const parsed = planSchema.safeParse(document.toJS());
  if (parsed.success) return { file, plan: parsed.data };
  const [issue] = parsed.error.issues;
  const path = issue?.path ?? [];
  // The deepest part of the path that is in the file: a missing field has no line of its own.
  let line = 1;
  for (let depth = path.length; depth >= 0; depth -= 1) {
    const node = document.getIn(path.slice(0, depth), true);
    if (!isNode(node) || !node.range) continue;
    line = lines.linePos(node.range[0]).line;
    break;
  }
  throw problem(file, `line ${line}: ${fieldPath(path) || 'the plan'}: ${issue?.message ?? 'is not valid'}`);
}

export async function storePlanFiles(database: Database, files: readonly PlanFile[]): Promise<void> {
  for (const { file, plan } of files) {
    try {
      await createPlan(database, plan, 'plans directory');
    } catch (error) {
      if (error instanceof Fault) throw problem(file, error.message);
      throw error;
    }
  }
}
