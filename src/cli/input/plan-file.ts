/** Reads a plan file. All mistakes in its structure are reported at once, with file and line; the server checks the content. */
import { fromJson, type JsonValue } from '@bufbuild/protobuf';
import { type Plan, PlanSchema } from '../../gen/baremetal/v1/plan_pb.ts';
import { UsageError } from '../errors/usage-error.ts';
import { ShapeCheck } from './plan-shape.ts';
import { type FileSource, mistakes, readYaml, type YamlFile } from './yaml-file.ts';

export interface PlanFile {
  readonly plan: Plan;
  readonly file: YamlFile;
}

export async function readPlan(source: FileSource): Promise<PlanFile> {
  const file = await readYaml(source, { noun: 'a plan', largestMiB: 1 });
  const problems: string[] = [];
  const check = new ShapeCheck(file.document, (node, problem) =>
    problems.push(`${file.at(node)}: ${problem}`),
  );
  check.message(PlanSchema, file.root, '');
  if (problems.length > 0) throw mistakes(file.name, problems);
  try {
    return { plan: fromJson(PlanSchema, file.document.toJS() as JsonValue), file };
  } catch (error) {
    throw new UsageError(`${file.name}: ${error instanceof Error ? error.message : error}`);
  }
}
