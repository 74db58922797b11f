/**
 * The v1 API's words (docs/api-v1.md): run for operation, run-… for op-…, REPAVE for REIMAGE. A text is translated where it is
 * shown, so that what is stored has one spelling. Only whole words are translated, and none that may be a part of a name.
 */
import { Fault } from '../error/fault.ts';
import { runIdOf } from './run-id.ts';

const OPERATION_ID = /(?<![\w.-])op-([0-9a-hjkmnp-tv-z]{26})(?![\w-])/g;
const TYPE_AND_ID = /(?<![\w.-])REIMAGE (?=op-[0-9a-hjkmnp-tv-z]{26}(?![\w-]))/g;
const WORDS = [
  [/(?<![\w./-])operation(s?)(?![\w/-]|\.\w)/g, 'run$1'],
  [/(?<![\w./-])REIMAGE(?![\w/-]|\.\w)/g, 'REPAVE'],
  [/(?<![\w./-])operations\/(?=op-)/g, 'runs/'],
] as const;

/** For a text that may quote people: translates ids and the type before one, and nothing else. */
export function v1Text(text: string): string {
  return text.replace(TYPE_AND_ID, 'REPAVE ').replace(OPERATION_ID, 'run-$1');
}

const REASONS: ReadonlyMap<string, string> = new Map([
  ['ReimageFailed', 'RepaveFailed'],
  ['Reimaged', 'Repaved'],
  ['OperationSucceeded', 'RunSucceeded'],
  ['LaterOperationEnded', 'LaterRunEnded'],
]);
const STORED_REASONS: ReadonlyMap<string, string> = new Map(
  [...REASONS].map(([stored, shown]) => [shown, stored]),
);

/** The reason of a condition as the v1 API shows it. */
export function v1Reason(reason: string): string {
  return REASONS.get(reason) ?? reason;
}

export function storedReason(reason: string): string {
  return STORED_REASONS.get(reason) ?? reason;
}

/** A fault about a wrong field quotes what the client wrote, untranslated; every other fault is translated. */
export function v1Fault(fault: Fault): Fault {
  if (fault.kind === 'invalid_argument') return fault;
  const { operation_id: operationId, type } = fault.metadata;
  const words = (text: string) => v1Words(text, operationId ?? '');
  const detail = {
    message: words(fault.message),
    metadata: {
      ...fault.metadata,
      ...(operationId !== undefined && { operation_id: runIdOf(operationId), run_id: runIdOf(operationId) }),
      ...(type === 'REIMAGE' && { type: 'REPAVE' }),
    },
    violations: fault.violations.map(({ subject, description }) => ({
      subject: words(subject),
      description: words(description),
    })),
    context: fault.context,
  };
  return new Fault(fault.reason, detail, fault.kind);
}

/** Translates the id that a fault is about, also where it is not one of ours. */
function v1Words(text: string, operationId: string): string {
  const words = WORDS.reduce((seen, [word, other]) => seen.replace(word, other), text);
  const named = operationId.startsWith('op-') ? words.replaceAll(operationId, runIdOf(operationId)) : words;
  return v1Text(named);
}
