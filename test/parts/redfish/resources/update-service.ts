/** Updates of firmware (UpdateService): SimpleUpdate, and a push of the file (MultipartHttpPushUri), by vendor. */
import { createHash } from 'node:crypto';
import {
  type Answer,
  type Body,
  failure,
  type SimulatedNoun,
  type SimulatedRequest,
} from '../simulated-noun.ts';
import { accepted } from '../simulated-tasks.ts';
import type { RedfishSimulator } from '../simulator.ts';

const SERVICE = '/redfish/v1/UpdateService';
const PUSH = `${SERVICE}/upload`;
const SIMPLE = `${SERVICE}/Actions/UpdateService.SimpleUpdate`;

export class SimulatedUpdates {
  /** What an image changes, by its SHA-256. */
  readonly images = new Map<string, Readonly<Record<string, string>>>();
  /** Each update that came, with what it named. */
  readonly received: Array<{
    readonly by: 'push' | 'simple';
    readonly parameters: Body;
    readonly fileName: string;
  }> = [];
  /** It goes on at the next reset. */
  waitsForReset = false;
  /** It takes an update and does not answer. */
  isMute = false;
  /** The version stays as it was, although the task is complete. */
  isIgnored = false;

  add(image: Buffer, versions: Readonly<Record<string, string>>): string {
    const digest = sha256(image);
    this.images.set(digest, versions);
    return digest;
  }
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

export const updateService: SimulatedNoun = {
  routes: { [`POST ${PUSH}`]: push, [`POST ${SIMPLE}`]: simple },
  adds: {
    updateService: ({ shape }) => ({
      '@odata.id': SERVICE,
      '@odata.type': '#UpdateService.v1_9_0.UpdateService',
      ServiceEnabled: true,
      ...(shape.updates.includes('push') ? { MultipartHttpPushUri: PUSH } : {}),
      Actions: shape.updates.includes('simple')
        ? {
            '#UpdateService.SimpleUpdate': {
              target: SIMPLE,
              'TransferProtocol@Redfish.AllowableValues': ['HTTP', 'HTTPS'],
              '@Redfish.OperationApplyTimeSupport': { SupportedValues: ['Immediate', 'OnReset'] },
            },
          }
        : {},
    }),
  },
};

function push({ bmc, path, headers, raw }: SimulatedRequest): Answer | null | Promise<Answer> {
  if (!bmc.shape.updates.includes('push')) return null;
  if (bmc.updates.isMute) return new Promise(() => {});
  const parts = partsOf(raw, headers['content-type'] ?? '');
  const parameters = parts.find(({ name }) => name === 'UpdateParameters');
  const file = parts.find(({ name }) => name === 'UpdateFile');
  if (!parameters || !file)
    return failure(400, 'Base.1.8.ActionParameterMissing', 'UpdateParameters and UpdateFile are needed.');
  const named = JSON.parse(parameters.content.toString('utf8')) as Body;
  bmc.updates.received.push({ by: 'push', parameters: named, fileName: file.fileName });
  return start(bmc, path, named, file.content);
}

async function simple({ bmc, path, body }: SimulatedRequest): Promise<Answer | null> {
  if (!bmc.shape.updates.includes('simple')) return null;
  const address = String(body.ImageURI);
  bmc.updates.received.push({ by: 'simple', parameters: body, fileName: '' });
  // The addresses of tests are on loopback.
  const response = await fetch(address);
  if (!response.ok) return failure(400, 'Update.1.0.TransferFailed', `${address} can not be fetched.`);
  return start(bmc, path, body, Buffer.from(await response.arrayBuffer()));
}

function start(bmc: RedfishSimulator, target: string, parameters: Body, image: Buffer): Answer {
  const { Targets: targets } = parameters;
  const isTargeted = Array.isArray(targets) && targets.length > 0;
  if (bmc.shape.updateTargets === 'none' && isTargeted)
    return failure(400, 'Base.1.8.ActionParameterNotSupported', 'Targets is not supported.');
  if (bmc.shape.updateTargets === 'owner' && !isTargeted)
    return failure(400, 'Base.1.8.ActionParameterMissing', 'Targets is needed.');
  const versions = bmc.updates.images.get(sha256(image)) ?? versionsIn(image);
  if (!versions) return failure(400, 'Update.1.0.VerificationFailed', 'The image is not valid.');
  if (bmc.tasks.all.some(({ state, name }) => state === 'Running' && name === 'Firmware Update'))
    return failure(503, 'Base.1.8.ServiceTemporarilyUnavailable', 'An update is in progress.');
  const { waitsForReset } = bmc.updates;
  const task = bmc.tasks.start({
    name: 'Firmware Update',
    target,
    finish: () => {
      if (!bmc.updates.isIgnored) Object.assign(bmc.hardware.firmware, versions);
    },
    ...(waitsForReset && { waitsForReset }),
  });
  return accepted(task, bmc.shape);
}

/** An image that is JSON says what it changes: {"BIOS": "2.19.1"}. */
function versionsIn(image: Buffer): Readonly<Record<string, string>> | null {
  try {
    const versions: unknown = JSON.parse(image.toString('utf8'));
    const isObject = typeof versions === 'object' && versions !== null && !Array.isArray(versions);
    return isObject && Object.values(versions).every((value) => typeof value === 'string')
      ? (versions as Record<string, string>)
      : null;
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

interface Part {
  readonly name: string;
  readonly fileName: string;
  readonly content: Buffer;
}

/** RFC 7578. */
function partsOf(raw: Buffer, type: string): Part[] {
  const [, boundary = ''] = /boundary=("?)([^";]+)\1/.exec(type)?.slice(1) ?? [];
  const parts: Part[] = [];
  const mark = Buffer.from(`--${boundary}`);
  let at = raw.indexOf(mark);
  while (at >= 0) {
    const next = raw.indexOf(mark, at + mark.length);
    if (next < 0) break;
    const part = raw.subarray(at + mark.length + 2, next - 2);
    const split = part.indexOf('\r\n\r\n');
    const head = part.subarray(0, split).toString('utf8');
    parts.push({
      name: /\bname="([^"]*)"/.exec(head)?.[1] ?? '',
      fileName: /\bfilename="([^"]*)"/.exec(head)?.[1] ?? '',
      content: part.subarray(split + 4),
    });
    at = next;
  }
  return parts;
}
