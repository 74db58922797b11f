/** Cloud-init for a machine that MAAS deploys: the site's own part, and the agent's settings. */
import { type Document, isMap, parseDocument, YAMLSeq } from 'yaml';

export interface AgentSettings {
  readonly server: string;
  readonly machineId: string;
  readonly pool: string;
  readonly provider: string;
  readonly token: string;
}

const HEADER = '#cloud-config';

/** The template is a cloud-config; the environment of the agent, if there is one, is added to the files that it writes. */
export function renderCloudInit(template: string, agent: AgentSettings | null): string {
  const document = parseDocument(template.trim() === '' ? '{}' : template);
  const [problem] = document.errors;
  if (problem || !(document.contents === null || isMap(document.contents))) {
    throw new Error(`the site's user data is no cloud-config: ${problem?.message ?? 'not a mapping'}`);
  }
  if (agent) addAgent(document, agent);
  return `${HEADER}\n${document.toString({ lineWidth: 0 })}`;
}

function addAgent(document: Document, agent: AgentSettings): void {
  const files = document.get('write_files');
  const entry = document.createNode({
    path: '/etc/ingot/agent.env',
    owner: 'root:root',
    permissions: '0600',
    content: `${environmentOf(agent)}\n`,
  });
  if (files instanceof YAMLSeq) files.add(entry);
  else document.set('write_files', document.createNode([entry]));
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
