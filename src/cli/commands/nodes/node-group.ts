/** The commands of nodes: the inventory, and the installation of machines that boot over the network. */
import { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { approveNodes, assignWorkflow, tagNodes } from './change-nodes.ts';
import { editNode } from './edit-node.ts';
import { listNodes } from './list-nodes.ts';
import { nodeBootUrl } from './node-boot-url.ts';
import { nodeBoots } from './node-boots.ts';
import { nodeHistory } from './node-history.ts';
import { retireNode, setNodeState } from './node-state.ts';
import { nodeStats, stalledNodes } from './node-stats.ts';
import { showNode } from './show-node.ts';

export function nodeGroup(context: CommandContext): Command {
  return new Command('node')
    .description('Nodes: the inventory, and the installation of machines that boot over the network')
    .addCommand(listNodes(context))
    .addCommand(showNode(context), { isDefault: true })
    .addCommand(nodeStats(context))
    .addCommand(stalledNodes(context))
    .addCommand(approveNodes(context))
    .addCommand(tagNodes(context))
    .addCommand(assignWorkflow(context))
    .addCommand(editNode(context))
    .addCommand(setNodeState(context))
    .addCommand(nodeHistory(context))
    .addCommand(nodeBoots(context))
    .addCommand(nodeBootUrl(context))
    .addCommand(retireNode(context));
}
