/** Prints one line for each machine of a rollout when its result is known, and the totals at the end. */
import type { JsonValue } from '@bufbuild/protobuf';
import { timestampMs } from '@bufbuild/protobuf/wkt';
import { anyOf, equals } from '../../client/filter-text.ts';
import type { Rollout, RolloutMachine } from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import type { CommandContext } from '../command-context.ts';
import type { Api } from '../connection/api.ts';
import { CallError } from '../connection/call-error.ts';
import { status } from '../connection/status.ts';
import { LiveLine } from '../display/live-line.ts';
import { type Exit, worstExit } from '../errors/exit-code.ts';
import { exitOfReason } from '../errors/exit-of-reason.ts';
import type { OperationSource } from '../operations/operation-source.ts';
import type { OperationView } from '../operations/operation-view.ts';
import { isForPeople, jsonText, type OutputFormat, writeOne } from '../output/format.ts';
import { displayWidth, padEnd, plainText } from '../output/plain-text.ts';
import { durationText } from '../output/time-text.ts';
import { yamlText } from '../output/yaml-text.ts';
import { operationRendering } from '../rendering/operation-rendering.ts';
import { type RolloutDisplay, rolloutMachinePages } from './follow-rollout.ts';
import { rolloutChanges } from './rollout-changes.ts';
import { machineInfo, machineState } from './rollout-state.ts';
import { doneCount } from './rollout-text.ts';

const OPERATIONS_PER_CALL = 50;

export interface MachineLinesSettings {
  readonly context: CommandContext;
  readonly api: Api;
  readonly source: OperationSource;
  readonly machineIds: readonly string[];
  readonly output: OutputFormat;
}

const COUNTED = [
  'refused',
  'failed',
  'canceled',
  'succeeded',
  'skipped',
  'running',
  'not started',
  '?',
] as const;

const EXIT_OF_STATE = {
  '?': 'stillRunning',
  PENDING: 'stillRunning',
  RUNNING: 'stillRunning',
  SUCCEEDED: 'ok',
  SKIPPED: 'ok',
  FAILED: 'failed',
  CANCELED: 'canceled',
} as const;

export class MachineLines implements RolloutDisplay {
  readonly #settings: MachineLinesSettings;
  readonly #live: LiveLine;
  readonly #idWidth: number;
  readonly #printed = new Set<string>();
  readonly #exits = new Set<Exit>();
  readonly #counts = new Map<string, number>();
  readonly #whole: JsonValue[] = [];
  readonly #fixes = new Set<string>();
  #rollout: Rollout | undefined;

  constructor(settings: MachineLinesSettings) {
    this.#settings = settings;
    this.#live = new LiveLine(settings.context.err);
    this.#idWidth = settings.machineIds.reduce((width, id) => Math.max(width, displayWidth(id)), 0);
  }

  async update(rollout: Rollout, machines: readonly RolloutMachine[] | 'all'): Promise<void> {
    const { context } = this.#settings;
    const before = this.#rollout;
    if (machines === 'all') await this.#readAll(rollout.rolloutId);
    else await this.#settle(machines.filter((machine) => machineInfo(machine).isOver));
    // A wave ends after its last machine.
    for (const { mark, text } of rolloutChanges(context.program, before, rollout)) {
      this.#live.hide();
      context.err.line(`${mark} ${plainText(text)}`);
    }
    this.#rollout = rollout;
  }

  /** None of them can start: there is no rollout. */
  refuseAll(machines: readonly RolloutMachine[]): void {
    for (const machine of machines) this.#refused(machine);
  }

  tick(): void {
    const rollout = this.#rollout;
    if (rollout === undefined) return;
    const { total = 0, running = 0 } = rollout.machines ?? {};
    const waits = rollout.waitingFor === '' ? '' : `  ${rollout.waitingFor}`;
    this.#live.show(`${doneCount(rollout)}/${total} settled, ${running} running${waits}`);
  }

  hide(): void {
    this.#live.hide();
  }

