import type { JsonValue } from '@bufbuild/protobuf';
import type { Bulk } from './bulk.ts';
import { LiveLine } from './display/live-line.ts';
import type { ErrorReport } from './error-report.ts';
import { EXIT_OF_PHASE, type Exit, worstExit } from './exit-code.ts';
import { isForPeople, jsonText, writeOne, yamlText } from './output/format.ts';
import { displayWidth, padEnd, plainText } from './output/plain-text.ts';
import { durationText } from './output/time-text.ts';
import { isFinished, type Work } from './work/work.ts';
import { elapsedMs, errorText, phaseColour, workRendering } from './work-rendering.ts';

/** One line a machine as it is settled, and the sum at the end. */
export class BulkResults {
  readonly #bulk: Bulk;
  readonly #live: LiveLine;
  readonly #idWidth: number;
  readonly #works = new Map<string, Work>();
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
    return [...this.#works.values()].filter((work) => !isFinished(work)).map(({ id }) => id);
  }

  started(work: Work): void {
    this.#works.set(work.id, work);
    if (this.#bulk.options.wait && !isFinished(work)) this.#unsettled.add(work.id);
    else this.#settle(work);
  }

  moved(work: Work): void {
    this.#works.set(work.id, work);
    if (isFinished(work) && this.#unsettled.delete(work.id)) this.#settle(work);
  }

  refused(machineId: string, report: ErrorReport): void {
    this.#exits.push(report.exit);
    this.#count('refused');
    for (const fix of report.fixes) this.#fixes.add(fix);
    this.#live.hide();
    const sink = isForPeople(this.#bulk.options.output) ? this.#bulk.context.out : this.#bulk.context.err;
    sink.line(`${this.#id(machineId)}  ${sink.colour('REFUSED', 'red')}  ${report.message}`);
  }

  say(message: string): void {
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
      const work = this.#works.get(id);
      if (work !== undefined) this.#settle(work);
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

  #settle(work: Work): void {
    const { context, source, options } = this.#bulk;
    this.#exits.push(options.wait || isFinished(work) ? EXIT_OF_PHASE[work.phase] : 'ok');
    this.#count(work.phase.toLowerCase());
    this.#live.hide();
    const rendering = workRendering(source, context.now());
    if (options.output === 'json' || options.output === 'yaml') this.#whole.push(work.json());
    else writeOne(context.out, options.output, rendering, work, () => context.out.line(this.#line(work)));
  }

  #line(work: Work): string {
    const { out, now } = this.#bulk.context;
    const parts = [this.#id(work.machineId), work.id];
    parts.push(out.colour(work.phase, phaseColour(work)));
    if (isFinished(work)) parts.push(durationText(elapsedMs(work, now()) ?? 0));
    if (work.error !== undefined) parts.push(plainText(errorText(work)));
    return parts.join('  ');
  }

  #id(machineId: string): string {
    return padEnd(plainText(machineId), this.#idWidth);
  }

  #count(what: string): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + 1);
  }
}
