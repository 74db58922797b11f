/** What the server says that the draft would do, asked when the user stops typing. */
import { useEffect, useState } from 'react';
import type { RolloutPreview } from '../../../../src/gen/baremetal/fleet/v1/rollout_service_pb.ts';
import { rollouts } from '../../api/clients.ts';
import { type Draft, draftFault } from './draft.ts';
import { specOf } from './draft-spec.ts';

const TYPING_MS = 350;

export interface PreviewState {
  /** The last answer; while another draft is asked about, that of the previous one. */
  readonly preview: RolloutPreview | null;
  /** Whether the answer is about the draft as it is now. */
  readonly isCurrent: boolean;
  readonly failure: unknown;
  readonly again: () => void;
}

interface Answer {
  readonly about: Draft | null;
  readonly preview: RolloutPreview | null;
  readonly failure: unknown;
}

const NONE: Answer = { about: null, preview: null, failure: null };

export function usePreview(draft: Draft): PreviewState {
  const [answer, setAnswer] = useState(NONE);
  const [attempt, setAttempt] = useState(0);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another attempt repeats the same request
  useEffect(() => {
    if (draftFault(draft) !== '') return;
    const stopped = new AbortController();
    const ask = async () => {
      try {
        const preview = await rollouts.previewRollout({ spec: specOf(draft) }, { signal: stopped.signal });
        setAnswer({ about: draft, preview, failure: null });
      } catch (failure) {
        if (!stopped.signal.aborted) setAnswer((before) => ({ ...before, about: draft, failure }));
      }
    };
    // The first preview is asked for at once.
    const timer = setTimeout(() => void ask(), answer.about === null ? 0 : TYPING_MS);
    return () => {
      clearTimeout(timer);
      stopped.abort();
    };
  }, [draft, attempt]);
  return {
    preview: answer.preview,
    isCurrent: answer.about === draft,
    failure: answer.failure,
    again: () => setAttempt((count) => count + 1),
  };
}