  /** Prints what has no line yet and the totals; machines under way are listed as they are, those to come are counted. */
  async close(): Promise<Exit> {
    const { context, api, output, machineIds } = this.#settings;
    this.#live.hide();
    if (this.#rollout !== undefined && this.#printed.size < machineIds.length) {
      for await (const machines of rolloutMachinePages(api, this.#rollout.rolloutId, ''))
        await this.#settle(machines.filter((machine) => this.#isNew(machine)));
    }
    if (output === 'json') context.out.line(jsonText(this.#whole));
    if (output === 'yaml') context.out.write(yamlText(this.#whole));
    for (const fix of this.#fixes) context.err.line(`  fix: ${fix}`);
    const counted = COUNTED.filter((what) => this.#counts.has(what));
    const sum = counted.map((what) => `${this.#counts.get(what)} ${what}`).join(', ');
    context.err.line(`${machineIds.length} machines: ${sum}`);
    return worstExit(this.#exits);
  }

  async #readAll(rolloutId: string): Promise<void> {
    for await (const machines of rolloutMachinePages(this.#settings.api, rolloutId, ''))
      await this.#settle(machines.filter((machine) => machineInfo(machine).isOver));
  }

  #isNew({ machineId }: RolloutMachine): boolean {
    return !this.#printed.has(machineId);
  }

  async #settle(machines: readonly RolloutMachine[]): Promise<void> {
    const unprinted = machines.filter((machine) => this.#isNew(machine));
    const operations = await this.#operationsOf(unprinted);
    for (const machine of unprinted) {
      this.#printed.add(machine.machineId);
      this.#live.hide();
      if (isRefused(machine)) this.#refused(machine);
      else this.#result(machine, operations.get(this.#operationId(machine)));
    }
  }

  /** The formats for scripts have the operations themselves. */
  async #operationsOf(machines: readonly RolloutMachine[]): Promise<ReadonlyMap<string, OperationView>> {
    const { api, source, output } = this.#settings;
    const found = new Map<string, OperationView>();
    if (isForPeople(output) || output === 'name') return found;
    const ids = machines.flatMap(({ operationId: id }) => (id === '' ? [] : [source.ownId(id)]));
    for (let i = 0; i < ids.length; i += OPERATIONS_PER_CALL) {
      const filter = anyOf(ids.slice(i, i + OPERATIONS_PER_CALL).map((id) => equals(source.idField, id)));
      const { items } = await source.list(api, { filter, pageSize: OPERATIONS_PER_CALL, pageToken: '' });
      for (const operation of items) found.set(operation.id, operation);
    }
    return found;
  }

  #result(machine: RolloutMachine, operation: OperationView | undefined): void {
    const { context, source, output } = this.#settings;
    const state = machineState(machine);
    this.#exits.add(state === 'INELIGIBLE' ? exitOfReason(machine.errorCode) : EXIT_OF_STATE[state]);
    this.#count(state === 'PENDING' ? 'not started' : state.toLowerCase());
    if (state === 'PENDING') return;
    if (isForPeople(output)) context.out.line(this.#line(machine));
    else if (output === 'name') context.out.line(this.#operationId(machine));
    else if (operation === undefined) context.err.line(this.#line(machine));
    else if (output === 'jsonl')
      writeOne(context.out, output, operationRendering(source, context.now()), operation, () => {});
    else this.#whole.push(operation.json());
  }

  #refused(machine: RolloutMachine): void {
    const { context, output } = this.#settings;
    const exit = exitOfReason(machine.errorCode);
    this.#exits.add(exit);
    this.#count('refused');
    for (const fix of context.report(refusalOf(machine)).fixes) this.#fixes.add(fix);
    const sink = isForPeople(output) ? context.out : context.err;
    const code = machine.errorCode === '' ? '' : ` [${machine.errorCode}]`;
    const text = plainText(`${machine.message}${code}`);
    sink.line(`${this.#id(machine)}  ${sink.colour('REFUSED', 'red')}  ${text}`);
  }

  #line(machine: RolloutMachine): string {
    const { out } = this.#settings.context;
    const parts = [this.#id(machine)];
    if (machine.operationId !== '') parts.push(this.#operationId(machine));
    parts.push(out.colour(machineState(machine), machineInfo(machine).colour));
    const { startedAt, finishedAt, message, errorCode } = machine;
    if (startedAt !== undefined && finishedAt !== undefined)
      parts.push(durationText(timestampMs(finishedAt) - timestampMs(startedAt)));
    if (message !== '') parts.push(plainText(errorCode === '' ? message : `${message} [${errorCode}]`));
    return parts.join('  ');
  }

  #id({ machineId }: RolloutMachine): string {
    return padEnd(plainText(machineId), this.#idWidth);
  }

  #operationId({ operationId }: RolloutMachine): string {
    return plainText(this.#settings.source.ownId(operationId));
  }

  #count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }
}

/** Its start was refused: there is no operation that failed. */
function isRefused(machine: RolloutMachine): boolean {
  const state = machineState(machine);
  return state === 'INELIGIBLE' || (state === 'FAILED' && machine.operationId === '');
}

/** The refusal as a call of its own would have received it, for the commands that fix it. */
function refusalOf({ machineId, stepName, errorCode, message }: RolloutMachine): CallError {
  const metadata = { machine_id: machineId, type: stepName.toUpperCase().replaceAll('-', '_') };
  return new CallError({
    code: status.FAILED_PRECONDITION,
    message,
    reason: errorCode,
    metadata,
    violations: [],
  });
}
