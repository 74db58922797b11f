/** Reads a rollout file. All mistakes in its structure are reported at once, with file and line; the server checks the content. */
import { fromJson, type JsonObject } from '@bufbuild/protobuf';
import { isMap, isScalar, type Node } from 'yaml';
import { type RolloutSpec, RolloutSpecSchema } from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { UsageError } from '../errors/usage-error.ts';
import { MessageReader } from './message-reader.ts';
import { type FileSource, mistakes, readYaml, type YamlFile } from './yaml-file.ts';

export interface RolloutFile {
  readonly spec: RolloutSpec;
  readonly file: YamlFile;
}

/** Fields that may be written below `waves`, as in `waves: {by: location.rack}`. */
const BELOW_WAVES: readonly string[] = ['by', 'order'];

export async function readRollout(source: FileSource): Promise<RolloutFile> {
  const file = await readYaml(source, { noun: 'a rollout' });
  const problems: string[] = [];
  const report = (node: Node, problem: string): void => {
    problems.push(`${file.at(node)}: ${problem}`);
  };
  const reader = new MessageReader(file.document, report);
  liftWaves(file, reader, report);
  const json: JsonObject = reader.message(RolloutSpecSchema, file.root, '');
  if (problems.length > 0) throw mistakes(file.name, problems);
  try {
    return { spec: fromJson(RolloutSpecSchema, json), file };
  } catch (error) {
    throw new UsageError(`${file.name}: ${error instanceof Error ? error.message : error}`);
  }
}

/** `waves: {by: location.rack}` says the same as `by: location.rack`. */
function liftWaves({ root }: YamlFile, reader: MessageReader, report: (node: Node, problem: string) => void) {
  if (!isMap(root)) return;
  const pair = root.items.find(({ key }) => isScalar(key) && key.value === 'waves');
  const waves = reader.resolve(pair?.value);
  if (pair === undefined || !isMap(waves)) return;
  for (const inner of waves.items) {
    const name = isScalar(inner.key) ? String(inner.key.value) : '?';
    if (!BELOW_WAVES.includes(name))
      report(
        inner.key as Node,
        `waves.${name}: unknown field; waves is a list of sizes, or has ${BELOW_WAVES.join(' and ')}`,
      );
    else if (root.has(name)) report(inner.key as Node, `waves.${name}: ${name} is set already`);
    else root.items.push(inner);
  }
  root.items.splice(root.items.indexOf(pair), 1);
}
