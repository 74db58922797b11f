/** What the front of keepalives asks and answers: the rules of the ordinary route, and its record of what was refused. */
import { randomUUID } from 'node:crypto';
import type { RefusalLog } from '../../../store/events/refusal-log.ts';
import { anonymousActor } from '../../access/acting-caller.ts';
import { reasonOf, refusalBody, retryAfterOf } from '../agent-refusals.ts';
import { AGENT_ROUTES } from '../api/agent-api.ts';
import { isRefused, reasonOfStatus } from '../refused-requests.ts';
import { answerKeepalive, type KeepaliveDependencies } from './answer-keepalive.ts';
import type { FrontAnswer, FrontCall, FrontDependencies } from './keepalive-front.ts';

export interface FrontAnswerDependencies
  extends KeepaliveDependencies,
    Pick<FrontDependencies, 'tokens' | 'limits'> {
  readonly refusals: Pick<RefusalLog, 'record'>;
}

const { method, path } = AGENT_ROUTES.keepalive;

export function keepaliveFront(dependencies: FrontAnswerDependencies): FrontDependencies {
  const { tokens, limits } = dependencies;
  return { tokens, limits, answer: (call) => answerInFront(dependencies, call) };
}

async function answerInFront(
  dependencies: FrontAnswerDependencies,
  { owner, body, address }: FrontCall,
): Promise<FrontAnswer> {
  let id = '';
  const requestId = () => (id ||= randomUUID());
  const answer = await answerKeepalive(dependencies, { owner, body, hasToken: true, requestId });
  if (answer.refusal === null) return { status: 200, retryAfter: null, body: JSON.stringify(answer.body) };
  const { refusal } = answer;
  if (isRefused(refusal.status))
    dependencies.refusals.record({
      actor: anonymousActor(address, requestId()),
      method: `${method} ${path}`,
      reason: reasonOf(refusal) ?? reasonOfStatus(refusal.status),
    });
  return {
    status: refusal.status,
    retryAfter: retryAfterOf(refusal),
    body: JSON.stringify(refusalBody(refusal)),
  };
}
