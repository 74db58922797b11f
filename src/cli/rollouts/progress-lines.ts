/** The live picture of a rollout: one line about all of it, one for each wave in view, and what holds it up. */
import type { MachineCounts, Rollout, Wave } from '../../gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { cutTo, displayWidth, padEnd, plainText } from '../output/plain-text.ts';
import { clockText, durationText } from '../output/time-text.ts';
import type { ChangeLine } from './rollout-changes.ts';
import { rolloutState, waveInfo, waveState } from './rollout-state.ts';
import { countsText, doneCount, elapsedMs, waveText } from './rollout-text.ts';

export interface Screen {
  readonly columns: number;
  /** At most so many lines for waves. */
  readonly waves: number;
}

const WIDEST_BAR = 30;
const WIDEST_NAME = 20;

export function progressLines(rollout: Rollout, now: number, screen: Screen): ChangeLine[] {
  const shown = wavesInView(rollout.waves, screen.waves);
  const lines: ChangeLine[] = [{ mark: '', colour: undefined, text: headLine(rollout, now) }];
  const width = barWidth(screen.columns, shown);
  const nameWidth = Math.min(
    WIDEST_NAME,
    Math.max(0, ...shown.map(({ name }) => displayWidth(plainText(name)))),
  );
  for (const wave of shown) {
    const name = padEnd(cutTo(plainText(wave.name), WIDEST_NAME), nameWidth);
    const place = String(wave.number).padStart(String(rollout.waves.length).length);
    const text = `${place} ${name} ${bar(wave.machines, width)} ${waveCounts(wave)}`;
    lines.push({ ...waveInfo(wave), text });
  }
  const hidden = rollout.waves.length - shown.length;
  if (hidden > 0) lines.push({ mark: ' ', colour: undefined, text: hiddenText(rollout.waves, shown) });
  if (rollout.waitingFor !== '')
    lines.push({ mark: '…', colour: 'yellow', text: plainText(rollout.waitingFor) });
  return lines;
}

/** `reboot  RUNNING  12/181 machines  2 failed  4m 10s` */
function headLine(rollout: Rollout, now: number): string {
  const { machines, spec, rolloutId } = rollout;
  const parts = [plainText(spec?.name || rolloutId), rolloutState(rollout)];
  parts.push(`${doneCount(rollout)}/${machines?.total ?? 0} machines`);
  if ((machines?.running ?? 0) > 0) parts.push(`${machines?.running} running`);
  if ((machines?.failed ?? 0) > 0) parts.push(`${machines?.failed} failed`);
  parts.push(durationText(elapsedMs(rollout, now)));
  return parts.join('  ');
}

/** The waves around the first that is not done, so that what moves is in view. */
function wavesInView(waves: readonly Wave[], most: number): readonly Wave[] {
  if (waves.length <= most) return waves;
  const current = waves.findIndex((wave) => waveState(wave) !== 'DONE');
  const from = Math.max(0, Math.min((current < 0 ? waves.length : current) - 1, waves.length - most));
  return waves.slice(from, from + most);
}

function hiddenText(waves: readonly Wave[], shown: readonly Wave[]): string {
  const hidden = waves.filter((wave) => !shown.includes(wave));
  const done = hidden.filter((wave) => waveState(wave) === 'DONE').length;
  const parts = [
    ...(done > 0 ? [`${done} done`] : []),
    ...(hidden.length > done ? [`${hidden.length - done} to come`] : []),
  ];
  return `and ${hidden.length} other waves: ${parts.join(', ')}`;
}

function waveCounts(wave: Wave): string {
  const { total = 0, running = 0, failed = 0 } = wave.machines ?? {};
  const parts = [`${doneCount(wave)}/${total}`];
  if (running > 0) parts.push(`${running} running`);
  if (failed > 0) parts.push(`${failed} failed`);
  if (waveState(wave) === 'WAITING_FOR_APPROVAL') parts.push(`waits for ${wave.gate}`);
  if (waveState(wave) === 'SOAKING') parts.push(`soaks until ${clockText(wave.soaksUntil)}`);
  return parts.join('  ');
}

/** Half of the line belongs to the bar, unless the terminal is very wide. */
function barWidth(columns: number, shown: readonly Wave[]): number {
  const counts = Math.max(0, ...shown.map((wave) => displayWidth(waveCounts(wave))));
  return Math.max(5, Math.min(WIDEST_BAR, columns - counts - WIDEST_NAME - 12));
}

/** Done, failed, under way and to come, in proportion; what exists has at least one cell while there are cells. */
export function bar(machines: MachineCounts | undefined, width: number): string {
  const total = machines?.total ?? 0;
  if (total === 0) return '░'.repeat(width);
  const cells = (count: number): number =>
    count === 0 ? 0 : Math.max(1, Math.floor((count / total) * width));
  const failed = Math.min(width, cells(machines?.failed ?? 0));
  const running = Math.min(width - failed, cells(machines?.running ?? 0));
  const ended = doneCount({ machines }) - (machines?.failed ?? 0);
  const isComplete = ended + (machines?.failed ?? 0) === total;
  const done = isComplete
    ? width - failed
    : Math.min(width - failed - running, Math.floor((ended / total) * width));
  return `${'█'.repeat(done)}${'▚'.repeat(failed)}${'▒'.repeat(running)}${'░'.repeat(width - done - failed - running)}`;
}

/** One line without a terminal, when a wave has come another tenth further. */
export function tenthLine(rollout: Rollout, wave: Wave): string {
  return `${waveText(rollout, wave)}: ${countsText(wave.machines)}`;
}
