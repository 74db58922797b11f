/** The calls of one API that start from an operation's id: get, list, cancel, watch, logs. One implementation per API. */
import type { Api } from '../connection/api.ts';
import type { CallOptions } from '../connection/grpc-client.ts';
import type { Page, PageRequest } from '../connection/pages.ts';
import type { MachineView } from '../rendering/machine-view.ts';
import type { HintCommands } from './hint-commands.ts';
import type { LogChunkView, OperationEventView, OperationView } from './operation-view.ts';

export interface OperationSource {
  readonly noun: 'operation' | 'run';
  readonly title: 'Operation' | 'Run';
  readonly idField: 'operation_id' | 'run_id';
  /** The id that this API has for an operation of any API. */
  readonly ownId: (operationId: string) => string;
  /** The machine's field that holds the id of its active operation. */
  readonly activeTitle: 'ActiveOperationId' | 'ActiveRunId';
  /** The commands that hints name. */
  readonly commands: HintCommands;
  readonly exampleType: string;
  readonly get: (api: Api, id: string, options?: CallOptions) => Promise<OperationView>;
  readonly list: (
    api: Api,
    request: PageRequest & { filter?: string },
    options?: CallOptions,
  ) => Promise<Page<OperationView>>;
  readonly cancel: (api: Api, id: string, reason: string) => Promise<OperationView>;
  readonly watch: (
    api: Api,
    request: { filter: string; cursor: string },
    options: CallOptions,
  ) => AsyncIterable<OperationEventView>;
  readonly logs: (
    api: Api,
    request: { id: string; cursor: string },
    options: CallOptions,
  ) => AsyncIterable<LogChunkView>;
  readonly machine: (api: Api, machineId: string) => Promise<MachineView>;
}

/** A cheap call that shows whether the server responds. */
export function probeList(source: OperationSource, api: Api) {
  return (signal: AbortSignal) => source.list(api, { pageSize: 1, pageToken: '' }, { signal });
}

export async function* mapEach<T, U>(items: AsyncIterable<T>, map: (item: T) => U): AsyncGenerator<U> {
  for await (const item of items) yield map(item);
}
