import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Scope } from '../../../domain/access/scope.ts';
import type { Machine } from '../../../domain/machine/machine.ts';
import type { MachineSchema } from '../../../gen/baremetal/v2/machine_pb.ts';
import { upstreamSeenTimes } from '../../../store/machines/upstream-reads.ts';
import { NO_STALLS } from '../../../store/operations/stalled-operations.ts';
import { keepEncodings } from '../codec/kept-encodings.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import { agentsOf } from './agents-of.ts';
import { machineMessage } from './to-proto.ts';

const hasAgent = ({ presence }: Machine) => presence !== null;
const hasUpstream = ({ observed }: Machine) => observed !== null;
const isBusy = ({ activeOperationId }: Machine) => activeOperationId !== null;

/**
 * The message of one machine. Where it depends on nothing beside the row, not even on the time, it is made and encoded once for all
 * who read the machine, until the row changes.
 */
export async function oneMachineMessage(
  dependencies: ServerDependencies,
  machine: Machine,
  scope: Scope | null,
): Promise<MessageInitShape<typeof MachineSchema>> {
  if (hasAgent(machine) || hasUpstream(machine) || isBusy(machine) || machine.maintenance !== null) {
    const [message] = await machineMessages(dependencies, [machine], scope);
    return message ?? machineMessage(machine);
  }
  return keptMessage(machine);
}

const messages = new WeakMap<Machine, MessageInitShape<typeof MachineSchema>>();

function keptMessage(machine: Machine): MessageInitShape<typeof MachineSchema> {
  let message = messages.get(machine);
  if (message === undefined) {
    message = keepEncodings(machineMessage(machine));
    messages.set(machine, message);
  }
  return message;
}

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
