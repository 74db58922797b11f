/** Sessions (SessionService): a login is made without one, and ended with it. */
import { randomBytes } from 'node:crypto';
import {
  type Answer,
  type Body,
  collection,
  failure,
  link,
  ok,
  type SimulatedNoun,
  type SimulatedRequest,
} from '../simulated-noun.ts';
import type { RedfishSimulator } from '../simulator.ts';

const SERVICE = '/redfish/v1/SessionService';

export const sessions: SimulatedNoun = {
  open: { [`POST ${SERVICE}/Sessions`]: logIn },
  routes: {
    [`GET ${SERVICE}`]: ({ bmc }) =>
      bmc.shape.hasSessions
        ? ok({
            '@odata.id': SERVICE,
            '@odata.type': '#SessionService.v1_1_8.SessionService',
            Id: 'SessionService',
            Name: 'Session Service',
            ServiceEnabled: true,
            SessionTimeout: Math.ceil(bmc.sessionMs / 1000),
            Sessions: link(`${SERVICE}/Sessions`),
          })
        : null,
    [`GET ${SERVICE}/Sessions`]: (request) =>
      collection(request, [...request.bmc.sessions.values()], (path) => session(request.bmc, path)),
    [`GET ${SERVICE}/Sessions/:id`]: ({ bmc, path }) =>
      [...bmc.sessions.values()].includes(path) ? ok(session(bmc, path)) : null,
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

function session({ user }: RedfishSimulator, path: string): Body {
  return {
    '@odata.id': path,
    '@odata.type': '#Session.v1_3_0.Session',
    Id: path.split('/').pop(),
    Name: 'Session',
    UserName: user,
  };
}

function logIn({ bmc, body }: SimulatedRequest): Answer | null {
  if (!bmc.shape.hasSessions)
    return bmc.shape.isGated ? failure(401, 'Base.1.8.NoValidSession', 'Authorization is required.') : null;
  const given = body as { UserName?: string; Password?: string };
  if (given.UserName !== bmc.user || given.Password !== bmc.password) {
    bmc.refusedLogins += 1;
    return failure(
      401,
      'Base.1.8.NoValidSession',
      `The login of ${given.UserName} with ${given.Password} is wrong.`,
    );
  }
  if (bmc.fault === 'no-session-left' || bmc.sessions.size >= bmc.maxSessions)
    return failure(503, 'Base.1.8.SessionLimitExceeded', 'The session establishment failed.');
  const token = randomBytes(16).toString('hex');
  const location = `${SERVICE}/Sessions/${randomBytes(4).toString('hex')}`;
  bmc.sessions.set(token, location);
  bmc.mostSessions = Math.max(bmc.mostSessions, bmc.sessions.size);
  return { status: 201, body: link(location), headers: { 'x-auth-token': token, location } };
}
