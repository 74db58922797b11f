import type { JsonValue } from '@bufbuild/protobuf';
import { LiveLine } from '../display/live-line.ts';
import type { ErrorReport } from '../errors/error-report.ts';
import { EXIT_OF_PHASE, type Exit, worstExit } from '../errors/exit-code.ts';
import { isFinished, type OperationView } from '../operations/operation-view.ts';
import { isForPeople, jsonText, writeOne, yamlText } from '../output/format.ts';
import { displayWidth, padEnd, plainText } from '../output/plain-text.ts';
import { durationText } from '../output/time-text.ts';
import { elapsedMs, errorText, operationRendering, phaseColour } from '../rendering/operation-rendering.ts';
import type { Bulk } from './start-on-many.ts';

/** Prints one line for each machine when its result is known, and the totals at the end. */
export class BulkResults {
  readonly #bulk: Bulk;
  readonly #live: LiveLine;
  readonly #idWidth: number;
  readonly #operations = new Map<string, OperationView>();
  readonly #unsettled = new Set<string>();
  readonly #exits: Exit[] = [];
  readonly #counts = new Map<string, number>();
  readonly #whole: JsonValue[] = [];
  readonly #fixes = new Set<string>();

  constructor(bulk: Bulk) {
    this.#bulk = bulk;
    this.#live = new LiveLine(bulk.context.err);
    this.#idWidth = bulk.machineIds.reduce((width, id) => Math.max(width, displayWidth(id)), 0);
  }

  open(): string[] {
    return [...this.#operations.values()].filter((operation) => !isFinished(operation)).map(({ id }) => id);
  }

  started(operation: OperationView): void {
    this.#operations.set(operation.id, operation);
    if (this.#bulk.options.wait && !isFinished(operation)) this.#unsettled.add(operation.id);
    else this.#settle(operation);
  }

  moved(operation: OperationView): void {
    this.#operations.set(operation.id, operation);
    if (isFinished(operation) && this.#unsettled.delete(operation.id)) this.#settle(operation);
  }

  refused(machineId: string, report: ErrorReport): void {
    this.#exits.push(report.exit);
    this.#count('refused');
    for (const fix of report.fixes) this.#fixes.add(fix);
    this.#live.hide();
    const sink = isForPeople(this.#bulk.options.output) ? this.#bulk.context.out : this.#bulk.context.err;
    sink.line(`${this.#id(machineId)}  ${sink.colour('REFUSED', 'red')}  ${report.message}`);
  }

  notify(message: string): void {
    this.#live.hide();
    this.#bulk.context.err.line(message);
  }

  showProgress(): void {
    const total = this.#bulk.machineIds.length;
    this.#live.show(`${total - this.#unsettled.size}/${total} settled, ${this.#unsettled.size} running`);
  }

  close(): Exit {
    const { context, options, machineIds } = this.#bulk;
    this.#live.hide();
    for (const id of this.#unsettled) {
      const operation = this.#operations.get(id);
      if (operation !== undefined) this.#settle(operation);
    }
    const untouched = machineIds.length - this.#exits.length;
    if (untouched > 0) this.#counts.set('not started', untouched);
    if (options.output === 'json') context.out.line(jsonText(this.#whole));
    if (options.output === 'yaml') context.out.write(yamlText(this.#whole));
    for (const fix of this.#fixes) context.err.line(`  fix: ${fix}`);
    const sum = [...this.#counts].map(([what, count]) => `${count} ${what}`).join(', ');
    context.err.line(`${machineIds.length} machines: ${sum}`);
    return worstExit([...this.#exits, ...(untouched > 0 ? (['stillRunning'] as const) : [])]);
  }

  #settle(operation: OperationView): void {
    const { context, source, options } = this.#bulk;
    this.#exits.push(options.wait || isFinished(operation) ? EXIT_OF_PHASE[operation.phase] : 'ok');
    this.#count(operation.phase.toLowerCase());
    this.#live.hide();
    const rendering = operationRendering(source, context.now());
    if (options.output === 'json' || options.output === 'yaml') this.#whole.push(operation.json());
    else
      writeOne(context.out, options.output, rendering, operation, () =>
        context.out.line(this.#line(operation)),
      );
  }

  #line(operation: OperationView): string {
    const { out, now } = this.#bulk.context;
    const parts = [this.#id(operation.machineId), operation.id];
    parts.push(out.colour(operation.phase, phaseColour(operation)));
    if (isFinished(operation)) parts.push(durationText(elapsedMs(operation, now()) ?? 0));
    if (operation.error !== undefined) parts.push(plainText(errorText(operation)));
    return parts.join('  ');
  }

  #id(machineId: string): string {
    return padEnd(plainText(machineId), this.#idWidth);
  }

  #count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }
}
