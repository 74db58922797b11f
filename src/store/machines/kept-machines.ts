/**
 * The machines that were read last, with the text of their rows. A row that reads as before is the same machine, so it is not made
 * again, and what others keep with it stays good. Nothing is trusted: the row is read each time.
 */
import type { Machine } from '../../domain/machine/machine.ts';
import { machineOfJson } from '../database/rows.ts';

interface Kept {
  readonly text: string;
  readonly machine: Machine;
}

/** Two of these are kept: the one that fills, and the one before it. */
const LARGEST_GENERATION = 1_000;

export class KeptMachines {
  #recent = new Map<string, Kept>();
  #before = new Map<string, Kept>();

  of(machineId: string, text: string): Machine {
    const recent = this.#recent.get(machineId);
    if (recent?.text === text) return recent.machine;
    const before = this.#before.get(machineId);
    const machine = before?.text === text ? before.machine : machineOfJson({ machine: text });
    if (this.#recent.size >= LARGEST_GENERATION) {
      this.#before = this.#recent;
      this.#recent = new Map();
    }
    this.#recent.set(machineId, { text, machine });
    return machine;
  }
}
