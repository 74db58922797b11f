import { describe, expect, it } from 'vitest';
import type { MaasReadCall, MaasResource } from './client/maas-control.ts';
import { createMaasImages, isImage } from './maas-images.ts';
import { MemoryMaas } from './memory-maas.fixture.ts';

const call: MaasReadCall = { signal: new AbortController().signal };
const RESOURCES: readonly MaasResource[] = [
  { osystem: 'ubuntu', distroSeries: 'noble', architecture: 'amd64', version: '24.04' },
  { osystem: 'ubuntu', distroSeries: 'noble', architecture: 'amd64' },
  { osystem: 'ubuntu', distroSeries: 'noble', architecture: 'arm64' },
  { osystem: 'ubuntu', distroSeries: 'plucky', architecture: 'arm64' },
  { osystem: 'centos', distroSeries: '9', architecture: 'amd64' },
  { osystem: 'custom', distroSeries: '9', architecture: 'amd64' },
  { osystem: 'custom', distroSeries: 'gpu-node', architecture: '' },
];

function find(image: string, resources: readonly MaasResource[] | null = RESOURCES) {
  const site = { deploy: { osystem: 'ubuntu', distroSeries: 'noble', hardwareSync: true } } as never;
  const images = createMaasImages('site-a', { images: async () => resources, site });
  return images.find(call, new MemoryMaas(() => 0, 'Deployed').view(), image);
}

it.each([
  ['ubuntu/noble', 'ubuntu', 'noble'],
  ['noble', 'ubuntu', 'noble'],
  ['ubuntu/24.04', 'ubuntu', 'noble'],
  ['24.04', 'ubuntu', 'noble'],
  ['centos/9', 'centos', '9'],
  ['gpu-node', 'custom', 'gpu-node'],
  ['custom/gpu-node', 'custom', 'gpu-node'],
])('%s is the image %s/%s', async (image, osystem, distroSeries) => {
  expect(await find(image)).toEqual({ osystem, distroSeries });
});

it.each([
  [
    'plucky',
    /no image plucky for amd64\/generic; it has ubuntu\/noble, centos\/9, custom\/9, custom\/gpu-node$/,
  ],
  ['centos/24.04', /no image centos\/24.04/],
  ['ubuntu/24', /no image ubuntu\/24 /],
  ['9', /several images of the name 9: centos\/9, custom\/9/],
  ['ubuntu/', /can't be the name/],
  ['../machines', /can't be the name/],
  ['', /no image is named/],
])('%j is refused', async (image, says) => {
  await expect(find(image)).rejects.toThrow(says);
});

it('a MAAS without images has none at all', async () => {
  await expect(find('noble', [])).rejects.toThrow(/it has none at all/);
});

it('where MAAS does not say what it has, an image is taken at its word', async () => {
  expect(await find('jammy', null)).toEqual({ osystem: 'ubuntu', distroSeries: 'jammy' });
  expect(await find('centos/8', null)).toEqual({ osystem: 'centos', distroSeries: '8' });
  await expect(find('a b', null)).rejects.toThrow(/can't be the name/);
});

describe('what is deployed is what was asked for', () => {
  it.each([
    ['ubuntu', 'noble', true],
    ['ubuntu', 'jammy', false],
    ['custom', 'noble', false],
    ['', '', true],
  ])('%s/%s: %s', (osystem, distroSeries, is) => {
    expect(isImage({ osystem, distroSeries }, 'ubuntu/noble')).toBe(is);
  });
});
