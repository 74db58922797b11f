/**
 * Pictures of pages that are small enough to keep: half the size, sixteen shades of each colour, and of those the 64 that are
 * used most. That also hides how a version of Chromium smooths the edges of letters.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import pixelmatch from 'pixelmatch';
import { PNG } from 'pngjs';
import { indexedPng } from './indexed-png.ts';

const KEPT = fileURLToPath(new URL('./pictures/', import.meta.url));
const FAILED = fileURLToPath(new URL('../../dist/pictures/', import.meta.url));

/** By pixelmatch: from 0 to 1. */
const COLOUR_TOLERANCE = 0.15;
/** Of all pixels. A word that moved is more, a letter that is smoothed in another way is less. */
const SHARE = 0.002;
const SHADE = 17;

/** Whether pictures are compared with those that are kept, or replace them. */
const RENEWS = process.env.INGOT_PICTURES === 'renew';

function reduced(screenshot: Buffer): PNG {
  const { width, height, data } = PNG.sync.read(screenshot);
  const small = new PNG({ width: width >> 1, height: height >> 1 });
  for (let y = 0; y < small.height; y += 1)
    for (let x = 0; x < small.width; x += 1)
      for (let channel = 0; channel < 4; channel += 1) {
        const from = (2 * y * width + 2 * x) * 4 + channel;
        const below = from + width * 4;
        const sum = [from, from + 4, below, below + 4].reduce((all, at) => all + (data[at] ?? 0), 0);
        small.data[(y * small.width + x) * 4 + channel] = Math.round(sum / 4 / SHADE) * SHADE;
      }
  return small;
}

interface Comparison {
  /** Empty: it does not differ. */
  readonly text: string;
  readonly now: PNG;
  readonly pixels: PNG | null;
}

function compare(name: string, screenshot: Buffer): Comparison {
  const now = reduced(screenshot);
  const file = `${KEPT}${name}.png`;
  if (!existsSync(file)) return { text: `${name}: there is no picture to compare with`, now, pixels: null };
  const before = PNG.sync.read(readFileSync(file));
  const { width, height } = before;
  if (width !== now.width || height !== now.height) {
    const text = `${name}: it is ${now.width} by ${now.height}, and was ${width} by ${height}`;
    return { text, now, pixels: null };
  }
  const pixels = new PNG({ width, height });
  const count = pixelmatch(before.data, now.data, pixels.data, width, height, {
    threshold: COLOUR_TOLERANCE,
  });
  const percent = ((100 * count) / (width * height)).toFixed(2);
  const text =
    count <= SHARE * width * height
      ? ''
      : `${name}: ${percent} % of its pixels differ; see dist/pictures/${name}-difference.png`;
  return { text, now, pixels };
}

/** How it differs from the one that is kept; empty: it does not. */
export function differenceOf(name: string, screenshot: Buffer): string {
  return compare(name, screenshot).text;
}

/** Keeps one that differs: instead of the former, where pictures are renewed, or beside the difference. Returns what is wrong then. */
export function keepPicture(name: string, screenshot: Buffer): string {
  const { text, now, pixels } = compare(name, screenshot);
  if (text === '') return '';
  if (RENEWS) {
    write(KEPT, name, now);
    return '';
  }
  write(FAILED, name, now);
  if (pixels) write(FAILED, `${name}-difference`, pixels);
  return text;
}

function write(folder: string, name: string, picture: PNG): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(`${folder}${name}.png`, indexedPng(picture));
}
