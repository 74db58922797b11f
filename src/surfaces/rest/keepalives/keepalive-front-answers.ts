/** What the front of keepalives asks and answers: the rules of the ordinary route, and its record of what was refused. */
import { randomUUID } from 'node:crypto';
import type { RefusalLog } from '../../../store/events/refusal-log.ts';
import { anonymousActor } from '../../access/acting-caller.ts';
import { type AgentRefusal, reasonOf, refusalBody, retryAfterOf } from '../agent-refusals.ts';
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
  return {
    tokens,
    limits,
    answer: (call, answered) => {
      let id = '';
      const requestId = () => (id ||= randomUUID());
      const { owner, body } = call;
      answerKeepalive(dependencies, { owner, body, hasToken: true, requestId }, (answer) => {
        if (answer.refusal === null)
          answered({ status: 200, retryAfter: null, body: JSON.stringify(answer.body) });
        else answered(refused(dependencies, { ...call, requestId }, answer.refusal));
      });
    },
  };
}

function refused(
  { refusals }: FrontAnswerDependencies,
  { address, requestId }: Pick<FrontCall, 'address'> & { readonly requestId: () => string },
  refusal: AgentRefusal,
): FrontAnswer {
  const { status } = refusal;
  if (isRefused(status))
    refusals.record({
      actor: anonymousActor(address, requestId()),
      method: `${method} ${path}`,
      reason: reasonOf(refusal) ?? reasonOfStatus(status),
    });
  return { status, retryAfter: retryAfterOf(refusal), body: JSON.stringify(refusalBody(refusal)) };
}
