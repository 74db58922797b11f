import { type ToneLayer, toneOf } from '../../../src/domain/tone.ts';

/** A state in its colour. The name is always shown, because colour alone is not accessible. */
export function StateBadge({ layer, state, title }: { layer: ToneLayer; state: string; title?: string }) {
  if (state === '') return <span className="soft">–</span>;
  return (
    <span className={`badge tone-${toneOf(layer, state)}`} title={title}>
      {state}
    </span>
  );
}
