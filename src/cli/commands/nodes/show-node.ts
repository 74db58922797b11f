/** One node in full: its fields, its hardware and the erasure of its disks. */
import { Command } from 'commander';
import { type Erasure, erasureLines, outcomeText } from '../../../domain/install/erasure.ts';
import type { HardwareInventory } from '../../../domain/install/hardware-inventory.ts';
import { hardwareLines } from '../../../domain/install/hardware-text.ts';
import type { CommandContext } from '../../command-context.ts';
import type { Answer } from '../../connection/rest-client.ts';
import { addOutput } from '../../input/options.ts';
import { type OutputFormat, writeOne } from '../../output/format.ts';
import { plainText } from '../../output/plain-text.ts';
import { type NodeBody, nodePath, nodes } from '../../rendering/node-rendering.ts';

export function showNode(context: CommandContext): Command {
  const command = new Command('show')
    .description('Show one node with its hardware inventory and the erasure of its disks')
    .argument('<node-id>');
  return addOutput(command).action(
    context.restAction<{ output: OutputFormat }>(async ({ args: [id = ''], options, rest }) => {
      const { data } = await rest.call<Answer<NodeBody>>('GET', nodePath(id));
      writeNode(context, options.output, data);
      return 'ok';
    }),
  );
}

function writeNode(context: CommandContext, output: OutputFormat, node: NodeBody): void {
  writeOne(context.out, output, nodes(context.now()), node, () => {
    for (const [field, value] of Object.entries(node)) {
      if (field === 'inventory') {
        writeInventory(context, value as InventoryOfNode | null);
        continue;
      }
      if (field === 'erasure') {
        writeErasure(context, value as Erasure | null);
        continue;
      }
      const text = Array.isArray(value) ? value.join(', ') : String(value ?? '');
      context.out.line(`${`${field}:`.padEnd(20)}${plainText(text) || '-'}`);
    }
  });
}

interface InventoryOfNode extends HardwareInventory {
  readonly source: string;
  readonly reported_at: string;
}

/** A line with the source of the report, then one line for each part. */
function writeInventory(context: CommandContext, inventory: InventoryOfNode | null): void {
  if (inventory === null) {
    context.out.line(`${'inventory:'.padEnd(20)}-`);
    return;
  }
  const source = `from the ${plainText(inventory.source)}, ${plainText(inventory.reported_at)}`;
  context.out.line(`${'inventory:'.padEnd(20)}${source}`);
  for (const [label, text] of hardwareLines(inventory))
    context.out.line(`  ${`${label}:`.padEnd(18)}${plainText(text)}`);
}

/** The result for each disk. */
function writeErasure(context: CommandContext, erasure: Erasure | null): void {
  const outcome = erasure === null ? '-' : `${outcomeText(erasure.outcome)}, ${plainText(erasure.at)}`;
  context.out.line(`${'erasure:'.padEnd(20)}${outcome}`);
  for (const [label, text] of erasure === null ? [] : erasureLines(erasure))
    context.out.line(`  ${`${plainText(label)}:`.padEnd(18)}${plainText(text)}`);
}
