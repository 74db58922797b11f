import type { Caller } from '../../domain/access/caller.ts';
import { Fault } from '../../domain/error/fault.ts';
import type { GatedWave } from '../../store/rollouts/act-on-machines.ts';
import { notSecondPerson, roleTooLow } from '../act/approver.ts';

export interface ApprovalOfWave {
  readonly rolloutId: string;
  readonly wave: GatedWave;
  /** Who created the rollout, as "role:name". */
  readonly createdBy: string;
  /** See findTokenCreators. */
  readonly tokenCreators: readonly string[];
}

/** The same rule as for the approval of a single operation. */
export function checkWaveApprover(asked: ApprovalOfWave, caller: Caller): void {
  const { wave, createdBy, tokenCreators } = asked;
  const samePerson =
    wave.gate === 'second-person' ? notSecondPerson(caller, { requestedBy: createdBy, tokenCreators }) : null;
  const why = samePerson ?? roleTooLow(caller, wave.approverRole);
  if (why !== null) throw notApprover(asked, why);
}

function notApprover({ rolloutId, wave }: ApprovalOfWave, why: string): Fault {
  return new Fault('NOT_THE_APPROVER', {
    message: `you can't approve wave ${wave.number} of ${rolloutId}: ${why}`,
    metadata: { rollout_id: rolloutId, wave: String(wave.number) },
  });
}
