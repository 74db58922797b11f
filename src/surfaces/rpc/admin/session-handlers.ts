/** Sessions of the console: who is signed in, and signing someone out. */
import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { Fault, invalidField } from '../../../domain/error/fault.ts';
import { checkText } from '../../../domain/machine/machine-input.ts';
import type { AdminService, ConsoleSessionSchema } from '../../../gen/baremetal/admin/v1/admin_service_pb.ts';
import { endSessionById, type LiveSession, listSessions } from '../../../store/live-sessions.ts';
import type { ServerDependencies } from '../server-dependencies.ts';
import type { Handlers } from '../service.ts';
import { optionalReason } from './required-reason.ts';

export function sessionHandlers(
  dependencies: ServerDependencies,
): Pick<Handlers<typeof AdminService>, 'listSessions' | 'endSession'> {
  return {
    async listSessions(_request, { caller }) {
      return { sessions: (await listSessions(dependencies.database, caller.scope)).map(sessionMessage) };
    },

    async endSession(request, { caller }) {
      const sessionId = checkText(request.sessionId, 'session_id', 100);
      if (sessionId === '') throw invalidField('session_id', 'is required');
      const ended = await endSessionById(dependencies.database, {
        sessionId,
        within: caller.scope,
        actor: caller.actor,
        comment: optionalReason(request.reason),
      });
      if (!ended)
        throw new Fault('SESSION_NOT_FOUND', {
          message: `there is no session ${sessionId} that has not ended`,
          metadata: { session_id: sessionId },
        });
      dependencies.tokensChanged();
      return sessionMessage(ended);
    },
  };
}

function sessionMessage(session: LiveSession): MessageInitShape<typeof ConsoleSessionSchema> {
  const { sessionId, identity, token, issuer } = session;
  return {
    ...{ sessionId, identity, token, issuer },
    createdAt: timestampFromDate(session.createdAt),
    usedAt: timestampFromDate(session.usedAt),
    expiresAt: timestampFromDate(session.expiresAt),
  };
}
