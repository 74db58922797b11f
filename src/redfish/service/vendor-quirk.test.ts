import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../package-root.ts';
import { loginRule, messageRule, quirksOf } from './vendor-quirk.ts';

const VENDORS = /\b(?:dell|idrac|hpe|ilo|supermicro|lenovo|xcc|openbmc|bmcweb|megarac)\b/i;
const FOLDERS = ['redfish', 'providers/datacenter', 'steps', 'operations', 'reconcilers', 'engine'];

/** Without comments, which may give a vendor as the reason. */
function codeOf(path: string): string {
  return readFileSync(path, 'utf8')
    .replace(/\/\*[\s\S]*?\*\//g, '')
    .replace(/^\s*\/\/.*$/gm, '');
}

it('is the only place that names vendors', () => {
  const naming = FOLDERS.flatMap((folder) => {
    const where = join(packageRoot(), 'src', folder);
    return readdirSync(where, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && !name.endsWith('.fixture.ts'))
      .filter((name) => VENDORS.test(codeOf(join(where, name))))
      .map((name) => join(folder, name));
  });
  expect(naming).toEqual(['redfish/service/vendor-quirk.ts']);
});

it.each([
  [{ vendor: 'Dell', product: 'Integrated Dell Remote Access Controller', manager: '' }, 'Dell iDRAC'],
  [{ vendor: 'HPE', product: 'ProLiant DL380 Gen10', manager: '1' }, 'HPE iLO'],
  [{ vendor: 'Supermicro', product: '', manager: '1' }, 'Supermicro'],
  [{ vendor: 'NVIDIA', product: 'GB200 NVL', manager: 'bmc' }, 'NVIDIA'],
  [{ vendor: 'Lenovo', product: '', manager: '1' }, 'Lenovo XCC'],
  [{ vendor: 'AMI', product: 'AMI Redfish Server', manager: 'BMC' }, 'AMI MegaRAC'],
  [{ vendor: '', product: '', manager: 'bmc' }, 'OpenBMC'],
  [{ vendor: 'Contoso', product: 'BMC', manager: 'bmc' }, 'any other'],
])('knows %j as %s', (identity, vendor) => {
  expect(quirksOf(identity).vendor).toBe(vendor);
});

it('has a login that finds no session left try again, and a volume too many not', () => {
  const full = [{ id: 'Base.1.8.CreateLimitReachedForResource', text: '' }];
  expect([loginRule(full), messageRule(full)]).toEqual(['try again', null]);
  expect(loginRule([{ id: 'IDRAC.2.4.RAC0218', text: '' }])).toBe('try again');
  expect(loginRule([{ id: 'Base.1.8.InsufficientPrivilege', text: '' }])).toBeNull();
});
