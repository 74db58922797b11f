/** Cloud-init for a machine that an upstream deploys: the site's own part, the agent's settings, and our SSH access. */
import { type Document, isMap, parseDocument, YAMLSeq } from 'yaml';
import type { HostKey } from '../../hosts/host-key.ts';

export interface AgentSettings {
  readonly server: string;
  readonly machineId: string;
  readonly pool: string;
  readonly provider: string;
  readonly token: string;
}

const HEADER = '#cloud-config';

/** The key that we log in with, and the host key that we verify the machine by. */
export interface SshAccess {
  readonly authorizedKey: string;
  /** Null: the template brings host keys of its own. */
  readonly hostKey: HostKey | null;
}

export interface CloudInitParts {
  readonly agent: AgentSettings | null;
  readonly ssh: SshAccess | null;
}

/** Whether the template has host keys of its own. */
export function bringsHostKeys(template: string): boolean {
  return parsed(template).has('ssh_keys');
}

/** The template is a cloud-config; what the machine needs to know of us is added to what it has. */
export function renderCloudInit(template: string, { agent, ssh }: CloudInitParts): string {
  const document = parsed(template);
  if (agent) addAgent(document, agent);
  if (ssh) add(document, 'ssh_authorized_keys', ssh.authorizedKey);
  if (ssh?.hostKey) {
    const { privateKey, publicKey } = ssh.hostKey;
    document.set('ssh_keys', document.createNode({ ed25519_private: privateKey, ed25519_public: publicKey }));
  }
  return `${HEADER}\n${document.toString({ lineWidth: 0 })}`;
}

function parsed(template: string): Document {
  const document = parseDocument(template.trim() === '' ? '{}' : template);
  const [problem] = document.errors;
  if (problem || !(document.contents === null || isMap(document.contents))) {
    throw new Error(`the site's user data is no cloud-config: ${problem?.message ?? 'not a mapping'}`);
  }
  return document;
}

/** To a list that the template may have already. */
function add(document: Document, name: string, value: unknown): void {
  const list = document.get(name);
  const entry = document.createNode(value);
  if (list instanceof YAMLSeq) list.add(entry);
  else document.set(name, document.createNode([entry]));
}

function addAgent(document: Document, agent: AgentSettings): void {
  add(document, 'write_files', {
    path: '/etc/ingot/agent.env',
    owner: 'root:root',
    permissions: '0600',
    content: `${environmentOf(agent)}\n`,
  });
}

function environmentOf({ server, machineId, pool, provider, token }: AgentSettings): string {
  return [
    `INGOT_AGENT_SERVER=${server}`,
    `INGOT_MACHINE_ID=${machineId}`,
    `INGOT_POOL=${pool}`,
    `INGOT_AGENT_PROVIDER=${provider}`,
    `INGOT_MACHINE_TOKEN=${token}`,
  ].join('\n');
}
