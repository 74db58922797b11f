import type { Tone } from '../../../src/domain/tone.ts';

export interface ProgressBarProps {
  readonly label: string;
  readonly percent: number;
  /** Absent: the tone of the element around it. */
  readonly tone?: Tone;
}

export function ProgressBar({ label, percent, tone }: ProgressBarProps) {
  return (
    <div
      className={tone ? `progress tone-${tone}` : 'progress'}
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      aria-valuemin={0}
      aria-valuemax={100}
    >
      <div style={{ width: `${percent}%` }} />
    </div>
  );
}
