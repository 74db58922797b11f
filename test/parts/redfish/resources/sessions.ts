/** Sessions (SessionService): a login is made without one, and ended with it. */
import { randomBytes } from 'node:crypto';
import { type Answer, failure, link, type SimulatedNoun, type SimulatedRequest } from '../simulated-noun.ts';

const SERVICE = '/redfish/v1/SessionService';

export const sessions: SimulatedNoun = {
  open: { [`POST ${SERVICE}/Sessions`]: logIn },
  routes: {
    [`DELETE ${SERVICE}/Sessions/:id`]: ({ bmc, path }) => {
      const found = [...bmc.sessions].find(([, location]) => location === path);
      if (!found) return null;
      bmc.sessions.delete(found[0]);
      return { status: 204 };
    },
  },
  adds: {
    root: ({ shape }) =>
      shape.hasSessions
        ? { SessionService: link(SERVICE), Links: { Sessions: link(`${SERVICE}/Sessions`) } }
        : {},
  },
};

function logIn({ bmc, body }: SimulatedRequest): Answer | null {
  if (!bmc.shape.hasSessions)
    return bmc.shape.isGated ? failure(401, 'Base.1.8.NoValidSession', 'Authorization is required.') : null;
  const given = body as { UserName?: string; Password?: string };
  if (given.UserName !== bmc.user || given.Password !== bmc.password)
    return failure(
      401,
      'Base.1.8.NoValidSession',
      `The login of ${given.UserName} with ${given.Password} is wrong.`,
    );
  if (bmc.fault === 'no-session-left' || bmc.sessions.size >= bmc.maxSessions)
    return failure(503, 'Base.1.8.SessionLimitExceeded', 'The session establishment failed.');
  const token = randomBytes(16).toString('hex');
  const location = `${SERVICE}/Sessions/${randomBytes(4).toString('hex')}`;
  bmc.sessions.set(token, location);
  bmc.mostSessions = Math.max(bmc.mostSessions, bmc.sessions.size);
  return { status: 201, body: link(location), headers: { 'x-auth-token': token, location } };
}
