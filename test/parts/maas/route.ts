/** One endpoint: its rules, refusals and words are those of the MAAS 2.0 API. */
import type { Form } from './request-input.ts';

export interface MaasRequest {
  readonly method: string;
  /** Below /MAAS/api/2.0/. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly form: Form;
}

/** Nothing is 204; null is what MAAS writes for None. */
export type Handler = (request: MaasRequest, ...names: string[]) => unknown;
export type Route = readonly [method: string, path: RegExp, op: string, handler: Handler];

export function isTrue(form: Form, name: string, otherwise: boolean): boolean {
  const value = form.get(name);
  return value === null ? otherwise : ['true', '1', 'yes', 'on', 't', 'y'].includes(value.toLowerCase());
}

/** compose_invalid_choice_text of utils/forms.py. */
export function invalidChoice(name: string, value: string, choices: readonly string[]): string {
  const known = choices.map((one) => `'${one}'`).join(', ');
  return `'${value}' is not a valid ${name}.  It should be one of: ${known}.`;
}
