/** `tokens:`, how long tokens live. */
import { z } from 'zod';

const DAY_SECONDS = 86_400;

const tokens = z.strictObject({
  /** Of a token whose creator names no end. One that never expires must be asked for. */
  default_lifetime_seconds: z
    .int()
    .min(60)
    .max(3_650 * DAY_SECONDS)
    .default(90 * DAY_SECONDS),
  /** An agent is asked to replace a token that is older, with its next keepalive. 0: never. */
  rotate_agents_after_seconds: z
    .int()
    .min(0)
    .max(3_650 * DAY_SECONDS)
    .default(30 * DAY_SECONDS),
});

export const tokensConfiguration = tokens.default(() => tokens.parse({}));
