/**
 * The machines of a rollout as a canvas of the size of its window: whatever their number, the page has the same few elements,
 * and only the cells in view are drawn. The table beside it has the same machines for keyboards and screen readers; the grid
 * takes arrow keys too, and reads out the cell that they mark.
 */
import {
  type KeyboardEvent,
  type PointerEvent,
  type RefObject,
  useCallback,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { MACHINE_STATE_WORDS } from '../../rollout-view.ts';
import { useColours } from './grid-colours.ts';
import { cellAt, type Direction, layoutGrid, neighbour, placeOf, TITLE_PX } from './grid-layout.ts';
import { type Picture, paintGrid } from './grid-paint.ts';
import type { GridMachine } from './rollout-machines.ts';

export interface MachineGridProps {
  readonly machines: readonly GridMachine[];
  readonly isChosen: (machine: GridMachine) => boolean;
  readonly titleOf: (wave: number) => string;
  readonly steps: number;
  readonly onOpen: (machine: GridMachine) => void;
}

const KEYS: Readonly<Record<string, Direction>> = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
  Home: 'first',
  End: 'last',
};

export function MachineGrid({ machines, isChosen, titleOf, steps, onOpen }: MachineGridProps) {
  const scroller = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = useWidth(scroller);
  const colours = useColours(scroller);
  const [marked, setMarked] = useState(-1);
  const layout = useMemo(
    () =>
      layoutGrid(
        machines.map(({ wave }) => wave),
        width,
      ),
    [machines, width],
  );
  const picture: Picture = { layout, machines, isChosen, titleOf, steps, marked };
  const paint = usePaint(scroller, canvas, (context, view) => {
    if (colours) paintGrid(context, picture, view, colours);
  });
  useLayoutEffect(paint);
  const indexAt = (event: PointerEvent | React.MouseEvent) => {
    const box = canvas.current?.getBoundingClientRect();
    if (!box) return -1;
    const top = scroller.current?.scrollTop ?? 0;
    return cellAt(layout, event.clientX - box.left, event.clientY - box.top + top);
  };
  const open = (index: number) => {
    const machine = machines[index];
    if (machine) onOpen(machine);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const direction = KEYS[event.key];
    if (event.key === 'Enter') return open(marked);
    if (direction === undefined) return;
    event.preventDefault();
    const next = neighbour(layout, marked, direction);
    setMarked(next);
    showCell(scroller.current, placeOf(layout, next).y, layout.pitch);
  };
  return (
    <div className="ro-grid-frame">
      {/* biome-ignore lint/a11y/useSemanticElements: a group of drawn cells; the table beside it is the list of them */}
      <div
        ref={scroller}
        className="ro-grid"
        role="group"
        aria-label="Grid of machines: arrow keys move, Enter opens"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: arrow keys move through its cells
        tabIndex={0}
        onScroll={paint}
        onKeyDown={onKeyDown}
      >
        <div className="ro-grid-all" aria-hidden="true" style={{ height: layout.height }}>
          <canvas
            ref={canvas}
            onPointerMove={(event) => setMarked(indexAt(event))}
            onPointerLeave={() => setMarked(-1)}
            onClick={(event) => open(indexAt(event))}
          />
        </div>
      </div>
      <p className="ro-grid-note numeric" aria-live="polite">
        {noteOf(machines[marked], steps)}
      </p>
    </div>
  );
}

/** What the marked cell stands for. */
function noteOf(machine: GridMachine | undefined, steps: number): string {
  if (!machine) return 'Each cell is a machine. Point at one to read it, click it to open it.';
  const { machineId, wave, state, step, stepName, errorCode, message } = machine;
  const where = state === 'running' || state === 'failed' ? ` at step ${step} of ${steps}, ${stepName}` : '';
  const why = [errorCode, message].filter((text) => text !== '').join(': ');
  return `${machineId} · wave ${wave} · ${MACHINE_STATE_WORDS[state]}${where}${why && ` · ${why}`}`;
}

function showCell(scroller: HTMLElement | null, y: number, size: number): void {
  if (!scroller) return;
  const { scrollTop, clientHeight } = scroller;
  // With the title of its wave, where it is in the first row.
  if (y < scrollTop + TITLE_PX + size) scroller.scrollTop = Math.max(0, y - TITLE_PX - size);
  else if (y + 2 * size > scrollTop + clientHeight) scroller.scrollTop = y + 2 * size - clientHeight;
}

function useWidth(element: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!element.current) return;
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry?.contentRect.width ?? 0)));
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [element]);
  return width;
}

type Paint = (
  context: CanvasRenderingContext2D,
  view: { width: number; height: number; top: number },
) => void;

/** Draws with the next frame, once, however often it is asked to. */
function usePaint(
  scroller: RefObject<HTMLDivElement | null>,
  canvas: RefObject<HTMLCanvasElement | null>,
  draw: Paint,
): () => void {
  const latest = useRef(draw);
  latest.current = draw;
  const frame = useRef(0);
  useEffect(() => () => cancelAnimationFrame(frame.current), []);
  return useCallback(() => {
    cancelAnimationFrame(frame.current);
    frame.current = requestAnimationFrame(() => {
      const context = canvas.current?.getContext('2d');
      if (!scroller.current || !canvas.current || !context) return;
      const { clientWidth: width, clientHeight: height, scrollTop: top } = scroller.current;
      resize(canvas.current, width, height);
      context.setTransform(devicePixelRatio, 0, 0, devicePixelRatio, 0, 0);
      latest.current(context, { width, height, top });
    });
  }, [scroller, canvas]);
}

function resize(canvas: HTMLCanvasElement, width: number, height: number): void {
  const [wide, high] = [width, height].map((length) => Math.round(length * devicePixelRatio)) as [
    number,
    number,
  ];
  if (canvas.width === wide && canvas.height === high) return;
  canvas.width = wide;
  canvas.height = high;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
}
