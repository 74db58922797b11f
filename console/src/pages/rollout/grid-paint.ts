/**
 * Draws the part of the grid that is in view. Each state has its own shape beside its colour, and cells that are large enough
 * also have the number of the step, so that the grid reads without colours.
 */
import type { RolloutMachineState } from '../../../../src/domain/rollout/rollout.ts';
import { type Tone, toneOf } from '../../../../src/domain/tone.ts';
import { type GridLayout, gapOf, placeOf, TITLE_PX } from './grid-layout.ts';
import type { GridMachine } from './rollout-machines.ts';

export interface Colours {
  readonly tones: Readonly<Record<Tone, { readonly mark: string; readonly fill: string }>>;
  readonly text: string;
  readonly soft: string;
  readonly surface: string;
  readonly focus: string;
  readonly font: string;
}

export interface Picture {
  readonly layout: GridLayout;
  readonly machines: readonly GridMachine[];
  /** Machines that are not among the chosen ones are dimmed. */
  readonly isChosen: (machine: GridMachine) => boolean;
  readonly titleOf: (wave: number) => string;
  readonly steps: number;
  /** The cell under the pointer or of the keyboard; -1: none. */
  readonly marked: number;
}

export interface View {
  readonly width: number;
  readonly height: number;
  /** How far the grid is scrolled. */
  readonly top: number;
}

/** From this size on a cell has room for a digit. */
const TEXT_PX = 15;
/** From this size on an outline is a shape. */
const OUTLINE_PX = 10;
const DIMMED = 0.16;

interface Box {
  readonly x: number;
  readonly y: number;
  readonly size: number;
}

type Draw = (context: CanvasRenderingContext2D, box: Box, colours: Colours) => void;

export function paintGrid(
  context: CanvasRenderingContext2D,
  picture: Picture,
  view: View,
  colours: Colours,
): void {
  const { layout } = picture;
  context.clearRect(0, 0, view.width, view.height);
  context.save();
  context.translate(0, -view.top);
  for (const band of layout.bands) {
    const bottom = band.top + TITLE_PX + Math.ceil(band.count / layout.columns) * layout.pitch;
    if (bottom < view.top || band.top > view.top + view.height) continue;
    context.fillStyle = colours.soft;
    context.font = `600 12px ${colours.font}`;
    context.textAlign = 'left';
    context.textBaseline = 'middle';
    context.fillText(picture.titleOf(band.wave), 2, band.top + TITLE_PX / 2 - 1);
    const rows = (y: number) => Math.floor((y - band.top - TITLE_PX) / layout.pitch) * layout.columns;
    const from = Math.max(0, rows(view.top));
    const to = Math.min(band.count, rows(view.top + view.height) + layout.columns);
    for (let offset = from; offset < to; offset += 1)
      paintCell(context, picture, band.first + offset, colours);
  }
  paintMark(context, picture, colours);
  context.restore();
}

function paintCell(
  context: CanvasRenderingContext2D,
  { layout, machines, isChosen, steps }: Picture,
  index: number,
  colours: Colours,
): void {
  const machine = machines[index];
  if (!machine) return;
  const size = layout.pitch - gapOf(layout.pitch);
  context.globalAlpha = isChosen(machine) ? 1 : DIMMED;
  const box = { ...placeOf(layout, index), size };
  DRAWS[machine.state](context, box, colours);
  // With one step the number says nothing.
  if (steps > 1 && size >= TEXT_PX && machine.state === 'running') paintStep(context, box, colours, machine);
  context.globalAlpha = 1;
}

const DRAWS = {
  // Thousands of small outlines would flicker before the eyes.
  pending: (context, box, { tones }) =>
    box.size < OUTLINE_PX ? fill(context, box, tones.gray.fill) : outline(context, box, tones.gray.mark),
  running: (context, box, { tones }) => {
    fill(context, box, tones.blue.fill);
    outline(context, box, tones.blue.mark);
    // A lower half that is full: under way.
    const half = Math.max(2, Math.floor(box.size / 2));
    context.fillStyle = tones.blue.mark;
    context.fillRect(box.x, box.y + box.size - half, box.size, half);
  },
  succeeded: (context, box, { tones }) => fill(context, box, tones.green.mark),
  failed: (context, box, { tones, surface }) => {
    fill(context, box, tones.red.mark);
    lines(context, box, surface, [
      [0, 0, 1, 1],
      [1, 0, 0, 1],
    ]);
  },
  skipped: (context, box, { tones }) => {
    outline(context, box, tones.gray.mark);
    lines(context, box, tones.gray.mark, [[0, 0.5, 1, 0.5]]);
  },
  canceled: (context, box, { tones }) => {
    outline(context, box, tones.yellow.mark);
    lines(context, box, tones.yellow.mark, [[0, 1, 1, 0]]);
  },
  ineligible: (context, box, { tones }) => {
    const dot = Math.max(2, box.size / 3);
    const inset = (box.size - dot) / 2;
    context.fillStyle = tones.gray.mark;
    context.fillRect(box.x + inset, box.y + inset, dot, dot);
  },
} as const satisfies Record<RolloutMachineState, Draw>;

function fill(context: CanvasRenderingContext2D, { x, y, size }: Box, colour: string): void {
  context.fillStyle = colour;
  context.fillRect(x, y, size, size);
}

function outline(context: CanvasRenderingContext2D, { x, y, size }: Box, colour: string): void {
  context.strokeStyle = colour;
  context.lineWidth = 1;
  context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
}

function lines(
  context: CanvasRenderingContext2D,
  { x, y, size }: Box,
  colour: string,
  parts: readonly (readonly [number, number, number, number])[],
): void {
  const inset = Math.max(1.5, size * 0.22);
  const at = (part: number) => inset + part * (size - 2 * inset);
  context.strokeStyle = colour;
  context.lineWidth = Math.max(1.25, size / 9);
  context.beginPath();
  for (const [fromX, fromY, toX, toY] of parts) {
    context.moveTo(x + at(fromX), y + at(fromY));
    context.lineTo(x + at(toX), y + at(toY));
  }
  context.stroke();
}

function paintStep(
  context: CanvasRenderingContext2D,
  { x, y, size }: Box,
  colours: Colours,
  { step, state }: GridMachine,
): void {
  const { fill: ground } = colours.tones[toneOf('rollout_machine', state)];
  const height = size - 6;
  context.fillStyle = ground;
  context.fillRect(x + 3, y + 3, height, height);
  context.fillStyle = colours.text;
  context.font = `600 ${Math.min(12, height)}px ${colours.font}`;
  context.textAlign = 'center';
  context.textBaseline = 'middle';
  context.fillText(String(step), x + size / 2, y + size / 2 + 0.5);
}

function paintMark(context: CanvasRenderingContext2D, picture: Picture, { focus }: Colours): void {
  const { layout, marked, machines } = picture;
  if (marked < 0 || marked >= machines.length) return;
  const { x, y } = placeOf(layout, marked);
  const size = layout.pitch - gapOf(layout.pitch);
  context.strokeStyle = focus;
  context.lineWidth = 2;
  context.strokeRect(x - 1, y - 1, size + 2, size + 2);
}
