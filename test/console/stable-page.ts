/**
 * Makes a page of a real server look the same in every run. What happened is at fixed times before a fixed clock
 * (showcase-times.ts). What the server did since, such as a keepalive, gets one time of that clock in the answers, and ids,
 * which are random, get the same letters just before the picture is taken.
 */
import {
  type DescMessage,
  fromBinary,
  fromJsonString,
  type MessageShape,
  toBinary,
  toJsonString,
} from '@bufbuild/protobuf';
import type { Page, Route } from 'playwright-core';
import { AdminService } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import {
  FleetHistorySchema,
  FleetService,
  OverviewSchema,
} from '../../src/gen/baremetal/fleet/v1/fleet_service_pb.ts';
import { RolloutService } from '../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { ViewService } from '../../src/gen/baremetal/fleet/v1/view_service_pb.ts';
import { PlanService } from '../../src/gen/baremetal/v1/plan_service_pb.ts';
import { MachineService } from '../../src/gen/baremetal/v2/machine_service_pb.ts';
import { OperationService } from '../../src/gen/baremetal/v2/operation_service_pb.ts';
import { until } from '../parts/until.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

/** The clock of the browser. Long ago, so that no time of the server can be mistaken for one of the showcase. */
export const FIXED = Date.parse('2024-03-14T09:30:00Z');
/** Times after this are the server's own. */
const FIRST_REAL = FIXED + 300 * 24 * HOUR;
/** What happened since, and what ends some day, such as a token. */
const RECENTLY = new Date(FIXED - 4 * MINUTE).toISOString();
const SOME_DAY = new Date(FIXED + 89 * 24 * HOUR).toISOString();

const METHODS: ReadonlyMap<string, DescMessage> = new Map(
  [
    AdminService,
    FleetService,
    RolloutService,
    ViewService,
    PlanService,
    MachineService,
    OperationService,
  ].flatMap((service) =>
    service.methods
      .filter(({ methodKind }) => methodKind === 'unary')
      .map((method) => [`/${service.typeName}/${method.name}`, method.output] as const),
  ),
);

/** No request that starts for so long: what an answer leads to has been asked for. */
const QUIET_MS = 150;

/** Returns what waits until every answer is there. */
export async function holdStill(page: Page): Promise<() => Promise<void>> {
  let underWay = 0;
  let quietSince = 0;
  await page.clock.setFixedTime(FIXED);
  await page.route(/\/baremetal\.|\/api\/v1\//, async (route) => {
    underWay += 1;
    await answer(route).finally(() => {
      underWay -= 1;
      quietSince = performance.now();
    });
  });
  return async () => {
    await until(
      async () => underWay === 0 && performance.now() - quietSince > QUIET_MS,
      (isQuiet) => isQuiet,
    );
  };
}

async function answer(route: Route): Promise<void> {
  const { pathname } = new URL(route.request().url());
  const output = METHODS.get(pathname);
  if (!output && !pathname.startsWith('/api/')) return route.continue();
  const response = await route.fetch();
  const body = await response.body();
  const isProto = response.headers()['content-type'] === 'application/proto';
  if (!isProto) return route.fulfill({ response, body: heldTimes(body.toString()) });
  return route.fulfill({ response, body: output ? heldMessage(output, body) : body });
}

function heldMessage(output: DescMessage, body: Buffer): Buffer {
  if (output === FleetHistorySchema) return Buffer.from(toBinary(FleetHistorySchema, history()));
  const held = fromJsonString(output, heldTimes(toJsonString(output, fromBinary(output, body))));
  if (output === OverviewSchema) countEnds(held as MessageShape<typeof OverviewSchema>);
  return Buffer.from(toBinary(output, held));
}

function heldTimes(json: string): string {
  const soon = Date.now() + HOUR;
  return json.replaceAll(/"\d{4}-\d\d-\d\dT[\d:.]+Z"/g, (time) => {
    const at = Date.parse(time.slice(1, -1));
    if (at < FIRST_REAL) return time;
    return `"${at > soon ? SOME_DAY : RECENTLY}"`;
  });
}

/** The server counts those of its own last day, in which nothing of the showcase ended. */
function countEnds(overview: MessageShape<typeof OverviewSchema>): void {
  Object.assign(overview.operationsEnded, { SUCCEEDED: 147, FAILED: 5, CANCELED: 2 });
}

/** A day: busy before noon and in the evening. */
function history(): MessageShape<typeof FleetHistorySchema> {
  const at = (ms: number) => new Date(FIXED - ms).toISOString();
  const hours = Array.from({ length: 24 }, (_, n) => ({
    start: at(30 * MINUTE + (23 - n) * HOUR),
    operations: { SUCCEEDED: 4 + ((n * 7) % 5), FAILED: n % 7 === 3 ? 1 : 0, CANCELED: n % 11 === 5 ? 1 : 0 },
  }));
  const samples = Array.from({ length: 96 }, (_, n) => {
    const busy = Math.round(5 + 4 * Math.sin(n / 12));
    const failed = Math.floor(n / 24);
    const machines = {
      IDLE: 48 - busy - failed,
      BUSY: busy,
      MAINTENANCE: 4,
      ATTENTION: failed,
      NEW: 9,
      BLOCKED: 1,
    };
    return { at: at((95 - n) * 15 * MINUTE), machines };
  });
  const durations = [
    { type: 'REIMAGE', operations: 52, failed: 5, p50Seconds: 1195, p90Seconds: 1314 },
    { type: 'REBOOT', operations: 12, failed: 0, p50Seconds: 190, p90Seconds: 209 },
  ];
  const day = { from: at(23 * HOUR + 30 * MINUTE), at: at(0), hours, samples, durations };
  return fromJsonString(FleetHistorySchema, JSON.stringify(day));
}

/** Replaces what is random in the texts of the page by letters of the same width. */
export async function maskRandomTexts(page: Page): Promise<void> {
  await page.evaluate(`(() => {
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const masked = node.data
        .replace(/\\b(op|ro|m)-(…?)[0-9a-z]{6,26}\\b/g, (id, kind, dots) => kind + '-' + dots + 'x'.repeat(id.length - kind.length - 1 - dots.length))
        .replace(/history: [^,]+, usually .+$/, 'history: 14 min, usually 11 min')
        .replace(/\\b\\d\\d:\\d\\d:\\d\\d\\.\\d{3}\\b/g, '09:26:00.000')
        .replace(/\\b[\\w.-]+-\\d+-[0-9a-f]{8}\\b/g, 'replica-1-00000000')
        .replace(/127\\.0\\.0\\.1:\\d+/g, '127.0.0.1:8080')
        .replace(/\\b(admin|operator|viewer)-\\d+\\b/g, '$1-1')
        .replace(/\\brequest-\\d+\\b/g, 'request-1');
      if (masked !== node.data) node.data = masked;
    }
  })()`);
}
