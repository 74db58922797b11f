/** An action that resets something, and the types that the service offers for it: in the action itself, or in a resource of its own. */
import { fieldsOf, linkOf, textsOf } from '../connection/answer-fields.ts';
import { RedfishFailure } from '../connection/redfish-failure.ts';
import type { RedfishService, Resource } from '../service/redfish-service.ts';

export interface ResetAction {
  readonly target: string;
  /** Null: the service does not list them. */
  readonly offered: readonly string[] | null;
}

export async function resetAction(
  service: RedfishService,
  resource: Resource,
  name: '#ComputerSystem.Reset' | '#Manager.Reset',
): Promise<ResetAction> {
  const action = fieldsOf(fieldsOf(resource.fields.Actions)[name]);
  const target = linkOf({ '@odata.id': action.target });
  if (target === null) throw new RedfishFailure('NotOffered', service.where, `${resource.path} has no reset`);
  const listed = textsOf(action['ResetType@Redfish.AllowableValues']);
  if (listed.length > 0) return { target, offered: listed };
  const info = linkOf({ '@odata.id': action['@Redfish.ActionInfo'] });
  const described = info === null ? null : await service.find(info);
  const parameters = described?.fields.Parameters;
  const types = (Array.isArray(parameters) ? parameters : [])
    .map(fieldsOf)
    .find(({ Name: parameter }) => parameter === 'ResetType');
  const offered = textsOf(types?.AllowableValues);
  return { target, offered: offered.length > 0 ? offered : null };
}

/** The first of `choices` that is offered; the first one where the service lists none. */
export function chooseReset(
  service: RedfishService,
  choices: readonly string[],
  offered: readonly string[] | null,
): string {
  const type = choices.find((each) => offered === null || offered.includes(each));
  if (type !== undefined) return type;
  const list = offered?.join(', ') ?? '';
  const detail = `a reset of type ${choices.join(' or ')}; it offers ${list === '' ? 'none' : list}`;
  throw new RedfishFailure('NotOffered', service.where, detail);
}

/** "offered: On, ForceOff" */
export function offeredText(offered: readonly string[] | null): string {
  return offered === null ? 'offered resets are not listed' : `offered: ${offered.join(', ')}`;
}
