/** Burn-ins that operations order, the boots that carry them out, and their reports. */
import { z } from 'zod';
import type { Actor } from '../../domain/actor.ts';
import { Fault, invalidField } from '../../domain/error/fault.ts';
import {
  BURN_IN_RESULTS,
  type BurnIn,
  type BurnInResult,
  burnInOutcome,
  burnInText,
  INSPECTION_REQUEST,
  withMissingResults,
} from '../../domain/hardware/burn-in.ts';
import { StepFailure } from '../../engine/step-handler.ts';
import type { BurnInOrders } from '../../providers/burn-ins.ts';
import { appendEvents } from '../../store/events/append-events.ts';
import {
  type BurnInReport,
  findBurnIn,
  findBurnInByToken,
  orderBurnIn,
  recordBurnIn,
  recordBurnInSent,
} from '../../store/hardware/burn-ins.ts';
import { wakeOperation } from '../../store/operations/writer/wake-operation.ts';
import { type InstallPlanDependencies, preparedBurnIn } from '../nodes/install-plan.ts';
import type { NodeDependencies } from '../nodes/nodes.ts';

type Dependencies = NodeDependencies & Pick<InstallPlanDependencies, 'bootDir'>;

/** `ensureNode`: the machine is known to those that boot from the network. */
export function createBurnInOrders(
  dependencies: Dependencies,
  ensureNode: (machineId: string) => Promise<void>,
): BurnInOrders {
  const { database, now } = dependencies;
  return {
    check(_machine, arch) {
      const prepared = preparedBurnIn(dependencies, INSPECTION_REQUEST, arch);
      if ('code' in prepared)
        throw new StepFailure({
          class: 'permanent',
          code: prepared.code,
          message: `${prepared.problem}; ${prepared.fix}`,
        } as StepFailure['failure']);
    },
    read: (machineId, operationId) => findBurnIn(database, machineId, operationId),
    async order(order) {
      await ensureNode(order.machineId);
      await orderBurnIn(database, { ...order, at: now() });
    },
    sent: (machineId, operationId) => recordBurnInSent(database, machineId, operationId, now()),
    async giveUp(machineId, operationId, reason) {
      await database.transaction(async (session) => {
        const found = await findBurnIn(session, machineId, operationId);
        if (found === null || isOver(found)) return;
        const { percent, results } = found;
        await recordBurnIn(session, found, {
          ...{ state: 'failed', percent, results, inventory: null },
          error: reason,
          at: now(),
        });
      });
    },
  };
}

function isOver({ state }: BurnIn): boolean {
  return state === 'passed' || state === 'failed';
}

const MAX_RESULTS = 500;
const text = (most: number) =>
  z.string().transform((value) => value.replace(/[\p{Cc}\p{Cs}]/gu, ' ').slice(0, most));

const resultSchema = z.object({
  test: text(20),
  part: text(200),
  result: z.enum(BURN_IN_RESULTS),
  detail: text(500),
  seconds: z.number().int().min(0).catch(0),
});

const reportSchema = z.looseObject({
  installation_status: z.enum(['started', 'progress', 'complete', 'failed']),
  installation_progress: z.number().int().min(0).max(100).catch(0).default(0),
  installation_error: text(1000).catch('').default(''),
  burn_in: z.looseObject({ results: z.array(z.unknown()).catch([]) }).optional(),
  inventory: z.looseObject({}).nullable().catch(null).default(null),
});

const REPORTER: Actor = { kind: 'system', id: 'burn-in' };

/** A result that can't be read counts as a failure: nothing passes because its report is odd. */
function readResults(given: readonly unknown[]): BurnInResult[] {
  return given.slice(0, MAX_RESULTS).map((entry) => {
    const read = resultSchema.safeParse(entry);
    if (read.success) return read.data;
    return { test: '', part: 'a part', result: 'failed', detail: 'its result can not be read', seconds: 0 };
  });
}

/** Of the boot that has the token. Throws BOOT_NOT_WANTED where no burn-in is wanted of it any more. */
export async function reportBurnIn(
  { database, now }: Pick<NodeDependencies, 'database' | 'now'>,
  body: unknown,
  { token, address }: { readonly token: string | null; readonly address: string },
): Promise<BurnIn['machineId']> {
  const read = reportSchema.safeParse(body);
  if (!read.success)
    throw invalidField('installation_status', 'must be started, progress, complete or failed');
  return database.transaction(async (session) => {
    const burnIn = token === null ? null : await findBurnInByToken(session, token, address);
    if (burnIn === null) throw new Fault('BOOT_NOT_WANTED', { message: 'nothing is wanted of this boot' });
    const report = { ...judged(burnIn, read.data), at: now() };
    await recordBurnIn(session, burnIn, report);
    // An inspection ends with the events of what it found.
    if (report.state !== 'running' && burnIn.purpose === 'test')
      await appendEvents(session, [event({ ...burnIn, ...report }, report.state)]);
    await wakeOperation(session, burnIn.operationId);
    return burnIn.machineId;
  });
}

function judged(burnIn: BurnIn, report: z.output<typeof reportSchema>): Omit<BurnInReport, 'at'> {
  const { installation_status: status, installation_error: error, inventory } = report;
  const reported = readResults(report.burn_in?.results ?? []);
  const results = reported.length > 0 ? reported : burnIn.results;
  const percent = status === 'complete' ? 100 : report.installation_progress;
  const kept = burnIn.purpose === 'inspection' ? inventory : null;
  const found = { percent, results, inventory: kept };
  if (status === 'failed') return { ...found, state: 'failed', error: error || 'the installer failed' };
  if (status !== 'complete') return { ...found, state: 'running', error: '' };
  if (burnIn.purpose === 'test') {
    const all = withMissingResults(burnIn.tests, results);
    return { ...found, results: all, state: burnInOutcome(all), error: '' };
  }
  const isKnown = (kept ?? burnIn.inventory) !== null;
  return { ...found, state: isKnown ? 'passed' : 'failed', error: isKnown ? '' : NO_INVENTORY };
}

const NO_INVENTORY = 'the installer reported no inventory';

function event(burnIn: BurnIn, to: string) {
  const { machineId, operationId, results } = burnIn;
  return {
    kind: 'hardware',
    subject: 'burn-in',
    from: '',
    to,
    actor: REPORTER,
    comment: burnInText(burnIn),
    metadata: { results: results.slice(0, 50) },
    machineId,
    operationId,
    snapshot: null,
  } as const;
}
