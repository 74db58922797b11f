import { expect, it } from 'vitest';
import {
  checkMaasLabels,
  commissioning,
  isMaasLabel,
  kernel,
  MAAS_LABELS,
  placement,
  resolveOptions,
} from './maas-options.ts';

const SITE = {
  placement: placement.parse({ pool: 'gpu', zone: 'rack 1', domain: 'gpu.example.com', tags: ['ingot'] }),
  commissioning: commissioning.parse({ skip_networking: true, testing_scripts: ['none'] }),
  kernel: kernel.parse({ minimum: 'ga-24.04' }),
};

it('what the site says counts for every machine that says nothing else', () => {
  expect(resolveOptions(SITE, { rack: '7' })).toEqual({
    place: { pool: 'gpu', zone: 'rack 1', domain: 'gpu.example.com', tags: ['ingot'] },
    commissioning: {
      enableSsh: false,
      skipBmcConfig: false,
      skipNetworking: true,
      skipStorage: false,
      commissioningScripts: [],
      testingScripts: ['none'],
    },
    failedTesting: 'stop',
    kernel: { minimum: 'ga-24.04', deploy: null },
  });
});

it('a label counts instead, each by itself', () => {
  const labels = {
    'maas/pool': 'lab',
    'maas/tags': 'a, b,,a',
    'maas/enable-ssh': 'true',
    'maas/skip-networking': 'false',
    'maas/skip-bmc-config': 'true',
    'maas/skip-storage': 'true',
    'maas/commissioning-scripts': 'update_firmware,site-firmware',
    'maas/testing-scripts': '',
    'maas/failed-testing': 'override',
    'maas/hwe-kernel': 'hwe-24.04',
  };
  expect(checkMaasLabels(labels)).toBeNull();
  expect(resolveOptions(SITE, labels)).toEqual({
    place: { pool: 'lab', zone: 'rack 1', domain: 'gpu.example.com', tags: ['a', 'b'] },
    commissioning: {
      enableSsh: true,
      skipBmcConfig: true,
      skipNetworking: false,
      skipStorage: true,
      commissioningScripts: ['update_firmware', 'site-firmware'],
      testingScripts: [],
    },
    failedTesting: 'override',
    kernel: { minimum: 'ga-24.04', deploy: 'hwe-24.04' },
  });
});

it.each([
  ['maas/pool', 'a/b'],
  ['maas/zone', ''],
  ['maas/domain', '-gpu.example.com'],
  ['maas/tags', 'gpu, nvme disks'],
  ['maas/enable-ssh', 'yes'],
  ['maas/testing-scripts', 'a;b'],
  ['maas/failed-testing', 'ignore'],
  ['maas/min-hwe-kernel', '6.8.0'],
  ['maas/hwe-kernel', 'hwe-'],
  ['maas/pol', 'gpu'],
])('%s=%s is refused where it is written', (label, value) => {
  expect(checkMaasLabels({ rack: '7', [label]: value })).toMatchObject({ label });
});

it('only labels of its own are read', () => {
  for (const label of Object.keys(MAAS_LABELS)) expect(isMaasLabel(label)).toBe(true);
  expect([isMaasLabel('maas'), isMaasLabel('rack'), isMaasLabel('fake/fail')]).toEqual([false, false, false]);
  expect(checkMaasLabels({ 'rack/maas': '%' })).toBeNull();
});
