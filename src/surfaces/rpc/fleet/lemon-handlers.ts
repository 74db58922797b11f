/** Machines in trouble, of baremetal.fleet.v1.HardwareService. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { MACHINE_FILTER } from '../../../domain/filter/machine-filter.ts';
import type {
  HardwareService,
  LemonScoreSchema,
} from '../../../gen/baremetal/fleet/v1/hardware_service_pb.ts';
import { findLemon, type KeptLemon, listLemons } from '../../../store/hardware/lemon-scores.ts';
import { pageToken, readPageToken } from '../page-token.ts';
import { readFilter } from '../read-filter.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { Handlers } from '../service.ts';
import { type FindMachine, readPageSize } from './sensor-handlers.ts';

export function lemonHandlers(
  { database }: Pick<ServerDependencies, 'database'>,
  findMachine: FindMachine,
): Pick<Handlers<typeof HardwareService>, 'getLemonScore' | 'listLemons'> {
  return {
    async getLemonScore(request, { caller }) {
      const { machineId } = await findMachine(request.machineId, caller);
      const found = await findLemon(database, machineId);
      return found === null ? { machineId } : lemonMessage(found);
    },
    async listLemons(request, { caller: { scope } }) {
      const filter = readFilter(request.filter, MACHINE_FILTER);
      const size = readPageSize(request.pageSize);
      const paged = { list: 'lemons', filter: request.filter, scope };
      const after = readPlace(readPageToken(paged, request.pageToken));
      const found = await listLemons(database, { filter, scope, after, limit: size + 1 });
      const page = found.slice(0, size);
      const last = found.length > size ? page.at(-1) : undefined;
      return {
        lemons: page.map(lemonMessage),
        nextPageToken: pageToken(paged, last === undefined ? null : `${last.score}/${last.machineId}`),
      };
    },
  };
}

function readPlace(text: string): { readonly score: number; readonly machineId: string } | null {
  const [, score, machineId = ''] = /^(\d+)\/(.+)$/.exec(text) ?? [];
  return score === undefined ? null : { score: Number(score), machineId };
}

function lemonMessage({
  machineId,
  score,
  reasons,
  scoredAt,
}: KeptLemon): MessageInitShape<typeof LemonScoreSchema> {
  return { machineId, score, reasons: [...reasons], scoredAt: timestampFromDate(scoredAt) };
}
