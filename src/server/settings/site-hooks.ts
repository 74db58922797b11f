import type { AddressRule } from '../../connections/address-rules.ts';
import { readCredential } from '../../connections/credential-reference.ts';
import type { SiteHook } from '../../operations/nodes/stage-services.ts';
import type { Configuration } from './configuration.ts';

/** Stages that the site carries out, by name. The token is read for every call, so a new one takes effect at once. */
export function siteHooks({ hooks }: Configuration, rule: AddressRule): Map<string, SiteHook> {
  return new Map(
    Object.entries(hooks).map(([stage, { url, token_file: file, token_env: env }]) => {
      const hasToken = file !== undefined || env !== undefined;
      return [stage, { url, rule, token: () => (hasToken ? readCredential({ file, env }).trim() : null) }];
    }),
  );
}
