import { expect, it } from 'vitest';
import { linkOf } from './answer-fields.ts';

it.each([
  ['/redfish/v1/Systems/1', '/redfish/v1/Systems/1'],
  ['/redfish/v1/Systems?$skip=50', '/redfish/v1/Systems?$skip=50'],
  ['https://bmc.example/redfish/v1/Systems?$skip=50', '/redfish/v1/Systems?$skip=50'],
  ['https://elsewhere.example/redfish/v1/Systems', '/redfish/v1/Systems'],
  ['//elsewhere.example/redfish/v1', null],
  ['Systems/1', null],
  ['', null],
  [7, null],
  [null, null],
])('the link %j leads to %j', (link, path) => {
  expect(linkOf({ '@odata.id': link })).toBe(path);
});
