/**
 * A host on its way into a cluster, seen and changed through its shell.
 *
 * The Node object alone does not show whether the host is a member: the one of an earlier installation stays in the
 * cluster when a disk is written again. The kubelet's credentials are on that disk, so they show it. kubeadm runs
 * under a lock on the host, so that one that was left running when its connection broke is seen, and never joined
 * by a second one.
 */
import { StepFailure } from '../engine/step-handler.ts';
import type { ProviderCall, RemoteExec } from '../providers/provider.ts';

export interface HostFiles {
  /** Where kubeadm and the kubelet keep their files. */
  readonly kubernetes: string;
  readonly lock: string;
}

export const HOST_FILES: HostFiles = {
  kubernetes: '/etc/kubernetes',
  lock: '/run/ingot-kubeadm-join.lock',
};

/** Remains: of a join that broke off before the host was a member. */
export type HostState = 'clean' | 'remains' | 'joining' | 'joined';

export interface HostView {
  readonly state: HostState;
  /** Empty where there is no kubeadm. */
  readonly kubeadmVersion: string;
  readonly root: boolean;
}

/** The exit code of flock where another process has the lock; kubeadm uses 1, 2 and 3. */
const LOCKED = 75;

const STATES: readonly HostState[] = ['clean', 'remains', 'joining', 'joined'];

export async function probeHost(exec: RemoteExec, call: ProviderCall, files: HostFiles): Promise<HostView> {
  const { exitCode, stdout } = await exec.run(
    { ...call, key: `${call.key}/look` },
    { command: probeCommand(files), quiet: true },
  );
  const [state = '', uid = '', version = ''] = stdout.trim().split(/\s*\n/).slice(-3);
  const known = STATES.find((one) => one === state);
  if (exitCode !== 0 || known === undefined) {
    throw new StepFailure({
      class: 'retryable',
      code: 'COMMAND_FAILED',
      message: `the host could not say whether it is in a cluster (exit code ${exitCode})`,
    });
  }
  return { state: known, root: uid === '0', kubeadmVersion: version === '-' ? '' : version };
}

/** Three lines: the state, the user's id, kubeadm's version or "-". */
function probeCommand({ kubernetes, lock }: HostFiles): string {
  const { conf, bootstrap, ca } = {
    conf: `${kubernetes}/kubelet.conf`,
    bootstrap: `${kubernetes}/bootstrap-kubelet.conf`,
    ca: `${kubernetes}/pki/ca.crt`,
  };
  return [
    'as() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi; }',
    `locked() { as test -e ${lock} || return 1; as flock -n -E ${LOCKED} ${lock} true; [ $? = ${LOCKED} ]; }`,
    'if locked; then echo joining',
    `elif as test -e ${conf}; then echo joined`,
    `elif as test -e ${bootstrap} || as test -e ${ca}; then echo remains`,
    'else echo clean; fi',
    'id -u',
    'as kubeadm version -o short 2>/dev/null || echo -',
  ].join('\n');
}

/** What is left of a broken join keeps the next one from starting. */
export async function resetHost(exec: RemoteExec, call: ProviderCall, { root }: HostView): Promise<void> {
  const command = `${root ? '' : 'sudo -n '}kubeadm reset --force`;
  const { exitCode } = await exec.run({ ...call, key: `${call.key}/reset` }, { command });
  if (exitCode === 0) return;
  throw new StepFailure({
    class: 'retryable',
    code: 'COMMAND_FAILED',
    message: `kubeadm reset exited with ${exitCode}`,
  });
}

/**
 * Runs kubeadm join to its end. One that is under way already is left alone. A connection that broke does not matter
 * here: the next probe of the host shows what became of the join.
 */
export async function joinHost(
  exec: RemoteExec,
  call: ProviderCall,
  { root, lock, document }: { readonly root: boolean; readonly lock: string; readonly document: string },
): Promise<void> {
  const kubeadm = 'kubeadm join --config /dev/stdin';
  // cat: where sshd hands over a socket instead of a pipe, /dev/stdin can't be opened.
  const command = `cat | ${root ? '' : 'sudo -n '}flock -n -E ${LOCKED} ${lock} ${kubeadm}`;
  let lastError = '';
  const log: ProviderCall['log'] = (text, stream) => {
    if (/^\s*\[?error\b/i.test(text)) lastError = text.trim().slice(0, 300);
    call.log(text, stream);
  };
  let exitCode: number;
  try {
    ({ exitCode } = await exec.run({ ...call, log }, { command, stdin: document }));
  } catch (error) {
    if (!(error instanceof StepFailure) || error.failure.class !== 'effect_unknown') throw error;
    const message = 'the connection broke while kubeadm ran; the host is probed again';
    const outage = {
      upstream: 'the SSH host',
      name: call.machine.spec.ssh_endpoint || call.machine.machineId,
      effect: 'unknown',
    } as const;
    throw new StepFailure({ class: 'retryable', code: 'JOIN_INTERRUPTED', message }, outage);
  }
  if (exitCode === 0 || exitCode === LOCKED) return;
  throw new StepFailure({
    class: 'retryable',
    code: 'JOIN_FAILED',
    message: `kubeadm join exited with ${exitCode}${lastError === '' ? '' : `: ${lastError}`}`,
  });
}
