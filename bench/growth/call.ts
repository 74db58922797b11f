/** What a call of the API is to `npm run bench:growth` and to the test of query plans: how it is prepared, and what is measured. */
import type {
  DescMessage,
  DescMethod,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageInitShape,
  MessageShape,
} from '@bufbuild/protobuf';
import type pg from 'pg';
import { AdminService } from '../../src/gen/baremetal/admin/v1/admin_service_pb.ts';
import type { LoadClient } from '../client.ts';

/** `daily`: pages of the console and commands need it. `seldom`: an act of administration. `whole`: it reads all that there is. */
export type Use = 'daily' | 'seldom' | 'whole';

export interface Turn {
  readonly client: LoadClient;
  /** For what no call can bring about. */
  readonly sql: pg.Pool;
  /** READY and in service, with an agent and a history; of this turn alone. */
  readonly machineId: string;
  /** Part of names and request ids; no other turn has it. */
  readonly unique: string;
  /** As the caller that this token is of. */
  as(token: string): LoadClient;
}

/** What is measured. */
type Act = () => Promise<unknown>;

export interface GrowthCall {
  readonly method: DescMethod;
  /** Beside others of the same method; empty when it is the only one. */
  readonly variant: string;
  readonly use: Use;
  /** Does what must be there before the call, and returns the call. */
  readonly prepare: (turn: Turn) => Promise<Act>;
}

/** A method that is not measured, with the reason. */
export interface LeftOut {
  readonly method: DescMethod;
  readonly why: string;
}

export interface Asked<Request> {
  readonly use: Use;
  readonly variant?: string;
  readonly request: (turn: Turn) => Request | Promise<Request>;
}

/** `request` may take its time: it also makes what the call is about. */
export function unary<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  { use, variant = '', request }: Asked<MessageInitShape<I>>,
): GrowthCall {
  const prepare = async (turn: Turn) => {
    const message = await request(turn);
    return () => turn.client.bytes(method, message);
  };
  return { method, variant, use, prepare };
}

export interface Streamed<Request, Message> extends Asked<Request> {
  /** The message after which the client leaves; without it, the stream ends by itself. */
  readonly last?: (message: Message) => boolean;
}

export function stream<I extends DescMessage, O extends DescMessage>(
  method: DescMethodServerStreaming<I, O>,
  { use, variant = '', request, last }: Streamed<MessageInitShape<I>, MessageShape<O>>,
): GrowthCall {
  const prepare = async (turn: Turn) => {
    const message = await request(turn);
    return () => read(turn, method, message, last ?? (() => false));
  };
  return { method, variant, use, prepare };
}

function read<I extends DescMessage, O extends DescMessage>(
  { client }: Turn,
  method: DescMethodServerStreaming<I, O>,
  message: MessageInitShape<I>,
  isLast: (message: MessageShape<O>) => boolean,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const messages = client.stream(method, message);
    messages.on('data', (received: MessageShape<O>) => {
      if (!isLast(received)) return;
      resolve();
      messages.cancel();
    });
    messages.on('end', resolve);
    // Also what follows from the cancellation, which comes after the resolution and is no news.
    messages.on('error', reject);
  });
}

/** As if its workflow had brought it there. */
export async function inService({ sql, machineId }: Turn, service: string): Promise<string> {
  await sql.query('UPDATE machines SET service = $2 WHERE machine_id = $1', [machineId, service]);
  return machineId;
}

export async function inMaintenance({ sql, machineId }: Turn): Promise<string> {
  await sql.query(`UPDATE machines SET phase = 'MAINTENANCE' WHERE machine_id = $1`, [machineId]);
  return machineId;
}

/** Whose operations stay under way. */
export async function slow({ sql, machineId }: Turn): Promise<string> {
  await labelled(sql, machineId, { 'fake/step-ms': '600000' });
  return machineId;
}

export async function labelled(
  sql: pg.Pool,
  machineId: string,
  labels: Readonly<Record<string, string>>,
): Promise<void> {
  await sql.query('UPDATE machines SET labels = labels || $2 WHERE machine_id = $1', [
    machineId,
    JSON.stringify(labels),
  ]);
}

/** A person of their own, as the requester of what another approves. */
export async function newOperator({ client, unique, as }: Turn): Promise<LoadClient> {
  const { secret } = await client.unary(AdminService.method.createToken, {
    name: `requester-${unique}`,
    role: 'operator',
  });
  return as(secret);
}
