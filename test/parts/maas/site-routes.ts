/** What is not about one machine: users, settings, zones, resource pools, domains and tags. */
import { Refusal } from './refusal.ts';
import type { Form } from './request-input.ts';
import type { MaasRequest, Route } from './route.ts';
import { DEFAULT_SETTINGS, type SettingName, type SimSite } from './sim-site.ts';
import type { World } from './world.ts';

const API = '/MAAS/api/2.0';
const TAG_NAME = /^[a-zA-Z0-9_-]+$/;
/** admin_method of api/support.py. */
const ADMINS_ONLY = 'This method is reserved for admin users.';

export function siteRoutes(world: World): readonly Route[] {
  const { site } = world;
  const named = (kind: string, names: () => readonly string[]): Route => [
    'GET',
    new RegExp(`^${kind}/$`),
    '',
    () =>
      names().map((name, id) => ({
        id,
        name,
        description: '',
        resource_uri: `${API}/${kind}/${name}/`,
      })),
  ];
  return [
    ['GET', /^version\/$/, '', () => ({ version: '3.5.13', subversion: '', capabilities: [] })],
    ['GET', /^users\/$/, 'whoami', () => whoAmI(site)],
    ['GET', /^maas\/$/, 'get_config', ({ query }) => readSetting(site, query.get('name') ?? '')],
    named('zones', () => site.zones),
    named('resourcepools', () => site.pools),
    named('domains', () => site.domains),
    ['GET', /^tags\/$/, '', () => site.tags.map(tagJson)],
    ['POST', /^tags\/$/, '', ({ form }) => createTag(site, form)],
    ['GET', /^tags\/([^/]+)\/$/, '', (_request, name = '') => tagJson(checkTag(site, name))],
    ['POST', /^tags\/([^/]+)\/$/, 'update_nodes', (request, name = '') => tagNodes(world, request, name)],
  ];
}

function whoAmI({ user }: SimSite): unknown {
  const { username, isAdmin } = user;
  return {
    username,
    email: `${username}@example.com`,
    is_superuser: isAdmin,
    is_local: true,
    sshkeys_count: 0,
    machines_count: 0,
    resource_uri: `${API}/users/${username}/`,
  };
}

/** Every user may read them: a string, a number or a boolean, as JSON. */
function readSetting(site: SimSite, name: string): unknown {
  if (!Object.hasOwn(DEFAULT_SETTINGS, name))
    throw new Refusal(400, { [name]: [`${name} is not a valid config setting.`] });
  const value = site.settings[name as SettingName];
  return typeof value === 'string' ? { toJSON: () => value } : value;
}

function tagJson(name: string): unknown {
  return { name, definition: '', comment: '', kernel_opts: '', resource_uri: `${API}/tags/${name}/` };
}

function checkTag(site: SimSite, name: string): string {
  if (!site.tags.includes(name)) throw new Refusal(404, 'No Tag matches the given query.');
  return name;
}

function checkAdmin({ user }: SimSite, words = ADMINS_ONLY): void {
  if (!user.isAdmin) throw new Refusal(403, words);
}

function createTag(site: SimSite, form: Form): unknown {
  checkAdmin(site, '');
  const name = form.get('name') ?? '';
  if (!TAG_NAME.test(name)) throw new Refusal(400, { name: ['Enter a valid value.'] });
  if (site.tags.includes(name)) throw new Refusal(400, { name: ['Tag with this Name already exists.'] });
  site.tags.push(name);
  return tagJson(name);
}

function tagNodes(world: World, { form }: MaasRequest, name: string): unknown {
  checkAdmin(world.site, '');
  checkTag(world.site, name);
  const named = (param: string) =>
    form.getAll(param).flatMap((id) => {
      const machine = world.machines.get(id);
      return machine ? [machine] : [];
    });
  const [added, removed] = [named('add'), named('remove')];
  for (const machine of added) machine.tags = [...new Set([...machine.tags, name])].sort();
  for (const machine of removed) machine.tags = machine.tags.filter((tag) => tag !== name);
  return { added: added.length, removed: removed.length };
}
