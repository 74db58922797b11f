import { describe, expect, it } from 'vitest';
import { draftOf } from '../machine/spec-edit.ts';
import { readMachineList } from './machine-list.ts';

const short = (text: string) =>
  readMachineList(text).machines.map(({ machineId, fault }) => `${machineId}${fault && `: ${fault}`}`);

describe('a list of machines', () => {
  it('is one id in each line; empty lines and comments do not count', () => {
    expect(short('web-1\n\n# rack 2\nweb-2\r\n')).toEqual(['web-1', 'web-2']);
    expect(readMachineList('')).toEqual({ machines: [], fault: '' });
  });

  it.each([',', ';', '\t'])('is rows with a head, separated by "%s"', (by) => {
    const rows = [
      ['machine_id', 'provider', 'location.rack', 'labels.env', 'mac_addresses'],
      ['web-1', 'fake', 'r1', 'prod', '52:54:00:00:00:01 52:54:00:00:00:02'],
    ];
    const { machines, fault } = readMachineList(rows.map((row) => row.join(by)).join('\n'));
    expect(fault).toBe('');
    expect(machines.length).toBe(1);
    expect(machines[0]?.machineId).toBe('web-1');
    expect(machines[0]?.description.labels).toEqual({ env: 'prod' });
    expect(machines[0] && draftOf(machines[0].description).spec).toMatchObject({
      provider: 'fake',
      'location.rack': 'r1',
      mac_addresses: '52:54:00:00:00:01, 52:54:00:00:00:02',
    });
  });

  it('has the separator in quoted values', () => {
    const { machines } = readMachineList('machine_id,labels.note\nweb-1,"a, b"');
    expect(machines[0]?.description.labels).toEqual({ note: 'a, b' });
  });

  it('says which line is wrong, and why', () => {
    expect(short('machine_id,bmc_endpoint\nweb-1,bmc-1\nweb-1,bmc-2\n,bmc-3\nweb-4,a,b')).toEqual([
      'web-1',
      'web-1: web-1 is in line 2 already',
      ': machine_id: is missing',
      'web-4: has 3 columns, the head 2',
    ]);
    expect(short('machine_id,bmc_endpoint\nweb-1,https://me:secret@bmc')[0]).toContain('credentials');
  });

  it('is refused as a whole with a head that has an unknown field, or none', () => {
    expect(readMachineList('machine_id,rak\nweb-1,r1').fault).toContain('rak is no field');
    expect(readMachineList('web-1,r1').fault).toBe(
      'Name the columns in the first line, one of them machine_id.',
    );
  });
});
