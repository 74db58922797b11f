/** Where a machine's Redfish service is: `https://host[:port][/redfish/v1/Systems/id]` in spec.bmc_endpoint. */
import { isUrl } from '../../connections/endpoint.ts';
import type { Machine } from '../../domain/machine/machine.ts';
import { StepFailure } from '../../engine/step-handler.ts';

export interface RedfishEndpoint {
  readonly protocol: 'https:' | 'http:';
  /** A name or an address, without brackets. */
  readonly host: string;
  readonly port: number;
  /** The path of the system, such as /redfish/v1/Systems/1. Null: the only one that the service has. */
  readonly system: string | null;
}

const SYSTEM = /^\/redfish\/v1\/Systems\/[^/?#]+$/;
const ROOT = /^(?:\/redfish(?:\/v1)?)?$/;

/** A plain host means https there. Throws a StepFailure where the spec names no Redfish service. */
export function redfishEndpointOf({ machineId, spec: { bmc_endpoint: text } }: Machine): RedfishEndpoint {
  if (text === '')
    throw new StepFailure({
      class: 'permanent',
      code: 'NO_BMC_ENDPOINT',
      message: `${machineId} has no spec.bmc_endpoint`,
    });
  const url = new URL(isUrl(text) ? text : `https://${text}`);
  const path = url.pathname.replace(/\/+$/, '');
  if (!SYSTEM.test(path) && !ROOT.test(path))
    throw new StepFailure({
      class: 'permanent',
      code: 'REDFISH_SYSTEM_NOT_FOUND',
      message: `${machineId} has the path ${path} in spec.bmc_endpoint; a system has a path such as /redfish/v1/Systems/1`,
    });
  const protocol = url.protocol === 'http:' ? 'http:' : 'https:';
  return {
    protocol,
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (protocol === 'https:' ? 443 : 80) : Number(url.port),
    system: SYSTEM.test(path) ? path : null,
  };
}
