/** The CLI commands that correspond to an operation and its actions. */
import { isActive } from '../../../../src/domain/operation/operation-status.ts';
import type { OperationType } from '../../../../src/domain/operation/operation-type.ts';
import { OPERATOR_ACTIONS, type OperatorAction } from '../../../../src/domain/operation/operator-action.ts';
import { isPhaseGated, PHASE_GATED_TYPES } from '../../../../src/domain/operation/phase-gated-type.ts';
import { runTypeName } from '../../../../src/domain/v1/run-type.ts';
import { shellWord } from '../../shell-word.ts';

export interface StartedWork {
  readonly machineId: string;
  readonly type: OperationType;
  readonly planId: string;
  readonly params: Readonly<Record<string, string>>;
}

/** CLI options by the names of the parameters that they set. */
const OPTIONS: Readonly<Record<string, string>> = { image_ref: '--image', pool: '--pool', mode: '--mode' };

/** Starts the same operation again. */
export function startLine({ machineId, type, planId, params }: StartedWork): string {
  if (planId !== '') {
    const words = ['ingot', 'run', 'start', machineId, '--type', runTypeName(type), '--plan', planId];
    return words.map(shellWord).join(' ');
  }
  const verb = isPhaseGated(type) ? PHASE_GATED_TYPES[type].verb : null;
  const options = Object.entries(OPTIONS).flatMap(([name, option]) => {
    const value = params[name] ?? '';
    return value === '' ? [] : [option, value];
  });
  return ['ingot', verb ?? type.toLowerCase(), machineId, ...options].map(shellWord).join(' ');
}

export function actionLine(action: OperatorAction, operationId: string, reason: string): string {
  const { verb } = OPERATOR_ACTIONS[action];
  return `ingot op ${verb} ${shellWord(operationId)} --reason ${shellWord(reason || '…')}`;
}

export function decisionLine(decision: 'approve' | 'reject', operationId: string, reason: string): string {
  const why = reason === '' && decision === 'approve' ? '' : ` --reason ${shellWord(reason || '…')}`;
  return `ingot op ${decision} ${shellWord(operationId)}${why}`;
}

export function inspectLines(operationId: string, status: Parameters<typeof isActive>[0]): string[] {
  const id = shellWord(operationId);
  const lines = [`ingot op show ${id}`, `ingot op logs ${id}`];
  return isActive(status) ? [...lines, `ingot op watch ${id}`] : lines;
}
