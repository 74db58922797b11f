/** Health and readiness, for load balancers and orchestrators. */
import { z } from 'zod';
import type { RouteTable } from './route.ts';

const CAUSES = z.record(z.string(), z.string());

export const HEALTH_ROUTES = {
  healthz: {
    method: 'GET',
    path: '/healthz',
    caller: 'anyone',
    summary: 'Whether the process lives',
    answers: {
      200: { description: 'It lives.', schema: z.strictObject({ status: z.literal('ok') }) },
    },
  },
  readyz: {
    method: 'GET',
    path: '/readyz',
    caller: 'anyone',
    summary: 'Whether the replica takes requests, and why not',
    answers: {
      200: {
        description: 'It is ready.',
        schema: z.strictObject({ status: z.literal('ready'), degraded: CAUSES.optional() }),
      },
      503: {
        description: 'It is not ready.',
        schema: z.strictObject({
          status: z.literal('not ready'),
          reason: z.string(),
          causes: CAUSES.optional(),
          degraded: CAUSES.optional(),
        }),
      },
    },
  },
} as const satisfies RouteTable;
