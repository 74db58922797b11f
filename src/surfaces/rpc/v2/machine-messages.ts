import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Scope } from '../../../domain/access/scope.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import type { MachineSchema } from '../../../gen/baremetal/v2/machine_pb.ts';
import { upstreamSeenTimes } from '../../../store/machines/upstream-reads.ts';
import { NO_STALLS } from '../../../store/operations/stalled-operations.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import { agentsOf } from './agents-of.ts';
import { machineMessage } from './to-proto.ts';

const hasAgent = ({ presence }: Machine) => presence !== null;
const hasUpstream = ({ observed }: Machine) => observed !== null;
const isBusy = ({ activeOperationId }: Machine) => activeOperationId !== null;

/** With what is not in the machines' rows: agents, upstreams, stalled operations. */
export async function machineMessages(
  dependencies: ServerDependencies,
  machines: readonly Machine[],
  scope: Scope | null,
): Promise<MessageInitShape<typeof MachineSchema>[]> {
  const agents = machines.some(hasAgent) ? await agentsOf(dependencies, machines) : null;
  const seen = machines.some(hasUpstream) ? await upstreamSeenTimes(dependencies.database, machines) : null;
  const stalls = machines.some(isBusy) ? await dependencies.stalls.read(scope) : NO_STALLS;
  return machines.map((machine) => {
    const { machineId: id } = machine;
    return machineMessage(machine, { agent: agents?.get(id), upstreamSeenAt: seen?.get(id), stalls });
  });
}
