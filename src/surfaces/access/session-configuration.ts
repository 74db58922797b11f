/** The section `sessions` of the configuration: how long the console stays signed in. */
import { z } from 'zod';
import type { SessionLimits } from './session-way-in.ts';

const MAX_SECONDS = 90 * 86_400;

export const sessionsConfiguration = z
  .strictObject({
    /** A session that sends no request for this time is over. */
    idle_seconds: z.int().min(1).max(MAX_SECONDS).default(3_600),
    /** A session is over after this time, used or not. */
    absolute_seconds: z.int().min(1).max(MAX_SECONDS).default(43_200),
    /** The URL under which browsers reach the console, where a proxy is in front of it. */
    public_url: z
      .string()
      .regex(/^https?:\/\/[A-Za-z0-9.:[\]-]+$/, 'must be http(s)://host[:port]')
      .nullable()
      .default(null),
  })
  .transform(
    (given): SessionLimits => ({
      idleSeconds: given.idle_seconds,
      absoluteSeconds: given.absolute_seconds,
      publicUrl: given.public_url,
    }),
  );
