/**
 * What a machine boots that asks the network: a script for iPXE, by the state that its node is in. Only a node that
 * shall be installed or erased gets an installer, with a token for this one boot and this one purpose; any other boots
 * from disk, whatever went wrong. Nothing in a script comes from the request but an address that was checked.
 */
import { type BootPurpose, MAX_INSTALL_ATTEMPTS, type Node } from '../domain/node.ts';
import { fillCmdline, type Workflow } from '../domain/workflow.ts';
import { insertBootToken, newBootToken } from '../store/boot-tokens.ts';
import type { Session } from '../store/database.ts';
import { isOperationWanted } from '../store/nodes.ts';
import { readErasePlan, readInstallPlan, type ServedImage } from './install-plan.ts';
import { nodeThatBoots, type ReportTools } from './node-report.ts';
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
  const id = await nodeThatBoots(tools, request.mac);
  if (id === null) return fromDisk('this machine is not taken in now');
  let script = '';
  await changeAndTell(tools, id, async (locked, session) => {
    const node = { ...locked.node, lastSeenAt: tools.now() };
    const plan = await planOf(tools, session, node);
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
      purpose: plan.purpose,
      image: plan.image?.name ?? '',
      ttlSeconds: tools.bootTokenSeconds,
    });
    script = installer({ ...request, node, plan, token });
    return { ...locked, node: { ...node, bootsIssued: bootNo }, events: [], wakes: node.order.operationId };
  });
  return script;
}

interface BootPlan {
  readonly purpose: BootPurpose;
  readonly workflow: Workflow;
  /** Null: an erasure fetches none. */
  readonly image: ServedImage | null;
}

type Planned = BootPlan | { readonly reason: string };

/** What this boot shall do, or why it shall do nothing. */
async function planOf(tools: BootTools, session: Session, node: Node): Promise<Planned> {
  const isErasing = node.state === 'deprovisioning';
  if (!isErasing && node.state !== 'pending' && node.state !== 'installing') return { reason: '' };
  const { operationId } = node.order;
  if (operationId !== null && !(await isOperationWanted(session, operationId))) {
    return { reason: `the operation that wanted to ${isErasing ? 'erase' : 'install'} it is over` };
  }
  if (isErasing) return erasureOf(tools, session, node);
  const plan = await readInstallPlan(tools, session, node);
  return 'code' in plan ? { reason: plan.problem } : { purpose: 'install', ...plan };
}

/** No loop of erasures that fail: once the limit is reached, an admin or an operation starts the counter again. */
async function erasureOf(tools: BootTools, session: Session, node: Node): Promise<Planned> {
  const { attempts } = node.story;
  if (attempts >= MAX_INSTALL_ATTEMPTS)
    return { reason: `its erasure failed ${attempts} times and is not tried again by itself` };
  const plan = await readErasePlan(tools, session, node);
  return 'code' in plan ? { reason: plan.problem } : { purpose: 'erase', workflow: plan, image: null };
}

interface Boot extends BootRequest {
  readonly node: Node;
  readonly plan: BootPlan;
  readonly token: string;
}

function installer({ mac, baseUrl, node, plan: { purpose, workflow, image }, token }: Boot): string {
  const file = (path: string) => (path.includes('://') ? path : `${baseUrl}/boot/${path}`);
  const cmdline = fillCmdline(workflow.cmdline, {
    server_url: baseUrl,
    machine_id: node.machineId,
    // The address that this boot came from, which may be another of the machine's than its node goes by.
    mac,
    hostname: node.facts.hostname,
    boot_token: token,
    image_url: image ? imageUrl(baseUrl, image) : '',
    image_sha256: image?.sha256 ?? '',
    image_size: String(image?.sizeBytes ?? 0),
    post_install: workflow.postInstall,
    overwrite: node.order.overwrite,
  });
  return script([
    `echo Ingot: ${purpose === 'erase' ? 'erasing' : 'installing'} machine ${node.machineId} (${workflow.name})`,
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

function imageUrl(baseUrl: string, { url, name }: ServedImage): string {
  return url ?? `${baseUrl}/api/v1/images/${encodeURIComponent(name)}/content`;
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
