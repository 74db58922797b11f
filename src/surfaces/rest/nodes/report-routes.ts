/**
 * Where machines report. They have no account: anyone may report facts, and an installation is reported by the boot
 * that was given a token. Installers are scripts, so the body is parsed as JSON whatever its content-type.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { reportBurnIn } from '../../../operations/hardware/burn-in-orders.ts';
import { reportNode } from '../../../operations/nodes/report/node-report.ts';
import { findReporter, isAtHome } from '../../../operations/nodes/report/report-admission.ts';
import { readReport } from '../../../operations/nodes/report/report-input.ts';
import { isBurnInToken } from '../../../store/hardware/burn-ins.ts';
import { isKnownReporter } from '../../../store/nodes/known-reporter.ts';
import { NOT_JSON, tooComplex, unstorableText } from '../../bad-body.ts';
import { readBoundedBody } from '../../limits/bounded-body.ts';
import { tooManyValues } from '../../limits/json-values.ts';
import { DEFAULT_BODY_BYTES } from '../../limits/message-limits.ts';
import { unstorablePath } from '../../storable.ts';
import { MAX_REPORT_BYTES, REPORT_ROUTES } from '../api/netboot-api.ts';
import { refuseBrowsers } from '../boot/machines-only.ts';
import { clientAddress } from '../client-address.ts';
import { answerFaults, bearerOf } from '../rest-errors.ts';
import { serveRoutes } from '../serve-routes.ts';
import type { NodeRouteDependencies } from './node-routes.ts';

/** A server with hundreds of disks, modules and ports has a few thousand values. */
const REPORT_LIMITS = { values: 20_000, depth: 32 } as const;
const SPACE = 0x20;

export async function reportRoutes(app: FastifyInstance, dependencies: NodeRouteDependencies): Promise<void> {
  answerFaults(app, dependencies);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    const body = await readBoundedBody(payload, {
      bytes: DEFAULT_BODY_BYTES,
      known: async () => ((await isKnownSender(request, dependencies)) ? MAX_REPORT_BYTES : 0),
    });
    const problem = tooManyValues(body, REPORT_LIMITS);
    if (problem) throw tooComplex(problem);
    return parseLeniently(body);
  });
  serveRoutes(app, REPORT_ROUTES, dependencies, {
    reportBurnIn: async ({ request }) => {
      refuseBrowsers(request);
      const sender = { token: bearerOf(request), address: clientAddress(request) };
      const id = await reportBurnIn(dependencies.nodes, request.body, sender);
      return { success: true, data: { id }, message: 'Report recorded' };
    },
    report: async ({ request }) => {
      refuseBrowsers(request);
      checkIdentity(request.body);
      const report = readReport(request.body);
      const sender = { token: bearerOf(request), address: clientAddress(request) };
      const origin = {
        address: sender.address,
        requestId: request.id,
        via: sender.token === null ? '' : 'boot',
      };
      const { node, ignored, adjusted } = await reportNode({ ...dependencies.nodes, origin }, report, sender);
      return {
        success: true,
        data: { id: node.machineId, mac_address: node.macAddress, state: node.state },
        message: messageOf(ignored, adjusted),
      };
    },
  });
}

/** A boot that has a token, or the installer of an installation that is under way. Others report facts, which are short. */
async function isKnownSender(request: FastifyRequest, { nodes }: NodeRouteDependencies): Promise<boolean> {
  const address = clientAddress(request);
  const token = bearerOf(request);
  if (token !== null && (await isBurnInToken(nodes.database, token, address))) return true;
  const { boot } = await findReporter(nodes.database, token, address);
  return boot === null ? isKnownReporter(nodes.database, address) : isAtHome(boot, address);
}

/** Other fields lose characters that cannot be stored; an address or a status that has some is invalid. */
function checkIdentity(body: unknown): void {
  const { mac_address, installation_status } = (body ?? {}) as Record<string, unknown>;
  const path = unstorablePath({ mac_address, installation_status });
  if (path) throw unstorableText(path);
}

function messageOf(ignored: string | null, adjusted: Readonly<Record<string, string>>): string {
  const fields = Object.entries(adjusted).map(([field, problem]) => `${field} (${problem})`);
  return [
    'Report recorded',
    ...(ignored === null ? [] : [`nothing changed, because ${ignored}`]),
    ...(fields.length === 0 ? [] : [`not kept as sent: ${fields.join(', ')}`]),
  ].join('; ');
}

/** Scripts leave raw line breaks in JSON strings that hold a log; elsewhere in JSON they are spaces anyway. */
function parseLeniently(body: Buffer): unknown {
  const decoder = new TextDecoder();
  try {
    return JSON.parse(decoder.decode(body));
  } catch {
    try {
      for (let at = 0; at < body.length; at += 1) if ((body[at] ?? SPACE) < SPACE) body[at] = SPACE;
      return JSON.parse(decoder.decode(body));
    } catch {
      throw NOT_JSON;
    }
  }
}
