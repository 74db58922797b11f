/**
 * What a machine boots that asks the network: a script for iPXE, by the state that its node is in. Only a node that
 * shall be installed gets an installer, with a token for this one boot; everybody else boots from disk, whatever went
 * wrong. Nothing in a script comes from the request but an address that was checked.
 */
import type { Node } from '../domain/node.ts';
import { fillCmdline } from '../domain/workflow.ts';
import { insertBootToken, newBootToken } from '../store/boot-tokens.ts';
import type { Session } from '../store/database.ts';
import { isOperationWanted } from '../store/nodes.ts';
import { type InstallPlan, readInstallPlan } from './install-plan.ts';
import { NO_FACTS } from './node-input.ts';
import { discover, type ReportTools } from './node-report.ts';
import { changeAndTell } from './nodes.ts';

export interface BootTools extends ReportTools {
  readonly bootTokenSeconds: number;
}

export interface BootRequest {
  readonly mac: string;
  /** How the machine reaches this server. */
  readonly baseUrl: string;
}

export async function bootScript(tools: BootTools, request: BootRequest): Promise<string> {
  const id = await discover(tools, request.mac, NO_FACTS);
  if (id === null) return fromDisk('this machine is not taken in now');
  let script = '';
  await changeAndTell(tools, id, async (locked, session) => {
    const node = { ...locked.node, lastSeenAt: tools.now() };
    const plan = await installationOf(tools, session, node);
    if ('reason' in plan) {
      script = fromDisk(`machine ${id} is ${node.state}${plan.reason === '' ? '' : `: ${plan.reason}`}`);
      return { ...locked, node, events: [] };
    }
    const token = newBootToken();
    const bootNo = node.bootsIssued + 1;
    await insertBootToken(session, {
      token,
      machineId: id,
      bootNo,
      operationId: node.order.operationId,
      image: plan.image.name,
      ttlSeconds: tools.bootTokenSeconds,
    });
    script = installer({ ...request, node, plan, token });
    return { ...locked, node: { ...node, bootsIssued: bootNo }, events: [], wakes: node.order.operationId };
  });
  return script;
}

/** What this boot shall install, or why it shall not. */
async function installationOf(
  tools: BootTools,
  session: Session,
  node: Node,
): Promise<InstallPlan | { readonly reason: string }> {
  if (node.state !== 'pending' && node.state !== 'installing') return { reason: '' };
  const { operationId } = node.order;
  if (operationId !== null && !(await isOperationWanted(session, operationId))) {
    return { reason: 'the operation that wanted to install it is over' };
  }
  const plan = await readInstallPlan(tools, session, node);
  return 'code' in plan ? { reason: plan.problem } : plan;
}

interface Boot extends BootRequest {
  readonly node: Node;
  readonly plan: InstallPlan;
  readonly token: string;
}

function installer({ mac, baseUrl, node, plan: { workflow, image }, token }: Boot): string {
  const file = (path: string) => (path.includes('://') ? path : `${baseUrl}/boot/${path}`);
  const cmdline = fillCmdline(workflow.cmdline, {
    server_url: baseUrl,
    machine_id: node.machineId,
    // The address that this boot came from, which may be another of the machine's than its node goes by.
    mac,
    hostname: node.facts.hostname,
    boot_token: token,
    image_url: image.url ?? `${baseUrl}/api/v1/images/${encodeURIComponent(image.name)}/content`,
    image_sha256: image.sha256,
    image_size: String(image.sizeBytes),
    post_install: workflow.postInstall,
  });
  return script([
    `echo Ingot: installing machine ${node.machineId} (${workflow.name})`,
    // A machine with UEFI finds its initial ramdisk by this name only.
    `kernel ${file(workflow.kernel)} initrd=initrd ${cmdline} || goto failed`,
    `initrd --name initrd ${file(workflow.initrd)} || goto failed`,
    'boot || goto failed',
    ':failed',
    'echo Ingot: the installer could not be loaded; trying again in 10 seconds',
    'sleep 10',
    'reboot',
  ]);
}

function fromDisk(why: string): string {
  return script([
    `echo Ingot: ${why}; booting from disk`,
    // Firmware with UEFI goes on to its next boot entry; a BIOS often would not.
    `iseq \${platform} efi && exit || sanboot --no-describe --drive 0x80 || exit`,
  ]);
}

/** For a machine that has not said who it is. */
export function whoAreYou(baseUrl: string): string {
  return script([`chain ${baseUrl}/api/v1/boot?mac=\${net0/mac:hexhyp} || exit`]);
}

function script(lines: readonly string[]): string {
  return `#!ipxe\n${lines.join('\n')}\n`;
}
