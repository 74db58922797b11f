/**
 * How a step can fail, and what the engine does about it. The class decides, not the message.
 */
export type FailureClass = 'retryable' | 'permanent' | 'needs_human' | 'effect_unknown';

export const FAILURE_CLASSES = {
  retryable: { meaning: 'may pass by itself', retries: true, endsAs: 'failed_retryable' },
  permanent: {
    meaning: 'will fail again unless something is changed',
    retries: false,
    endsAs: 'failed_retryable',
  },
  needs_human: { meaning: 'automation must not go on', retries: false, endsAs: 'failed_manual_intervention' },
  effect_unknown: {
    meaning: 'an action was started, and its outcome is not known',
    retries: false,
    endsAs: 'failed_manual_intervention',
  },
} as const satisfies Record<
  FailureClass,
  { meaning: string; retries: boolean; endsAs: 'failed_retryable' | 'failed_manual_intervention' }
>;
