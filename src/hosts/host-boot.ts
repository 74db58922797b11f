/** Which boot a host is in, as its kernel says over SSH, and how it is asked to reboot. */
import { StepFailure } from '../engine/step-handler.ts';
import type { BootState, ProviderCall, RemoteExec } from '../providers/provider.ts';

const BOOT_ID_FILE = '/proc/sys/kernel/random/boot_id';
const BOOT_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/** Without an id the host did not answer. Why is returned, for a step that needs the id: others have more ways to know. */
export async function hostBootId(
  remoteExec: RemoteExec,
  call: ProviderCall,
): Promise<Pick<BootState, 'bootId' | 'hostProblem'>> {
  try {
    const { stdout } = await remoteExec.run(call, { command: `cat ${BOOT_ID_FILE}`, quiet: true });
    const bootId = stdout.trim();
    return { bootId: BOOT_ID.test(bootId) ? bootId : null };
  } catch (error) {
    if (!(error instanceof StepFailure)) throw error;
    return { bootId: null, hostProblem: error };
  }
}

/**
 * The host itself compares the boot: a command that comes twice, or late, does nothing in the next one. It goes on in
 * the background, so that its answer comes before the connection ends; if that is lost, the boot can be observed.
 */
export async function rebootHost(remoteExec: RemoteExec, call: ProviderCall, bootId: string): Promise<void> {
  if (!BOOT_ID.test(bootId)) throw new RangeError('that is no boot id');
  const command = `[ "$(cat ${BOOT_ID_FILE})" != ${bootId} ] || { (sleep 1; systemctl reboot || reboot) >/dev/null 2>&1 </dev/null & }`;
  try {
    const { exitCode } = await remoteExec.run(call, { command });
    if (exitCode === 0) return;
    const message = `the host refused to reboot (exit code ${exitCode})`;
    throw new StepFailure({ class: 'retryable', code: 'COMMAND_FAILED', message });
  } catch (error) {
    if (error instanceof StepFailure && error.failure.class === 'effect_unknown') return;
    throw error;
  }
}
