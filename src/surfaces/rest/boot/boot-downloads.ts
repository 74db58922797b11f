/**
 * Downloads of machines that boot, which end with their boot: when its token expires, another boot takes over, its operation ends or
 * its end is reported. A download may take minutes, so what let it in is checked twice a second, with one query for all of them.
 */
import type { FastifyReply } from 'fastify';
import type { Database } from '../../../store/database/database.ts';
import { findLiveBoots, type LiveBoot } from '../../../store/nodes/boot-tokens.ts';
import { BackgroundLoop, type LoopWatch } from '../../../time/repeat-until-stopped.ts';

const CHECK_MS = 500;

interface Download {
  readonly boot: LiveBoot;
  readonly reply: FastifyReply;
}

export class BootDownloads {
  readonly #database: Database;
  readonly #open = new Set<Download>();
  readonly #loop: BackgroundLoop;

  constructor(database: Database, watch: LoopWatch) {
    this.#database = database;
    this.#loop = new BackgroundLoop({
      name: 'checking the boots of downloads',
      everyMs: CHECK_MS,
      pass: () => this.#pass(),
      watch,
    });
  }

  start(): void {
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Called before the answer is sent. An answer that was started can't be taken back, so its connection is closed. */
  endWithBoot(boot: LiveBoot, reply: FastifyReply): void {
    const download = { boot, reply };
    this.#open.add(download);
    reply.raw.once('close', () => this.#open.delete(download));
  }

  async #pass() {
    if (this.#open.size === 0) return 'idle' as const;
    const checked = [...this.#open];
    const live = await findLiveBoots(
      this.#database,
      checked.map(({ boot }) => boot.tokenHash),
    );
    const hashes = new Set(live.map(({ tokenHash }) => tokenHash.toString('hex')));
    for (const { boot, reply } of checked)
      if (!hashes.has(boot.tokenHash.toString('hex'))) reply.raw.destroy();
    return 'passed' as const;
  }
}
