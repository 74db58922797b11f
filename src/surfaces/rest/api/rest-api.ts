/** Every REST route that the server has, by subject. */
import { AGENT_ROUTES, POOL_ROUTES } from './agent-api.ts';
import { AGENT_ERROR, REST_ERROR } from './answer-schemas.ts';
import { HEALTH_ROUTES } from './health-api.ts';
import {
  BOOT_FETCH_ROUTES,
  BOOT_ROUTES,
  BOOT_URL_ROUTES,
  IMAGE_ROUTES,
  REPORT_ROUTES,
  SEED_ROUTES,
  WORKFLOW_ROUTES,
} from './netboot-api.ts';
import { NODE_BULK_ROUTES, NODE_ROUTES } from './node-api.ts';
import { ISSUER_ROUTES, SIGN_IN_ROUTES } from './sign-in-api.ts';

export const REST_API = {
  Nodes: { routes: { ...NODE_ROUTES }, error: REST_ERROR },
  'Many nodes': { routes: NODE_BULK_ROUTES, error: REST_ERROR },
  Reports: { routes: REPORT_ROUTES, error: REST_ERROR },
  Booting: { routes: { ...BOOT_ROUTES, ...SEED_ROUTES }, error: REST_ERROR },
  'Boot URLs': { routes: BOOT_URL_ROUTES, error: REST_ERROR },
  'Boot records': { routes: BOOT_FETCH_ROUTES, error: REST_ERROR },
  Images: { routes: IMAGE_ROUTES, error: REST_ERROR },
  Workflows: { routes: WORKFLOW_ROUTES, error: REST_ERROR },
  Agents: { routes: AGENT_ROUTES, error: AGENT_ERROR },
  Pools: { routes: POOL_ROUTES, error: REST_ERROR },
  'Sign-in': { routes: { ...SIGN_IN_ROUTES, ...ISSUER_ROUTES }, error: REST_ERROR },
  Health: { routes: HEALTH_ROUTES, error: REST_ERROR },
} as const;
