// @module-tag extended: src/store/database/database-away.test.ts and api/database-away.test.ts have a database that refuses.
/** The short one, with the embedded PostgreSQL; `npm run faults` has the long ones. */
import { expect, test } from 'vitest';
import { diskFullOf } from './disk-full.ts';

// Only root can mount the disk.
test.runIf(process.getuid?.() === 0)(
  'a disk that is full for seconds: callers get the cause, and 48 of 48 operations end well at their first attempt',
  async () => {
    const options = { diskOf: 'embedded', operations: 48, fullSeconds: 4, limitSeconds: 60 } as const;
    expect(await diskFullOf(options)).toMatchObject({
      accepted: 48,
      lost: 0,
      doubled: 0,
      needingHuman: 0,
      problems: [],
    });
  },
  120_000,
);
