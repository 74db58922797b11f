/** The last signed checkpoint in a file of the data directory: who cuts off the end of the log in the database does not reach it. */
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { NotJson } from '../../audit/canonical-json.ts';
import type { Checkpoint } from '../../audit/chain.ts';
import { readCheckpoint, recordLine } from '../../audit/export-record.ts';
import type { HeadKeeper } from '../../store/audit/audit-sealer.ts';

/** More say nothing that these do not say. */
const MAX_LOST = 100;

export function openHeadFile(file: string, onUnreadable: (problem: string) => void): HeadKeeper {
  return {
    read: () => readHead(file, onUnreadable),
    write: (head) => {
      const temporary = `${file}.${process.pid}`;
      writeFileSync(temporary, `${recordLine({ type: 'head', ...head })}\n`, { mode: 0o644 });
      renameSync(temporary, file);
    },
    setAside: ({ blockNo }) => renameSync(file, `${file}.lost-${blockNo}`),
    readLost: () =>
      readdirSync(dirname(file))
        .filter((name) => name.startsWith(`${basename(file)}.lost-`))
        .slice(0, MAX_LOST)
        .flatMap((name) => readHead(join(dirname(file), name), onUnreadable) ?? []),
  };
}

function readHead(file: string, onUnreadable: (problem: string) => void): Checkpoint | null {
  try {
    return readCheckpoint(readFileSync(file, 'utf8'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    if (!(error instanceof NotJson)) throw error;
    onUnreadable(error.message);
    return null;
  }
}
